package eval_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestTime(t *testing.T) {
	runCases(t, plainTable, []evalCase{
		{"day + INTERVAL '1' DAY", "DATE", "2024-02-01|1970-01-01|NULL|2024-03-01"},
		{"day + INTERVAL '1' MONTH", "DATE", "2024-02-29|1970-01-31|NULL|2024-03-29"},
		{"day - INTERVAL '1' YEAR", "DATE", "2023-01-31|1968-12-31|NULL|2023-02-28"},
		{"day + INTERVAL '90' MINUTE", "TIMESTAMP(0)", "2024-01-31 01:30:00|1969-12-31 01:30:00|NULL|2024-02-29 01:30:00"},
		{"INTERVAL '2' DAY + day", "DATE", "2024-02-02|1970-01-02|NULL|2024-03-02"},
		{"ts + INTERVAL '1 00:00:01' DAY TO SECOND", "TIMESTAMP(3)", "2024-02-01 10:20:31.456|1970-01-02 00:00:00.999|NULL|2024-03-01 00:00:01"},
		{"ts - INTERVAL '1' MONTH", "TIMESTAMP(3)", "2023-12-31 10:20:30.456|1969-11-30 23:59:59.999|NULL|2024-01-29 00:00:00"},
		{"ts + INTERVAL '0.0001' SECOND", "TIMESTAMP(4)", "2024-01-31 10:20:30.4561|1969-12-31 23:59:59.9991|NULL|2024-02-29 00:00:00.0001"},
		{"ts + INTERVAL '1' DAY * j", "TIMESTAMP(3)", "2024-02-02 10:20:30.456|1970-01-03 23:59:59.999|NULL|2024-02-28 00:00:00"},
		{"EXTRACT(YEAR FROM ts)", "BIGINT", "2024|1969|NULL|2024"},
		{"EXTRACT(DOW FROM day)", "BIGINT", "4|4|NULL|5"},
		{"EXTRACT(WEEK FROM day)", "BIGINT", "5|1|NULL|9"},
		{"EXTRACT(MILLISECOND FROM ts)", "BIGINT", "456|999|NULL|0"},
		{"EXTRACT(EPOCH FROM ts)", "BIGINT", "1706696430|-1|NULL|1709164800"},
		{"YEAR(day) * 100 + MONTH(day)", "BIGINT", "202401|196912|NULL|202402"},
		{"HOUR(ts)", "", "10|23|NULL|0"},
		{"DAYOFYEAR(day)", "", "31|365|NULL|60"},
		{"QUARTER(day)", "", "1|4|NULL|1"},
		{"FLOOR(ts TO HOUR)", "TIMESTAMP(3)", "2024-01-31 10:00:00|1969-12-31 23:00:00|NULL|2024-02-29 00:00:00"},
		{"CEIL(ts TO MONTH)", "", "2024-02-01 00:00:00|1970-01-01 00:00:00|NULL|2024-03-01 00:00:00"},
		{"FLOOR(day TO QUARTER)", "DATE", "2024-01-01|1969-10-01|NULL|2024-01-01"},
		{"TIMESTAMPADD(DAY, 1, ts)", "TIMESTAMP(3)", "2024-02-01 10:20:30.456|1970-01-01 23:59:59.999|NULL|2024-03-01 00:00:00"},
		{"TIMESTAMPDIFF(MONTH, day, DATE '2024-03-30')", "INT", "1|650|NULL|1"},
		{"TIMESTAMPDIFF(DAY, ts, TIMESTAMP '1970-01-01 00:00:00')", "INT", "-19753|0|NULL|-19782"},
		{"TO_TIMESTAMP_LTZ(b, 0)", "TIMESTAMP_LTZ(3)", "1970-01-01 00:00:10Z|1969-12-31 23:59:51Z|NULL|!"},
		{"TO_TIMESTAMP_LTZ(b, 3)", "TIMESTAMP_LTZ(3)", "1970-01-01 00:00:00.01Z|1969-12-31 23:59:59.991Z|NULL|!"},
		{"TO_DATE('2024-05-06')", "DATE", strings.Repeat("2024-05-06|", 3) + "2024-05-06"},
		{"CURRENT_DATE", "DATE", strings.Repeat("2023-11-14|", 3) + "2023-11-14"},
		{"NOW()", "TIMESTAMP_LTZ(3)", strings.Repeat("2023-11-14 22:13:20.123Z|", 3) + "2023-11-14 22:13:20.123Z"},
	})
}

