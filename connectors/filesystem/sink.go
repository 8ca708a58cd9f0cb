package filesystem

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/syncsql/syncsql/change"
	"github.com/syncsql/syncsql/connectors"
)

// sink writes the rows of one table into new files of a directory.
//
// Between two checkpoints rows go to hidden files. Flush makes them durable and names them in a token; Commit, which comes
// after the token has been saved, gives them their final names. The names follow from the token alone, so a commit that is
// repeated finds them done, and a run that begins again after a crash writes the same names. Hidden files that no saved
// token names are removed once this run has saved one of its own: from then on no older run can save.
type sink struct {
	write   connectors.Write
	dir     string
	id      string // of pipeline and table, in every name
	suffix  string
	size    int64 // at which the next file is begun
	encoder rowEncoder

	saved   token // of the last flush or, at first, of the checkpoint
	part    *part // the open file, nil before its first row
	parts   uint32
	ours    bool // saved comes from a flush of this run
	cleaned bool
}

// rowEncoder writes batches in one format. It calls roll when the open file is full, and gets the next one by part.
type rowEncoder interface {
	write(ctx context.Context, s *sink, b *change.Batch) error
	// finish completes the open file before it is closed.
	finish(p *part) error
}

func openSink(w connectors.Write) (connectors.Sink, error) {
	dir, err := location(&w.Table)
	if err != nil {
		return nil, err
	}
	f := format.Get(w.Table.Options)
	h := fnv.New64a()
	_, _ = h.Write([]byte(w.Pipeline + "\x00" + w.Sink))
	s := &sink{write: w, dir: dir, id: fmt.Sprintf("%016x", h.Sum64()), suffix: f, size: fileSize.Get(w.Table.Options),
		encoder: newEncoder(w.Table.Options, f)}
	if f == formatChangelog {
		s.suffix = formatJSON
	}
	if w.Token == nil {
		s.saved = token{life: uint64(time.Now().UnixNano()), epoch: w.Epoch}
	} else if s.saved, err = parseToken(w.Token); err != nil {
		return nil, connectors.Permanent(err, "the checkpoint belongs to another sink: reset the pipeline")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the directory: %w", err)
	}
	return s, nil
}

// name is the final name of one file of a token.
func (s *sink) name(t token, part uint32) string {
	return fmt.Sprintf("part-%s-%s-%08d-%d.%s", s.id, strconv.FormatUint(t.life, 36), t.seq, part, s.suffix)
}

// hidden is the name of the same file while it is staged. The epoch keeps two runs out of each other's files.
func (s *sink) hidden(t token, part uint32) string {
	return fmt.Sprintf(".%s.%d.staged", s.name(t, part), t.epoch)
}

// next is the token that the rows written now will get.
func (s *sink) next() token {
	return token{life: s.saved.life, seq: s.saved.seq + 1, parts: s.parts, epoch: s.write.Epoch}
}

func (s *sink) Write(ctx context.Context, b change.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	if err := s.encoder.write(ctx, s, &b); err != nil {
		return fmt.Errorf("write %s: %w", s.dir, err)
	}
	return nil
}

// open returns the open file, a new one if need be.
func (s *sink) open() (*part, error) {
	if s.part != nil {
		return s.part, nil
	}
	f, err := os.Create(filepath.Join(s.dir, s.hidden(s.next(), s.parts)))
	if err != nil {
		return nil, err
	}
	s.parts++
	s.part = &part{file: f}
	return s.part, nil
}

// roll completes the open file when it is full, or, at a checkpoint, in any case.
func (s *sink) roll(size int64) error {
	if s.part == nil || s.part.size < size {
		return nil
	}
	p := s.part
	s.part = nil
	err := s.encoder.finish(p)
	if err == nil {
		err = p.file.Sync()
	}
	if closing := p.file.Close(); err == nil {
		err = closing
	}
	return err
}

// Flush makes the staged rows durable. Without any, it returns the last token again: its number must not be forgotten.
func (s *sink) Flush(context.Context) ([]byte, error) {
	if err := s.roll(0); err != nil {
		return nil, fmt.Errorf("complete file: %w", err)
	}
	if s.parts > 0 {
		if err := syncDirectory(s.dir); err != nil {
			return nil, err
		}
		s.saved, s.parts = s.next(), 0
	}
	s.ours = true
	return s.saved.bytes(), nil
}

// Commit gives the files of a token their final names. One that is not staged any more has its name already, or had it and
// was taken away by whoever reads the directory.
func (s *sink) Commit(_ context.Context, saved []byte) error {
	t, err := parseToken(saved)
	if err != nil {
		return connectors.Permanent(err, "")
	}
	for n := range t.parts {
		from, to := filepath.Join(s.dir, s.hidden(t, n)), filepath.Join(s.dir, s.name(t, n))
		if err := os.Rename(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("name file: %w", err)
		}
	}
	if t.parts > 0 {
		if err := syncDirectory(s.dir); err != nil {
			return err
		}
	}
	if s.ours && !s.cleaned {
		s.cleaned = true
		return s.clean()
	}
	return nil
}

// clean removes what older runs staged and never saved.
func (s *sink) clean() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("list directory: %w", err)
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), ".part-"+s.id+"-")
		rest, staged := strings.CutSuffix(rest, ".staged")
		epoch, err := strconv.ParseUint(rest[strings.LastIndexByte(rest, '.')+1:], 10, 64)
		if !ours || !staged || err != nil || epoch >= s.write.Epoch {
			continue
		}
		if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove staged file: %w", err)
		}
	}
	return nil
}

// Position is nil: the directory does not know it, the token does not need it.
func (s *sink) Position() change.Position { return nil }

// Close leaves what is staged: a token may name it.
func (s *sink) Close() error {
	if s.part == nil {
		return nil
	}
	name := s.part.file.Name()
	err := s.part.file.Close()
	s.part = nil
	if removing := os.Remove(name); err == nil {
		err = removing
	}
	return err
}

// part is one file that is being written.
type part struct {
	file *os.File
	size int64
	rows any // the encoder's own
}

func (p *part) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.size += int64(n)
	return n, err
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closing := d.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
