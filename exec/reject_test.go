package exec_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
	"github.com/syncsql/syncsql/connectors/memory"
	"github.com/syncsql/syncsql/ddl"
	"github.com/syncsql/syncsql/eval"
	"github.com/syncsql/syncsql/exec"
	"github.com/syncsql/syncsql/option"
	"github.com/syncsql/syncsql/planner"
)

// letterColumns are those of a dead-letter table, the time left out.
var letterColumns = func() (out []connectors.Column) {
	for _, name := range []string{"pipeline", "table_name", "kind", "key", "column_name", "reason", "row", "position"} {
		out = append(out, connectors.Column{Name: name, Type: arrow.BinaryTypes.String, SQL: "STRING", Nullable: true})
	}
	return out
}()

// badRows makes rows fail in one of the three places where they can. Two of the three rows are good.
var badRows = map[string]func(t *testing.T, b *bench){
	"source": func(t *testing.T, b *bench) {
		b.feed(t, insert(1, "a"), memory.Change{Row: []any{"one", "b"}}, insert(3, "c"))
	},
	"query": func(t *testing.T, b *bench) {
		b.plan.Routes[0].Program = notNull(t)
		b.feed(t, insert(1, "a"), insert(2, nil), insert(3, "c"))
	},
	"sink": func(t *testing.T, b *bench) {
		b.plan.Sinks[0].Table.Options = option.SetOf(map[string]string{"sink.refuse": "b"})
		b.feed(t, insert(1, "a"), insert(2, "b"), insert(3, "c"))
	},
}

// notNull is SELECT id, name into columns that take no NULL.
func notNull(t *testing.T) *eval.Program {
	scope := &eval.Scope{Columns: []eval.Column{
		{Name: "id", Type: &ddl.Type{Kind: ddl.BigInt}, Index: 0}, {Name: "name", Type: &ddl.Type{Kind: ddl.Varchar}, Index: 1}}}
	p := &eval.Program{RowKinds: true}
	for _, c := range scope.Columns {
		e, errs := eval.Compile(&ddl.ColumnRef{Path: ddl.Path{{Name: c.Name}}}, scope)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		p.Outputs = append(p.Outputs, e)
		p.Rules = append(p.Rules, eval.Rule{Column: c.Name, NotNull: true})
	}
	return p
}

func TestRowErrorStops(t *testing.T) {
	want := map[string]string{
		"source": `table "src" row (id=one) column "id": "one" is not`,
		"query":  `table "dst" row (id=2) column "name": `,
		"sink":   `table "dst" row (id=2): the value "b" is refused`,
	}
	for place, spoil := range badRows {
		t.Run(place, func(t *testing.T) {
			b := newBench("append", "append exactly-once")
			spoil(t, b)
			err := exec.Supervise(context.Background(), b.plan, b.options())
			var permanent *connectors.PermanentError
			if !errors.As(err, &permanent) || !strings.Contains(err.Error(), want[place]) {
				t.Errorf("error %v, want a permanent one with %s", err, want[place])
			}
			b.expect(t, "dst")
		})
	}
}

func TestRowErrorIsSkipped(t *testing.T) {
	for place, spoil := range badRows {
		t.Run(place, func(t *testing.T) {
			b := newBench("append", "append exactly-once")
			b.plan.Sinks[0].OnError.Policy = planner.Skip
			spoil(t, b)
			seen := &notes{}
			o := b.options()
			o.Observer = seen
			if err := exec.Run(context.Background(), b.plan, o); err != nil {
				t.Fatal(err)
			}
			b.expect(t, "dst", "1 a", "3 c")
			if c := b.saved(t); c.Status.Rejected != 1 || seen.count(exec.RowRejected) != 1 {
				t.Errorf("status %+v, %d events, want one row", c.Status, seen.count(exec.RowRejected))
			}
		})
	}
}

