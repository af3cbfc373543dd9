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
	err  error // the first one
}

func readFields(in string, text json.RawMessage) *fields {
	f := &fields{in: in, used: map[string]bool{}}
	if err := json.Unmarshal(text, &f.all); err != nil {
		f.err = unread(in, err)
	}
	return f
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
	inner := readFields(f.in+"."+quote.Plain(key), f.all[key])
	f.err = inner.err
	return inner
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

// rest names the members that were neither read nor listed, except empty ones.
func (f *fields) rest() (names []string) {
	for key, text := range f.all {
		if !f.used[key] && !slices.Contains([]string{"null", "{}", "[]", `""`}, string(text)) {
			names = append(names, f.in+"."+quote.Plain(key))
		}
	}
	slices.Sort(names)
	return names
}

// group converts a group size in a configuration: -1 is a row.
func (f *fields) group(n int64) int64 {
	if n < -1 || n == 0 || n > 1<<40 {
		f.refuse(layout.ErrInvalid, "group_size is %d", n)
	}
	return max(n, 0)
}
