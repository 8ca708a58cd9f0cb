package filesystem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/connectors"
)

// jsonText walks through one JSON text. Numbers stay text until they reach a builder, so no digit is lost on the way.
type jsonText struct {
	b       []byte
	i       int
	scratch []byte
}

func (j *jsonText) peek() byte {
	for j.i < len(j.b) {
		switch c := j.b[j.i]; c {
		case ' ', '\t', '\n', '\r':
			j.i++
		default:
			return c
		}
	}
	return 0
}

func (j *jsonText) bad(want string) error {
	if j.i >= len(j.b) {
		return fmt.Errorf("the JSON text ends where %s should be", want)
	}
	return fmt.Errorf("JSON, byte %d: %q is not %s", j.i, j.b[j.i], want)
}

func (j *jsonText) take(c byte, want string) error {
	if j.peek() != c {
		return j.bad(want)
	}
	j.i++
	return nil
}

func (j *jsonText) end() error {
	if j.peek() != 0 || j.i < len(j.b) {
		return j.bad("the end")
	}
	return nil
}

// word takes true, false or null.
func (j *jsonText) word(w string) bool {
	if bytes.HasPrefix(j.b[j.i:], []byte(w)) {
		j.i += len(w)
		return true
	}
	return false
}

// object calls each with every name, standing before its value. The name is valid until the value is read.
func (j *jsonText) object(each func(name []byte) error) error {
	if err := j.take('{', "an object"); err != nil {
		return err
	}
	if j.peek() == '}' {
		j.i++
		return nil
	}
	for {
		name, err := j.string()
		if err != nil {
			return err
		}
		if err := j.take(':', "':'"); err != nil {
			return err
		}
		if err := each(name); err != nil {
			return err
		}
		if j.peek() != ',' {
			return j.take('}', "',' or '}'")
		}
		j.i++
	}
}

// list calls each standing before every value.
func (j *jsonText) list(each func() error) error {
	if err := j.take('[', "a list"); err != nil {
		return err
	}
	if j.peek() == ']' {
		j.i++
		return nil
	}
	for {
		if err := each(); err != nil {
			return err
		}
		if j.peek() != ',' {
			return j.take(']', "',' or ']'")
		}
		j.i++
	}
}

// string takes a string; the result is valid until the next call.
func (j *jsonText) string() ([]byte, error) {
	if err := j.take('"', "a string"); err != nil {
		return nil, err
	}
	from := j.i
	for j.i < len(j.b) {
		switch c := j.b[j.i]; {
		case c == '"':
			j.i++
			return j.b[from : j.i-1], checkUTF8(j.b[from : j.i-1])
		case c == '\\':
			return j.escaped(from)
		case c < ' ':
			return nil, j.bad("a character of a string")
		}
		j.i++
	}
	return nil, j.bad("'\"'")
}

