package infer

// recurrent returns the rule of an LSTM, GRU or RNN. The weights in input 2 have rank 3, and
// their extent along hiddenAxis is the hidden size. Output 0 has an entry per step, the others
// have the last one.
func recurrent(hiddenAxis int) rule {
	return func(n *Node) { n.recurrent(hiddenAxis) }
}

func (n *Node) recurrent(hiddenAxis int) {
	elem := n.elem(0)
	for i := range n.Outputs {
		n.setElem(i, elem)
	}
	directions := num(1)
	switch n.str("direction") {
	case "", "forward", "reverse":
	case "bidirectional":
		directions = num(2)
	default:
		n.fail()
		return
	}
	var hidden extent
	if r, ok := n.ofRank(2, 3); ok {
		hidden = r[hiddenAxis]
	}
	if size := n.int("hidden_size", -1); size >= 0 {
		hidden = hidden.meet(num(size))
	}
	steps, batch, byBatch := extent{}, extent{}, n.flag("layout")
	if x, ok := n.ofRank(0, 3); ok {
		steps, batch = x[0], x[1]
		if byBatch {
			steps, batch = batch, steps
		}
	}
	if byBatch {
		n.set(0, elem, batch, steps, directions, hidden)
	} else {
		n.set(0, elem, steps, directions, batch, hidden)
	}
	for i := 1; i < n.Outputs; i++ {
		if byBatch {
			n.set(i, elem, batch, directions, hidden)
		} else {
			n.set(i, elem, directions, batch, hidden)
		}
	}
}
