package model

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/restride/restride/internal/onnxpb"
)

// The decoder copies all bytes. The elements of large initializers are most of a file, so they
// are cut out of it before, and are not copied.

// largeElements is the size of raw_data that is worth that.
const largeElements = 1 << 16

// Numbers of fields in onnx.proto.
const (
	graphOfModel       = protowire.Number(7)
	initializerOfGraph = protowire.Number(5)
	rawDataOfTensor    = protowire.Number(9)
)

// hollow returns an encoded model, which has been checked, without the raw_data of large
// initializers of its graph, and these by the index of the initializer; nil: not cut out.
func hollow(b []byte) (rest []byte, elements [][]byte) {
	rest = rewrite(b, graphOfModel, func(graph []byte) []byte {
		return rewrite(graph, initializerOfGraph, func(initializer []byte) []byte {
			var large []byte
			small := rewrite(initializer, rawDataOfTensor, func(raw []byte) []byte {
				if large = nil; len(raw) < largeElements { // the last occurrence of a field counts
					return raw
				}
				large = raw[:len(raw):len(raw)]
				return nil
			})
			elements = append(elements, large)
			return small
		})
	})
	return rest, elements
}

// rewrite returns an encoded message in which shorten has replaced the contents of a field: the
// message itself if none became shorter.
func rewrite(b []byte, of protowire.Number, shorten func(content []byte) []byte) []byte {
	var out []byte
	kept := 0 // b up to here is in out
	for at := 0; at < len(b); {
		begin := at
		field, typ, n := protowire.ConsumeTag(b[at:])
		at += max(n, 0)
		content := b[at:]
		if n = protowire.ConsumeFieldValue(field, typ, content); n <= 0 {
			return b // checked: does not happen
		}
		if at += n; field != of || typ != protowire.BytesType {
			continue
		}
		content, _ = protowire.ConsumeBytes(content)
		if short := shorten(content); len(short) < len(content) {
			out = append(out, b[kept:begin]...)
			out = protowire.AppendBytes(protowire.AppendTag(out, field, typ), short)
			kept = at
		}
	}
	if kept == 0 {
		return b
	}
	return append(out, b[kept:]...)
}

// fill gives initializers the elements that hollow has cut out.
func fill(p *onnxpb.ModelProto, elements [][]byte) {
	for i, t := range p.GetGraph().GetInitializer() {
		if i < len(elements) && elements[i] != nil && len(t.RawData) == 0 {
			t.RawData = elements[i]
		}
	}
}