func (j *jsonText) escaped(from int) ([]byte, error) {
	out := append(j.scratch[:0], j.b[from:j.i]...)
	for j.i < len(j.b) {
		c := j.b[j.i]
		j.i++
		switch {
		case c == '"':
			j.scratch = out
			return out, checkUTF8(out)
		case c < ' ':
			j.i--
			return nil, j.bad("a character of a string")
		case c != '\\':
			out = append(out, c)
			continue
		}
		if j.i == len(j.b) {
			break
		}
		e := j.b[j.i]
		j.i++
		if e == 'u' {
			r, err := j.unicode()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		at := strings.IndexByte(`"\/bfnrt`, e)
		if at < 0 {
			j.i--
			return nil, j.bad("an escape")
		}
		out = append(out, "\"\\/\b\f\n\r\t"[at])
	}
	return nil, j.bad("'\"'")
}

// unicode takes what follows \u, with the second half of a pair.
func (j *jsonText) unicode() (rune, error) {
	hex := func() (rune, bool) {
		if j.i+4 > len(j.b) {
			return 0, false
		}
		n, err := strconv.ParseUint(string(j.b[j.i:j.i+4]), 16, 16)
		j.i += 4
		return rune(n), err == nil
	}
	r, ok := hex()
	if ok && utf16.IsSurrogate(r) && bytes.HasPrefix(j.b[j.i:], []byte(`\u`)) {
		j.i += 2
		low, ok2 := hex()
		if r = utf16.DecodeRune(r, low); !ok2 || r == utf8.RuneError {
			ok = false
		}
	} else if utf16.IsSurrogate(r) {
		ok = false
	}
	if !ok {
		return 0, errors.New(`JSON: an escape \u that is no character`)
	}
	return r, nil
}

// skip passes over one value and returns its text.
func (j *jsonText) skip() ([]byte, error) {
	c := j.peek()
	from, depth := j.i, 0
	switch c {
	case '"':
		_, err := j.string()
		return j.b[from:j.i], err
	case '{', '[':
	default:
		return j.literal()
	}
	for j.i < len(j.b) {
		switch j.b[j.i] {
		case '"':
			if _, err := j.string(); err != nil {
				return nil, err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if j.i++; depth == 0 {
			text := j.b[from:j.i]
			if !json.Valid(text) {
				return nil, fmt.Errorf("%.40q is not JSON", text)
			}
			return text, nil
		}
	}
	return nil, j.bad("'}' or ']'")
}

// literal takes a number, true, false or null.
func (j *jsonText) literal() ([]byte, error) {
	j.peek()
	from := j.i
	for j.i < len(j.b) && strings.IndexByte(",:]} \t\n\r\"[{", j.b[j.i]) < 0 {
		j.i++
	}
	text := j.b[from:j.i]
	if !json.Valid(text) {
		j.i = from
		return nil, j.bad("a value")
	}
	return text, nil
}

// jsonAppend appends one value. After an error at most the builder itself is one value short; what is inside it is whole.
type jsonAppend func(in *jsonText) error

// jsonInto reads values for a builder.
func jsonInto(b array.Builder) jsonAppend {
	var f jsonAppend
	switch b := b.(type) {
	case *array.MapBuilder: // before ListBuilder, which it embeds
		f = jsonMap(b)
	case *array.ListBuilder:
		item := filled(b.ValueBuilder())
		f = func(in *jsonText) error {
			if in.peek() != '[' {
				return in.bad("a list")
			}
			b.Append(true)
			return in.list(func() error { return item(in) })
		}
	case *array.StructBuilder:
		f = jsonRow(b)
	default:
		f = jsonScalar(b)
	}
	return func(in *jsonText) error {
		if in.peek() == 'n' && in.word("null") {
			b.AppendNull()
			return nil
		}
		return f(in)
	}
}

// filled makes sure that the builder has got a value even after an error, so that what holds it stays whole.
func filled(b array.Builder) jsonAppend {
	f := jsonInto(b)
	return func(in *jsonText) error {
		n := b.Len()
		err := f(in)
		if b.Len() == n {
			b.AppendNull()
		}
		return err
	}
}

func jsonScalar(b array.Builder) jsonAppend {
	parse := connectors.Parser(b)
	_, isText := b.(*array.StringBuilder)
	var bits int
	switch b.Type().ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		bits = b.Type().(arrow.FixedWidthDataType).BitWidth()
	}
	return func(in *jsonText) error {
		switch c := in.peek(); {
		case c == '"':
			text, err := in.string()
			if err != nil {
				return err
			}
			return parse(asString(text))
		case isText:
			text, err := in.skip() // a number, or a document in a column of text: as it is written
			if err != nil {
				return err
			}
			return parse(asString(text))
		case c == '{' || c == '[':
			return in.bad("a value of " + b.Type().String())
		}
		text, err := in.literal()
		if err != nil {
			return err
		}
		if bits > 0 && bytes.ContainsAny(text, ".eE") { // 1e3 and 2.0 are whole numbers too
			n, err := connectors.ParseDecimal(string(text), 19, 0)
			if err != nil {
				return fmt.Errorf("%s is not a whole number of %d bits", text, bits)
			}
			return parse(n.BigInt().String())
		}
		return parse(asString(text))
	}
}

func jsonMap(b *array.MapBuilder) jsonAppend {
	key, item := jsonInto(b.KeyBuilder()), filled(b.ItemBuilder())
	named := connectors.Parser(b.KeyBuilder())
	return func(in *jsonText) error {
		switch in.peek() {
		case '{':
			b.Append(true)
			return in.object(func(name []byte) error {
				if err := named(asString(name)); err != nil {
					return err
				}
				return item(in)
			})
		case '[':
			b.Append(true)
			return in.list(func() error { return jsonPair(in, b, key, item) })
		}
		return in.bad("an object or a list of pairs")
	}
}

// jsonPair reads [key, value].
func jsonPair(in *jsonText, b *array.MapBuilder, key, item jsonAppend) error {
	err := in.take('[', "a pair")
	if err != nil {
		return err
	}
	if in.peek() == 'n' {
		return errors.New("a key of a map is null")
	}
	if err = key(in); err == nil {
		err = in.take(',', "','")
	}
	if err != nil {
		for b.ItemBuilder().Len() < b.KeyBuilder().Len() { // keys and values stay equally many
			b.ItemBuilder().AppendNull()
		}
		return err
	}
	if err = item(in); err != nil {
		return err
	}
	return in.take(']', "']'")
}

func jsonRow(b *array.StructBuilder) jsonAppend {
	t := b.Type().(*arrow.StructType)
	places := make(map[string]int, t.NumFields())
	fields := make([]jsonAppend, t.NumFields())
	for i := range fields {
		places[t.Field(i).Name] = i
		fields[i] = filled(b.FieldBuilder(i))
	}
	return func(in *jsonText) error {
		if in.peek() != '{' {
			return in.bad("an object")
		}
		b.Append(true)
		n := b.Len()
		err := in.object(func(name []byte) error {
			i, ok := places[string(name)]
			switch {
			case !ok:
				_, err := in.skip()
				return err
			case b.FieldBuilder(i).Len() == n:
				return fmt.Errorf("field %q is there twice", name)
			}
			return fields[i](in)
		})
		for i := range fields {
			f := b.FieldBuilder(i)
			if f.Len() == n {
				continue
			}
			f.AppendNull()
			if err == nil && !t.Field(i).Nullable {
				err = fmt.Errorf("field %q is missing", t.Field(i).Name)
			}
		}
		return err
	}
}
