package eval_test

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	runCases(t, plainTable, []evalCase{
		{"s || u", "STRING", "abcb|Ünï%Ü|NULL| x x"},
		{"s || NULL", "STRING", "NULL|NULL|NULL|NULL"},
		{"UPPER(s)", "STRING", "ABC|ÜNÏ%|NULL| X "},
		{"LOWER('ÀBC')", "STRING", "àbc|àbc|àbc|àbc"},
		{"INITCAP('hELLO wORLD')", "", strings.Repeat("Hello World|", 3) + "Hello World"},
		{"TRIM(s)", "STRING", "abc|Ünï%|NULL|x"},
		{"TRIM(LEADING 'a' FROM s)", "", "bc|Ünï%|NULL| x "},
		{"TRIM(TRAILING FROM s)", "", "abc|Ünï%|NULL| x"},
		{"TRIM(BOTH 'Üc' FROM s)", "", "ab|nï%|NULL| x "},
		{"LTRIM(s)", "", "abc|Ünï%|NULL|x "},
		{"RTRIM(s)", "", "abc|Ünï%|NULL| x"},
		{"LTRIM(s, 'ba')", "", "c|Ünï%|NULL| x "},
		{"SUBSTRING(s, 2)", "", "bc|nï%|NULL|x "},
		{"SUBSTRING(s FROM 2 FOR 1)", "", "b|n|NULL|x"},
		{"SUBSTRING(s, -2)", "", "bc|ï%|NULL|x "},
		{"SUBSTRING(s, 0, 2)", "", "ab|Ün|NULL| x"},
		{"SUBSTR(s, 9)", "", "||NULL|"},
		{"SUBSTRING(s, 1, -1)", "", "NULL|NULL|NULL|NULL"},
		{"LEFT(s, 2)", "", "ab|Ün|NULL| x"},
		{"RIGHT(s, 2)", "", "bc|ï%|NULL|x "},
		{"CHAR_LENGTH(s)", "INT", "3|4|NULL|3"},
		{"CHARACTER_LENGTH('')", "INT", "0|0|0|0"},
		{"OCTET_LENGTH(s)", "INT", "3|6|NULL|3"},
		{"REPLACE(s, 'b', 'xx')", "", "axxc|Ünï%|NULL| x "},
		{"CONCAT(s, '-', u)", "", "abc-b|Ünï%-Ü|NULL| x -x"},
		{"CONCAT_WS('-', s, u, NULL)", "", "abc-b|Ünï%-Ü|n| x -x"},
		{"CONCAT_WS(NULL, s, u)", "", "NULL|NULL|NULL|NULL"},
		{"POSITION('ï' IN s)", "INT", "0|3|NULL|0"},
		{"LOCATE('b', s, 2)", "INT", "2|0|NULL|0"},
		{"LOCATE('a', s, 2)", "INT", "0|0|NULL|0"},
		{"INSTR(s, 'c')", "INT", "3|0|NULL|0"},
		{"LPAD(s, 5, '*-')", "", "*-abc|*Ünï%|NULL|*- x "},
		{"RPAD(s, 5, '*-')", "", "abc*-|Ünï%*|NULL| x *-"},
		{"LPAD(s, 2, '*')", "", "ab|Ün|NULL| x"},
		{"LPAD(s, -1, '*')", "", "NULL|NULL|NULL|NULL"},
		{"REPEAT(u, 2)", "", "bb|ÜÜ|nn|xx"},
		{"REVERSE(s)", "", "cba|%ïnÜ|NULL| x "},
		{"MD5('a')", "", strings.Repeat("0cc175b9c0f1b6a831c399e269772661|", 3) + "0cc175b9c0f1b6a831c399e269772661"},
		{"LEFT(SHA256('a'), 8)", "", "ca978112|ca978112|ca978112|ca978112"},
	})
}

func TestLike(t *testing.T) {
	runCases(t, []string{"s STRING: abc|a%c|NULL||aXbXc|äbc", "p STRING: a%|a!%c|x|%|_X%c|_bc"}, []evalCase{
		{"s LIKE 'abc'", "BOOLEAN", "true|false|NULL|false|false|false"},
		{"s LIKE 'a%'", "", "true|true|NULL|false|true|false"},
		{"s LIKE '%c'", "", "true|true|NULL|false|true|true"},
		{"s LIKE '%b%'", "", "true|false|NULL|false|true|true"},
		{"s LIKE '%'", "", "true|true|NULL|true|true|true"},
		{"s LIKE ''", "", "false|false|NULL|true|false|false"},
		{"s LIKE 'a%b%c'", "", "true|false|NULL|false|true|false"},
		{"s LIKE '_bc'", "", "true|false|NULL|false|false|true"},
		{"s LIKE '%X_X%'", "", "false|false|NULL|false|true|false"},
		{"s LIKE 'a!%c' ESCAPE '!'", "", "false|true|NULL|false|false|false"},
		{"s NOT LIKE 'a%'", "", "false|false|NULL|true|false|true"},
		{"s LIKE p", "", "true|false|NULL|true|true|true"},
		{"s LIKE p ESCAPE '!'", "", "true|true|NULL|true|true|true"},
		{"s LIKE NULL", "", "NULL|NULL|NULL|NULL|NULL|NULL"},
		{"s SIMILAR TO '(a|ä)bc'", "", "true|false|NULL|false|false|true"},
		{"s SIMILAR TO 'a%'", "", "true|true|NULL|false|true|false"},
		{"s SIMILAR TO '[a-c]+'", "", "true|false|NULL|false|false|false"},
	})
}

