package core

import (
	"strings"

	"github.com/restride/restride/tensor"
)

// kind says where a node can run.
type kind uint8

const (
	fallback  kind = iota // on the Go backend
	parameter             // nowhere
	constant              // anywhere
	follows               // where its operand is
	spread                // anywhere, preferably where it is used: the operand is smaller, or absent
	onDevice              // on the device
	lone                  // the same, never on the Go backend: it lacks the operation, or has other results
)

// Node is an operation: one of the constructors makes it, and Graph.Record records it.
type Node struct {
	kind   kind
	number int // in order of creation
	op     string
	in     []*output // nil: an omitted optional operand
	out    []*output

	build Build
	view  viewFunc
	fill  fillFunc                        // where a view is impossible
	infer func(in []Array) (Array, error) // type and dimensions, of an operation that the Go backend may lack
	flat  any                             // of a constant
}

// Build builds an operation in a computation of the Go backend.
type Build = func(g Computation, in []Value) ([]Value, error)

// viewFunc returns a view, or a new tensor where a view is impossible.
type viewFunc func(s *tensor.Stream, in []*tensor.Tensor, to Array) (*tensor.Tensor, error)

// fillFunc sets all elements of dst, which is contiguous and not empty.
type fillFunc func(dst *tensor.Tensor, in []*tensor.Tensor) error

// output is one of a node's results.
type output struct {
	node *Node
	of   Array
}

// Fallback is an operation of the Go backend.
func Fallback(op string) *Node { return &Node{op: op} }

// String names the operation and the shapes of its operands.
func (n *Node) String() string {
	if len(n.in) == 0 {
		return n.op
	}
	operands := make([]string, len(n.in))
	for i, x := range n.in {
		if operands[i] = "nil"; x != nil {
			operands[i] = x.of.Shape.String()
		}
	}
	return n.op + " of " + strings.Join(operands, ", ")
}
