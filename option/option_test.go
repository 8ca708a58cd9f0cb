package option

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncsql/syncsql/ddl"
)

var (
	host     = String("hostname", "Host of the server.", Required())
	port     = Int("port", "Port of the server.", Default("5432"))
	password = String("password", "Password of the user.", Secret(), Check(func(s string) error {
		if len(s) < 3 {
			return &shortError{s}
		}
		return nil
	}))
	scan     = Enum("scan.mode", "How to read.", []string{"cdc", "snapshot"}, Default("cdc"))
	interval = Duration("sink.flush-interval", "How long rows wait.", Default("1 s"), Sink())
	buffer   = Bytes("sink.buffer", "How much is buffered.", Default("1 mb"))
	ratio    = Float("ratio", "A ratio.")
	quick    = Bool("quick", "Whether to hurry.")
	target   = String("target", "Where rows go.", Sink(), Required())
	fields   = String("fields.", "Per-field settings.", Prefix())
	decls    = []Decl{host.Decl, port.Decl, password.Decl, scan.Decl, interval.Decl, buffer.Decl, ratio.Decl, quick.Decl, target.Decl, fields.Decl}
)

type shortError struct{ text string }

func (e *shortError) Error() string { return "too short: " + e.text }

func check(t *testing.T, pairs map[string]string, r Rules) []string {
	t.Helper()
	r.Decls, r.At = decls, ddl.Span{Start: 1, End: 2}
	var got []string
	for _, e := range SetOf(pairs).Check(r) {
		if e.Span != r.At {
			t.Errorf("%v has the span %v", e, e.Span)
		}
		text := e.Error()
		if e.Help != "" {
			text += " / " + e.Help
		}
		got = append(got, text)
	}
	return got
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		pairs map[string]string
		rules Rules
		want  []string
	}{
		"good":               {map[string]string{"hostname": "h", "fields.a.min": "1"}, Rules{}, nil},
		"missing":            {nil, Rules{}, []string{`option "hostname" is missing [missing-option] / add 'hostname' = '...': host of the server.`}},
		"missing in a role":  {map[string]string{"hostname": "h"}, Rules{Role: "sink"}, []string{`option "target" is missing [missing-option] / add 'target' = '...': where rows go.`}},
		"unknown":            {map[string]string{"hostname": "h", "prot": "1"}, Rules{}, []string{`unknown option "prot" [unknown-option] / did you mean "port"?`}},
		"unknown, short":     {map[string]string{"host": "h"}, Rules{}, []string{`unknown option "host" [unknown-option] / did you mean "hostname"?`}},
		"unknown, far":       {map[string]string{"hostname": "h", "zzzzzz": "1"}, Rules{}, []string{`unknown option "zzzzzz" [unknown-option]`}},
		"bad number":         {map[string]string{"hostname": "h", "port": "x"}, Rules{}, []string{`option "port": "x" is not a whole number [bad-option]`}},
		"bad word":           {map[string]string{"hostname": "h", "scan.mode": "snapshto"}, Rules{}, []string{`option "scan.mode": "snapshto" is not one of cdc, snapshot [bad-option] / did you mean "snapshot"?`}},
		"secret stays":       {map[string]string{"hostname": "h", "password": "pw"}, Rules{}, []string{`the value of option "password" is not valid [bad-option]`}},
		"reference":          {map[string]string{"hostname": "h", "port": "${env:PORT}"}, Rules{}, nil},
		"other mode":         {map[string]string{"hostname": "h", "quick": "true"}, Rules{Others: map[string]string{"quick": "load"}, Mode: "cdc"}, []string{`option "quick" belongs to mode "load", but the mode is "cdc" [option-of-other-mode] / remove 'quick', or choose mode 'load'`}},
		"spelling of a user": {map[string]string{"prt": "1"}, Rules{Names: map[string]string{"hostname": "host"}}, []string{`unknown option "prt" [unknown-option] / did you mean "port"?`, `option "host" is missing [missing-option] / add 'host' = '...': host of the server.`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := check(t, c.pairs, c.rules); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestDuplicate(t *testing.T) {
	_, errs := NewSet([]ddl.Option{{Key: "a", Value: "1"}, {Key: "a", Value: "2", KeyAt: ddl.Span{Start: 5, End: 8}}})
	if len(errs) != 1 || errs[0].Code != "duplicate-option" || errs[0].Span.Start != 5 {
		t.Errorf("got %v", errs)
	}
}

func TestGet(t *testing.T) {
	s := SetOf(map[string]string{"port": "1", "sink.flush-interval": "2 min", "sink.buffer": "3kb", "ratio": "0.5", "quick": "TRUE", "scan.mode": "SNAPSHOT"})
	if port.Get(s) != 1 || interval.Get(s) != 2*time.Minute || buffer.Get(s) != 3072 || ratio.Get(s) != 0.5 || !quick.Get(s) || scan.Get(s) != "snapshot" {
		t.Error("a set value is not read")
	}
	if port.Get(Set{}) != 5432 || interval.Get(Set{}) != time.Second || scan.Get(Set{}) != "cdc" {
		t.Error("a default is not read")
	}
	if s.Text(decls, "port") != "1" || (Set{}).Text(decls, "port") != "5432" || s.Without("port").Has("port") || !s.Has("port") {
		t.Error("Text or Without is wrong")
	}
}

func TestReveal(t *testing.T) {
	t.Setenv("SYNCSQL_TEST_SECRET", "s3")
	if got, err := Reveal("a ${env:SYNCSQL_TEST_SECRET} b"); err != nil || got != "a s3 b" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := Reveal("${env:SYNCSQL_NOT_SET}"); err == nil {
		t.Error("a missing variable is no error")
	}
	if _, err := Reveal("${file:/nowhere/at/all}"); err == nil {
		t.Error("a missing file is no error")
	}
}

// FuzzCheck: no panic; every error has a span; valid values survive Get.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"port=1", "prot=1", "scan.mode=cdc", "sink.flush-interval=10 s", "sink.buffer=99999999999gb", "ratio=1e400", "quick=tru", "fields.=x", "=", "password=ab"} {
		key, value, _ := strings.Cut(s, "=")
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		at := ddl.Span{Start: 3, End: 4}
		s, _ := NewSet([]ddl.Option{{Key: "hostname", Value: "h", KeyAt: at, ValueAt: at}, {Key: key, Value: value, KeyAt: at, ValueAt: at}})
		errs := s.Check(Rules{Decls: decls, At: at})
		for _, e := range errs {
			if e.Span != at || e.Code == "" || e.Message == "" {
				t.Fatalf("%#v", e)
			}
		}
		if len(errs) > 0 || HasReference(value) {
			return
		}
		again := SetOf(map[string]string{key: value})
		switch key {
		case "port":
			if _, err := port.parse(value); err != nil {
				t.Fatal(err)
			}
			_ = port.Get(again)
		case "sink.flush-interval":
			if got := interval.Get(again); got < 0 {
				t.Fatalf("%q is %v", value, got)
			}
		case "sink.buffer":
			if got := buffer.Get(again); got < 0 {
				t.Fatalf("%q is %v", value, got)
			}
		case "scan.mode":
			if got := scan.Get(again); !slices.Contains(scan.Values, got) {
				t.Fatalf("%q is %q", value, got)
			}
		}
	})
}
