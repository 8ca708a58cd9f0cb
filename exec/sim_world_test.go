package exec

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/checkpoint"
	"github.com/syncsql/syncsql/connectors"
)

// world is everything that survives a crash, and the one source of chance. Its methods are called with mu held.
type world struct {
	mu     sync.Mutex
	rand   *rand.Rand
	plan   plan
	txns   [][]row // the source's log
	began  time.Time
	acked  change.Position // what the source was told to forget
	start  change.Position // of the snapshot, durable at the source
	blobs  map[string][]byte
	tables []*table // by sink
	lives  int
	owner  int // the life that began last

	trace   hash.Hash64
	story   *strings.Builder // the trace in words; nil unless asked for
	wrong   []string         // violations
	faulted bool             // a crash or an error happened: an append-only sink may hold repeats
}

// plan is what the seed decided about the pipeline.
type plan struct {
	tables   int
	snapshot bool
	sinks    []sinkPlan
	gap      time.Duration // between transactions
	scatter  bool          // rows of a window come table by table
	parallel int
}

type sinkPlan struct {
	class  connectors.Class
	keyed  bool
	feeds  []int // tables, one entry for each route
	staged bool
	filter bool // WHERE id % 3 <> 0
}

// passes reports whether the sink's query lets a row through.
func (s sinkPlan) passes(id int64) bool { return !s.filter || id%3 != 0 }

// row is one change of the log. ID is its own in the whole world.
type row struct {
	txn, index int
	table      int
	kind       change.Kind
	key, id    int64
}

func (r row) at() change.Position { return position(r.txn, r.index+1) }

// position is the stored form of "up to here": the transaction, then the row in it, big-endian.
func position(txn, index int) change.Position {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, uint64(txn)), uint32(index))
}

// endOf is the position after a whole transaction.
func endOf(txn int) change.Position { return position(txn, math.MaxUint32) }

func txnOf(p change.Position) int {
	if p == nil {
		return 0
	}
	return int(binary.BigEndian.Uint64(p))
}

// table is the content of one target.
type table struct {
	rows   []record            // of a sink that keeps every row
	state  map[int64]record    // of a sink that keeps a row per key
	marks  map[string]mark     // by writer
	staged map[string][]record // by token
	done   map[string]bool     // tokens
}

type record struct {
	kind    change.Kind
	key, id int64
	at      change.Position
	copied  bool
}

type mark struct {
	epoch    uint64
	position change.Position
}

func newWorld(seed uint64, story *strings.Builder) *world {
	w := &world{rand: rand.New(rand.NewPCG(seed, 0x5eed)), blobs: map[string][]byte{}, trace: fnv.New64a(), story: story}
	w.began = time.Now()
	w.decide()
	w.fill()
	for range w.plan.sinks {
		w.tables = append(w.tables, &table{state: map[int64]record{}, marks: map[string]mark{}, staged: map[string][]record{}, done: map[string]bool{}})
	}
	w.tell("plan", fmt.Sprintf("%+v", w.plan), uint64(len(w.txns)))
	return w
}

// decide draws the pipeline.
func (w *world) decide() {
	p := &w.plan
	p.tables = 1 + w.rand.IntN(3)
	p.snapshot = w.rand.IntN(2) == 0
	p.scatter = w.rand.IntN(2) == 0
	p.parallel = 1 + w.rand.IntN(3)
	p.gap = []time.Duration{0, 10 * time.Millisecond, 300 * time.Millisecond, 5 * time.Second}[w.rand.IntN(4)]
	classes := []sinkPlan{
		{class: connectors.Transactional}, {class: connectors.TwoPhase, staged: true}, {class: connectors.AppendOnly},
		{class: connectors.Transactional, keyed: true}, {class: connectors.UpsertClass, keyed: true},
		{class: connectors.SequenceDedup, keyed: true},
	}
	for range 1 + w.rand.IntN(3) {
		s := classes[w.rand.IntN(len(classes))]
		for t := range p.tables {
			if w.rand.IntN(2) == 0 || t == 0 && len(s.feeds) == 0 {
				s.feeds = append(s.feeds, t)
			}
		}
		if !s.keyed && w.rand.IntN(4) == 0 {
			s.feeds = append(s.feeds, s.feeds[0]) // UNION ALL of one table with itself
		}
		s.filter = w.rand.IntN(3) == 0
		p.sinks = append(p.sinks, s)
	}
}

func (p *plan) exact(table int) bool {
	return slices.ContainsFunc(p.sinks, func(s sinkPlan) bool {
		return !s.keyed && s.class != connectors.AppendOnly && slices.Contains(s.feeds, table)
	})
}

// fill makes the source's log: valid changes to a few keys.
func (w *world) fill() {
	there := map[int64]bool{}
	id := int64(0)
	for txn := 1; txn <= 8+w.rand.IntN(25); txn++ {
		rows := make([]row, 0, 8)
		for range 1 + w.rand.IntN(8) {
			r := row{txn: txn, index: len(rows), table: w.rand.IntN(w.plan.tables)}
			r.key = int64(r.table*100 + w.rand.IntN(6))
			id++
			r.id = id
			switch {
			case !there[r.key]:
				r.kind = change.Insert
			case w.rand.IntN(3) == 0:
				r.kind = change.Delete
			default:
				r.kind = change.UpdateAfter
			}
			there[r.key] = r.kind != change.Delete
			rows = append(rows, r)
		}
		w.txns = append(w.txns, rows)
	}
}

