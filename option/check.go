package option

import (
	"maps"
	"slices"
	"strings"

	"github.com/syncsql/syncsql/ddl"
)

// Rules are what a set of options is checked against.
type Rules struct {
	Decls []Decl
	// Role says which required options must be there: "source", "sink", or "" for those that both need.
	Role string
	// At is where a missing option is complained about, and an option that has no place of its own.
	At ddl.Span
	// Names are the user's spellings of declared keys, where they differ; messages use them.
	Names map[string]string
	// Others are keys that belong to a mode that is not Mode, with the name of the mode they belong to.
	Others map[string]string
	Mode   string
}

// Check complains about unknown, missing and bad options, and about options of a mode that is not selected. Texts of secret
// options never appear in a message.
func (s Set) Check(r Rules) ddl.Errors {
	var errs ddl.Errors
	meant := map[string]bool{} // missing keys that an unknown one stands for: one mistake, one complaint
	for _, key := range s.Keys() {
		e, near := r.entry(key, s.entries[key])
		if e != nil {
			errs = append(errs, e)
			meant[near] = true
		}
	}
	for i := range r.Decls {
		d := &r.Decls[i]
		if !d.Required || d.Prefix || s.Has(d.Key) || (d.Role != "" && d.Role != r.Role) || meant[r.name(d.Key)] {
			continue
		}
		errs = append(errs, ddl.Errorf(r.At, "missing-option", "option %q is missing", r.name(d.Key)).
			WithHelp("add '%s' = '...': %s", r.name(d.Key), firstLower(d.Doc)))
	}
	return errs
}

// entry checks one key; meant is the key that an unknown one seems to stand for.
func (r *Rules) entry(key string, e Entry) (err *ddl.Error, meant string) {
	d := Find(r.Decls, key)
	if d == nil {
		return r.unknown(key, r.place(e.KeyAt))
	}
	return r.value(d, key, e), ""
}

func (r *Rules) value(d *Decl, key string, e Entry) *ddl.Error {
	if other, ok := r.Others[key]; ok {
		return ddl.Errorf(r.place(e.KeyAt), "option-of-other-mode", "option %q belongs to mode %q, but the mode is %q",
			r.name(key), other, r.Mode).WithHelp("remove '%s', or choose mode '%s'", r.name(key), other)
	}
	err := d.Validate(e.Text)
	if err == nil {
		return nil
	}
	if d.Secret || ddl.IsSecretKey(key) {
		return ddl.Errorf(r.place(e.ValueAt), "bad-option", "the value of option %q is not valid", r.name(key))
	}
	bad := ddl.Errorf(r.place(e.ValueAt), "bad-option", "option %q: %s", r.name(key), ddl.RedactValue(err.Error(), false))
	if near := ddl.Nearest(e.Text, d.Values); near != "" {
		bad.WithHelp("did you mean %q?", near)
	}
	return bad
}

func (r *Rules) unknown(key string, at ddl.Span) (e *ddl.Error, near string) {
	known := make([]string, 0, len(r.Decls)+len(r.Names))
	for i := range r.Decls {
		if !r.Decls[i].Prefix {
			known = append(known, r.name(r.Decls[i].Key))
		}
	}
	known = append(known, slices.Sorted(maps.Values(r.Names))...)
	e = ddl.Errorf(at, "unknown-option", "unknown option %q", r.name(key))
	if near = nearest(key, known); near != "" {
		e.WithHelp("did you mean %q?", near)
	}
	return e, near
}

// nearest is a likely slip, or the one key that begins with what was written: 'database' for 'database-name'.
func nearest(key string, known []string) string {
	if near := ddl.Nearest(key, known); near != "" || len(key) < 4 {
		return near
	}
	longer := ""
	for _, k := range known {
		if strings.HasPrefix(k, key) && k != longer {
			if longer != "" {
				return ""
			}
			longer = k
		}
	}
	return longer
}

func (r *Rules) place(at ddl.Span) ddl.Span {
	if at == (ddl.Span{}) {
		return r.At
	}
	return at
}

func (r *Rules) name(key string) string {
	if n, ok := r.Names[key]; ok {
		return n
	}
	return key
}

// Find is the declaration of a key: its own, or the longest prefix that it begins with.
func Find(decls []Decl, key string) *Decl {
	var found *Decl
	for i := range decls {
		d := &decls[i]
		if !d.Prefix && d.Key == key {
			return d
		}
		if d.Prefix && len(key) > len(d.Key) && strings.HasPrefix(key, d.Key) && (found == nil || len(d.Key) > len(found.Key)) {
			found = d
		}
	}
	return found
}

// Text is the value of a key as text: what the user set, else the declared default.
func (s Set) Text(decls []Decl, key string) string {
	if e, ok := s.entries[key]; ok {
		return e.Text
	}
	if d := Find(decls, key); d != nil {
		return d.Default
	}
	return ""
}

// Without returns a copy that lacks key.
func (s Set) Without(key string) Set {
	c := Set{entries: maps.Clone(s.entries)}
	delete(c.entries, key)
	return c
}

func firstLower(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
