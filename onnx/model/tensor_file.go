package model

import (
	"path/filepath"

	"github.com/restride/restride/internal/quote"
)

// LoadTensor reads a tensor file.
func LoadTensor(path string) (*Tensor, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, named("LoadTensor", err)
	}
	t, err := readTensor(b, filepath.Dir(path))
	return t, named("LoadTensor", within(err, "%s", quote.Path(path)))
}

// SaveTensor writes a tensor file. A file that was there is replaced at once or
// not at all.
func SaveTensor(path string, t *Tensor) error {
	b, err := t.marshal()
	if err == nil {
		err = replace(path, b)
	}
	return named("SaveTensor", within(err, "tensor %s", quote.Name(t.Name)))
}