// Times in a zone with daylight saving: 02:30 is skipped on 31 March 2024 and shown twice on 27 October.
func TestZone(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	tab := newTable(t, alloc, "ts TIMESTAMP(3): 2024-03-31 02:30:00|2024-10-27 02:30:00|2024-07-01 00:00:00|NULL",
		"lt TIMESTAMP_LTZ(3): 2024-03-31 00:59:59Z|2024-10-27 01:30:00Z|2024-06-30 22:00:00Z|NULL")
	defer tab.batch.Release()
	for _, c := range []evalCase{
		{"CAST(ts AS TIMESTAMP_LTZ(3))", "", "2024-03-31 01:30:00Z|2024-10-27 00:30:00Z|2024-06-30 22:00:00Z|NULL"},
		{"CAST(lt AS TIMESTAMP(3))", "", "2024-03-31 01:59:59|2024-10-27 02:30:00|2024-07-01 00:00:00|NULL"},
		{"CAST(lt AS STRING)", "", "2024-03-31 01:59:59.000|2024-10-27 02:30:00.000|2024-07-01 00:00:00.000|NULL"},
		{"CAST(lt AS DATE)", "", "2024-03-31|2024-10-27|2024-07-01|NULL"},
		{"HOUR(lt)", "", "1|2|0|NULL"},
		{"CAST('2024-07-01 12:00:00' AS TIMESTAMP_LTZ(0))", "", "2024-07-01 10:00:00Z|2024-07-01 10:00:00Z|2024-07-01 10:00:00Z|2024-07-01 10:00:00Z"},
		{"CAST('2024-07-01 12:00:00+05:30' AS TIMESTAMP_LTZ(0))", "", "2024-07-01 06:30:00Z|2024-07-01 06:30:00Z|2024-07-01 06:30:00Z|2024-07-01 06:30:00Z"},
		{"lt + INTERVAL '1' DAY", "", "2024-04-01 00:59:59Z|2024-10-28 01:30:00Z|2024-07-01 22:00:00Z|NULL"},
		{"lt + INTERVAL '1' MONTH", "", "2024-04-29 23:59:59Z|2024-11-27 01:30:00Z|2024-07-31 22:00:00Z|NULL"},
		{"FLOOR(lt TO DAY)", "", "2024-03-30 23:00:00Z|2024-10-26 22:00:00Z|2024-06-30 22:00:00Z|NULL"},
	} {
		e := compile(t, tab.scope, c.sql)
		failed := map[int]string{}
		ctx := contextFor(alloc, failed)
		ctx.Zone = "Europe/Berlin"
		a, err := e.Eval(ctx, &tab.batch)
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		if got := show(a, failed); got != c.want {
			t.Errorf("%s\n  got  %s %v\n  want %s", c.sql, got, failed, c.want)
		}
		a.Release()
	}
	e := compile(t, tab.scope, "HOUR(lt)")
	ctx := contextFor(alloc, nil)
	ctx.Zone = "Mars/Olympus"
	if _, err := e.Eval(ctx, &tab.batch); err == nil {
		t.Error("an unknown zone is no error")
	}
}

func TestInfinity(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	tab := newTable(t, alloc, "b BIGINT: 9223372036854775807|-9223372036854775808|0", "ts TIMESTAMP(6): 2024-01-01|2024-01-01|2024-01-01")
	defer tab.batch.Release()
	rec := tab.batch.Record
	tab.batch.Record = withTimestamps(rec)
	rec.Release()
	for _, c := range []evalCase{
		{"CAST(ts AS STRING)", "", "!|!|1970-01-01 00:00:00.000000"},
		{"CAST(ts AS DATE) = CAST(CAST(ts AS DATE) AS TIMESTAMP(6))", "", "true|true|true"},
		{"YEAR(ts)", "", "!|!|1970"},
		{"ts + INTERVAL '1' DAY = ts", "", "true|true|false"},
		{"ts + INTERVAL '1' MONTH = ts", "", "true|true|false"},
		{"CAST(ts AS TIMESTAMP(9)) = ts", "", "true|true|true"},
		{"CAST(ts AS TIME(3)) IS NULL", "", "!|!|false"},
	} {
		_, got, failed := run(t, tab, alloc, c.sql)
		if got != c.want {
			t.Errorf("%s\n  got  %s %v\n  want %s", c.sql, got, failed, c.want)
		}
	}
}

// withTimestamps makes the second column the first one's integers, seen as timestamps.
func withTimestamps(rec arrow.RecordBatch) arrow.RecordBatch {
	dt := rec.Schema().Field(1).Type
	from := rec.Column(0).Data()
	data := array.NewData(dt, from.Len(), from.Buffers(), nil, 0, 0)
	ts := array.MakeFromData(data)
	data.Release()
	defer ts.Release()
	return array.NewRecordBatch(rec.Schema(), []arrow.Array{rec.Column(0), ts}, rec.NumRows())
}
