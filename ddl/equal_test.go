package ddl

import (
	"fmt"
	"reflect"
)

// difference compares two trees and returns the path of the first difference, "" when there is none. Places do not count,
// nor does the difference between no list and an empty one.
func difference(a, b any) string { return diff("", reflect.ValueOf(a), reflect.ValueOf(b)) }

func diff(path string, a, b reflect.Value) string {
	if !a.IsValid() || !b.IsValid() {
		if a.IsValid() != b.IsValid() {
			return path + ": only one side has a value"
		}
		return ""
	}
	if a.Type() != b.Type() {
		return fmt.Sprintf("%s: %s and %s", path, a.Type(), b.Type())
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return path + ": only one side is nil"
			}
			return ""
		}
		return diff(path, a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d and %d elements", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d := diff(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[Span]() {
			return ""
		}
		for i := range a.NumField() {
			if d := diff(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
	default:
		if !a.Equal(b) {
			return fmt.Sprintf("%s: %v and %v", path, a, b)
		}
	}
	return ""
}

// spans calls visit with every span in a tree.
func spans(v reflect.Value, visit func(Span)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			spans(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			spans(v.Index(i), visit)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Span]() {
			visit(Span{int(v.Field(0).Int()), int(v.Field(1).Int())})
			return
		}
		for i := range v.NumField() {
			spans(v.Field(i), visit)
		}
	}
}
