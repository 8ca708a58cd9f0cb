package print_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/connectortest"
	"github.com/syncsql/syncsql/connectors/print"
	"github.com/syncsql/syncsql/option"
)

func TestConnector(t *testing.T) {
	var lines bytes.Buffer
	connectortest.Run(t, connectortest.Case{
		Connector: print.New(&lines, &lines),
		Holds: connectortest.Holds{NaN: true, Infinity: true, NegativeZero: true, NUL: true, InfiniteTimes: true,
			FarYears: true},
		Target: func(*testing.T, connectors.WriteMode, connectors.Table) connectortest.Target {
			return connectortest.Target{}
		},
	})
}

// printed writes four changes of (id BIGINT, name STRING) and returns both streams.
func printed(t *testing.T, options map[string]string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	s, err := print.New(&out, &errs).OpenSink(context.Background(), connectors.Write{
		Table: connectors.Table{Name: "t", Options: option.SetOf(options)}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := batch(t)
	defer b.Release()
	if err := s.Write(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String()
}

func batch(t *testing.T) change.Batch {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	bld := array.NewRecordBuilder(mem, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "name", Type: arrow.BinaryTypes.String, Nullable: true}}, nil))
	defer bld.Release()
	bld.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 1, 1, 2}, nil)
	bld.Field(1).(*array.StringBuilder).AppendValues([]string{"apple", "apple", "", ""}, []bool{true, true, false, false})
	b := change.Batch{Record: bld.NewRecordBatch(), Unsent: change.NewUnsent(2),
		Kinds: []change.Kind{change.Insert, change.UpdateBefore, change.UpdateAfter, change.Delete}}
	b.Unsent.Set(1, 3)
	return b
}

const lines = "+I[1, apple]\n-U[1, apple]\n+U[1, null]\n-D[2, <unsent>]\n"

func TestOptions(t *testing.T) {
	t.Run("default", func(t *testing.T) {
		if out, errs := printed(t, nil); out != lines || errs != "" {
			t.Errorf("stdout %q, stderr %q", out, errs)
		}
	})
	t.Run("standard-error", func(t *testing.T) {
		if out, errs := printed(t, map[string]string{"standard-error": "true"}); out != "" || errs != lines {
			t.Errorf("stdout %q, stderr %q", out, errs)
		}
	})
	t.Run("print-identifier", func(t *testing.T) {
		t.Setenv("WHO", "me")
		out, _ := printed(t, map[string]string{"print-identifier": "${env:WHO}"})
		if want := "me> " + strings.ReplaceAll(lines, "\n", "\nme> "); out+"me> " != want {
			t.Errorf("%q", out)
		}
	})
}

type broken struct{}

var errBroken = errors.New("pipe is closed")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestBrokenPipe(t *testing.T) {
	s, err := print.New(broken{}, broken{}).OpenSink(context.Background(), connectors.Write{})
	if err != nil {
		t.Fatal(err)
	}
	b := batch(t)
	defer b.Release()
	if err := s.Write(context.Background(), b); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}
