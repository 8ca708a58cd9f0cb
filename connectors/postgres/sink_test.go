package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/postgres/pgtest"
	"github.com/syncsql/syncsql/option"
)

// sinkRig is one sink under test, with its database.
type sinkRig struct {
	t       testing.TB
	mem     *memory.CheckedAllocator
	url     string
	table   connectors.Table
	epoch   uint64
	once    bool
	reject  connectors.RejectFunc
	refused []*connectors.RowError
	sink    connectors.Sink
	at      uint64 // of the last row
}

// newSinkRig makes a database with the tables of ddl, and a sink table t with the columns of spec: "id BIGINT, name STRING".
// Columns of the key come first, keys of them.
func newSinkRig(t testing.TB, keys int, spec string, ddl ...string) *sinkRig {
	t.Helper()
	x := &sinkRig{t: t, mem: memory.NewCheckedAllocator(memory.NewGoAllocator()), url: pgtest.Start(t).CreateDB(t)}
	pgtest.Exec(t, x.url, ddl...)
	x.table = connectors.Table{Name: "t", Mode: "append", Guarantee: "exactly-once"}
	x.declare(spec, keys)
	x.option("url", x.url)
	x.option("table-name", "t")
	t.Cleanup(func() {
		x.close()
		x.mem.AssertSize(t, 0)
	})
	return x
}

// declare gives the table the columns of spec.
func (x *sinkRig) declare(spec string, keys int) {
	x.table.Key = nil
	for i, c := range strings.Split(spec, "; ") {
		name, typ, _ := strings.Cut(c, " ")
		x.table.Columns = append(x.table.Columns, connectors.Column{Name: name, SQL: typ, Type: arrowType(x.t, typ), Nullable: i >= keys})
	}
	for i := range keys {
		x.table.Key = append(x.table.Key, i)
		x.table.Mode = "upsert"
	}
}

func (x *sinkRig) option(key, text string) {
	x.table.Options = x.table.Options.With(key, option.Entry{Text: text})
}

func arrowType(t testing.TB, sql string) arrow.DataType {
	t.Helper()
	if elem, ok := strings.CutPrefix(sql, "ARRAY<"); ok {
		return arrow.ListOf(arrowType(t, strings.TrimSuffix(elem, ">")))
	}
	name, arg, _ := strings.Cut(sql, "(")
	switch name {
	case "BOOLEAN":
		return arrow.FixedWidthTypes.Boolean
	case "TINYINT":
		return arrow.PrimitiveTypes.Int8
	case "SMALLINT":
		return arrow.PrimitiveTypes.Int16
	case "INT":
		return arrow.PrimitiveTypes.Int32
	case "BIGINT":
		return arrow.PrimitiveTypes.Int64
	case "FLOAT":
		return arrow.PrimitiveTypes.Float32
	case "DOUBLE":
		return arrow.PrimitiveTypes.Float64
	case "STRING", "VARCHAR", "CHAR":
		return arrow.BinaryTypes.String
	case "BYTES":
		return arrow.BinaryTypes.Binary
	case "DATE":
		return arrow.PrimitiveTypes.Date32
	case "TIME":
		return &arrow.Time64Type{Unit: unitOf(arg)}
	case "TIMESTAMP":
		return &arrow.TimestampType{Unit: unitOf(arg)}
	case "TIMESTAMP_LTZ":
		return &arrow.TimestampType{Unit: unitOf(arg), TimeZone: "UTC"}
	case "MONTHS":
		return arrow.FixedWidthTypes.MonthInterval
	case "SPAN":
		return &arrow.DurationType{Unit: unitOf(arg)}
	case "DECIMAL":
		var p, s int32
		if _, err := fmt.Sscanf(arg, "%d,%d)", &p, &s); err != nil {
			t.Fatal(err)
		}
		return &arrow.Decimal128Type{Precision: p, Scale: s}
	}
	t.Fatalf("no type %s", sql)
	return nil
}

func unitOf(arg string) arrow.TimeUnit {
	if arg == "9)" {
		return arrow.Nanosecond
	}
	return arrow.Microsecond
}

// sinkRow is one change: a kind and the values as JSON, or the word unsent.
type sinkRow struct {
	kind   change.Kind
	values []any
}

type unsentMark struct{}

var unsent = unsentMark{}

func ins(values ...any) sinkRow { return sinkRow{change.Insert, values} }
func upd(values ...any) sinkRow { return sinkRow{change.UpdateAfter, values} }
func del(values ...any) sinkRow { return sinkRow{change.Delete, values} }