func TestMath(t *testing.T) {
	runCases(t, plainTable, []evalCase{
		{"ABS(i)", "INT", "1|7|NULL|!"},
		{"ABS(d)", "DECIMAL(10, 2)", "1.50|2.25|NULL|99999999.99"},
		{"ABS(f)", "DOUBLE", "0.5|2.5|NULL|1e+300"},
		{"SIGN(i)", "INT", "1|1|NULL|-1"},
		{"SIGN(d)", "DECIMAL(10, 2)", "1.00|-1.00|NULL|1.00"},
		{"ROUND(d)", "DECIMAL(9, 0)", "2|-2|NULL|100000000"},
		{"ROUND(d, 1)", "DECIMAL(10, 1)", "1.5|-2.3|NULL|100000000.0"},
		{"ROUND(d, -1)", "DECIMAL(9, 0)", "0|0|NULL|100000000"},
		{"ROUND(d, 5)", "DECIMAL(10, 2)", "1.50|-2.25|NULL|99999999.99"},
		{"ROUND(i, -1)", "INT", "0|10|NULL|!"},
		{"ROUND(f)", "DOUBLE", "1|-3|NULL|1e+300"},
		{"ROUND(f * 0.31, 2)", "DOUBLE", "0.16|-0.78|NULL|3.1e+299"},
		{"ROUND(2.675e0, 2)", "DOUBLE", "2.68|2.68|2.68|2.68"},
		{"ROUND(1234.5e0, -2)", "DOUBLE", "1200|1200|1200|1200"},
		{"FLOOR(d)", "DECIMAL(9, 0)", "1|-3|NULL|99999999"},
		{"CEIL(d)", "DECIMAL(9, 0)", "2|-2|NULL|100000000"},
		{"FLOOR(f)", "DOUBLE", "0|-3|NULL|1e+300"},
		{"CEILING(f)", "DOUBLE", "1|-2|NULL|1e+300"},
		{"FLOOR(i)", "INT", "1|7|NULL|-2147483648"},
		{"POWER(2, 10)", "DOUBLE", "1024|1024|1024|1024"},
		{"SQRT(i)", "DOUBLE", "1|2.6457513110645907|NULL|NaN"},
	})
}

