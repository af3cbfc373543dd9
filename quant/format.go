package quant

import (
	"fmt"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Format says how the numbers of a weight are kept: in which tensors, and where in these
// each bit lies. It is data; what becomes of it is the same for all.
type Format struct {
	Name  string // "gptq", as commands take it
	About string // whose it is, in a line

	suffix string // of the tensor of codes
	// also lists other suffixes that the tensors may have, by role, where they have kept
	// those of another format.
	also []map[role]string

	// arrays returns the tensors of a weight, that of codes first, in the order in which files have them.
	arrays func(p Params) []array
	// accept says what a weight's parameters become, or the rule that refuses them. The
	// extents are n, k and g.
	accept func(f *Format, p Params, ext extents) (Params, error)
	// bits lists how many codes may have by the type of their tensor, the likeliest first; nil: any.
	bits func(t Tensor) []int64
	// params completes the parameters, and may set extents, by the tensor of codes.
	params func(p Params, t Tensor, ext extents) (Params, error)
	// said completes the parameters by what small tensors say, once the weight has its name.
	said func(s *sayings, p Params) (Params, error)
	// name returns the name of a weight that another format names so.
	name       func(name string) string
	table      string // Params.Table of its weights
	anyCodes   bool   // it keeps codes whatever they stand for
	oneIsRow   bool   // a group that has all of a row is kept as a row's scale
	signs      bool   // it keeps codes with a sign as they are
	takesNames bool   // its tensors have the names of the source's
	numbers    bool   // its weights are the numbers that codes stand for
	unread     string // why it can be written, not read; "": it can be read
	codesOnly  bool   // of a weight it knows codes alone: what else is beside them is another's
	blocks     string // the type of GGUF's blocks that numbers become
	wide       bool   // these are float64: whole numbers times a scale, as numpy has it
}

// Params is what the tensors of a weight do not tell by themselves.
type Params struct {
	Bits  int64 // of a code; 0: what the tensors say
	Group int64 // k that share a scale; 0: all; -1: as many as the scales' shape says
	// GroupHint is, if Group is -1, what the scales' shape must agree with; 0: nothing is
	// known; -1: a row. The last group of a row may be smaller than the others.
	GroupHint int64
	// Zeros: the codes' zero points are stored. Otherwise all are half of the codes' range.
	Zeros bool
	// ZeroLess: one less than the zero point is stored.
	ZeroLess bool
	// Sorted: g_idx says which group a row of k belongs to.
	Sorted bool
	// Table is the numbers that codes stand for: "" for themselves, "e2m1", "nf4",
	// "fp4", "nf4 or fp4" (of bitsandbytes' codes alone), "iq4nl", "ternary" (from -1 on), "bytes" (of scales).
	Table string
	// Scale is the scales' type, as checkpoints name it.
	Scale string

	details
}

// details are what formats find out from a weight's tensors. Programs leave them as they are;
// only a weight of New may need some: tests of all formats set them.
type details struct {
	// Mins: what is added to a number times its scale is stored.
	Mins bool
	// Signed: the codes are numbers with a sign.
	Signed bool
	// Flat: the weight's shape is not known; it is a row.
	Flat bool
	// Tiles is how many tiles of 16 k lie in one.
	Tiles int64
	// Part is how many rows a part of them has.
	Part int64
	// Blocks is GGUF's type of blocks.
	Blocks string
	// ScaleZero and ScaleSigned: what scales of groups count from, and whether they have a
	// sign, where they have a scale themselves.
	ScaleZero   int64
	ScaleSigned bool
	// Batch: there are several matrices, experts.
	Batch   bool
	Sidecar sidecar
	// Type is that of codes which are no codes: of elements that a format keeps whatever they are.
	Type string
}

// role is what an array's numbers are.
type role uint8

const (
	codes role = iota
	scales
	zeros
	mins             // what is subtracted from a number times its scale
	superScales      // of scales
	superMins        // of mins
	scaleNumbers     // that scales stand for
	floatZeros       // what is subtracted from codes, in floating point
	tensorScale      // of all numbers
	shape            // of the matrix
	values           // numbers themselves
	groups           // of each k
	sorting          // the k in the order of their groups
	roleCount    int = iota
)

var roleNames = [roleCount]string{"codes", "scales", "zero points", "minima", "scales of scales", "scales of minima", "numbers of scales", "zero points in floating point", "a scale of the tensor", "a shape", "numbers", "groups", "order of rows"}

func (r role) String() string { return roleNames[r] }

// array is a tensor of a weight, as a file has it.
type array struct {
	suffix string // of its name
	typ    string // as checkpoints name it
	order  string // "|" stands between axes of the file's; the last one counts elements of typ
	bits   int64  // of an element, or of a block
	slots  []slot
}

// dense is an array of one field, without gaps: order goes down to single elements.
func dense(r role, suffix, typ, order string, bits int64) array {
	inner := strings.ReplaceAll(order, "|", " ")
	return array{suffix, typ, order, bits, []slot{{role: r, order: inner, pitch: bits, bits: bits}}}
}

// shaped is a dense array whose file says another shape than its order: axes of words, of
// so many bits.
func shaped(r role, suffix, typ, axes string, word int64, order string, bits int64) array {
	return array{suffix, typ, axes, word, []slot{{role: r, order: order, pitch: bits, bits: bits}}}
}

// inBlocks is an array of blocks of a type of GGUF's, each with some groups, and what is in
// a block. lead are the axes outside of k.
func inBlocks(typ, lead string, group int64, slots ...slot) array {
	t, err := checkpoint.GGUF.Type(typ)
	if err != nil {
		panic(err) // a constant of this package
	}
	a := array{".weight", typ, fmt.Sprintf("%s k/%d", lead, t.Block), 8 * t.BlockBytes, slots}
	lead = strings.ReplaceAll(lead, "|", " ")
	for i := range slots {
		s := &slots[i]
		s.block, s.rows = a.bits, fmt.Sprintf("%s g/%d", lead, t.Block/group)
		switch s.role {
		case codes:
			s.rows = fmt.Sprintf("%s k/%d", lead, t.Block)
		case superScales, superMins:
			s.rows = fmt.Sprintf("%s s", lead)
		}
	}
	return a
}

// kind returns the type of the array's elements in a file.
func (a array) kind() (checkpoint.Type, error) {
	if t, err := checkpoint.Safetensors.Type(a.typ); err == nil {
		return t, nil
	}
	return checkpoint.GGUF.Type(a.typ)
}

// unwritten begins the suffix of what is in no file: it may end within a byte.
const unwritten = "\x00"

// dims returns the extents of the array in a file.
func (a array) dims(ext extents) ([]int64, error) {
	t, err := a.kind()
	if err != nil {
		return nil, err
	}
	var dims []int64
	for _, axis := range strings.Split(a.order, "|") {
		n := int64(1)
		for _, d := range digits(axis) {
			n *= d.count(ext)
		}
		dims = append(dims, n)
	}
	last := &dims[len(dims)-1]
	*last *= a.bits * t.Block
	if over := *last % (8 * t.BlockBytes); over != 0 {
		if !strings.HasPrefix(a.suffix, unwritten) {
			return nil, layout.Errorf(layout.ErrUnsupported, "quant", "%s: rows of %d bits are no multiple of %s", a.suffix, *last/t.Block, a.typ)
		}
		*last += 8*t.BlockBytes - over
	}
	*last /= 8 * t.BlockBytes
	return dims, nil
}

// extent finds the extents of axes that are not yet in ext from those of the array's tensor,
// and checks the others.
func (a array) extent(name string, dims []int64, ext extents) error {
	t, err := a.kind()
	if err != nil {
		return err
	}
	axes := strings.Split(a.order, "|")
	wrong := func() error {
		known := ""
		if len(ext) > 0 {
			known = ", where " + ext.String()
		}
		return layout.Errorf(layout.ErrInvalid, "quant", "%s of shape %v is no %s of %s%s", quote.Name(name), layout.Shape(dims), a.typ, a.order, known)
	}
	if len(dims) == 0 && a.order == "" { // a single number
		return nil
	}
	if len(dims) != len(axes) {
		return wrong()
	}
	for i, axis := range axes {
		n := dims[i]
		if i == len(axes)-1 {
			if n > 1<<50 || n*8*t.BlockBytes%(a.bits*t.Block) != 0 {
				return wrong()
			}
			n = n * 8 * t.BlockBytes / (a.bits * t.Block)
		}
		var open *digit
		for _, d := range digits(axis) {
			if _, known := ext[d.axis]; d.size == 0 && !known {
				open = &d
				continue
			}
			switch c := d.count(ext); {
			case c == 0 && n == 0:
				n = 1 // an axis without elements, which others beside it cannot change
			case c == 0 || n%c != 0:
				return wrong()
			default:
				n /= c
			}
		}
		switch {
		case open != nil:
			ext[open.axis] = n * open.div
		case n != 1:
			return wrong()
		}
	}
	return nil
}