// batch makes a batch; what a row does not name is NULL.
func (x *sinkRig) batch(rows ...sinkRow) change.Batch {
	x.t.Helper()
	fields := make([]arrow.Field, len(x.table.Columns))
	for i, c := range x.table.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: true}
	}
	bld := array.NewRecordBuilder(x.mem, arrow.NewSchema(fields, nil))
	defer bld.Release()
	b := change.Batch{RowPositionSize: 8}
	for i, r := range rows {
		b.Kinds = append(b.Kinds, r.kind)
		for c := range fields {
			switch {
			case c >= len(r.values) || r.values[c] == nil:
				bld.Field(c).AppendNull()
			case r.values[c] == unsent:
				if b.Unsent == nil {
					b.Unsent = change.NewUnsent(len(fields))
				}
				b.Unsent.Set(c, i)
				bld.Field(c).AppendNull()
			default:
				x.appendValue(bld.Field(c), r.values[c])
			}
		}
		x.at++
		b.RowPositions = binary.BigEndian.AppendUint64(b.RowPositions, x.at)
	}
	b.Record = bld.NewRecordBatch()
	if len(rows) > 0 {
		b.Position = slices.Clone(b.At(len(rows) - 1))
	}
	return b
}

func (x *sinkRig) appendValue(b array.Builder, v any) {
	x.t.Helper()
	switch b := b.(type) {
	case *array.TimestampBuilder:
		if v, ok := v.(arrow.Timestamp); ok {
			b.Append(v)
			return
		}
	case *array.Date32Builder:
		if v, ok := v.(arrow.Date32); ok {
			b.Append(v)
			return
		}
	case *array.Float64Builder:
		b.Append(v.(float64))
		return
	case *array.Float32Builder:
		b.Append(float32(v.(float64)))
		return
	case *array.BinaryBuilder:
		b.Append(v.([]byte))
		return
	case *array.MonthIntervalBuilder:
		b.Append(arrow.MonthInterval(v.(int)))
		return
	case *array.DurationBuilder:
		b.Append(arrow.Duration(v.(int)))
		return
	case *array.Time64Builder:
		b.Append(arrow.Time64(v.(int)))
		return
	case *array.StringBuilder:
		b.Append(v.(string))
		return
	}
	if err := b.AppendValueFromString(fmt.Sprint(v)); err != nil {
		x.t.Fatalf("value %v for %s: %v", v, b.Type(), err)
	}
}

func (x *sinkRig) open() {
	x.t.Helper()
	if err := x.tryOpen(); err != nil {
		x.t.Fatalf("open: %v", err)
	}
}

func (x *sinkRig) tryOpen() error {
	x.close()
	x.epoch++
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := openSink(ctx, connectors.Write{Pipeline: "p", Sink: "t", Table: x.table, Epoch: x.epoch, Once: x.once,
		Limits: connectors.DefaultLimits, Reject: func(ctx context.Context, e *connectors.RowError) error {
			x.refused = append(x.refused, e)
			if x.reject != nil {
				return x.reject(ctx, e)
			}
			return nil
		}})
	if err == nil {
		x.sink = s
	}
	return err
}

func (x *sinkRig) close() {
	if x.sink != nil {
		if err := x.sink.Close(); err != nil {
			x.t.Errorf("close: %v", err)
		}
		x.sink = nil
	}
}

func (x *sinkRig) write(rows ...sinkRow) {
	x.t.Helper()
	b := x.batch(rows...)
	defer b.Release()
	if err := x.sink.Write(context.Background(), b); err != nil {
		x.t.Fatalf("write: %v", err)
	}
}

func (x *sinkRig) flush() {
	x.t.Helper()
	if err := x.tryFlush(); err != nil {
		x.t.Fatalf("flush: %v", err)
	}
}

func (x *sinkRig) tryFlush() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := x.sink.Flush(ctx)
	return err
}

// holds compares the table, as text, in the order of its columns.
func (x *sinkRig) holds(sql string, want ...string) {
	x.t.Helper()
	var got []string
	for _, r := range pgtest.Rows(x.t, x.url, sql) {
		got = append(got, strings.Join(r, "|"))
	}
	if !slices.Equal(got, want) {
		x.t.Fatalf("%s\ngot  %q\nwant %q", sql, got, want)
	}
}

