package main

import (
	"encoding/json"
	"path/filepath"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/file"
	"github.com/restride/restride/internal/jsontext"
	"github.com/restride/restride/internal/quote"
)

// describeOutput writes a folder's index and config.json, and what comes along. They depend only on the source's
// headers: every part writes the same.
func (r *repack) describeOutput() error {
	if !r.folder() {
		return nil
	}
	if len(r.files) > 1 && r.files[0].header.Format == checkpoint.Safetensors {
		if err := r.writeIndex(); err != nil {
			return err
		}
	}
	if err := r.bring(); err != nil || r.source.Config == nil {
		return err
	}
	return writeJSON(filepath.Join(r.output, "config.json"), json.RawMessage(r.configText))
}

// writeIndex writes the mapping from tensors to files.
func (r *repack) writeIndex() error {
	bytes, files := int64(0), map[string]string{}
	for _, f := range r.files {
		bytes += f.bytes
		for _, t := range f.header.Tensors {
			files[t.Name] = filepath.Base(f.path)
		}
	}
	return writeJSON(filepath.Join(r.output, r.indexName()), map[string]any{"metadata": map[string]int64{"total_size": bytes}, "weight_map": files})
}

func (r *repack) indexName() string {
	if r.source.Index != "" {
		return r.source.Index
	}
	return "model.safetensors.index.json"
}

// writeJSON writes a file atomically: complete or not at all.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := file.NewPending(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(append(jsontext.ToPython(b), '\n')); err != nil {
		return quote.Error(err)
	}
	return f.Commit()
}
