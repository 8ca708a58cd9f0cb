package postgres

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// reselector reads rows again for the large values that an update did not send, many in one query.
//
// What it reads may be newer than the update; then a later change of the stream says the same, so the end state is right.
// A row that is gone was deleted, or got another key, after the update: that change follows in the stream, and until then
// the value stays marked as not sent. Only an ignored truncate would never follow, so there it is an error.
type reselector struct {
	src     *source
	options optionSet
	lock    sync.Locker // of what is known about the tables, which the reader may add to
	feed    *feed
}

func (r *reselector) close() {
	if r.feed != nil {
		r.feed.close()
	}
}

// fill completes the rows of b that are marked for it.
func (r *reselector) fill(ctx context.Context, b *rowBuffer) error {
	t := b.table
	if t.WholeRows && unchangedToast.Get(t.Options) == "fail" {
		return connectors.Permanent(
			fmt.Errorf("table %q: an update did not send a large value that did not change, and the whole row is needed", t.Name),
			"set 'scan.unchanged-toast' = 'reselect', or make it send all values: alter table "+t.at.sql()+" replica identity full")
	}
	if len(t.Key) == 0 {
		return fmt.Errorf("table %q: an update did not send a large value, and without a PRIMARY KEY the row cannot be read again", t.Name)
	}
	var wanted []int
	for i := range b.columns {
		if b.unsent.Any(i) && t.physical[i] >= 0 {
			wanted = append(wanted, i)
		}
	}
	found, err := r.read(ctx, b, wanted)
	if err != nil {
		return fmt.Errorf("read rows of table %q again: %w", t.Name, err)
	}
	if len(found.rows) < len(b.again) && t.truncate == "ignore" {
		return fmt.Errorf("table %q: a large value was not sent, and its row is gone; with 'scan.truncate' = 'ignore' its end may never be seen", t.Name)
	}
	found.splice(b, wanted)
	return nil
}

// reread holds values that were read again: found values for the rows of a buffer.
type reread struct {
	rows   map[int]int // row in the buffer -> index in the columns
	values []*column
}

func (r *reselector) read(ctx context.Context, b *rowBuffer, wanted []int) (*reread, error) {
	if r.feed == nil {
		c, err := dial(ctx, r.options, r.src.read.Pipeline)
		if err != nil {
			return nil, err
		}
		if r.feed, err = newFeed(ctx, c); err != nil {
			c.Close(ctx)
			return nil, err
		}
	}
	columns, sql, err := r.query(b, wanted)
	if err != nil {
		return nil, err
	}
	out := &reread{rows: map[int]int{}}
	for _, w := range wanted {
		out.values = append(out.values, newColumn(b.table.Columns[w].Type))
	}
	stop := context.AfterFunc(ctx, r.feed.close)
	err = r.feed.copyTo(sql, out.taker(columns))
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		r.close() // what is left on the connection is not known
		r.feed = nil
	}
	return out, err
}

func (r *reselector) query(b *rowBuffer, wanted []int) ([]copyColumn, string, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	columns := make([]copyColumn, len(wanted))
	for i, w := range wanted {
		col, err := r.src.copyColumnOf(&b.table.info.columns[b.table.physical[w]], b.table.Columns[w].Type, "t.")
		if err != nil {
			return nil, "", err
		}
		columns[i] = col
	}
	return columns, reselectSQL(b, columns), nil
}

// taker takes rows of which the first column is the row's index in the buffer.
func (f *reread) taker(columns []copyColumn) func(p []byte) error {
	first := true
	return func(p []byte) error {
		row := copyRow{p}
		ok, err := row.begin(first, len(columns)+1)
		first = false
		if err != nil || !ok {
			return err
		}
		index, set, err := row.next()
		if err != nil || !set || len(index) != 4 {
			return errCopy
		}
		f.rows[int(binary.BigEndian.Uint32(index))] = f.values[0].n
		for i := range columns {
			v, set, err := row.next()
			if err != nil {
				return err
			}
			if !set {
				f.values[i].null()
			} else if err := columns[i].decode(f.values[i], v); err != nil {
				return err
			}
		}
		return nil
	}
}

// reselectSQL joins the table with the keys of the rows.
func reselectSQL(b *rowBuffer, columns []copyColumn) string {
	t := b.table
	var keys, names, on []string
	for i, k := range t.Key {
		col := &t.info.columns[t.physical[k]]
		id := "k" + strconv.Itoa(i)
		names = append(names, id)
		on = append(on, "t."+quoteIdent(col.name)+" = cast(v."+id+" as "+col.typ+")")
	}
	for _, row := range b.again {
		values := []string{strconv.Itoa(row) + "::int4"}
		for _, k := range t.Key {
			values = append(values, quoteLiteral(b.columns[k].literal(row))+"::text")
		}
		keys = append(keys, "("+strings.Join(values, ", ")+")")
	}
	list := []string{"v.i"}
	for i := range columns {
		list = append(list, columns[i].sql)
	}
	from := t.at.sql()
	if t.info.kind != 'p' {
		from = "only " + from
	}
	return "select " + strings.Join(list, ", ") + " from (values " + strings.Join(keys, ", ") + ") v(i, " + strings.Join(names, ", ") +
		") join " + from + " t on " + strings.Join(on, " and ")
}

