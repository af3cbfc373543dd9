package onnx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// Opset is a version of ONNX's own operator set. An operator runs in its newest version
// that is not newer than the opset.
type Opset int64

// MaxOpset is the newest opset known here. A newer one is refused, because it may have
// changed the meaning of an operator.
const MaxOpset Opset = 28

// Attr is an attribute of an operator; Attrs are all attributes of a node.
type (
	Attr  = model.Attr
	Attrs = model.Attrs
)

// Int returns an integer attribute, such as Int("allowzero", 1).
func Int(name string, value int64) Attr { return Attr{Name: name, Value: value} }

// Ints returns an attribute with a list of integers.
func Ints(name string, values ...int64) Attr { return Attr{Name: name, Value: values} }

// definition is one version of an operator.
type definition struct {
	op    string
	since Opset
	name  string // "Reshape-14"

	types      typeSet // allowed for input typed, or for an attribute's value; none: it is no tensor
	typed      int     // usually 0
	containers containers
	held       typeSet // types of the tensors in containers; none: those of opset 5
	inputs     arity
	outputs    arity // zero: exactly 1
	attrs      []string
	// host is the set of inputs that are read on the host, such as shapes and axes. Bit i
	// stands for input i.
	host uint
	// single is the set of inputs that are read on the host if they are one-element
	// constants.
	single uint
	// either is the set of inputs that are read wherever they are: on the host if they are
	// constants or are computed there in any case.
	either uint
	// dataFirst: the other inputs only select elements of input 0. If they are on the host,
	// input 0 is not moved there.
	dataFirst bool
	// overwrites: it writes into input 0 instead of a copy if nothing else needs that.
	overwrites bool
	// shapeOnly: no element of the input is read.
	shapeOnly bool
	// arithmetic: the operator runs on the host only, on tensors of few elements.
	arithmetic bool
	// generates: outputs made from shapes are on the host in any session.
	generates bool
	// opaque: the operator is not known here.
	opaque bool
	// controls: the session runs graphs of the node.
	controls bool
	// assembles: inputs may be pending, because the output is assembled from them.
	assembles bool
	// constant, for an operator without inputs, reads the value that every call returns: a
	// session loads it once.
	constant func(d *definition, attrs Attrs) (*model.Tensor, error)
	// prepare reads the attributes once and returns the function for each call.
	prepare func(d *definition, attrs Attrs) (kernel, error)
}

// kernel runs a node: it reads c.in and sets c.out.
type kernel func(c *call) error

type arity struct{ min, max int }

// many is the maximum number of inputs or outputs of an operator without its own limit.
const many = 1<<31 - 1

func (a arity) String() string {
	switch a.max - a.min {
	case 0:
		return fmt.Sprint(a.min)
	case 1:
		return fmt.Sprintf("%d or %d", a.min, a.max)
	}
	if a.max == many {
		return fmt.Sprintf("%d or more", a.min)
	}
	return fmt.Sprintf("%d to %d", a.min, a.max)
}

// needs returns how many of the first n inputs must not be omitted: all, if the list has no
// limit.
func (d *definition) needs(n int) int {
	if d.inputs.max == many && !d.opaque {
		return n
	}
	return d.inputs.min
}

// containers are the kinds of values other than tensors that an operator accepts.
type containers uint8

const (
	sequences containers = 1 << iota
	optionals
)

func (c containers) String() string {
	if c&sequences != 0 {
		return "a sequence"
	}
	return "an optional"
}

// operators holds every version of every operator, oldest first.
var operators = map[string][]*definition{}

// register adds an operator with its versions, oldest first.
func register(op string, versions ...[]definition) {
	for _, d := range slices.Concat(versions...) {
		d.op, d.name = op, fmt.Sprintf("%s-%d", op, d.since)
		if d.outputs.max == 0 {
			d.outputs = arity{1, 1}
		}
		operators[op] = append(operators[op], &d)
	}
}

// versions returns copies of d, one for each change of its types.
func (d definition) versions(changes ...change) []definition {
	out := make([]definition, len(changes))
	for i, c := range changes {
		out[i] = d
		out[i].since, out[i].types = c.since, c.types
	}
	return out
}

// growing returns copies of d, one for each opset in [from, to] in which ONNX added types,
// excluding the types in without.
func (d definition) growing(from, to Opset, without ...layout.DType) []definition {
	var changes []change
	for _, c := range typeChanges {
		if c.since >= from && c.since <= to {
			changes = append(changes, change{c.since, c.types.without(without...)})
		}
	}
	return d.versions(changes...)
}

