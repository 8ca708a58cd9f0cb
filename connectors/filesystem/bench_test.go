package filesystem

import (
	"bufio"
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
)

// BenchmarkText writes and reads batches of 1,000 rows of (BIGINT, DECIMAL, STRING, TIMESTAMP, BOOLEAN).
func BenchmarkText(b *testing.B) {
	cols := columns("id", "c_dec10", "c_varchar", "c_ts6", "c_bool")
	log := &connectortest.Changelog{Columns: cols, Key: []int{0}, Kinds: 1, Seed: 9}
	batch := log.Next(memory.DefaultAllocator, 1000)
	defer batch.Release()
	for _, form := range []string{formatCSV, formatJSON} {
		e := newEncoder(tableOf("x", nil).Options, form).(*textEncoder)
		text := e.lines.append(nil, &batch, func(dst []byte) []byte { return dst })
		b.Run(form+"/write", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				text = e.lines.append(text[:0], &batch, func(dst []byte) []byte { return dst })
			}
		})
		b.Run(form+"/read", func(b *testing.B) {
			places := map[string]int{}
			for i, c := range cols {
				places[c.Name] = i
			}
			var d rowDecoder = &jsonRows{places: places}
			if form == formatCSV {
				d = newCSVRows(&connectors.TableRead{Table: tableOf("x", cols)}, places)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				in := &lines{in: bufio.NewReader(bytes.NewReader(text))}
				out := newRowBuilder(memory.DefaultAllocator, connectortest.Schema(cols), cols)
				for {
					row, err := d.next(in)
					if errors.Is(err, errEnd) {
						break
					}
					if err := out.settle(d.decode(row, out)); err != nil {
						b.Fatal(err)
					}
				}
				out.bld.NewRecordBatch().Release()
				out.bld.Release()
			}
		})
	}
}
