package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/quant"
)

// outFile is a file to be written.
type outFile struct {
	path    string
	header  checkpoint.Header
	weights []*weight
	carried []*weight // tensors that are converted, and not weights
	rest    []kept    // unchanged from the source
	bytes   int64     // total of its tensors
}

// plan decides what each tensor becomes, and in which file.
func (r *repack) plan() error {
	known, err := r.said.describe(r.source)
	if err != nil {
		return err
	}
	r.known, r.from = known, known.format
	all := tensorsOf(r.source)
	match := func(string) bool { return true }
	if r.only != "" {
		e, err := regexp.Compile(r.only)
		if err != nil {
			return fmt.Errorf("--only: %w", err)
		}
		match = e.MatchString
	}
	found, err := known.find(all, match)
	if err != nil {
		return err
	}
	if len(found.refused) > 0 {
		return stopped(found)
	}
	if len(found.weights) == 0 {
		return layout.Errorf(layout.ErrInvalid, "repack", "%s has no weights of format %s", quote.Path(r.source.Path), known.name())
	}
	stay := found
	if r.forLlama() {
		m := readModel(r.source)
		stay.rest = slices.DeleteFunc(slices.Clone(found.rest), func(t quant.Tensor) bool { return ossExperts(m, t) != nil })
	}
	r.notes = sourceNotes(r.source, known, stay)
	if r.only != "" {
		every, err := known.find(all, func(string) bool { return true })
		if err != nil {
			return err
		}
		r.left = len(every.weights) + len(every.refused) - len(found.weights)
	}
	kinds := weightKinds{to: r.target, verify: r.verify}
	weights, err := r.forTarget(found.weights)
	if err != nil {
		return err
	}
	for _, w := range weights {
		p, fresh, err := kinds.weight(w)
		if err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(w.Name), err)
		}
		r.weights = append(r.weights, p)
		if err := r.charge(p, fresh); err != nil {
			return err
		}
	}
	if err := r.prepare(found.rest); err != nil {
		return err
	}
	r.tellLeft()
	r.tellRounded()
	return nil
}

// tellRounded says which weights have rounded numbers though their codes are not.
func (r *repack) tellRounded() {
	count := map[string]int{}
	for _, w := range r.weights {
		if how := w.plan.Rounded(); how != "" {
			count[how]++
		}
	}
	for _, how := range slices.Sorted(maps.Keys(count)) {
		r.notes = append(r.notes, fmt.Sprintf("of %d weights: %s", count[how], how))
	}
}

// stopped is the error for weights that cannot be opened.
func stopped(f found) error {
	err := f.refused[0].Err
	if n := len(f.weights); n > 0 {
		err = fmt.Errorf("%w (%d others can be opened: --only converts those that it names alone)", err, n)
	}
	return err
}

// fileFormat returns the format according to a file's name, or 0.
func fileFormat(name string) checkpoint.Format {
	for _, f := range []checkpoint.Format{checkpoint.Safetensors, checkpoint.GGUF} {
		if strings.HasSuffix(name, "."+f.String()) {
			return f
		}
	}
	return 0
}

// folder reports whether the output is a folder.
func (r *repack) folder() bool { return fileFormat(r.output) == 0 }

// format returns the format of the output's files.
func (r *repack) format() checkpoint.Format {
	if r.folder() {
		return r.target.File()
	}
	return fileFormat(r.output)
}

// numbered matches the number of a file among several in its name.
var numbered = regexp.MustCompile(`-[0-9]{5}-of-[0-9]{5}$`)