// change is an opset, and the types that an operator accepts from that opset on.
type change struct {
	since Opset
	types typeSet
}

// lookup returns the version of an operator that an opset selects.
func lookup(op string, v Opset) (*definition, error) {
	if v < 1 {
		return nil, layout.Errorf(device.ErrInvalid, op, "opset %d: the first is 1", v)
	}
	if v > MaxOpset {
		return nil, layout.Errorf(device.ErrUnsupported, op, "opset %d: the newest known here is %d", v, MaxOpset)
	}
	versions, ok := operators[op]
	if !ok {
		return nil, missingOf([]string{op})
	}
	for _, d := range slices.Backward(versions) {
		if d.since <= v {
			return d, nil
		}
	}
	return nil, layout.Errorf(device.ErrInvalid, op, "opset %d: the operator exists from opset %d", v, versions[0].since)
}

// MissingError lists unsupported operators. Its kind is ErrUnsupported.
type MissingError struct {
	Ops   []string // without repeats, sorted
	Nodes []int    // number of nodes with each
}

// missingOf returns the error for the operators of nodes.
func missingOf(nodes []string) error {
	e := &MissingError{}
	slices.Sort(nodes)
	for i, op := range nodes {
		if i == 0 || op != nodes[i-1] {
			e.Ops, e.Nodes = append(e.Ops, op), append(e.Nodes, 0)
		}
		e.Nodes[len(e.Nodes)-1]++
	}
	return e
}

func (e *MissingError) Error() string {
	return "operators that are not supported: " + listed(e.Ops)
}

// listed formats names from a model for an error: the first few.
func listed(names []string) string {
	const most = 20
	var b strings.Builder
	for i, name := range names[:min(len(names), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote.Plain(name))
	}
	if more := len(names) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// Unwrap returns the error's kind.
func (e *MissingError) Unwrap() error { return device.ErrUnsupported }

// Operators returns the names of the supported operators, each with the opsets in which it
// changed.
func Operators() map[string][]Opset {
	all := map[string][]Opset{}
	for op, versions := range operators {
		for _, d := range versions {
			all[op] = append(all[op], d.since)
		}
	}
	return all
}

// Allows reports whether an operator accepts tensors of a type at an opset.
func Allows(op string, v Opset, t layout.DType) bool {
	d, err := lookup(op, v)
	return err == nil && d.types.has(t)
}

// checkType refuses a type that the version does not allow, and names the first version
// that allows it.
func (d *definition) checkType(t layout.DType) error {
	if d.types.has(t) {
		return nil
	}
	for _, later := range operators[d.op] {
		if later.types.has(t) {
			return d.invalid("type %v is not allowed; %s allows it from opset %d", t, d.op, later.since)
		}
	}
	return d.invalid("type %v is not allowed, in no version of %s", t, d.op)
}

// checkAttrs refuses unknown and repeated attributes.
func (d *definition) checkAttrs(attrs Attrs) error {
	for i, a := range attrs {
		if slices.Contains(d.attrs, a.Name) {
			if _, twice := attrs[:i].Get(a.Name); twice {
				return d.invalid("attribute %s is given twice", a.Name)
			}
			continue
		}
		for _, other := range operators[d.op] {
			if slices.Contains(other.attrs, a.Name) {
				return d.invalid("attribute %s does not belong to this version; %s has it", quote.Name(a.Name), other.name)
			}
		}
		return d.invalid("there is no attribute %s", quote.Name(a.Name))
	}
	return nil
}

// boolAttr returns an integer attribute that is 0 or 1, or absent if it is omitted.
func (d *definition) boolAttr(attrs Attrs, name string, absent bool) (bool, error) {
	v, given, err := attrs.Int(name)
	if err != nil || !given {
		return absent, err
	}
	if v != 0 && v != 1 {
		return false, d.invalid("attribute %s is %d; it must be 0 or 1", name, v)
	}
	return v == 1, nil
}

// elem returns the element type of a number that ONNX gives it, in an attribute.
func (d *definition) elem(attr string, number int64) (layout.DType, error) {
	if number < 1 || number > 255 {
		return layout.Invalid, d.invalid("attribute %s is %d, which is the number of no element type", attr, number)
	}
	return layout.DType(number), d.checkType(layout.DType(number))
}

// invalid returns an error about an operator's rule.
func (d *definition) invalid(format string, args ...any) error {
	return layout.Errorf(device.ErrInvalid, d.name, format, args...)
}
