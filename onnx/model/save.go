package model

import (
	"io"
	"os"
	"path/filepath"

	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Save writes the model to a file. An existing file is replaced atomically or left alone.
// External tensors stay external, so their files must be in the folder of path;
// SaveExternal copies them.
func (m *Model) Save(path string) error {
	if m == nil {
		return nilError("Model.Save", "model")
	}
	return named("Model.Save", m.save(path))
}

func (m *Model) save(path string) error {
	dir := filepath.Dir(path)
	err := m.eachTensor(func(t *Tensor, _ bool) error {
		if t.External == nil || sameFolder(t.External.Dir, dir) {
			return nil
		}
		return invalidf("tensor %s: its external data is in folder %s, not in that of %s; use SaveExternal",
			quote.Name(t.Name), quote.Name(t.External.Dir), quote.Path(path))
	})
	if err != nil {
		return err
	}
	b, err := writer{}.marshal(m)
	if err != nil {
		return err
	}
	return replace(path, content(b))
}

// SaveExternal writes the model to a file. It writes the bytes of each initializer of at
// least threshold bytes, and of each external tensor from wherever it is, to a second file
// named dataFile in the same folder. Each starts at a multiple of 4096, as ONNX recommends
// for mapping into memory. If there is no such tensor, there is no second file. The model
// itself is not changed: its tensors stay where they are.
func (m *Model) SaveExternal(path, dataFile string, threshold int64) error {
	if m == nil {
		return nilError("Model.SaveExternal", "model")
	}
	return named("Model.SaveExternal", m.saveExternal(path, dataFile, threshold))
}

func (m *Model) saveExternal(path, dataFile string, threshold int64) error {
	if dataFile != filepath.Base(dataFile) || !filepath.IsLocal(dataFile) || dataFile == "." || dataFile == filepath.Base(path) {
		return invalidf("%s cannot be the name of a data file beside %s", quote.Name(dataFile), quote.Path(path))
	}
	dir := filepath.Dir(path)
	data, err := file.NewPending(filepath.Join(dir, dataFile))
	if err != nil {
		return err
	}
	defer data.Discard()
	moved := make(map[*Tensor]*External)
	end := int64(0)
	err = m.eachTensor(func(t *Tensor, initializer bool) error {
		if t.Type == layout.String || moved[t] != nil {
			return nil
		}
		if t.External == nil && (!initializer || int64(len(t.Data)) < threshold) {
			return nil
		}
		const page = 4096
		start := (end + page - 1) / page * page
		n, err := t.writeTo(data.File, start)
		if err != nil {
			return within(err, "tensor %s", quote.Name(t.Name))
		}
		moved[t] = &External{Dir: dir, Path: dataFile, Offset: start, Length: n}
		end = start + n
		return nil
	})
	if err != nil {
		return err
	}
	b, err := writer{moved}.marshal(m)
	if err != nil {
		return err
	}
	if len(moved) > 0 {
		// The last tensor may be empty: the file must still reach its offset.
		if err := data.Truncate(end); err != nil {
			return err
		}
		if err := data.Commit(); err != nil {
			return err
		}
	}
	return replace(path, content(b))
}

// writeTo copies the tensor's bytes to a file in pieces.
func (t *Tensor) writeTo(f *os.File, start int64) (int64, error) {
	r, err := t.open()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	piece := make([]byte, min(r.size, 1<<20))
	for off := int64(0); off < r.size; {
		n, err := r.readAt(piece, off)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if _, err := f.WriteAt(piece[:n], start+off); err != nil {
			return 0, err
		}
		off += int64(n)
	}
	return r.size, nil
}

// eachTensor calls visit with every tensor of the model, including inner graphs and
// functions, and whether it is an initializer.
func (m *Model) eachTensor(visit func(t *Tensor, initializer bool) error) error {
	v := visitor(visit)
	if m.Graph != nil {
		if err := v.graph(m.Graph, 0); err != nil {
			return err
		}
	}
	for i := range m.Functions {
		if err := v.attrs(m.Functions[i].Defaults, 0); err != nil {
			return err
		}
		if err := v.nodes(m.Functions[i].Nodes, 0); err != nil {
			return err
		}
	}
	return nil
}

type visitor func(t *Tensor, initializer bool) error

func (v visitor) graph(g *Graph, depth int) error {
	if err := deeper(depth, "graph"); err != nil || g == nil {
		return err
	}
	for i := range g.Initializers {
		if err := v(&g.Initializers[i], true); err != nil {
			return err
		}
	}
	for i := range g.SparseInitializers {
		if err := v.sparse(&g.SparseInitializers[i]); err != nil {
			return err
		}
	}
	return v.nodes(g.Nodes, depth)
}

func (v visitor) nodes(nodes []Node, depth int) error {
	for i := range nodes {
		if err := v.attrs(nodes[i].Attrs, depth); err != nil {
			return err
		}
	}
	return nil
}

// attrs leaves nil values for the writer to refuse.
func (v visitor) attrs(attrs Attrs, depth int) error {
	for _, a := range attrs {
		var err error
		switch value := a.Value.(type) {
		case *Tensor:
			err = v.tensors(value)
		case []*Tensor:
			err = v.tensors(value...)
		case *SparseTensor:
			err = v.sparse(value)
		case []*SparseTensor:
			err = v.sparse(value...)
		case *Graph:
			err = v.graph(value, depth+1)
		case []*Graph:
			for _, g := range value {
				if err = v.graph(g, depth+1); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v visitor) tensors(ts ...*Tensor) error {
	for _, t := range ts {
		if t == nil {
			continue
		}
		if err := v(t, false); err != nil {
			return err
		}
	}
	return nil
}

func (v visitor) sparse(ss ...*SparseTensor) error {
	for _, s := range ss {
		if s == nil {
			continue
		}
		if err := v.tensors(&s.Values, &s.Indices); err != nil {
			return err
		}
	}
	return nil
}

func sameFolder(a, b string) bool {
	if a == "" {
		return false
	}
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}

// replace writes a file. It replaces an existing file atomically or leaves it alone.
func replace(path string, write func(io.Writer) error) error {
	p, err := file.NewPending(path)
	if err != nil {
		return err
	}
	defer p.Discard()
	if err := write(p); err != nil {
		return err
	}
	return p.Commit()
}

// content returns a function that writes b.
func content(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}
