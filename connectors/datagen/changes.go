package datagen

import "github.com/syncsql/syncsql/change"

// changes keeps which rows exist while it decides, change after change, what happens next. The decision for change i follows
// from the seed and from the changes before it, so going to a place means deciding everything up to there, which makes
// no values and is fast.
type changes struct {
	seed           uint64
	update, delete float64
	before         bool // updates come with the row before
	keys           int
	live           []uint32 // keys of the rows that exist
	free           []uint32 // keys that were deleted
	next           uint32   // a key that never was
	written        []uint64 // by key: the change that wrote its row
}

// step decides change i and hands its rows to emit.
func (c *changes) step(i uint64, emit func(kind change.Kind, m made)) {
	d := drawsOf(c.seed, 0, i)
	u, pick := d.unit(), d.next()
	switch {
	case len(c.live) == 0:
		c.insert(i, pick, emit)
	case u < c.update:
		c.rewrite(i, pick, emit)
	case u < c.update+c.delete:
		n := int(pick % uint64(len(c.live)))
		key := c.live[n]
		c.live[n] = c.live[len(c.live)-1]
		c.live = c.live[:len(c.live)-1]
		c.free = append(c.free, key)
		emit(change.Delete, made{c.written[key], uint64(key)})
	case len(c.live) == c.keys:
		c.rewrite(i, pick, emit)
	default:
		c.insert(i, pick, emit)
	}
}

func (c *changes) insert(i, pick uint64, emit func(kind change.Kind, m made)) {
	var key uint32
	if len(c.free) > 0 && (pick&1 == 0 || int(c.next) == c.keys) {
		key = c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
	} else {
		key = c.next
		c.next++
		c.written = append(c.written, 0)
	}
	c.live = append(c.live, key)
	c.written[key] = i
	emit(change.Insert, made{i, uint64(key)})
}

func (c *changes) rewrite(i, pick uint64, emit func(kind change.Kind, m made)) {
	key := c.live[pick%uint64(len(c.live))]
	if c.before {
		emit(change.UpdateBefore, made{c.written[key], uint64(key)})
	}
	c.written[key] = i
	emit(change.UpdateAfter, made{i, uint64(key)})
}
