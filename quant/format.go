package quant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Format says how the numbers of a weight are stored: in which tensors, and at which
// position in them each bit is. It is data, handled by the same code for all formats.
type Format struct {
	Name  string // "gptq", as in commands
	About string // description in one line

	suffix string // of the codes' tensor
	// also lists alternative suffixes of the tensors, by role, for tensors that have kept
	// another format's.
	also []map[role]string

	// arrays returns the tensors of a weight, codes first, in file order.
	arrays func(p Params) []array
	// accept returns the parameters for a weight in this format, or the rule that refuses
	// them. The extents are n, k and g.
	accept func(f *Format, p Params, ext extents) (Params, error)
	// bits lists the widths that codes may have given the type of their tensor, likeliest
	// first; nil: any.
	bits func(t Tensor) []int64
	// params completes the parameters, and may set extents, from the tensor of codes.
	params func(p Params, t Tensor, ext extents) (Params, error)
	// said completes the parameters from small tensors, once the weight has its name.
	said func(s *sayings, p Params) (Params, error)
	// name converts the name of a weight in another format.
	name       func(name string) string
	table      string // Params.Table of its weights
	anyCodes   bool   // keeps codes whatever they represent
	oneIsRow   bool   // a group that spans a row is stored as a row's scale
	signs      bool   // keeps signed codes as they are
	takesNames bool   // its tensors have the source's names
	numbers    bool   // its weights are the numbers that codes represent
	unread     string // why it can be written but not read; "": it can be read
	codesOnly  bool   // it knows only a weight's codes: other tensors beside them are not its own
	blocks     string // GGUF's block type for quantised numbers
	// onlyNumbers: no other format has its codes and scales; its weights become numbers.
	onlyNumbers bool
	wide        bool // numbers are float64: integers times a scale, as in numpy
}

// Params are properties of a weight that its tensors do not determine.
type Params struct {
	Bits  int64 // of a code; 0: determined by the tensors
	Group int64 // k that share a scale; 0: all; -1: determined by the scales' shape
	// GroupHint must agree with the scales' shape if Group is -1; 0: unknown; -1: a row.
	// The last group of a row may be smaller than the others.
	GroupHint int64
	// Zeros: the codes' zero points are stored. Otherwise all are half of the code range.
	Zeros bool
	// ZeroLess: the stored zero points are one less than the actual ones.
	ZeroLess bool
	// Sorted: g_idx gives the group of each row of k.
	Sorted bool
	// Table names the numbers that codes represent: "" for themselves, "e2m1", "nf4",
	// "fp4", "nf4 or fp4" (for bitsandbytes' codes without scales), "iq4nl", "ternary"
	// (from -1 on), "e4m3", "e5m2", "grid" (of GGUF's IQ1 to IQ3), "bytes" (for scales).
	Table string
	// Scale is the scales' type, named as in checkpoints.
	Scale string

	details
}

// details are parameters that formats derive from a weight's tensors. Programs leave them
// alone; only a weight from New may need some: tests of all formats set them.
type details struct {
	// Mins: the numbers to add after scaling are stored.
	Mins bool
	// Signed: the codes are signed numbers.
	Signed bool
	// Flat: the weight's shape is unknown; it is treated as a row.
	Flat bool
	// Tiles is the number of tiles of 16 k in a larger tile.
	Tiles int64
	// Part is the number of rows in a part.
	Part int64
	// Blocks is GGUF's block type.
	Blocks string
	// ScaleZero and ScaleSigned are the zero point and the signedness of groups' scales
	// that have a scale themselves.
	ScaleZero   int64
	ScaleSigned bool
	// Batch: there are several matrices (experts).
	Batch   bool
	Sidecar sidecar
	// Transposed: numbers lie with n innermost.
	Transposed bool
	// Rank is the number of axes of a GGUF tensor that is not a matrix, or a batch of these; 0:
	// as Batch says.
	Rank int64
	// Head is the number of rows of an attention head that llama.cpp stores in another order: a
	// row of the first half, then one of the second; 0: rows are in order.
	Head int64
	// Rows is the number of n that share a scale; 0: one, or as ScaleAxes says.
	Rows int64
	// ScaleAxes are the axes of FP8's scales in the file.
	ScaleAxes string
	// Scaled: a configuration describes FP8's numbers, so that they have scales.
	Scaled bool
	// Type is the type of codes that are not really codes: elements that a format keeps
	// without interpreting them.
	Type string
}

