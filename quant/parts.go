package quant

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/restride/restride/layout"
)

// Some formats store several weights in one, or one in several. A Weight can be a part of its
// tensors, or several weights of others: its arrays say where its elements are.

// gateUp is the ending of the names of weights whose rows are of two weights in turn.
const gateUp = "gate_up_proj"

// Parts returns the weights that a file for a format has in place of this one: GGUF has the
// gates of gpt-oss's experts apart, whose rows alternate with others. Usually it is the weight
// itself.
func (w *Weight) Parts(to *Format) []*Weight {
	prefix, ok := strings.CutSuffix(w.Name, gateUp)
	if !ok || !strings.HasPrefix(w.Format.suffix, "_") || to.written() != gguf || w.ext[axisN]%2 != 0 {
		return []*Weight{w}
	}
	var out []*Weight
	for i, name := range []string{"gate_proj", "up_proj"} {
		part := w.digits(fmt.Sprintf("n #%d%%2", i))
		if part == nil {
			return []*Weight{w}
		}
		part.Name, part.whole, part.first = prefix+name, w.Name, int64(i)
		out = append(out, part)
	}
	return out
}

// digits returns the weight that has half of w's rows: other digits stand for n. It is nil if
// w's format divides n itself.
func (w *Weight) digits(n string) *Weight {
	out := *w
	out.Partial, out.ext = true, maps.Clone(w.ext)
	out.ext[axisN] /= 2
	out.arrays = slices.Clone(w.arrays)
	change := func(order string) string {
		words := strings.Fields(order)
		for i, word := range words {
			if word == "n" {
				words[i] = n
			} else if word[0] == axisN {
				return ""
			}
		}
		return strings.Join(words, " ")
	}
	for i, a := range out.arrays {
		a.order, a.slots = change(a.order), slices.Clone(a.slots)
		for j := range a.slots {
			s := &a.slots[j]
			if s.order = change(s.order); s.order == "" || s.rows != "" {
				return nil
			}
		}
		out.arrays[i] = a
	}
	return &out
}

// Expert returns the name of the weight of all experts of a layer, if a weight is one expert's,
// and the expert's number.
func Expert(name string) (all string, number int64, ok bool) {
	layer := layerNames.FindStringSubmatchIndex(name)
	if layer == nil {
		return "", 0, false
	}
	part := expertParts.FindStringSubmatchIndex(name[layer[4]:])
	if part == nil {
		return "", 0, false
	}
	rest := name[layer[4]:]
	number, err := strconv.ParseInt(rest[part[2]:part[3]], 10, 32)
	return name[:layer[4]] + rest[:part[2]] + rest[part[4]:part[5]], number, err == nil
}

// Stack returns the weight of all experts that consists of these experts' weights, in order. It
// is an error if they are not of one kind.
func Stack(name string, experts []*Weight) (*Weight, error) {
	first := experts[0]
	out := &Weight{Name: name, Format: first.Format, Params: first.Params, Partial: true, ext: maps.Clone(first.ext)}
	out.Params.Batch, out.ext[axisE] = true, int64(len(experts))
	for i, w := range experts {
		if w.Params != first.Params || fmt.Sprint(w.ext) != fmt.Sprint(first.ext) || len(w.arrays) != len(first.arrays) || w.unordered || w.Params.Batch {
			return nil, layout.Errorf(layout.ErrUnsupported, "quant", "%s and %s are not of one kind, or their groups are in no order", first.Name, w.Name)
		}
		out.experts = append(out.experts, w.Name)
		only := fmt.Sprintf("e=%d ", i)
		for j, a := range w.arrays {
			if a.has(groups) || a.has(shape) {
				continue
			}
			a.suffix = strings.TrimPrefix(w.Tensors[j].Name, name)
			a.slots = slices.Clone(a.slots)
			for n := range a.slots {
				if s := &a.slots[n]; s.rows != "" {
					s.rows = only + s.rows
				} else {
					s.order = only + s.order
				}
			}
			out.arrays, out.Tensors = append(out.arrays, a), append(out.Tensors, w.Tensors[j])
		}
		out.Sidecars = append(out.Sidecars, w.Sidecars...)
	}
	return out, nil
}
