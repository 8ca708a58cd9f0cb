package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/syncsql/syncsql/connectors"
)

// parserOf reads what connectors.Style.Text writes, for every type. A nested value that turns out bad halfway leaves the
// builder behind unfit for use.
func parserOf(b array.Builder) connectors.Parse {
	if parse := connectors.Parser(b); parse != nil {
		return parse
	}
	return func(text string) error { return appendJSON(b, json.RawMessage(text)) }
}

func appendJSON(b array.Builder, text json.RawMessage) error {
	if string(text) == "null" {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.MapBuilder:
		return appendMap(b, text)
	case *array.ListBuilder:
		var items []json.RawMessage
		if err := json.Unmarshal(text, &items); err != nil {
			return fmt.Errorf("%s is not an array", text)
		}
		b.Append(true)
		for _, item := range items {
			if err := appendJSON(b.ValueBuilder(), item); err != nil {
				return err
			}
		}
		return nil
	case *array.StructBuilder:
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			return fmt.Errorf("%s is not a row", text)
		}
		b.Append(true)
		for i, f := range b.Type().(*arrow.StructType).Fields() {
			value, ok := fields[f.Name]
			if !ok {
				value = json.RawMessage("null")
			}
			if err := appendJSON(b.FieldBuilder(i), value); err != nil {
				return err
			}
		}
		return nil
	}
	plain := string(text)
	if strings.HasPrefix(plain, `"`) {
		if err := json.Unmarshal(text, &plain); err != nil {
			return err
		}
	}
	parse := connectors.Parser(b)
	if parse == nil {
		return fmt.Errorf("no text form for %s", b.Type())
	}
	return parse(plain)
}

// appendMap reads an object, or a list of [key, value].
func appendMap(b *array.MapBuilder, text json.RawMessage) error {
	pairs, err := pairsOf(text)
	if err != nil {
		return err
	}
	b.Append(true)
	for _, p := range pairs {
		if err := appendJSON(b.KeyBuilder(), p[0]); err != nil {
			return err
		}
		if err := appendJSON(b.ItemBuilder(), p[1]); err != nil {
			return err
		}
	}
	return nil
}

func pairsOf(text json.RawMessage) ([][2]json.RawMessage, error) {
	var pairs [][2]json.RawMessage
	if !strings.HasPrefix(string(text), "{") {
		if err := json.Unmarshal(text, &pairs); err != nil {
			return nil, fmt.Errorf("%s is not a map", text)
		}
		return pairs, nil
	}
	// Token by token, because the order of the keys is the value's own.
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		pairs = append(pairs, [2]json.RawMessage{connectors.AppendJSONString(nil, key.(string)), value})
	}
	return pairs, nil
}
