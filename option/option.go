// Package option declares WITH keys once, as typed values: the declaration checks the user's text, reads it, and prints the
// documentation. It must never open a connection or read a secret before Reveal is called.
package option

import (
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/syncsql/syncsql/ddl"
)

// Decl describes one key.
type Decl struct {
	Key      string
	Type     string   // "string", "int", "bool", "duration", "bytes", "enum", "float"
	Default  string   // as text; "" when there is none
	Doc      string   // one sentence, with units and special values
	Values   []string // of an enum
	Required bool
	Secret   bool   // never printed
	Prefix   bool   // the key is a prefix: 'fields.<name>.min'; Key ends with a dot
	Role     string // "source", "sink" or "" for both
	check    func(text string) error
}

// Value is a declared key with its Go type.
type Value[T any] struct {
	Decl
	parse func(string) (T, error)
}

// Setting changes a declaration while it is made.
type Setting func(*Decl)

func Default(text string) Setting { return func(d *Decl) { d.Default = text } }
func Required() Setting           { return func(d *Decl) { d.Required = true } }
func Secret() Setting             { return func(d *Decl) { d.Secret = true } }
func Source() Setting             { return func(d *Decl) { d.Role = "source" } }
func Sink() Setting               { return func(d *Decl) { d.Role = "sink" } }
func Prefix() Setting             { return func(d *Decl) { d.Prefix = true } }

// Check adds a check of the text to a declaration.
func Check(f func(text string) error) Setting { return func(d *Decl) { d.check = f } }

func declare[T any](key, typ, doc string, parse func(string) (T, error), settings []Setting) Value[T] {
	v := Value[T]{Decl: Decl{Key: key, Type: typ, Doc: doc}, parse: parse}
	for _, s := range settings {
		s(&v.Decl)
	}
	own := v.check
	v.check = func(text string) error {
		if _, err := parse(text); err != nil {
			return err
		}
		if own != nil {
			return own(text)
		}
		return nil
	}
	return v
}

// String declares free text.
func String(key, doc string, settings ...Setting) Value[string] {
	return declare(key, "string", doc, func(s string) (string, error) { return s, nil }, settings)
}

// Int declares a whole number.
func Int(key, doc string, settings ...Setting) Value[int64] {
	return declare(key, "int", doc, func(s string) (int64, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", s)
		}
		return n, nil
	}, settings)
}

// Float declares a number.
func Float(key, doc string, settings ...Setting) Value[float64] {
	return declare(key, "float", doc, func(s string) (float64, error) {
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a number", s)
		}
		return n, nil
	}, settings)
}

// Bool declares true or false.
func Bool(key, doc string, settings ...Setting) Value[bool] {
	return declare(key, "bool", doc, func(s string) (bool, error) {
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, fmt.Errorf("%q is neither true nor false", s)
	}, settings)
}

// Enum declares one of a few words.
func Enum(key, doc string, values []string, settings ...Setting) Value[string] {
	settings = append([]Setting{func(d *Decl) { d.Values = values }}, settings...)
	return declare(key, "enum", doc, func(s string) (string, error) {
		for _, v := range values {
			if strings.EqualFold(v, strings.TrimSpace(s)) {
				return v, nil
			}
		}
		return "", fmt.Errorf("%q is not one of %s", s, strings.Join(values, ", "))
	}, settings)
}

// Duration declares a time span in Flink's spelling: '10s', '500 ms', '1 min', '2h', '1d'.
func Duration(key, doc string, settings ...Setting) Value[time.Duration] {
	return declare(key, "duration", doc, ParseDuration, settings)
}

// Bytes declares a size in Flink's spelling: '4mb', '64 kb', '1gb', '512' (bytes).
func Bytes(key, doc string, settings ...Setting) Value[int64] {
	return declare(key, "bytes", doc, ParseBytes, settings)
}

var unitText = regexp.MustCompile(`^\s*(\d+)\s*([A-Za-zµ]*)\s*$`)

// ParseDuration reads Flink's duration spelling. A bare number is milliseconds, as in Flink.
func ParseDuration(s string) (time.Duration, error) {
	m := unitText.FindStringSubmatch(s)
	units := map[string]time.Duration{
		"": time.Millisecond, "ns": 1, "nano": 1, "nanos": 1, "us": time.Microsecond, "µs": time.Microsecond,
		"micro": time.Microsecond, "micros": time.Microsecond, "ms": time.Millisecond, "milli": time.Millisecond,
		"millis": time.Millisecond, "s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second,
		"seconds": time.Second, "m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute,
		"minutes": time.Minute, "h": time.Hour, "hour": time.Hour, "hours": time.Hour, "d": 24 * time.Hour,
		"day": 24 * time.Hour, "days": 24 * time.Hour,
	}
	if m == nil {
		return 0, fmt.Errorf("%q is not a duration such as '10 s', '500 ms', '1 min'", s)
	}
	unit, ok := units[strings.ToLower(m[2])]
	n, err := strconv.ParseInt(m[1], 10, 64)
	if !ok || err != nil || (n != 0 && n > int64(1<<63-1)/int64(unit)) {
		return 0, fmt.Errorf("%q is not a duration such as '10 s', '500 ms', '1 min'", s)
	}
	return time.Duration(n) * unit, nil
}

