package model

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/restride/restride/internal/onnxpb"
)

// The decoder copies all bytes. The elements of large tensors are most of a file, so they are cut
// out of it before, and are not copied.

// largeElements is the size of raw_data that is worth that.
const largeElements = 1 << 16

// Numbers of fields in onnx.proto.
const (
	graphOfModel       = 7
	nodeOfGraph        = 1
	initializerOfGraph = 5
	attributeOfNode    = 5
	tensorOfAttribute  = 5
	graphOfAttribute   = 6
	rawDataOfTensor    = 9
)

type shorteners = map[protowire.Number]func([]byte) []byte

// cut is what was cut out of a graph. Elements that stay are nil.
type cut struct {
	initializers [][]byte
	tensors      [][]byte // of attributes of nodes, in their order
	graphs       []*cut   // of attributes of nodes, in their order
}

// hollow returns an encoded model, which has been checked, without the raw_data of large tensors
// of its graph and of graphs in nodes, and these.
func hollow(b []byte) (rest []byte, graph *cut) {
	graph = &cut{}
	rest = rewrite(b, shorteners{graphOfModel: graph.shorten})
	return rest, graph
}

// shorten cuts elements out of an encoded graph.
func (c *cut) shorten(b []byte) []byte {
	attribute := shorteners{
		tensorOfAttribute: func(b []byte) []byte { return cutTensor(b, &c.tensors) },
		graphOfAttribute: func(b []byte) []byte {
			inner := &cut{}
			c.graphs = append(c.graphs, inner)
			return inner.shorten(b)
		},
	}
	node := shorteners{attributeOfNode: func(b []byte) []byte { return rewrite(b, attribute) }}
	return rewrite(b, shorteners{
		initializerOfGraph: func(b []byte) []byte { return cutTensor(b, &c.initializers) },
		nodeOfGraph:        func(b []byte) []byte { return rewrite(b, node) },
	})
}

// cutTensor cuts the elements out of an encoded tensor, if they are many.
func cutTensor(b []byte, into *[][]byte) []byte {
	var large []byte
	small := rewrite(b, shorteners{rawDataOfTensor: func(raw []byte) []byte {
		if large = nil; len(raw) < largeElements { // the last occurrence of a field counts
			return raw
		}
		large = raw[:len(raw):len(raw)]
		return nil
	}})
	*into = append(*into, large)
	return small
}

// rewrite returns an encoded message in which the functions have replaced the contents of fields:
// the message itself if none became shorter.
func rewrite(b []byte, shorten map[protowire.Number]func(content []byte) []byte) []byte {
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
		change := shorten[field]
		if at += n; change == nil || typ != protowire.BytesType {
			continue
		}
		content, _ = protowire.ConsumeBytes(content)
		if short := change(content); len(short) < len(content) {
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

// fill gives the tensors of a graph the elements that were cut out.
func (c *cut) fill(g *onnxpb.GraphProto) {
	put := func(t *onnxpb.TensorProto, elements [][]byte, i int) {
		if i < len(elements) && elements[i] != nil && len(t.RawData) == 0 {
			t.RawData = elements[i]
		}
	}
	for i, t := range g.GetInitializer() {
		put(t, c.initializers, i)
	}
	tensors, graphs := 0, 0
	for _, n := range g.GetNode() {
		for _, a := range n.GetAttribute() {
			if a.T != nil {
				put(a.T, c.tensors, tensors)
				tensors++
			}
			if a.G != nil && graphs < len(c.graphs) {
				c.graphs[graphs].fill(a.G)
				graphs++
			}
		}
	}
}