func (x *sinkRig) position() uint64 {
	if p := x.sink.Position(); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

func TestSinkUpsert(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; name STRING", "create table t (id bigint primary key, name text)")
	x.open()
	x.write(ins(1, "a"), ins(2, "b"), upd(1, "A"), ins(3, nil))
	x.flush()
	x.holds("select * from t order by 1", "1|A", "2|b", "3|NULL")
	x.write(del(2), upd(3, ""))
	x.write(upd(9, "there now"))
	x.flush()
	x.holds("select * from t order by 1", "1|A", "3|", "9|there now")
	x.open()
	if got := x.position(); got != x.at {
		t.Fatalf("position %d, want %d", got, x.at)
	}
}

func TestSinkAppend(t *testing.T) {
	x := newSinkRig(t, 0, "id BIGINT; name STRING", "create table t (id bigint, name text)")
	x.open()
	var rows []sinkRow
	for i := range 100 {
		rows = append(rows, ins(i%3, "x"))
	}
	x.write(rows...)
	x.write(ins(7, "y"))
	x.flush()
	x.holds("select id, count(*) from t group by 1 order by 1", "0|34", "1|33", "2|33", "7|1")
	b := x.batch(upd(1, "z"))
	defer b.Release()
	if err := x.sink.Write(context.Background(), b); err == nil {
		t.Fatal("an update was taken")
	}
	x.close()
}

// TestSinkLarge takes the ways for many rows: COPY, UPDATE, upsert and DELETE over arrays.
func TestSinkLarge(t *testing.T) {
	for _, guarantee := range []string{"exactly-once", "at-least-once"} {
		t.Run(guarantee, func(t *testing.T) {
			x := newSinkRig(t, 2, "a BIGINT; b STRING; v DECIMAL(12,2); w STRING",
				"create table t (w text, v numeric(12,2), b text, a bigint, primary key (b, a))")
			x.table.Guarantee = guarantee
			x.open()
			const n = 3000
			rows := make([]sinkRow, n)
			for i := range rows {
				rows[i] = ins(i, "k", fmt.Sprintf("%d.25", i), "w")
			}
			x.write(rows...)
			x.flush()
			x.holds("select count(*), sum(a), sum(v) from t", "3000|4498500|4499250.00")
			rows = rows[:0]
			for i := range n {
				switch i % 3 {
				case 0:
					rows = append(rows, upd(i, "k", "1.00", "u"))
				case 1:
					rows = append(rows, del(i, "k"))
				case 2:
					rows = append(rows, ins(n+i, "k", "2.00", "n"), upd(n+n+i, "k", "3.00", "m"))
				}
			}
			x.write(rows...)
			x.flush()
			x.holds("select w, count(*), sum(v) from t group by 1 order by 1",
				"m|1000|3000.00", "n|1000|2000.00", "u|1000|1000.00", "w|1000|1500750.00")
		})
	}
}

// TestSinkOverlap repeats a copy that was cut off: the rows are there already.
func TestSinkOverlap(t *testing.T) {
	x := newSinkRig(t, 1, "id BIGINT; name STRING", "create table t (id bigint primary key, name text)",
		"insert into t select i, 'old' from generate_series(50, 149) i")
	x.open()
	rows := make([]sinkRow, 100)
	for i := range rows {
		rows[i] = ins(i, "new")
	}
	x.write(rows...)
	x.flush()
	x.holds("select name, count(*) from t group by 1 order by 1", "new|100", "old|50")
	if len(x.refused) > 0 {
		t.Fatalf("refused: %v", x.refused)
	}
}

func TestSinkFencing(t *testing.T) {
	for _, rows := range []int{1, 100} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			x := newSinkRig(t, 0, "id BIGINT", "create table t (id bigint)")
			x.open()
			x.write(ins(1))
			x.flush()
			old := x.sink
			x.sink = nil
			defer old.Close()
			x.open()
			late := make([]sinkRow, rows)
			for i := range late {
				late[i] = ins(2)
			}
			b := x.batch(late...)
			defer b.Release()
			err := old.Write(context.Background(), b)
			if err == nil {
				_, err = old.Flush(context.Background())
			}
			var permanent *connectors.PermanentError
			if !errors.As(err, &permanent) || !strings.Contains(err.Error(), "another runner") {
				t.Fatalf("an older run got %v", err)
			}
			x.write(ins(3))
			x.flush()
			x.holds("select * from t order by 1", "1", "3")
			x.epoch -= 2
			if err := x.tryOpen(); !errors.As(err, &permanent) {
				t.Fatalf("opening with an older epoch gave %v", err)
			}
		})
	}
}

