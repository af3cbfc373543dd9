package adversary

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/quant"
)

// madeWeight is a weight of a generated file.
type madeWeight struct {
	format  *quant.Format
	params  quant.Params
	tensors []quant.Tensor
	data    map[string][]byte
}

// makeSource writes a random source: mostly weights of a format, some of which are wrong.
func (t *weightsTry) makeSource() error {
	rng := t.Rand
	var made []madeWeight
	kind := pick(rng, quant.Formats()...)
	if coin(rng, 3) {
		kind = formatOf(pick(rng, "gptq", "gptq", "gptq-v1", "awq", "marlin", "packed", "packed", "matmulnbits", "compressed-tensors", "gguf", "float"))
	}
	for len(made) == 0 || coin(rng, 3) && len(made) < 4 {
		if coin(rng, 8) {
			kind = pick(rng, quant.Formats()...) // of several formats
		}
		if w, ok := t.makeWeight(kind, len(made)); ok {
			made = append(made, w)
		} else {
			kind = pick(rng, quant.Formats()...)
		}
	}
	for coin(rng, 3) {
		mutateWeight(rng, &made[rng.IntN(len(made))])
	}
	in := filepath.Join(t.Dir, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		return err
	}
	first := made[0]
	t.source = in
	t.configure(first)
	tensors, data := gatherTensors(rng, made)
	format := checkpoint.Safetensors
	if first.format.File() == checkpoint.GGUF || first.format.Name == "float" && coin(rng, 4) {
		format = checkpoint.GGUF
	}
	metadata, err := t.writeConfig(in, first)
	if err != nil {
		return err
	}
	if format == checkpoint.GGUF {
		return t.writeGGUF(filepath.Join(in, "model.gguf"), tensors, data)
	}
	if len(tensors) > 1 && coin(rng, 6) {
		return t.writeShards(in, metadata, tensors, data)
	}
	return t.writeSafetensors(filepath.Join(in, "model.safetensors"), metadata, tensors, data)
}

// formatOf is the format of a name.
func formatOf(name string) *quant.Format {
	f, err := quant.Lookup(name)
	if err != nil {
		panic(err) // a constant of this package
	}
	return f
}

// gatherTensors lists the tensors of weights and others, with unique names.
func gatherTensors(rng *rand.Rand, made []madeWeight) (tensors []quant.Tensor, data map[string][]byte) {
	data = map[string][]byte{}
	add := func(x quant.Tensor, b []byte) {
		if _, ok := data[x.Name]; !ok {
			tensors, data[x.Name] = append(tensors, x), b
		}
	}
	for _, w := range made {
		for _, x := range w.tensors {
			add(x, w.data[x.Name])
		}
	}
	for coin(rng, 2) {
		x := quant.Tensor{
			Name: pick(rng, "norm.weight", "w.bias", "w.B", "w.weight", "weight", "x.scales", "model.embed_tokens.weight", "token_embd.weight", "w.zeros", "w.weight_scale", "w.weight_packed", "w.qweight"),
			Type: pick(rng, "F32", "F16", "BF16", "U8", "I64", "BOOL", "F8_E4M3", "I32", "F64"),
		}
		for range rng.IntN(6) {
			x.Dims = append(x.Dims, pick[int64](rng, 1, 2, 8, 32, 0))
		}
		add(x, randomBytes(rng, tensorSize(x)))
	}
	return tensors, data
}

func randomBytes(rng *rand.Rand, n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32()) & 0x3f // so that no number is NaN
	}
	return b
}

// makeWeight makes the tensors of a valid weight, with bytes that are valid, too.
func (t *weightsTry) makeWeight(f *quant.Format, number int) (w madeWeight, ok bool) {
	params, known := weightKinds[f.Name]
	if !known {
		return w, false
	}
	rng := t.Rand
	w = madeWeight{format: f, data: map[string][]byte{}}
	var tensors []quant.Tensor
	for valid := !coin(rng, 8); ; {
		w.params = params(rng)
		tensors = randomTensors(rng, f, w.params)
		p := w.params
		said := quant.Params{Bits: p.Bits, Group: p.Group, Zeros: p.Zeros, ZeroLess: p.ZeroLess, Sorted: p.Sorted}
		if p.Type != "" {
			said.Bits = 0 // it follows from the type
		}
		all, _, err := quant.Find(f, said, tensors)
		if !valid || err == nil && len(all) == 1 {
			break
		}
	}
	for _, x := range tensors {
		if number > 0 {
			x.Name = fmt.Sprintf("layer%d.%s", number, x.Name)
		}
		b := randomBytes(rng, tensorSize(x))
		switch {
		case strings.HasSuffix(x.Name, "g_idx"):
			groupsOf(rng, b, w.params)
		case strings.HasSuffix(x.Name, "sort_indices"):
			fillOrder(rng, b)
		case strings.HasSuffix(x.Name, "_shape"):
			shapeOf(rng, b, w)
		}
		w.tensors, w.data[x.Name] = append(w.tensors, x), b
	}
	return w, len(w.tensors) > 0
}