func TestRowErrorGoesToDeadLetters(t *testing.T) {
	want := map[string]string{
		"source": `p src +I id=one id`,
		"query":  `p dst +I id=2 name`,
		"sink":   `p dst +I id=2 <nil>`,
	}
	for place, spoil := range badRows {
		for _, mode := range []string{"append exactly-once", "append at-least-once", "staged exactly-once"} {
			t.Run(place+"_"+strings.ReplaceAll(mode, " ", "_"), func(t *testing.T) {
				b := newBench("append", "append exactly-once")
				letters := newBench("append", mode).plan.Sinks[0]
				letters.Connector = b.plan.Sinks[0].Connector
				letters.Table.Name, letters.Table.Columns, letters.Table.Key = "letters", letterColumns, nil
				b.plan.Sinks[0].OnError = planner.OnError{Policy: planner.DeadLetter, DeadLetter: &letters}
				spoil(t, b)
				// The letter must be there before the rows beside it are.
				o := b.options()
				o.Step = func(s exec.Step, _ uint64) error {
					if _, rows := b.db.Rows("letters"); s.Effect == exec.Flush && len(rows) != 1 {
						t.Errorf("%d letters at the first flush", len(rows))
					}
					return nil
				}
				if err := exec.Run(context.Background(), b.plan, o); err != nil {
					t.Fatal(err)
				}
				b.expect(t, "dst", "1 a", "3 c")
				_, rows := b.db.Rows("letters")
				if len(rows) != 1 {
					t.Fatalf("%d letters, want 1", len(rows))
				}
				row := strings.TrimSpace(fmt.Sprintln(rows[0]...))
				if !strings.HasPrefix(row, want[place]) || !strings.Contains(row, `{"id":`) || rows[0][7] == nil {
					t.Errorf("letter %s, want it to begin with %s", row, want[place])
				}
			})
		}
	}
}

func TestDeadLetterTableMustFit(t *testing.T) {
	for _, c := range []connectors.Column{{Name: "other", Type: arrow.BinaryTypes.String, SQL: "STRING"},
		{Name: "reason", Type: arrow.PrimitiveTypes.Int64, SQL: "BIGINT"}} {
		b := newBench("append", "append exactly-once")
		letters := newBench("append", "append at-least-once").plan.Sinks[0]
		letters.Table.Columns = []connectors.Column{c}
		b.plan.Sinks[0].OnError = planner.OnError{Policy: planner.DeadLetter, DeadLetter: &letters}
		badRows["sink"](t, b)
		if err := exec.Run(context.Background(), b.plan, b.options()); err == nil || !strings.Contains(err.Error(), c.Name) {
			t.Errorf("column %s: error %v", c.Name, err)
		}
		b.expect(t, "dst")
	}
}

// TestStrictestPolicyHolds: a row that the source could not read was meant for both sinks.
func TestStrictestPolicyHolds(t *testing.T) {
	b := newBench("append", "append exactly-once")
	second := b.plan.Sinks[0]
	second.Table.Name, second.OnError.Policy = "dst2", planner.Skip
	b.plan.Sinks = append(b.plan.Sinks, second)
	b.plan.Routes = append(b.plan.Routes, planner.Route{Sink: 1, Emits: change.Inserts})
	badRows["source"](t, b)
	if err := exec.Run(context.Background(), b.plan, b.options()); err == nil {
		t.Error("the row was skipped although one sink asks to fail")
	}
}

// altered is a connector whose stream ends with a change of the schema once it has caught up.
func altered(c *connectors.Connector) *connectors.Connector {
	a := *c
	a.OpenSource = func(ctx context.Context, r connectors.Read) (connectors.Source, error) {
		s, err := c.OpenSource(ctx, r)
		return alteredSource{s}, err
	}
	return &a
}

type alteredSource struct{ connectors.Source }

func (s alteredSource) Next(ctx context.Context) (change.Batch, error) {
	b, err := s.Source.Next(ctx)
	if err != nil {
		err = &connectors.SchemaChange{Table: "src", What: `column "c" was added`}
	}
	return b, err
}

func TestSchemaChangeSavesWhatCameBefore(t *testing.T) {
	b := newBench("append", "append exactly-once")
	b.plan.Source.Connector = altered(b.plan.Source.Connector)
	b.feed(t, insert(1, "a"))
	err := exec.Supervise(context.Background(), b.plan, b.options())
	var changed *connectors.SchemaChange
	if !errors.As(err, &changed) {
		t.Errorf("error %v, want a change of the schema", err)
	}
	if c := b.saved(t); c.Position == nil || c.Status.State != "failed" || !strings.Contains(c.Status.Error, `column "c" was added`) {
		t.Errorf("checkpoint %+v", c)
	}
}
