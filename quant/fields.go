package quant

import (
	"encoding/json"
	"slices"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// fields are the members of an object in a configuration. A reader must read each, or list it
// among those without effect on the weights' numbers: rest names the others.
type fields struct {
	in   string // the object, for messages
	all  map[string]json.RawMessage
	used map[string]bool
	// inner are objects in this one. The first error is of all.
	inner []*fields
	*failure
}

// failure is the first error.
type failure struct{ err error }

func readFields(in string, text json.RawMessage) *fields {
	return (&fields{failure: &failure{}}).within(in, text)
}

// within reads an object in this one.
func (f *fields) within(in string, text json.RawMessage) *fields {
	inner := &fields{in: in, used: map[string]bool{}, failure: f.failure}
	if err := json.Unmarshal(text, &inner.all); err != nil && f.err == nil {
		f.err = unread(in, err)
	}
	f.inner = append(f.inner, inner)
	return inner
}

func unread(in string, err error) error {
	return layout.Errorf(layout.ErrInvalid, "config.json", "%s: %s", in, quote.Text(err.Error()))
}

// has reports whether there is a member that is not null.
func (f *fields) has(key string) bool {
	text, ok := f.all[key]
	return ok && string(text) != "null"
}

// member returns a member of one of the given names, or another value if there is none.
func member[T any](f *fields, otherwise T, keys ...string) T {
	out := otherwise
	for _, key := range keys {
		f.used[key] = true
		if !f.has(key) || f.err != nil {
			continue
		}
		if err := json.Unmarshal(f.all[key], &out); err != nil {
			f.err = unread(f.in+"."+quote.Plain(key), err)
		}
		return out
	}
	return out
}

// object returns a member that is an object; nil: there is none.
func (f *fields) object(key string) *fields {
	f.used[key] = true
	if !f.has(key) || f.err != nil {
		return nil
	}
	return f.within(f.in+"."+quote.Plain(key), f.all[key])
}

// without lists members without effect on the weights' numbers.
func (f *fields) without(keys ...string) {
	for _, key := range keys {
		f.used[key] = true
	}
}

// refuse records an error.
func (f *fields) refuse(kind error, format string, args ...any) {
	if f.err == nil {
		f.err = layout.Errorf(kind, "config.json", f.in+": "+format, args...)
	}
}

// rest names the members that were neither read nor listed, except empty ones, here and in the
// objects that were read.
func (f *fields) rest() (names []string) {
	for key, text := range f.all {
		if !f.used[key] && !slices.Contains([]string{"null", "{}", "[]", `""`}, string(text)) {
			names = append(names, f.in+"."+quote.Plain(key))
		}
	}
	slices.Sort(names)
	for _, inner := range f.inner {
		names = append(names, inner.rest()...)
	}
	return names
}

// block returns the extents of a block of numbers that share a scale.
func (f *fields) block(key string, of []int64) (rows, columns int64) {
	switch {
	case len(of) != 2:
		f.refuse(layout.ErrInvalid, "%s has %d numbers; 2 are wanted", key, len(of))
	case min(of[0], of[1]) < 1 || max(of[0], of[1]) > 1<<20:
		f.refuse(layout.ErrInvalid, "%s is %v", key, of)
	default:
		return of[0], of[1]
	}
	return 0, 0
}

// group converts a group size in a configuration: -1 is a row.
func (f *fields) group(n int64) int64 {
	if n < -1 || n == 0 || n > 1<<40 {
		f.refuse(layout.ErrInvalid, "group_size is %d", n)
	}
	return max(n, 0)
}
