package eval_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// randomDecimal has up to precision digits, often few, sometimes all nines.
func randomDecimal(r *rand.Rand, precision, scale int) string {
	n := r.IntN(precision) + 1
	var b strings.Builder
	for range n {
		if r.IntN(4) == 0 {
			b.WriteByte('9')
		} else {
			b.WriteByte(byte('0' + r.IntN(10)))
		}
	}
	s := b.String()
	for len(s) <= scale {
		s = "0" + s
	}
	if scale > 0 {
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if r.IntN(2) == 0 {
		s = "-" + s
	}
	return s
}

// round rounds an exact number half up to a scale; "" when it has more than 38 digits or the type's.
func round(x *big.Rat, precision, scale int) string {
	shifted := new(big.Rat).Mul(x, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	num, den := new(big.Int).Abs(shifted.Num()), shifted.Denom()
	q, rem := new(big.Int).QuoRem(num, den, new(big.Int))
	if rem.Lsh(rem, 1).Cmp(den) >= 0 {
		q.Add(q, big.NewInt(1))
	}
	if len(q.String()) > precision {
		return "!"
	}
	s := q.String()
	for len(s) <= scale {
		s = "0" + s
	}
	if scale > 0 {
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if x.Sign() < 0 && q.Sign() != 0 {
		s = "-" + s
	}
	return s
}

func TestDecimalAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	for range 60 {
		p1, p2 := r.IntN(38)+1, r.IntN(38)+1
		s1, s2 := r.IntN(p1+1), r.IntN(p2+1)
		const rows = 40
		a, b := make([]string, rows), make([]string, rows)
		for i := range rows {
			a[i], b[i] = randomDecimal(r, p1, s1), randomDecimal(r, p2, s2)
		}
		tab := newTable(t, alloc, fmt.Sprintf("a DECIMAL(%d, %d): %s", p1, s1, strings.Join(a, "|")),
			fmt.Sprintf("b DECIMAL(%d, %d): %s", p2, s2, strings.Join(b, "|")))
		for _, op := range []string{"+", "-", "*", "/", "%", "<", "="} {
			checkDecimals(t, tab, alloc, op, a, b)
		}
		tab.batch.Release()
	}
}

func checkDecimals(t *testing.T, tab *table, alloc memory.Allocator, op string, a, b []string) {
	t.Helper()
	typ, got, _ := run(t, tab, alloc, "a "+op+" b")
	var precision, scale int
	if op != "<" && op != "=" {
		if _, err := fmt.Sscanf(typ, "DECIMAL(%d, %d)", &precision, &scale); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range strings.Split(got, "|") {
		x, _ := new(big.Rat).SetString(a[i])
		y, _ := new(big.Rat).SetString(b[i])
		want := ""
		switch op {
		case "<":
			want = fmt.Sprint(x.Cmp(y) < 0)
		case "=":
			want = fmt.Sprint(x.Cmp(y) == 0)
		case "+":
			want = round(x.Add(x, y), precision, scale)
		case "-":
			want = round(x.Sub(x, y), precision, scale)
		case "*":
			want = round(x.Mul(x, y), precision, scale)
		case "/", "%":
			want = "!"
			if y.Sign() != 0 {
				q := new(big.Rat).Quo(x, y)
				if op == "%" {
					whole := new(big.Int).Quo(q.Num(), q.Denom())
					q = x.Sub(x, y.Mul(y, new(big.Rat).SetInt(whole)))
				}
				want = round(q, precision, scale)
			}
		}
		if v != want {
			t.Errorf("%s %s %s as %s: got %s, want %s", a[i], op, b[i], typ, v, want)
		}
	}
}

func TestDecimalRescale(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	for range 60 {
		p, q := r.IntN(38)+1, r.IntN(38)+1
		s, u := r.IntN(p+1), r.IntN(q+1)
		a := make([]string, 40)
		for i := range a {
			a[i] = randomDecimal(r, p, s)
		}
		tab := newTable(t, alloc, fmt.Sprintf("a DECIMAL(%d, %d): %s", p, s, strings.Join(a, "|")), "t STRING: "+strings.Join(a, "|"))
		for _, sql := range []string{"CAST(a AS DECIMAL(%d, %d))", "CAST(t AS DECIMAL(%d, %d))"} {
			_, got, _ := run(t, tab, alloc, fmt.Sprintf(sql, q, u))
			for i, v := range strings.Split(got, "|") {
				x, _ := new(big.Rat).SetString(a[i])
				if want := round(x, q, u); v != want {
					t.Errorf("%s as "+sql+": got %s, want %s", a[i], q, u, v, want)
				}
			}
		}
		_, got, _ := run(t, tab, alloc, fmt.Sprintf("CAST(CAST(a AS STRING) AS DECIMAL(%d, %d)) = a", p, s))
		if strings.Contains(got, "false") || strings.Contains(got, "!") {
			t.Errorf("text does not bring DECIMAL(%d, %d) back: %s of %v", p, s, got, a)
		}
		tab.batch.Release()
	}
}
