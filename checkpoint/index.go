package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/jsontext"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// maxText is the maximum size of an index or configuration.
const maxText = 64 << 20

// readIndex reads an index. The files are in the same folder.
func (c *Checkpoint) readIndex(path string) error {
	f, err := file.Open(path, maxText)
	if err != nil {
		return err
	}
	defer f.Close()
	r := &indexReader{path: path, index: index{files: map[string]string{}}, texts: map[string]string{}}
	r.charge = budget.Steps(func(bytes int64) error {
		return budget.TakeFor(budget.Process(), c, "the content of "+quote.Path(path), bytes)
	})
	r.json = jsontext.NewReader(f, r.charge)
	if err := r.read(); err != nil {
		if e := new(jsontext.Error); errors.As(err, &e) {
			return r.invalid(" is not JSON: %s", e.Error())
		}
		return err
	}
	if len(r.files) == 0 {
		return r.invalid(" has no weight_map")
	}
	for _, name := range r.texts {
		r.names = append(r.names, name)
	}
	slices.Sort(r.names)
	c.Index, c.index = filepath.Base(path), r.index
	return nil
}

// indexReader reads the text of an index, one token at a time.
type indexReader struct {
	index
	path   string
	json   *jsontext.Reader
	charge func(int64) error
	texts  map[string]string // one text per file name
}

func (r *indexReader) invalid(format string, args ...any) error {
	return layout.Errorf(layout.ErrInvalid, "Open", quote.Path(r.path)+format, args...)
}

// read reads the object: its member weight_map, exactly once, and others.
func (r *indexReader) read() error {
	if k, err := r.json.Next(); err != nil || k != jsontext.Object {
		return r.or(err, " is %v; an object is wanted", k)
	}
	for seen := false; ; {
		k, err := r.json.Next()
		if err != nil {
			return err
		}
		if k == jsontext.ObjectEnd {
			_, err := r.json.Next()
			return err
		}
		weights := string(r.json.Bytes()) == "weight_map"
		if weights && seen {
			return r.invalid(" has weight_map twice")
		}
		k, err = r.json.Next()
		switch {
		case err != nil:
		case !weights:
			err = r.json.Skip()
		case k != jsontext.Object:
			err = r.invalid(": weight_map is %v; an object is wanted", k)
		default:
			seen, err = true, r.weights()
		}
		if err != nil {
			return err
		}
	}
}

func (r *indexReader) or(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return r.invalid(format, args...)
}

// weights reads the map from tensors to files.
func (r *indexReader) weights() error {
	for {
		if k, err := r.json.Next(); err != nil || k == jsontext.ObjectEnd {
			return err
		}
		if err := r.charge(listedMemory + memoryOf(r.json.Bytes())); err != nil {
			return err
		}
		tensor := string(r.json.Bytes())
		if k, err := r.json.Next(); err != nil || k != jsontext.Text {
			return r.or(err, ": the file of tensor %s is %v; a text is wanted", quote.Name(tensor), k)
		}
		name, err := r.file(tensor)
		if err != nil {
			return err
		}
		if _, twice := r.files[tensor]; twice {
			return r.invalid(" has tensor %s twice", quote.Name(tensor))
		}
		r.files[tensor] = name
	}
}

// file returns the name of the file for a tensor, whose name is the last token.
func (r *indexReader) file(tensor string) (string, error) {
	if name, ok := r.texts[string(r.json.Bytes())]; ok {
		return name, nil
	}
	if err := r.charge(memoryOf(r.json.Bytes())); err != nil {
		return "", err
	}
	name := string(r.json.Bytes())
	if !filepath.IsLocal(name) || filepath.Base(name) != name || strings.ContainsAny(name, `/\`) {
		return "", r.invalid(": tensor %s is in %s, which is no name of a file beside it", quote.Name(tensor), quote.Name(name))
	}
	if len(r.texts) == maxFiles {
		return "", layout.Errorf(layout.ErrUnsupported, "Open", "%s names more than %d files", quote.Path(r.path), maxFiles)
	}
	r.texts[name] = name
	return name, nil
}

// readConfigs reads the configurations beside the files.
func (c *Checkpoint) readConfigs(folder string) (err error) {
	if c.Config, err = c.readConfig(filepath.Join(folder, configName)); err != nil {
		return err
	}
	for _, name := range quantizationNames {
		c.Quantization, err = c.readConfig(filepath.Join(folder, name))
		if err != nil || c.Quantization != nil {
			c.QuantizationName = name
			break
		}
	}
	return err
}

// readConfig reads a configuration, and charges the memory for decoding it. nil: there is
// none.
func (c *Checkpoint) readConfig(path string) (json.RawMessage, error) {
	f, err := file.Open(path, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	charge := budget.Steps(func(bytes int64) error {
		return budget.TakeFor(budget.Process(), c, "the content of "+quote.Path(path), bytes)
	})
	if err := charge(f.Size); err != nil {
		return nil, err
	}
	text, err := f.Content()
	if err != nil {
		return nil, err
	}
	text = jsontext.FromPython(text)
	if err := jsontext.Charge(bytes.NewReader(text), charge); err != nil {
		if e := new(jsontext.Error); errors.As(err, &e) {
			return nil, layout.Errorf(layout.ErrInvalid, "Open", "%s is not JSON: %s", quote.Path(path), e.Error())
		}
		return nil, err
	}
	return text, nil
}
