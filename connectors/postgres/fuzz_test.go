package postgres

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

// fuzzSource is a table with a column of each kind, without a server.
func fuzzSource(t testing.TB) *source {
	columns := []struct {
		oid uint32
		typ string
	}{
		{pgInt8, "BIGINT"}, {pgText, "STRING"}, {pgNumeric, "DECIMAL(20,4)"}, {pgNumeric, "STRING"}, {pgTimestampTZ, "TIMESTAMP_LTZ(6)"},
		{pgDate, "STRING"}, {pgInterval, "STRING"}, {pgBool, "BOOLEAN"}, {1007, "ARRAY<INT>"}, {1009, "STRING"}, {pgInet, "STRING"},
		{pgVarbit, "STRING"}, {pgUUID, "STRING"}, {pgJSONB, "STRING"}, {pgInterval, "SPAN(6)"}, {pgFloat8, "STRING"}, {pgTimeTZ, "STRING"},
		{pgBytea, "BYTES"}, {pgMoney, "STRING"}, {pgNumeric, "DOUBLE"},
	}
	s := &source{types: typeSet{}, version: 150000}
	info := &sourceTable{name: name{"public", "t"}, oid: 1, kind: 'r', identity: 'd'}
	read := connectors.TableRead{Table: connectors.Table{Name: "t", Key: []int{0}, Options: option.SetOf(map[string]string{"table-name": "t"})}}
	for i, c := range columns {
		elem := map[uint32]uint32{1007: pgInt4, 1009: pgText}[c.oid]
		for _, oid := range []uint32{c.oid, elem} {
			s.types[oid] = &sourceType{oid: oid, kind: 'b'}
		}
		s.types[c.oid].elem = elem
		n := string(rune('a' + i))
		info.columns = append(info.columns, sourceColumn{name: n, oid: c.oid, mod: -1, primary: i == 0, identity: i == 0})
		read.Columns = append(read.Columns, connectors.Column{Name: n, Type: arrowType(t, c.typ)})
	}
	s.read.Tables = []connectors.TableRead{read}
	tr, err := newTableRead(0, read)
	if err != nil {
		t.Fatal(err)
	}
	tr.match(info)
	s.tables = []*tableRead{tr}
	return s
}

// relationMessage describes the table of fuzzSource.
func relationMessage(s *source) []byte {
	b := []byte{'R', 0, 0, 0, 1}
	b = append(b, "public\x00t\x00d"...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.tables[0].info.columns)))
	for i, c := range s.tables[0].info.columns {
		b = append(b, map[bool]byte{true: 1}[i == 0])
		b = append(append(b, c.name...), 0)
		b = binary.BigEndian.AppendUint32(b, c.oid)
		b = append(b, 0xff, 0xff, 0xff, 0xff)
	}
	return b
}

func beginMessage() []byte {
	return append(append([]byte{'B', 0, 0, 0, 0, 0, 0, 1, 0}, make([]byte, 8)...), 0, 0, 0, 7)
}

// insertMessage has value as each of the cells, in one form.
func insertMessage(s *source, f form, value []byte) []byte {
	b := []byte{'I', 0, 0, 0, 1, 'N'}
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.tables[0].info.columns)))
	for range s.tables[0].info.columns {
		b = append(b, byte(f))
		b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
		b = append(b, value...)
	}
	return b
}

// FuzzDecode feeds messages that do not follow the protocol: an error, never a panic, and never a torn row.
func FuzzDecode(f *testing.F) {
	s := fuzzSource(f)
	f.Add(relationMessage(s), beginMessage(), insertMessage(s, inBinary, make([]byte, 8)))
	f.Add(relationMessage(s), beginMessage(), insertMessage(s, inText, []byte("1")))
	f.Add(relationMessage(s), beginMessage(), []byte("U\x00\x00\x00\x01K\x00\x01n"))
	f.Add([]byte("T\x00\x00\x00\x01\x00\x00\x00\x00\x01"), []byte("M"), []byte("C\x00"))
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		in := newIntake(fuzzSource(t), position{})
		for _, m := range [][]byte{relationMessage(s), beginMessage(), a, b, c, relationMessage(s), c} {
			in.message(m)
		}
		for _, p := range in.take() {
			if p.rows != nil {
				checkBatch(t, p.rows)
			}
		}
	})
}

func checkBatch(t *testing.T, b *rowBuffer) {
	out := b.batch()
	defer out.Release()
	for i := range int(out.Record.NumCols()) {
		if out.Record.Column(i).Len() != out.Len() {
			t.Fatalf("column %d has %d values for %d rows", i, out.Record.Column(i).Len(), out.Len())
		}
	}
	show(&out)
}