// splice puts the values into the buffer's columns and takes their marks away.
func (f *reread) splice(b *rowBuffer, wanted []int) {
	unsent := change.NewUnsent(len(b.columns))
	left := false
	for i := range b.columns {
		w := -1
		for j, c := range wanted {
			if c == i {
				w = j
			}
		}
		if w < 0 {
			if b.unsent.Any(i) {
				left = true
				unsent.SetColumn(i, b.unsent.Column(i))
			}
			continue
		}
		old, merged := b.columns[i], newColumn(b.columns[i].typ)
		for row := range b.n {
			at, found := f.rows[row]
			switch {
			case !b.unsent.Has(i, row):
				merged.appendFrom(old, row)
			case found:
				merged.appendFrom(f.values[w], at)
			default:
				merged.null()
				unsent.Set(i, row)
				left = true
			}
		}
		b.columns[i] = merged
	}
	b.unsent = nil
	if left {
		b.unsent = unsent
	}
}

// appendFrom appends value i of a column of the same type.
func (c *column) appendFrom(o *column, i int) {
	switch {
	case o.isNull(i):
		c.null()
	case c.width == widthText:
		c.putBytes(o.text(i))
	case c.width == widthBits:
		c.putBool(o.values[i>>3]&(1<<(i&7)) != 0)
	case c.width == widthList:
		for j := o.offsets[i]; j < o.offsets[i+1]; j++ {
			c.items.appendFrom(o.items, int(j))
		}
		c.endList()
	default:
		c.values = append(c.values, o.values[i*c.width:(i+1)*c.width]...)
		c.done()
	}
}

// literal is value i as Postgres reads it back.
func (c *column) literal(i int) string {
	fixed := func() []byte { return c.values[i*c.width : (i+1)*c.width] }
	switch t := c.typ.(type) {
	case *arrow.StringType:
		return string(c.text(i))
	case *arrow.BinaryType:
		return `\x` + hex.EncodeToString(c.text(i))
	case *arrow.BooleanType:
		return strconv.FormatBool(c.values[i>>3]&(1<<(i&7)) != 0)
	case *arrow.Decimal128Type:
		return decimalLiteral(fixed(), int(t.Scale))
	}
	var v int64
	switch c.width {
	case 2:
		v = int64(int16(binary.LittleEndian.Uint16(fixed())))
	case 4:
		v = int64(int32(binary.LittleEndian.Uint32(fixed())))
	default:
		v = int64(binary.LittleEndian.Uint64(fixed()))
	}
	return timeLiteral(c.typ, v, fixed())
}

func decimalLiteral(b []byte, scale int) string {
	hi, lo := int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b)
	n := new(big.Int).Lsh(big.NewInt(hi), 64)
	n.Add(n, new(big.Int).SetUint64(lo))
	if scale == 0 {
		return n.String()
	}
	return n.String() + "e-" + strconv.Itoa(scale)
}

// timeLiteral spells integers and what is counted in integers.
func timeLiteral(typ arrow.DataType, v int64, raw []byte) string {
	switch t := typ.(type) {
	case *arrow.Float32Type:
		return string(appendShortest(nil, float64(float32From(raw)), 32, 6))
	case *arrow.Float64Type:
		return string(appendShortest(nil, float64From(raw), 64, 15))
	case *arrow.Date32Type:
		days := int32(v)
		if v > -1<<31 && v < 1<<31-1 {
			days -= epochDays
		}
		b, _ := renderDate(nil, binary.BigEndian.AppendUint32(nil, uint32(days)))
		return string(b)
	case *arrow.Time64Type:
		return string(appendClock(nil, v/unitScale(t.Unit)))
	case *arrow.TimestampType:
		if v != -1<<63 && v != 1<<63-1 {
			v = v/unitScale(t.Unit) - epochMicros
		}
		b, _ := appendTimestamp(nil, bigEndian64(v), map[bool]string{true: "", false: "+00"}[t.TimeZone == ""])
		return string(b)
	case *arrow.DurationType:
		return string(appendInterval(nil, interval{micros: v / unitScale(t.Unit)}))
	case *arrow.MonthIntervalType:
		return string(appendInterval(nil, interval{months: int32(v)}))
	}
	return strconv.FormatInt(v, 10)
}