// lay names the output's files: --output itself, or, if that is a folder, one file for each of the
// source's, or more if there are more parts than these.
func (r *repack) lay() error {
	add := func(path string, format checkpoint.Format) {
		r.files = append(r.files, &outFile{path: path, header: checkpoint.Header{Format: format}})
	}
	if !r.folder() {
		if r.part.of > 1 {
			return layout.Errorf(layout.ErrInvalid, "repack", "--shard %s: parts are written into a folder, and --output is the file %s", r.shard, quote.Path(r.output))
		}
		add(r.output, r.format())
		return nil
	}
	format := r.format()
	var names []string
	for _, f := range r.source.Files {
		name := filepath.Base(f.Path)
		names = append(names, strings.TrimSuffix(name, filepath.Ext(name)))
	}
	if r.part.of > len(names) {
		base := numbered.ReplaceAllString(names[0], "")
		names = nil
		for i := range r.part.of {
			names = append(names, fmt.Sprintf("%s-%05d-of-%05d", base, i+1, r.part.of))
		}
	}
	for _, name := range names {
		add(filepath.Join(r.output, name+"."+format.String()), format)
	}
	return nil
}

// share assigns weights and other tensors to files: as in the source's files or, if the files
// differ from these, in the source's order, with about the same number of bytes in each file.
func (r *repack) share(rest []kept) {
	position := make(map[string]int32, len(r.source.Tensors))
	for i, t := range r.source.Tensors {
		position[t.Name] = int32(i)
	}
	// A weight goes with its first tensor; all its bytes count there.
	weights, carried, others := map[int32][]*weight{}, map[int32][]*weight{}, map[int32]kept{}
	bytes, all := make([]int64, len(r.source.Tensors)), int64(0)
	put := func(of map[int32][]*weight, w *weight) {
		first := position[w.From.Tensors[0].Name]
		of[first] = append(of[first], w)
		for _, t := range w.From.Tensors {
			n := r.source.Lookup(t.Name).Size()
			bytes[first], all = bytes[first]+n, all+n
		}
	}
	for _, w := range r.weights {
		put(weights, w)
	}
	for _, w := range r.carried {
		put(carried, w)
	}
	for _, t := range rest {
		i := position[t.Name]
		others[i], bytes[i] = t, r.source.Lookup(t.Name).Size()
		all += bytes[i]
	}
	files := map[*checkpoint.File]int{}
	for i, f := range r.source.Files {
		files[f] = i
	}
	before := int64(0)
	for i, t := range r.source.Tensors {
		at := int(float64(before) / float64(max(1, all)) * float64(len(r.files)))
		if len(r.files) == len(r.source.Files) {
			at = files[t.File()]
		}
		f := r.files[min(at, len(r.files)-1)]
		f.weights, f.carried = append(f.weights, weights[int32(i)]...), append(f.carried, carried[int32(i)]...)
		if t, ok := others[int32(i)]; ok {
			f.rest = append(f.rest, t)
		}
		before += bytes[i]
	}
}

// sourceKey is the metadata with the source of a folder's file.
const sourceKey = "restride.source"

// describeFile creates a file's header.
func (r *repack) describeFile(f *outFile, number int, source string) error {
	f.header, f.bytes = checkpoint.Header{Format: f.header.Format}, 0
	h := &f.header
	add := func(t quant.Tensor) error {
		kind, err := h.Format.Type(t.Type)
		if err == nil {
			var n int64
			n, err = h.Format.Size(kind, t.Dims)
			f.bytes += n
		}
		if err != nil {
			return fmt.Errorf("%s: %w", quote.Plain(t.Name), err)
		}
		h.Tensors = append(h.Tensors, &checkpoint.Tensor{Name: t.Name, Type: kind, Dims: t.Dims})
		return nil
	}
	for _, w := range slices.Concat(f.weights, f.carried) {
		for _, t := range w.To().Tensors {
			if err := add(t); err != nil {
				return err
			}
		}
	}
	for _, t := range f.rest {
		if h.Format == r.source.Files[0].Format { // also of a type that is not known
			x := *r.source.Lookup(t.Name)
			x.Name = t.to
			h.Tensors, f.bytes = append(h.Tensors, &x), f.bytes+x.Size()
			continue
		}
		t.Tensor.Name = t.to
		if err := add(t.Tensor); err != nil {
			return err
		}
	}
	from := r.source.Files[0]
	if r.folder() && len(r.files) == len(r.source.Files) && h.Format == checkpoint.Safetensors {
		from = r.source.Files[number]
	}
	if err := r.keepMetadata(h, from); err != nil {
		return err
	}
	if err := r.addMetadata(f, number, source); err != nil {
		return err
	}
	if r.forLlama() {
		r.addModel(h)
	}
	r.setLibrary(h)
	return nil
}

