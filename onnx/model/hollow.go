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
	rest = rewrite(b, func(graph protowire.Number, b []byte) ([]byte, bool) {
		if graph != graphOfModel {
			return nil, false
		}
		return rewrite(b, func(initializer protowire.Number, b []byte) ([]byte, bool) {
			if initializer != initializerOfGraph {
				return nil, false
			}
			var large []byte
			tensor := rewrite(b, func(raw protowire.Number, b []byte) ([]byte, bool) {
				if raw != rawDataOfTensor {
					return nil, false
				}
				if large = nil; len(b) < largeElements { // the last occurrence of a field counts
					return nil, false
				}
				large = b[:len(b):len(b)]
				return []byte{}, true
			})
			elements = append(elements, large)
			return tensor, true
		}), true
	})
	return rest, elements
}

// rewrite returns an encoded message in which change has replaced the contents of fields of bytes.
func rewrite(b []byte, change func(field protowire.Number, content []byte) (changed []byte, yes bool)) []byte {
	var out []byte
	for len(b) > 0 {
		field, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return nil // checked: does not happen
		}
		n := protowire.ConsumeFieldValue(field, typ, b[tag:])
		if n < 0 {
			return nil
		}
		whole := b[:tag+n]
		b = b[tag+n:]
		if typ == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(whole[tag:])
			if changed, yes := change(field, content); yes {
				out = protowire.AppendBytes(protowire.AppendTag(out, field, typ), changed)
				continue
			}
		}
		out = append(out, whole...)
	}
	return out
}

// fill gives initializers the elements that hollow has cut out.
func fill(p *onnxpb.ModelProto, elements [][]byte) {
	for i, t := range p.GetGraph().GetInitializer() {
		if i < len(elements) && elements[i] != nil && len(t.RawData) == 0 {
			t.RawData = elements[i]
		}
	}
}
