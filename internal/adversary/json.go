package adversary

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
)

// hostileValues are values that replace others in JSON.
var hostileValues = []string{
	`null`, `0`, `-1`, `1e308`, `-1e308`, `1e-320`, `5e-324`, `9223372036854775807`, `-9223372036854775808`, `1e999`, `0.0001`, `true`, `[]`, `{}`, `""`,
	`"\u001b[2J\u0007"`, `"two\nlines"`, `"\u202e\u0000"`, `"\ud800"`, `"cpu"`, `"\"><script>alert(1)</script>"`, `"</style><img src=x onerror=alert(1)>"`, `"%s%n"`,
	`[[[[[[[[[[]]]]]]]]]]`, `{"name":{"name":[]}}`,
}

// changedJSON returns a text of JSON in which some values are changed, removed, or duplicated.
// The result may be invalid.
func changedJSON(rng *rand.Rand, text []byte) []byte {
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return changeBytes(rng, slices.Clone(text), text)
	}
	for range 1 + rng.IntN(3) {
		var places []place
		collect(root, &places)
		if len(places) == 0 {
			break
		}
		places[rng.IntN(len(places))].change(rng)
	}
	b, err := json.Marshal(root)
	if err != nil {
		return text
	}
	if rng.IntN(4) == 0 {
		b = changeBytes(rng, b, text)
	}
	return b
}

// A place is a value inside others.
type place struct {
	in  any // a map or the address of a list
	key string
	at  int
}

// collect lists all places, always in the same order.
func collect(v any, to *[]place) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			*to = append(*to, place{in: v, key: key})
			collect(v[key], to)
		}
	case []any:
		for i := range v {
			*to = append(*to, place{in: v, at: i})
			collect(v[i], to)
		}
	}
}

func (p place) change(rng *rand.Rand) {
	to := json.RawMessage(hostileValues[rng.IntN(len(hostileValues))])
	switch in := p.in.(type) {
	case map[string]any:
		switch rng.IntN(8) {
		case 0:
			delete(in, p.key)
		case 1:
			if list, ok := in[p.key].([]any); ok {
				in[p.key] = slices.Repeat(list, 1+rng.IntN(200))
			}
		default:
			in[p.key] = to
		}
	case []any:
		in[p.at] = to
	}
}