// libraryKey is the metadata of a safetensors file with the library that it is for. Loaders refuse
// metadata without it.
const libraryKey = "format"

// setLibrary sets the library of a safetensors file that has metadata: PyTorch's, or MLX's for its
// formats.
func (r *repack) setLibrary(h *checkpoint.Header) {
	if h.Format != checkpoint.Safetensors || len(h.Metadata) == 0 {
		return
	}
	library := "pt"
	if strings.HasPrefix(r.to, "mlx") {
		library = "mlx"
	}
	for i, e := range h.Metadata {
		if e.Key == libraryKey {
			if text, _ := e.Value.Text(); (text == "mlx") != (library == "mlx") {
				h.Metadata[i].Value = checkpoint.ValueOf(library)
			}
			return
		}
	}
	h.Metadata = append(h.Metadata, checkpoint.Entry{Key: libraryKey, Value: checkpoint.ValueOf(library)})
}

// addMetadata adds a file's new metadata.
func (r *repack) addMetadata(f *outFile, number int, source string) error {
	h := &f.header
	add := func(key string, v checkpoint.Value) {
		h.Metadata = append(h.Metadata, checkpoint.Entry{Key: key, Value: v})
	}
	if r.folder() {
		add(sourceKey, checkpoint.ValueOf(source))
	}
	if config := r.config; h.Format == checkpoint.Safetensors && config != nil {
		text, err := json.Marshal(config)
		if err != nil {
			return err
		}
		add(configKey, checkpoint.ValueOf(string(text)))
	}
	if said := r.record(f); h.Format == checkpoint.Safetensors && said != nil {
		text, err := json.Marshal(said)
		if err != nil {
			return err
		}
		add(recordKey, checkpoint.ValueOf(string(text)))
	}
	if n := len(r.files); h.Format == checkpoint.GGUF && n > 1 { // as in llama.cpp
		all := 0
		for _, f := range r.files {
			all += len(f.rest)
			for _, w := range slices.Concat(f.weights, f.carried) {
				all += len(w.views)
			}
		}
		add("split.no", checkpoint.ValueOf(uint16(number)))
		add("split.count", checkpoint.ValueOf(uint16(n)))
		add("split.tensors.count", checkpoint.ValueOf(int32(all)))
	}
	return nil
}

// commonConfig describes the weights if all are the same and their format has the numbers that
// their codes stand for. Otherwise the files' records describe them.
func (r *repack) commonConfig() map[string]any {
	if r.left > 0 {
		return nil
	}
	to := r.weights[0].plan.To
	first := to.Config()
	seen := map[*planned]bool{}
	for _, w := range r.weights {
		if seen[w.planned] {
			continue
		}
		seen[w.planned] = true
		other := w.plan.To.Params.Table != to.Params.Table || r.target.Name == "packed" && w.plan.To.Params.Table != ""
		if other || fmt.Sprint(w.plan.To.Config()) != fmt.Sprint(first) {
			return nil
		}
	}
	return first
}

// identity identifies everything that a file depends on.
func (r *repack) identity() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, recordKey, r.known.name(), r.to, r.only, r.said.bits, r.said.group, len(r.files), string(r.source.Config))
	for _, f := range r.source.Files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return "", quote.Error(err)
		}
		fmt.Fprintln(sum, f.Path, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