// ParseBytes reads Flink's memory spelling.
func ParseBytes(s string) (int64, error) {
	m := unitText.FindStringSubmatch(s)
	units := map[string]int64{"": 1, "b": 1, "bytes": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20,
		"g": 1 << 30, "gb": 1 << 30}
	if m == nil {
		return 0, fmt.Errorf("%q is not a size such as '4 mb'", s)
	}
	unit, ok := units[strings.ToLower(m[2])]
	n, err := strconv.ParseInt(m[1], 10, 64)
	if !ok || err != nil || (n != 0 && n > int64(1<<63-1)/unit) {
		return 0, fmt.Errorf("%q is not a size such as '4 mb'", s)
	}
	return n * unit, nil
}

// Entry is one key of a table as the user wrote it.
type Entry struct {
	Text           string
	KeyAt, ValueAt ddl.Span
}

// Set is a table's options. The zero value is empty.
type Set struct{ entries map[string]Entry }

// NewSet takes the options of a statement; a repeated key is an error.
func NewSet(options []ddl.Option) (Set, ddl.Errors) {
	s := Set{entries: make(map[string]Entry, len(options))}
	var errs ddl.Errors
	for _, o := range options {
		if _, ok := s.entries[o.Key]; ok {
			errs = append(errs, ddl.Errorf(o.KeyAt, "duplicate-option", "option %q is set twice", o.Key))
			continue
		}
		s.entries[o.Key] = Entry{o.Value, o.KeyAt, o.ValueAt}
	}
	return s, errs
}

// SetOf makes a Set from plain pairs, for tests and for connectors that translate a spelling of theirs.
func SetOf(pairs map[string]string) Set {
	s := Set{entries: make(map[string]Entry, len(pairs))}
	for k, v := range pairs {
		s.entries[k] = Entry{Text: v}
	}
	return s
}

// Lookup returns what the user wrote.
func (s Set) Lookup(key string) (Entry, bool) { e, ok := s.entries[key]; return e, ok }

// Has reports whether the user set key.
func (s Set) Has(key string) bool { _, ok := s.entries[key]; return ok }

// Keys are the keys in order.
func (s Set) Keys() []string {
	keys := make([]string, 0, len(s.entries))
	for k := range s.entries {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// With returns a copy with key set.
func (s Set) With(key string, e Entry) Set {
	c := Set{entries: make(map[string]Entry, len(s.entries)+1)}
	for k, v := range s.entries {
		c.entries[k] = v
	}
	c.entries[key] = e
	return c
}

// Get reads the value, or its default. The text was checked by the planner; text that was not gives the zero value.
func (v Value[T]) Get(s Set) T {
	text := v.Default
	if e, ok := s.entries[v.Key]; ok {
		text = e.Text
	} else if text == "" {
		var zero T
		return zero
	}
	t, _ := v.parse(text)
	return t
}

// Validate checks text that the user gave for the key.
func (d *Decl) Validate(text string) error {
	if HasReference(text) {
		return nil // what it stands for is known only when a connection opens
	}
	if d.check == nil {
		return nil
	}
	return d.check(text)
}

var reference = regexp.MustCompile(`\$\{(env|file):([^}]*)\}`)

// HasReference reports whether text holds '${env:NAME}' or '${file:path}'.
func HasReference(text string) bool { return reference.MatchString(text) }

// Reveal replaces '${env:NAME}' and '${file:path}' by what they stand for. Called when a connection opens, never earlier,
// and its result must never be printed.
func Reveal(text string) (string, error) {
	var first error
	out := reference.ReplaceAllStringFunc(text, func(m string) string {
		p := reference.FindStringSubmatch(m)
		if p[1] == "env" {
			v, ok := os.LookupEnv(p[2])
			if !ok && first == nil {
				first = fmt.Errorf("environment variable %s is not set", p[2])
			}
			return v
		}
		b, err := os.ReadFile(p[2])
		if err != nil && first == nil {
			first = fmt.Errorf("secret file %s: %w", p[2], err)
		}
		return strings.TrimRight(string(b), "\r\n")
	})
	return out, first
}