// groupsOf fills a tensor with the groups of rows, which are seldom in another order.
func groupsOf(rng *rand.Rand, b []byte, p quant.Params) {
	size := p.Group
	if size == 0 {
		size = int64(len(b))
	}
	for i := range len(b) / 4 {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(int64(i)/size))
	}
	if i := 4 * rng.IntN(max(1, len(b)/4)); p.Sorted || coin(rng, 6) {
		copy(b[i:], b[:4])
	}
}

// shapeOf fills weight_shape, which is seldom wrong.
func shapeOf(rng *rand.Rand, b []byte, w madeWeight) {
	dims := w.tensors[0].Dims
	n, k := dims[0], dims[1]*32/w.params.Bits
	if coin(rng, 6) {
		k -= pick[int64](rng, 1, 4, 32, -1)
	}
	binary.LittleEndian.PutUint64(b, uint64(n))
	binary.LittleEndian.PutUint64(b[8:], uint64(k))
}

// mutateWeight changes a weight so that it is invalid, or another.
func mutateWeight(rng *rand.Rand, w *madeWeight) {
	i := rng.IntN(len(w.tensors))
	x, was := &w.tensors[i], w.tensors[i].Name
	switch rng.IntN(6) {
	case 0:
		x.Type = pick(rng, "I32", "U8", "F16", "BF16", "F32", "F64", "I16", "I8", "F8_E4M3", "I64", "U16")
	case 1:
		x.Dims = slices.Clone(x.Dims)
		if len(x.Dims) > 0 {
			x.Dims[rng.IntN(len(x.Dims))] = pick[int64](rng, 0, 1, 2, 3, 8, 16, 32, 64, 96, 128)
		}
	case 2:
		x.Dims = append(slices.Clone(x.Dims), pick[int64](rng, 1, 1, 2))
	case 3:
		if len(w.tensors) > 1 {
			w.tensors = slices.Delete(w.tensors, i, i+1)
			return
		}
	case 4:
		prefix, _, _ := strings.Cut(x.Name, ".")
		x.Name = prefix + pick(rng, ".qweight", ".weight", ".W_q", ".B", "_blocks", ".scales", ".qzeros", ".zeros", ".g_idx", ".weight_scale", "", ".é\u202e")
	case 5:
		more := quant.Tensor{Name: strings.TrimSuffix(w.tensors[0].Name, "qweight") + pick(rng, "qzeros", "g_idx", "weight_g_idx", "g_idx_sort_indices", "zeros", "weight_scale_2"), Type: pick(rng, "I32", "F32", "U8"), Dims: []int64{pick[int64](rng, 1, 8, 128)}}
		w.tensors, w.data[more.Name] = append(w.tensors, more), randomBytes(rng, tensorSize(more))
		return
	}
	x = &w.tensors[i]
	if n := tensorSize(*x); n < 1<<22 {
		b := randomBytes(rng, n)
		copy(b, w.data[was])
		w.data[x.Name] = b
	}
}