// FuzzValue decodes one value as every type, in both forms.
func FuzzValue(f *testing.F) {
	s := fuzzSource(f)
	for _, v := range []string{"", "\x00", "12345678", "{1,NULL}", `{"a\"",b}`, "0044-03-15 BC", "1 year -2 mons +3 days 04:05:06.7", "NaN", "-1.5e10",
		"\x00\x03\x00\x01\x00\x00\x00\x04\x00\x01\x00\x02\x00\x03", "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x05"} {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		tr := s.tables[0]
		for i := range tr.Columns {
			for _, form := range []form{inBinary, inText} {
				d, err := newDecoder(s.types, tr.info.columns[i].oid, form, tr.Columns[i].Type)
				if err != nil {
					t.Fatal(err)
				}
				c := newColumn(tr.Columns[i].Type)
				c.null()
				if err := d(c, v); err != nil {
					c.truncate(1)
				}
				c.null()
				a := c.array()
				if a.Len() != c.n || !a.IsNull(0) || !a.IsNull(c.n-1) {
					t.Fatalf("%v of %d values", a, c.n)
				}
				a.Release()
			}
		}
	})
}

// FuzzPosition reads stored positions: what is accepted gives the same bytes again.
func FuzzPosition(f *testing.F) {
	f.Add([]byte(position{0x1234, 5}.bytes()))
	f.Add([]byte(handover{start: 1, at: 2, snapshot: snapshotSet{text: "10:20:12,15"}}.bytes()))
	f.Add(stretch{Schema: "a", Table: "b", From: 1, To: 2}.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := decodePosition(b); err == nil && !bytes.Equal(p.bytes(), b) {
			t.Fatalf("%x became %x", b, p.bytes())
		}
		if h, err := decodeHandover(b); err == nil {
			h.saw(1, 1)
			if change.Position(b).Compare(position{}.bytes()) >= 0 {
				t.Fatal("a copy sorts above the stream")
			}
		}
		if p, err := decodeStretch(b); err == nil {
			if again, err := decodeStretch(p.bytes()); err != nil || again != p {
				t.Fatalf("%+v became %+v (%v)", p, again, err)
			}
		}
	})
}

// FuzzCopy reads COPY data that is not.
func FuzzCopy(f *testing.F) {
	s := fuzzSource(f)
	f.Add(append([]byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"), 0, 1, 0, 0, 0, 0), []byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		c, err := s.newCopyInto(s.tables[0], handover{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range [][]byte{a, b} {
			first := c.first
			if bad, err := c.row(m); err != nil {
				c.buffer.drop()
			} else if bad != nil {
				rowError(s.types, c.published(), c.cells(m, first), wholeRow, bad)
			}
		}
		checkBatch(t, c.buffer)
	})
}

func TestSnapshotSet(t *testing.T) {
	s, err := parseSnapshot("4294967290:4294967300:4294967295,4294967297")
	if err != nil {
		t.Fatal(err)
	}
	for xid, want := range map[uint32]bool{
		4294967289: true, 4294967295: false, 4294967294: true, // before the ids came round
		0: true, 1: false, 3: true, 4: false, 5: false,
	} {
		if s.saw(xid) != want {
			t.Errorf("saw(%d) is %v", xid, !want)
		}
	}
	for _, bad := range []string{"", "1:2", "2:1:", "1:2:x", "a:b:"} {
		if _, err := parseSnapshot(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestColumnTakesBack(t *testing.T) {
	add := func(c *column, i int) {
		switch c.typ.ID() {
		case arrow.BOOL:
			c.putBool(i%3 == 0)
		case arrow.INT32:
			c.put32(uint32(i))
		case arrow.STRING:
			c.putString("abcdef"[:i%6])
		case arrow.DECIMAL128:
			c.put128(0, uint64(i))
		default:
			c.items.putString("x")
			c.items.null()
			c.endList()
		}
	}
	for _, typ := range []string{"BOOLEAN", "INT", "STRING", "DECIMAL(10,2)", "ARRAY<STRING>"} {
		got, want := newColumn(arrowType(t, typ)), newColumn(arrowType(t, typ))
		for i := range 40 {
			if i%4 == 1 {
				got.null()
				want.null()
			} else {
				add(got, i)
				add(want, i)
			}
			n := got.n
			add(got, i)
			if i%2 == 0 {
				got.null()
			}
			got.truncate(n)
		}
		g, w := got.array(), want.array()
		if g.String() != w.String() || g.NullN() != w.NullN() {
			t.Errorf("%s: got %v, want %v", typ, g, w)
		}
	}
}