// role is the meaning of an array's numbers.
type role uint8

const (
	codes role = iota
	scales
	zeros
	mins              // subtracted from a number times its scale
	superScales       // of scales
	superMins         // of mins
	scaleNumbers      // represented by scales
	floatZeros        // floating-point numbers subtracted from codes
	tensorScale       // of all numbers
	tensorDivisor     // of all scales
	gridIndex         // of magnitudes in a grid
	signIndex         // of the signs of 8 numbers
	deltas            // the signs of what is added to numbers of a grid
	shape             // of the matrix
	values            // the numbers themselves
	groups            // of each k
	sorting           // the k in the order of their groups
	roleCount     int = iota
)

var roleNames = [roleCount]string{"codes", "scales", "zero points", "minima", "scales of scales", "scales of minima", "numbers of scales", "zero points in floating point", "a scale of the tensor", "a divisor of scales", "indices of a grid", "signs", "signs of offsets", "a shape", "numbers", "groups", "order of rows"}

func (r role) String() string { return roleNames[r] }

// array is a tensor of a weight, as stored in a file.
type array struct {
	suffix string // of its name
	typ    string // named as in checkpoints
	order  string // "|" separates the file's axes; the last one counts elements of typ
	bits   int64  // of an element, or of a block
	slots  []slot
}

// dense is an array of one field without gaps: order reaches down to single elements.
func dense(r role, suffix, typ, order string, bits int64) array {
	inner := strings.ReplaceAll(order, "|", " ")
	return array{suffix, typ, order, bits, []slot{{role: r, order: inner, pitch: bits, bits: bits}}}
}

// shaped is a dense array whose shape in the file differs from its order: axes are in words
// of the given bits.
func shaped(r role, suffix, typ, axes string, word int64, order string, bits int64) array {
	return array{suffix, typ, axes, word, []slot{{role: r, order: order, pitch: bits, bits: bits}}}
}

// inBlocks is an array of blocks of a GGUF type. Each block has some groups, and the given
// slots. lead are the axes outside k.
func inBlocks(typ, lead string, group int64, slots ...slot) array {
	t, err := checkpoint.GGUF.Type(typ)
	if err != nil {
		panic(err) // a constant of this package
	}
	a := array{".weight", typ, fmt.Sprintf("%s k/%d", lead, t.Block), 8 * t.BlockBytes, slices.Clone(slots)}
	lead = strings.ReplaceAll(lead, "|", " ")
	for i := range a.slots {
		s := &a.slots[i]
		s.block, s.rows = a.bits, fmt.Sprintf("%s g/%d", lead, t.Block/group)
		switch s.role {
		case codes:
			s.rows = fmt.Sprintf("%s k/%d", lead, t.Block)
		case superScales, superMins:
			s.rows = fmt.Sprintf("%s s", lead)
		}
		if rows, ok := gridRows(s.role, typ, lead); ok {
			s.rows = rows
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

// unwritten is the prefix for suffixes of arrays that are in no file: they may end within a
// byte.
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
		for _, d := range digitsOf(axis) {
			n *= d.Count(ext)
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

// extent determines the extents of axes that are not yet in ext from the array's tensor,
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
		for _, d := range digitsOf(axis) {
			if _, known := ext[d.Axis]; d.Size == 0 && !known {
				open = &d
				continue
			}
			switch c := d.Count(ext); {
			case c == 0 && n == 0:
				n = 1 // an axis without elements; other axes cannot change that
			case c == 0 || n%c != 0:
				return wrong()
			default:
				n /= c
			}
		}
		switch {
		case open != nil:
			ext[open.Axis] = n * open.Div
		case n != 1:
			return wrong()
		}
	}
	return nil
}
