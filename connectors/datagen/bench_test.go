package datagen

import (
	"testing"

	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/option"
)

// BenchmarkNext makes batches of 1,000 changes.
func BenchmarkNext(b *testing.B) {
	for _, m := range []string{"insert", "all"} {
		b.Run(m, func(b *testing.B) {
			table := connectors.Table{Name: "t", Columns: columns("id", "int", "dec10", "varchar", "ts6"), Key: []int{0},
				Options: option.SetOf(map[string]string{"rows-per-second": "0", "changelog.mode": m})}
			src, err := Connector().OpenSource(b.Context(), connectors.Read{Tables: []connectors.TableRead{{Table: table}},
				Limits: connectors.DefaultLimits})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				batch, err := src.Next(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				batch.Release()
			}
		})
	}
}