// arrived is how many transactions the source's log holds by now. Arrival times never meet the moments at which units
// run, or two things would happen at once.
func (w *world) arrived() int {
	if w.plan.gap == 0 {
		return len(w.txns)
	}
	return min(len(w.txns), len(w.txns)/3+int(time.Since(w.began)/w.plan.gap))
}

func (w *world) untilNext() time.Duration {
	since := time.Since(w.began)
	return since.Truncate(w.plan.gap) + w.plan.gap - since + 1024 + residues - 1
}

// view is a table as it is after a transaction: for each key the change that made its row.
func (w *world) view(table, txn int) map[int64]row {
	rows := map[int64]row{}
	for _, t := range w.txns[:txn] {
		for _, r := range t {
			if r.table != table {
				continue
			}
			if rows[r.key] = r; r.kind == change.Delete {
				delete(rows, r.key)
			}
		}
	}
	return rows
}

func (w *world) tell(what, who string, n uint64) {
	fmt.Fprintf(w.trace, "%s %s %d\n", what, who, n)
	if w.story != nil {
		fmt.Fprintf(w.story, "%12s %-12s %-30s %d\n", time.Since(w.began), what, who, n)
	}
}

func (w *world) violation(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// stored is the checkpoint that the store holds for a name.
func (w *world) stored(name string) checkpoint.Checkpoint {
	blob, ok := w.blobs[name]
	if !ok {
		return checkpoint.Checkpoint{}
	}
	c, err := checkpoint.Decode(blob)
	if err != nil {
		w.violation("stored checkpoint: %v", err)
	}
	return c
}

// check compares every target with the log, once a run has delivered all of it.
func (w *world) check() {
	parent := w.stored("p")
	for i, s := range w.plan.sinks {
		t := w.tables[i]
		if s.keyed {
			w.checkState(i, t)
			continue
		}
		got := map[string]int{}
		for _, r := range t.rows {
			got[r.String()]++
		}
		want := map[string]int{}
		for _, table := range s.feeds {
			from := 0
			if w.plan.snapshot {
				from = txnOf(parent.Start)
				if at := w.copyOf(i, table); at >= 0 {
					from = txnOf(parent.Handovers[at])
				}
				if s.class != connectors.AppendOnly {
					for _, r := range w.view(table, from) {
						if s.passes(r.id) {
							want[record{kind: change.Insert, key: r.key, id: r.id, copied: true}.String()]++
						}
					}
				}
			}
			for _, txn := range w.txns[from:] {
				for _, r := range txn {
					if r.table == table && s.passes(r.id) {
						want[record{kind: r.kind, key: r.key, id: r.id}.String()]++
					}
				}
			}
		}
		w.compare(i, s, want, got)
	}
}

// copyOf is the index of the copy that a sink takes exactly of a table; -1 when it takes none.
func (w *world) copyOf(sink, table int) int {
	p, _ := apart((&life{world: w}).pipeline())
	for _, r := range p.Routes {
		if t := p.Source.Read.Tables[r.Table]; r.Sink == sink && t.ExactHandover && logical(t.Name) == table {
			return r.Table
		}
	}
	return -1
}

// logical is the table of the log that a table of a read stands for.
func logical(name string) int { return int(name[1] - '0') }

func (r record) String() string {
	if r.copied {
		return fmt.Sprintf("copied %d=%d", r.key, r.id)
	}
	return fmt.Sprintf("%s %d=%d", r.kind, r.key, r.id)
}

func (w *world) compare(sink int, s sinkPlan, want, got map[string]int) {
	for _, r := range slices.Sorted(maps.Keys(want)) {
		if got[r] < want[r] {
			w.violation("sink %d (%s): a gap: %s is there %d times, want %d", sink, s.class, r, got[r], want[r])
		}
	}
	for _, r := range slices.Sorted(maps.Keys(got)) {
		repeats := s.class == connectors.AppendOnly && (w.faulted || w.plan.snapshot)
		if got[r] > want[r] && !repeats {
			w.violation("sink %d (%s): a repeat: %s is there %d times, want %d", sink, s.class, r, got[r], want[r])
		}
	}
}

func (w *world) checkState(sink int, t *table) {
	want := map[int64]int64{}
	for _, table := range w.plan.sinks[sink].feeds {
		for key, r := range w.view(table, len(w.txns)) {
			if w.plan.sinks[sink].passes(r.id) {
				want[key] = r.id
			}
		}
	}
	got := map[int64]int64{}
	for key, r := range t.state {
		if r.kind != change.Delete {
			got[key] = r.id
		}
	}
	if !maps.Equal(want, got) {
		w.violation("sink %d (%s): the final state is %v, want %v", sink, w.plan.sinks[sink].class, got, want)
	}
}

var simSchema = arrow.NewSchema([]arrow.Field{
	{Name: "key", Type: arrow.PrimitiveTypes.Int64}, {Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)

// put adds records to a target, as its class does.
func (t *table) put(class connectors.Class, keyed bool, records []record) {
	for _, r := range records {
		if !keyed {
			t.rows = append(t.rows, r)
			continue
		}
		old, ok := t.state[r.key]
		if class == connectors.SequenceDedup {
			// The service keeps the sequence number of deleted rows too.
			if !ok || bytes.Compare(r.at, old.at) >= 0 {
				t.state[r.key] = r
			}
			continue
		}
		if t.state[r.key] = r; r.kind == change.Delete {
			delete(t.state, r.key)
		}
	}
}

func sortedTokens(m map[string][]record) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Compare(a, b) })
}