func TestSinkReject(t *testing.T) {
	for _, n := range []int{6, 300, 2500} { // one by one, COPY, COPY with several savepoints afterwards
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			x := newSinkRig(t, 1, "id BIGINT; small INT; s STRING",
				"create table t (id bigint primary key, small smallint not null, s varchar(3) check (s <> 'no'))")
			x.open()
			rows := make([]sinkRow, n)
			for i := range rows {
				rows[i] = ins(i, 1, "ok")
			}
			rows[1] = ins(1, nil, "ok")     // NOT NULL, by the server
			rows[2] = ins(2, 70000, "ok")   // range, here
			rows[3] = ins(3, 1, "no")       // CHECK, by the server
			rows[n-1] = ins(n-1, 1, "long") // length, here
			x.write(rows...)
			x.flush()
			x.holds("select count(*), min(id) from t", fmt.Sprintf("%d|0", n-4))
			var seen []string
			for _, e := range x.refused {
				seen = append(seen, e.Key+" "+e.Column+" "+e.Row)
			}
			slices.Sort(seen)
			want := []string{
				`1 small {"id":1,"small":null,"s":"ok"}`,
				`2 small {"id":2,"small":"70000","s":"ok"}`,
				`3  {"id":3,"small":1,"s":"no"}`,
				fmt.Sprintf(`%d s {"id":%d,"small":1,"s":"long"}`, n-1, n-1),
			}
			slices.Sort(want)
			if !slices.Equal(seen, want) {
				t.Fatalf("refused\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
			}
			x.open()
			if x.position() != x.at {
				t.Fatalf("position %d, want %d", x.position(), x.at)
			}
		})
	}
}

func TestSinkRejectStops(t *testing.T) {
	stop := errors.New("policy says stop")
	for _, bad := range []sinkRow{ins(5, 70000), ins(5, nil)} {
		x := newSinkRig(t, 1, "id BIGINT; small INT", "create table t (id bigint primary key, small smallint not null)")
		x.reject = func(context.Context, *connectors.RowError) error { return stop }
		x.open()
		x.write(ins(1, 1))
		x.flush()
		b := x.batch(ins(4, 1), bad, ins(6, 1))
		err := x.sink.Write(context.Background(), b)
		b.Release()
		if err == nil {
			err = x.tryFlush()
		}
		if !errors.Is(err, stop) {
			t.Fatalf("got %v", err)
		}
		x.holds("select id from t", "1")
		x.open()
		if x.position() != 1 {
			t.Fatalf("position %d", x.position())
		}
	}
}

func TestSinkOnce(t *testing.T) {
	x := newSinkRig(t, 0, "id BIGINT", "create table t (id bigint)")
	x.once = true
	x.open()
	for range 3 {
		rows := make([]sinkRow, 50)
		for i := range rows {
			rows[i] = ins(i)
		}
		b := x.batch(rows...)
		b.Position, b.RowPositions = nil, nil
		if err := x.sink.Write(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	x.holds("select count(*) from t", "0")
	x.open() // a crash: nothing is left
	if x.sink.Position() != nil {
		t.Fatal("a copy that was cut off left a position")
	}
	b := x.batch(ins(1), ins(2))
	b.Position = nil
	if err := x.sink.Write(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	b.Release()
	if err := x.sink.Write(context.Background(), change.Batch{Position: change.Position("end")}); err != nil {
		t.Fatal(err)
	}
	x.flush()
	x.holds("select count(*) from t", "2")
	x.open()
	if got := string(x.sink.Position()); got != "end" {
		t.Fatalf("position %q", got)
	}
}

// TestSinkOnceEmpty commits the end of a copy of an empty table.
func TestSinkOnceEmpty(t *testing.T) {
	x := newSinkRig(t, 0, "id BIGINT", "create table t (id bigint)")
	x.once = true
	x.open()
	if err := x.sink.Write(context.Background(), change.Batch{Position: change.Position("end")}); err != nil {
		t.Fatal(err)
	}
	x.flush()
	x.open()
	if got := string(x.sink.Position()); got != "end" {
		t.Fatalf("position %q", got)
	}
}

// TestSinkStretch gives rows without positions: they must not be committed before the stretch ends.
func TestSinkStretch(t *testing.T) {
	x := newSinkRig(t, 0, "id BIGINT", "create table t (id bigint)")
	x.open()
	part := func(position change.Position) {
		b := x.batch(ins(1), ins(2))
		b.RowPositions, b.Position = nil, position
		defer b.Release()
		if err := x.sink.Write(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	part(nil)
	part(nil)
	x.open()
	if x.sink.Position() != nil {
		t.Fatal("half a stretch was committed")
	}
	x.holds("select count(*) from t", "0")
	part(nil)
	part(change.Position("one"))
	x.flush()
	x.holds("select count(*) from t", "4")
	part(nil)
	if err := x.sink.Write(context.Background(), change.Batch{Position: change.Position("two")}); err != nil {
		t.Fatal(err)
	}
	x.flush()
	x.holds("select count(*) from t", "6")
	x.open()
	if got := string(x.sink.Position()); got != "two" {
		t.Fatalf("position %q", got)
	}
}
