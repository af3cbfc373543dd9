package main

import (
	"io"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/quant"
)

// compareNumbers compares the numbers of a file's weights with the source's, by a reading of their
// own.
func (o *output) compareNumbers(f *outFile) error {
	if !o.verify {
		return nil
	}
	source := func(name string) (quant.Tensor, bool) {
		t := o.source.Lookup(name)
		if t == nil {
			return quant.Tensor{}, false
		}
		return quant.Tensor{Name: name, Type: t.Type.Name, Dims: t.Dims, Content: t}, true
	}
	made := map[string]quant.Tensor{}
	for _, w := range f.weights {
		for _, t := range w.To().Tensors {
			t.Content = tensorReader{o, t.Name}
			made[t.Name] = t
		}
	}
	if err := budget.Process().Take("tensors whose numbers are compared", quant.CompareBytes); err != nil {
		return err
	}
	defer budget.Process().Give(quant.CompareBytes)
	for _, w := range f.weights {
		done, err := w.plan.Compare(w.From, w.To(), source, func(name string) (quant.Tensor, bool) {
			t, ok := made[name]
			return t, ok
		})
		if err != nil {
			return err
		}
		w.compared = done
	}
	return nil
}

// tensorReader reads a tensor of the output.
type tensorReader struct {
	*output
	name string
}

func (t tensorReader) ReadAt(p []byte, at int64) (int, error) {
	read := t.earlier.read
	if t.file != nil {
		i := t.index[t.name]
		if rest := t.file.Tensors[i].Size() - at; int64(len(p)) > rest {
			n, err := t.ReadAt(p[:max(0, rest)], at)
			if err == nil {
				err = io.EOF
			}
			return n, err
		}
		read = func(_ string, p []byte, at int64) error { return t.file.ReadAt(i, p, at) }
	}
	if err := read(t.name, p, at); err != nil {
		return 0, err
	}
	return len(p), nil
}
