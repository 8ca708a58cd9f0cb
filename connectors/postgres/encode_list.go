package postgres

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// listEncoder makes arrays of one dimension. An element type without a binary form makes the whole array a text literal.
func listEncoder(from *arrow.ListType, to targetType) (encoder, error) {
	if to.elem == nil {
		return encoder{}, fmt.Errorf("an ARRAY does not fit %s", to.name)
	}
	elem, err := newEncoder(from.Elem(), *to.elem)
	if err != nil {
		return encoder{}, err
	}
	if elem.list {
		return encoder{}, fmt.Errorf("an ARRAY of ARRAY does not fit %s: declare the column STRING, with the array's text", to.name)
	}
	if elem.text {
		return encoder{text: true, show: showText, bind: bindArrayLiteral}, nil
	}
	oid := to.elem.oid
	return encoder{exact: elem.exact, list: true, show: showArray(elem.show), bind: func(a arrow.Array) appender {
		return bindList(a.(*array.List), oid, elem)
	}}, nil
}

func bindList(a *array.List, oid uint32, elem encoder) appender {
	null, values := nullsOf(a), elem.bind(a.ListValues())
	holes := nullsOf(a.ListValues())
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		from, to := a.ValueOffsets(i)
		start := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		if from == to { // an empty array has no dimension
			dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
			dst = binary.BigEndian.AppendUint32(dst, oid)
			binary.BigEndian.PutUint32(dst[start:], 12)
			return dst, nil
		}
		dst = appendArrayHead(dst, oid, int(to-from))
		var err error
		for j := int(from); j < int(to); j++ {
			if holes.at(j) {
				dst[start+11] = 1
			}
			if dst, err = values(dst, j); err != nil {
				return dst[:start], fmt.Errorf("element %d: %w", j-int(from)+1, err)
			}
		}
		binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
		return dst, nil
	}
}

// appendArrayHead begins a one-dimensional array of n elements that says it holds no NULL.
func appendArrayHead(dst []byte, oid uint32, n int) []byte {
	dst = append(dst, 0, 0, 0, 1, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, oid)
	dst = appendInt32(dst, n)
	return append(dst, 0, 0, 0, 1)
}

// showArray prints the array as the server would.
func showArray(elem renderer) renderer {
	return func(dst, p []byte) ([]byte, error) { return renderArray(dst, p, elem) }
}

// bindArrayLiteral writes texts as an array literal, every element quoted, so that the word NULL is a text.
func bindArrayLiteral(a arrow.Array) appender {
	list, null := a.(*array.List), nullsOf(a)
	values := list.ListValues().(*array.String)
	rules := textRules{limit: -1}
	return func(dst []byte, i int) ([]byte, error) {
		if null.at(i) {
			return appendNull(dst), nil
		}
		start := len(dst)
		dst = append(dst, 0, 0, 0, 0, '{')
		from, to := list.ValueOffsets(i)
		for j := int(from); j < int(to); j++ {
			if j > int(from) {
				dst = append(dst, ',')
			}
			if values.IsNull(j) {
				dst = append(dst, "NULL"...)
				continue
			}
			s := values.Value(j)
			if err := rules.check(s); err != nil {
				return dst[:start], fmt.Errorf("element %d: %w", j-int(from)+1, err)
			}
			dst = append(dst, '"')
			for k := 0; k < len(s); k++ {
				if s[k] == '"' || s[k] == '\\' {
					dst = append(dst, '\\')
				}
				dst = append(dst, s[k])
			}
			dst = append(dst, '"')
		}
		dst = append(dst, '}')
		binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
		return dst, nil
	}
}