// writeSafetensors writes a file without the writer's rules.
func (t *weightsTry) writeSafetensors(path string, metadata map[string]string, tensors []quant.Tensor, data map[string][]byte) error {
	header := map[string]any{}
	if len(metadata) > 0 {
		header["__metadata__"] = metadata
	}
	at := 0
	var body []byte
	for _, x := range tensors {
		b := data[x.Name]
		if x.Dims == nil {
			x.Dims = []int64{}
		}
		header[x.Name] = map[string]any{"dtype": x.Type, "shape": x.Dims, "data_offsets": []int{at, at + len(b)}}
		at += len(b)
		body = append(body, b...)
		t.said = append(t.said, fmt.Sprintf("%s: %s %v, %d bytes", x.Name, x.Type, x.Dims, len(b)))
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	if coin(t.Rand, 16) {
		text = changedJSON(t.Rand, text)
		t.said = append(t.said, "header: "+string(text))
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return os.WriteFile(path, slices.Concat(file, text, body), 0o600)
}

// writeShards writes two files and their index.
func (t *weightsTry) writeShards(dir string, metadata map[string]string, tensors []quant.Tensor, data map[string][]byte) error {
	index := map[string]string{}
	cut := 1 + t.Rand.IntN(len(tensors)-1)
	for i, part := range [][]quant.Tensor{tensors[:cut], tensors[cut:]} {
		name := fmt.Sprintf("model-%05d-of-00002.safetensors", i+1)
		for _, x := range part {
			index[x.Name] = name
		}
		if err := t.writeSafetensors(filepath.Join(dir, name), metadata, part, data); err != nil {
			return err
		}
	}
	switch t.Rand.IntN(6) {
	case 0: // without an index
		return nil
	case 1: // which leaves one out
		delete(index, tensors[t.Rand.IntN(len(tensors))].Name)
	}
	text, err := json.Marshal(map[string]any{"weight_map": index})
	if coin(t.Rand, 4) {
		text = changedJSON(t.Rand, text)
		t.said = append(t.said, "index: "+string(text))
	}
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), text, 0o600))
}

// writeGGUF writes the tensors that a GGUF file can have.
func (t *weightsTry) writeGGUF(path string, tensors []quant.Tensor, data map[string][]byte) error {
	h := checkpoint.Header{Format: checkpoint.GGUF, Metadata: []checkpoint.Entry{{Key: "general.name", Value: checkpoint.ValueOf("made")}}}
	for _, x := range tensors {
		kind, err := checkpoint.GGUF.Type(x.Type)
		if err != nil || len(x.Dims) > 4 || int64(len(data[x.Name])) != tensorSize(x) || x.Name == "" {
			continue
		}
		if n, err := checkpoint.GGUF.Size(kind, x.Dims); err != nil || n != tensorSize(x) {
			continue
		}
		h.Tensors = append(h.Tensors, &checkpoint.Tensor{Name: x.Name, Type: kind, Dims: x.Dims})
		t.said = append(t.said, fmt.Sprintf("%s: %s %v", x.Name, x.Type, x.Dims))
	}
	w, err := checkpoint.Create(path, h, "")
	if err != nil {
		return err
	}
	defer w.Close()
	for i, x := range w.Tensors {
		if err := errors.Join(w.WriteAt(i, data[x.Name], 0), w.Finish(i)); err != nil {
			return err
		}
	}
	if err := w.Commit(); err != nil || !coin(t.Rand, 12) {
		return err
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head := min(len(file), 200+100*len(h.Tensors)) // about the header
	return os.WriteFile(path, append(changeBytes(t.Rand, slices.Clone(file[:head]), file), file[head:]...), 0o600)
}

// sameNumbers compares the float32 tensors of two files, by any names: zeros without their
// sign, and NaN with any bits.
func sameNumbers(want, have string) error {
	a, err := numbersOf(want)
	if err != nil {
		return err
	}
	b, err := numbersOf(have)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		got, ok := b[name]
		if !ok {
			continue // GGUF has other names
		}
		if len(got) != len(a[name]) {
			return fmt.Errorf("tensor %q has %d numbers, and had %d", name, len(got), len(a[name]))
		}
		for i, x := range a[name] {
			if y := got[i]; x != y && (x == x || y == y) {
				return fmt.Errorf("number %d of tensor %q is %v, and was %v", i, name, y, x)
			}
		}
	}
	return nil
}

func numbersOf(path string) (out map[string][]float32, err error) {
	c, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	out = map[string][]float32{}
	for _, x := range c.Tensors {
		if x.Type.Name != "F32" {
			continue
		}
		b := make([]byte, x.Size())
		if _, err := x.ReadAt(b, 0); err != nil {
			return nil, err
		}
		all := make([]float32, len(b)/4)
		for i := range all {
			all[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		out[x.Name] = all
	}
	return out, nil
}
