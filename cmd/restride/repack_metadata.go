package main

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

const (
	// typesKey is the metadata of a safetensors file that says which of its texts are values
	// of a GGUF file, as JSON, and their types.
	typesKey = "restride.types"
	// fileTypeKey is the metadata of a GGUF file with the type of most of its weights.
	fileTypeKey = "general.file_type"
	// maxKept is the most text for converted values; a header is limited.
	maxKept = 16 << 20
)

// fileTypes are llama.cpp's numbers for files whose weights are mostly of a type.
var fileTypes = map[string]uint32{"Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "MXFP4": 38}

// keepMetadata adds the metadata of a source file that is still true, as far as the output's
// format supports it.
func (r *repack) keepMetadata(h *checkpoint.Header, from *checkpoint.File) error {
	types := map[string]string{}
	if v, ok := from.Value(typesKey); ok && from.Format == checkpoint.Safetensors {
		text, _ := v.Text()
		err := chargeJSON(r.source, typesKey, text)
		if err == nil {
			err = json.Unmarshal([]byte(text), &types)
		}
		if err != nil {
			return layout.Errorf(layout.ErrInvalid, "repack", "%s: its metadata %s: %s", quote.Path(from.Path), typesKey, quote.Text(err.Error()))
		}
	}
	made, room := map[string]string{}, maxKept
	for _, e := range from.Metadata {
		text, isText := e.Value.Text()
		switch {
		case e.Key == sourceKey || e.Key == configKey || e.Key == recordKey || e.Key == typesKey || strings.HasPrefix(e.Key, "split."),
			e.Key == libraryKey && h.Format == checkpoint.GGUF:
			continue
		case h.Format == checkpoint.GGUF && types[e.Key] != "":
			v, err := checkpoint.ValueFromJSON(types[e.Key], text)
			if err != nil {
				return layout.Errorf(layout.ErrInvalid, "repack", "%s: its metadata %s: %s", quote.Path(from.Path), quote.Name(e.Key), quote.Text(err.Error()))
			}
			e.Value = v
		case h.Format == checkpoint.Safetensors && (!isText || !utf8.ValidString(text)):
			text, typ, ok := e.Value.JSON(room)
			if !ok {
				r.leave(e.Key)
				continue
			}
			room -= len(text)
			e.Value, made[e.Key] = checkpoint.ValueOf(text), typ
		case types[e.Key] != "":
			made[e.Key] = types[e.Key]
		}
		if h.Format == checkpoint.GGUF && e.Key == fileTypeKey && !r.setFileType(&e) {
			continue
		}
		h.Metadata = append(h.Metadata, e)
	}
	if len(made) == 0 {
		return nil
	}
	text, err := json.Marshal(made)
	if err == nil {
		h.Metadata = append(h.Metadata, checkpoint.Entry{Key: typesKey, Value: checkpoint.ValueOf(string(text))})
	}
	return err
}

// leave notes metadata that the output cannot contain.
func (r *repack) leave(key string) {
	if !slices.Contains(r.leftOut, key) {
		r.leftOut = append(r.leftOut, key)
	}
}

// setFileType sets the type of a file to the type of its new weights. It returns false if no type
// is correct.
func (r *repack) setFileType(e *checkpoint.Entry) bool {
	if r.from == r.target { // the types are the source's
		return true
	}
	typ := r.weights[0].plan.To.Tensors[0].Type
	for _, w := range r.weights {
		if w.plan.To.Tensors[0].Type != typ {
			return false
		}
	}
	n, ok := fileTypes[typ]
	if ok {
		e.Value = checkpoint.ValueOf[uint32](n)
	}
	return ok
}
