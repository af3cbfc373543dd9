package infer

import "github.com/restride/restride/layout"

// attention (ONNX's own): heads are an axis of rank 4, or attributes.
func attention(n *Node) {
	for i := range n.Outputs {
		n.setElem(i, n.elem(0))
	}
	for i := 1; i < 3; i++ {
		n.setElem(i, n.elem(i))
	}
	q, known := n.headed(0, "q_num_heads")
	k, with := n.headed(1, "kv_num_heads")
	v, also := n.headed(2, "kv_num_heads")
	if !known || !with || !also {
		return
	}
	if raw, _ := n.shape(0); len(raw) == 4 {
		n.set(0, n.elem(0), q[0], q[1], q[2], v[3])
	} else {
		n.set(0, n.elem(0), q[0], q[2], q[1].mul(v[3]))
	}
	for i, s := range [][]extent{k, v} {
		if n.given(4 + i) {
			past, ok := n.ofRank(4+i, 4)
			if s[2] = s[2].add(cached(past, ok)); n.bad {
				return
			}
		}
		n.set(1+i, n.elem(1+i), s...)
	}
	n.set(3, n.elem(0), q[0], q[1], q[2], k[2])
}

// cached returns the length of a cache, [batch, heads, length, size].
func cached(past []extent, known bool) extent {
	if known {
		return past[2]
	}
	return extent{}
}

// headed returns the extents [batch, heads, sequence, size] of an input of that shape, or
// [batch, sequence, heads*size] with the number of heads in an attribute.
func (n *Node) headed(i int, attr string) ([]extent, bool) {
	x, ok := n.shape(i)
	if !ok || len(x) == 4 {
		return x, ok
	}
	heads := n.int(attr, 0)
	if len(x) != 3 || heads < 1 {
		n.fail()
		return nil, false
	}
	return []extent{x[0], num(heads), x[1], x[2].over(heads)}, true
}

// packedAttention (com.microsoft): the weights in input 1 make query, key and value.
func packedAttention(n *Node) {
	elem := n.elem(0)
	if n.Op == "QAttention" {
		elem = n.elem(3) // of a scale
	}
	n.setElem(0, elem)
	n.setElem(1, elem)
	x, ok := n.ofRank(0, 3)
	if !ok {
		return
	}
	var hidden extent
	if sizes, ok := n.list("qkv_hidden_sizes"); ok {
		if len(sizes) != 3 {
			n.fail()
			return
		}
		hidden = num(sizes[2])
	} else if w, ok := n.ofRank(1, 2); ok {
		hidden = w[1].over(3)
	}
	n.set(0, elem, x[0], x[1], hidden)
}

// multiHead: query, key and value are inputs, some of them packed together.
func multiHead(n *Node) {
	elem := n.elem(0)
	for i := range min(n.Outputs, 3) {
		n.setElem(i, elem)
	}
	q, ok := n.shape(0)
	if !ok {
		return
	}
	if len(q) == 5 { // [batch, sequence, heads, 3, size]
		n.set(0, elem, q[0], q[1], q[2].mul(q[4]))
		return
	}
	if len(q) != 3 {
		n.fail()
		return
	}
	hidden := extent{}
	if v, ok := n.shape(2); ok && len(v) == 3 {
		hidden = v[2]
	} else if ok && len(v) == 4 { // [batch, heads, sequence, size]
		hidden = v[1].mul(v[3])
	} else if !n.given(2) {
		if k, ok := n.shape(1); ok && len(k) == 5 { // [batch, sequence, heads, 2, size]
			hidden = k[2].mul(k[4])
		}
	}
	n.set(0, elem, q[0], q[1], hidden)
}

// groupedQuery: keys and values have fewer heads, and are kept in caches of unknown length.
func groupedQuery(n *Node) {
	elem := n.elem(0)
	n.setElem(0, elem)
	heads, kept := n.int("num_heads", 0), n.int("kv_num_heads", 0)
	q, ok := n.ofRank(0, 3)
	if n.bad || heads < 1 || kept < 1 {
		return
	}
	size := extent{} // of a head
	if ok {
		if size = q[2].over(heads); !n.given(1) {
			size = q[2].over(heads + 2*kept)
		}
		n.set(0, elem, q[0], q[1], size.times(heads))
	}
	for i := 1; i < 3; i++ {
		n.setElem(i, elem)
		if past, known := n.ofRank(2+i, 4); known {
			n.set(i, n.elem(2+i), past[0], past[1], extent{}, past[3])
		} else if ok && !n.given(2+i) {
			n.set(i, elem, q[0], num(kept), extent{}, size)
		}
	}
}

// embedded (EmbedLayerNormalization): rows of the table in input 2.
func embedded(n *Node) {
	elem := n.elem(2)
	n.setElem(0, elem)
	n.setElem(1, layout.Int32)
	n.setElem(2, elem)
	ids, ok := n.ofRank(0, 2)
	if !ok {
		return
	}
	hidden := extent{}
	if table, ok := n.ofRank(2, 2); ok {
		hidden = table[1]
	}
	n.set(0, elem, ids[0], ids[1], hidden)
	n.set(1, layout.Int32, ids[0])
	n.set(2, elem, ids[0], ids[1], hidden)
}

// halved (BiasSplitGelu): half of the last axis gates the other half.
func halved(n *Node) {
	n.setElem(0, n.elem(0))
	if x, ok := n.shape(0); ok && len(x) > 0 {
		x[len(x)-1] = x[len(x)-1].over(2)
		n.set(0, n.elem(0), x...)
	}
}
