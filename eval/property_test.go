package eval_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Integers near the edges of their types: the result is exact or the row fails.
func TestIntegersAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	for bits, sql := range map[int]string{8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"} {
		lowest := int64(math.MinInt64) >> (64 - bits)
		draw := func() int64 {
			switch r.IntN(5) {
			case 0:
				return lowest + r.Int64N(3)
			case 1:
				return ^lowest - r.Int64N(3)
			case 2:
				return r.Int64N(5) - 2
			case 3:
				return int64(r.Uint64()) >> (64 - bits/2 - r.IntN(4))
			}
			return int64(r.Uint64()) >> (64 - bits)
		}
		const rows = 500
		a, b, left, right := make([]string, rows), make([]string, rows), make([]int64, rows), make([]int64, rows)
		for i := range rows {
			left[i], right[i] = draw(), draw()
			a[i], b[i] = fmt.Sprint(left[i]), fmt.Sprint(right[i])
		}
		tab := newTable(t, alloc, "a "+sql+": "+strings.Join(a, "|"), "b "+sql+": "+strings.Join(b, "|"))
		for _, op := range []string{"+", "-", "*", "/", "%"} {
			_, got, _ := run(t, tab, alloc, "a "+op+" b")
			for i, v := range strings.Split(got, "|") {
				if want := exact(op, left[i], right[i], lowest); v != want {
					t.Errorf("%s: %d %s %d: got %s, want %s", sql, left[i], op, right[i], v, want)
				}
			}
		}
		tab.batch.Release()
	}
}

func exact(op string, a, b, lowest int64) string {
	x, y, z := big.NewInt(a), big.NewInt(b), new(big.Int)
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	default:
		if b == 0 {
			return "!"
		}
		if op == "/" {
			z.Quo(x, y)
		} else {
			z.Rem(x, y)
		}
	}
	if z.Cmp(big.NewInt(lowest)) < 0 || z.Cmp(big.NewInt(^lowest)) > 0 {
		return "!"
	}
	return z.String()
}

// likes is LIKE by definition.
func likes(s, p []rune) bool {
	if len(p) == 0 {
		return len(s) == 0
	}
	if p[0] == '%' {
		for i := range len(s) + 1 {
			if likes(s[i:], p[1:]) {
				return true
			}
		}
		return false
	}
	return len(s) > 0 && (p[0] == '_' || p[0] == s[0]) && likes(s[1:], p[1:])
}

func TestLikeByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	word := func(letters []rune, most int) string {
		out := make([]rune, r.IntN(most+1))
		for i := range out {
			out[i] = letters[r.IntN(len(letters))]
		}
		return string(out)
	}
	const rows = 3000
	s, p := make([]string, rows), make([]string, rows)
	for i := range rows {
		s[i], p[i] = word([]rune("abä"), 7), word([]rune("abä%%_"), 6)
	}
	tab := newTable(t, memory.DefaultAllocator, "s STRING: "+strings.Join(s, "|"), "p STRING: "+strings.Join(p, "|"))
	_, got, _ := run(t, tab, memory.DefaultAllocator, "s LIKE p")
	for i, v := range strings.Split(got, "|") {
		if want := fmt.Sprint(likes([]rune(s[i]), []rune(p[i]))); v != want {
			t.Errorf("%q LIKE %q: got %s, want %s", s[i], p[i], v, want)
		}
	}
}

// Days of a long stretch, written and read back, and moved by months and back to the same day where it exists.
func TestDatesAgainstText(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	var n []string
	for d := -1_000_000; d < 3_000_000; d += 997 {
		n = append(n, fmt.Sprint(d))
	}
	tab := newTable(t, alloc, "n INT: "+strings.Join(n, "|"))
	defer tab.batch.Release()
	const day = "(DATE '1970-01-01' + n * INTERVAL '1' DAY)"
	for _, sql := range []string{
		"CAST(CAST(" + day + " AS STRING) AS DATE) = " + day,
		"TIMESTAMPDIFF(DAY, DATE '1970-01-01', " + day + ") = n",
		"EXTRACT(DAY FROM " + day + ") > 28 OR " + day + " + INTERVAL '7' MONTH - INTERVAL '7' MONTH = " + day,
		"EXTRACT(DOY FROM " + day + ") = TIMESTAMPDIFF(DAY, FLOOR(" + day + " TO YEAR), " + day + ") + 1",
		"EXTRACT(DOW FROM " + day + ") = MOD(MOD(n + 4, 7) + 7, 7) + 1",
	} {
		_, got, failed := run(t, tab, alloc, sql)
		if at := strings.Index(got, "false"); at >= 0 || len(failed) > 0 {
			row := strings.Count(got[:max(at, 0)], "|")
			t.Errorf("%s does not hold for day %s (%d failed)", sql, n[row], len(failed))
		}
	}
}