func TestCast(t *testing.T) {
	runCases(t, plainTable, []evalCase{
		{"CAST(i AS BIGINT)", "BIGINT", "1|7|NULL|-2147483648"},
		{"CAST(i AS TINYINT)", "TINYINT", "1|7|NULL|!"},
		{"TRY_CAST(i AS TINYINT)", "TINYINT", "1|7|NULL|NULL"},
		{"CAST(b AS DOUBLE)", "DOUBLE", "10|-9|NULL|9.223372036854776e+18"},
		{"CAST(b AS DECIMAL(3, 1))", "DECIMAL(3, 1)", "10.0|-9.0|NULL|!"},
		{"CAST(f AS INT)", "INT", "0|-2|NULL|!"},
		{"CAST(f AS FLOAT)", "FLOAT", "0.5|-2.5|NULL|!"},
		{"CAST(f AS DECIMAL(4, 0))", "DECIMAL(4, 0)", "1|-3|NULL|!"},
		{"CAST(d AS INT)", "INT", "1|-2|NULL|99999999"},
		{"CAST(d AS DECIMAL(10, 1))", "DECIMAL(10, 1)", "1.5|-2.3|NULL|100000000.0"},
		{"CAST(d AS DECIMAL(9, 2))", "DECIMAL(9, 2)", "1.50|-2.25|NULL|!"},
		{"CAST(d AS DOUBLE)", "DOUBLE", "1.5|-2.25|NULL|9.999999999e+07"},
		{"CAST(i AS BOOLEAN)", "BOOLEAN", "true|true|NULL|true"},
		{"CAST(p AS INT)", "INT", "1|0|NULL|1"},
		{"CAST(i AS STRING)", "STRING", "1|7|NULL|-2147483648"},
		{"CAST(i AS VARCHAR(3))", "VARCHAR(3)", "1|7|NULL|!"},
		{"CAST(d AS STRING)", "STRING", "1.50|-2.25|NULL|99999999.99"},
		{"CAST(e AS STRING)", "STRING", "0.125|3.000|1.000|-0.001"},
		{"CAST(f AS STRING)", "STRING", "0.5|-2.5|NULL|1.0E300"},
		{"CAST(p AS STRING)", "STRING", "TRUE|FALSE|NULL|TRUE"},
		{"CAST(ts AS STRING)", "STRING", "2024-01-31 10:20:30.456|1969-12-31 23:59:59.999|NULL|2024-02-29 00:00:00.000"},
		{"CAST(day AS STRING)", "STRING", "2024-01-31|1969-12-31|NULL|2024-02-29"},
		{"CAST(s AS VARCHAR(2))", "VARCHAR(2)", "ab|Ün|NULL| x"},
		{"CAST(s AS CHAR(5))", "CHAR(5)", "abc  |Ünï% |NULL| x   "},
		{"CAST(CAST(s AS BYTES) AS STRING)", "STRING", "abc|Ünï%|NULL| x "},
		{"CAST(x'ff' AS STRING)", "STRING", "!|!|!|!"},
		{"CAST(1e7 AS STRING) || CAST(1e-3 AS STRING) || CAST(1.25e-4 AS STRING)", "STRING", strings.Repeat("1.0E70.0011.25E-4|", 3) + "1.0E70.0011.25E-4"},
		{"CAST(ts AS DATE)", "DATE", "2024-01-31|1969-12-31|NULL|2024-02-29"},
		{"CAST(ts AS TIME(0))", "TIME(0)", "10:20:30.000000|23:59:59.000000|NULL|00:00:00.000000"},
		{"CAST(ts AS TIMESTAMP(0))", "TIMESTAMP(0)", "2024-01-31 10:20:30|1969-12-31 23:59:59|NULL|2024-02-29 00:00:00"},
		{"CAST(CAST(ts AS TIMESTAMP(9)) AS STRING)", "STRING", "2024-01-31 10:20:30.456000000|1969-12-31 23:59:59.999000000|NULL|2024-02-29 00:00:00.000000000"},
		{"CAST(day AS TIMESTAMP(3))", "TIMESTAMP(3)", "2024-01-31 00:00:00|1969-12-31 00:00:00|NULL|2024-02-29 00:00:00"},
		{"CAST(NULL AS INT)", "INT", "NULL|NULL|NULL|NULL"},
		{"CAST(INTERVAL '1 02:03:04.5' DAY TO SECOND AS STRING)", "", strings.Repeat("+1 02:03:04.500|", 3) + "+1 02:03:04.500"},
		{"CAST(INTERVAL '-1-02' YEAR TO MONTH AS STRING)", "", "-1-02|-1-02|-1-02|-1-02"},
	})
}

func TestCastFromText(t *testing.T) {
	runCases(t, []string{
		"n STRING: 12| -7 |1.5|1e3|x||NULL|300|9223372036854775808",
		"m STRING: 2024-02-29|2024-02-30|2024-1-2 3:04|2024-01-02T03:04:05.678901|x||NULL|-0043-03-15|+12345-01-01 00:00:00",
		"p STRING: true|F|yes|0|x||NULL|1|N",
	}, []evalCase{
		{"CAST(n AS INT)", "INT", "12|-7|!|!|!|!|NULL|300|!"},
		{"TRY_CAST(n AS INT)", "INT", "12|-7|NULL|NULL|NULL|NULL|NULL|300|NULL"},
		{"CAST(n AS TINYINT)", "TINYINT", "12|-7|!|!|!|!|NULL|!|!"},
		{"CAST(n AS DOUBLE)", "DOUBLE", "12|-7|1.5|1000|!|!|NULL|300|9.223372036854776e+18"},
		{"CAST(n AS DECIMAL(5, 1))", "DECIMAL(5, 1)", "12.0|-7.0|1.5|1000.0|!|!|NULL|300.0|!"},
		{"CAST(n AS DECIMAL(5, 0))", "DECIMAL(5, 0)", "12|-7|2|1000|!|!|NULL|300|!"},
		{"CAST(m AS DATE)", "DATE", "2024-02-29|!|2024-01-02|2024-01-02|!|!|NULL|-0043-03-15|12345-01-01"},
		{"CAST(CAST(m AS DATE) AS STRING)", "STRING", "2024-02-29|!|2024-01-02|2024-01-02|!|!|NULL|-0043-03-15|+12345-01-01"},
		{"CAST(CAST(m AS TIMESTAMP(6)) AS STRING)", "STRING", "2024-02-29 00:00:00.000000|!|2024-01-02 03:04:00.000000|2024-01-02 03:04:05.678901|!|!|NULL|-0043-03-15 00:00:00.000000|+12345-01-01 00:00:00.000000"},
		{"CAST(CAST(m AS TIMESTAMP(3)) AS STRING)", "STRING", "2024-02-29 00:00:00.000|!|2024-01-02 03:04:00.000|2024-01-02 03:04:05.678|!|!|NULL|-0043-03-15 00:00:00.000|+12345-01-01 00:00:00.000"},
		{"CAST(p AS BOOLEAN)", "BOOLEAN", "true|false|true|false|!|!|NULL|true|false"},
	})
}
