package oracle

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Op is one of the operations on layouts.
type Op string

// The operations of device.Queue.
const (
	OpCopy    Op = "copy"
	OpFill    Op = "fill"
	OpConvert Op = "convert"
	OpTake    Op = "take"
	OpMap     Op = "map"
	OpWhere   Op = "where"
	OpPut     Op = "put"

	OpDequantize Op = "dequantize"
	OpQuantize   Op = "quantize"
)

// operations are all of them.
var operations = []Op{OpCopy, OpFill, OpConvert, OpTake, OpPut, OpMap, OpWhere, OpDequantize, OpQuantize}

// Case is one operation to check. Layouts count elements from the start of their buffer;
// everything outside them is guarded.
type Case struct {
	Op       Op
	DstType  layout.DType
	SrcType  layout.DType // but for a fill; for a take and a where it is DstType
	Dst, Src layout.Layout
	How      device.Rounding // Convert; for Quantize, whether it saturates
	Shared   bool            // dst and src lie in one buffer

	// For a take or a put: its indices. Wrong is the number of elements with one out of range.
	At     layout.Layout
	AtType layout.DType
	By     []layout.Index
	Wrong  int

	// For a map: the begin of the table in its buffer; its type is DstType.
	Table int64

	// For a where: b and cond; a is Src. SharedB: dst and b lie in one buffer.
	B, Cond layout.Layout
	SharedB bool
	// For a put. Once: no two elements go to one place; indices of other elements are out of
	// range, and skipped.
	Reduction device.Reduction
	Once      bool

	// For a dequantization or a quantization.
	Terms Terms
}

// String returns the case's name, such as
//
//	copy/int4/3x5/dst=5,1@1/src=-1,3@14
//	copy/float-int32/3x5/dst=5,1@0/src=0,1@0/shared
//	convert/int4-int8/scalar/dst=@0/src=@7
//	convert/float-float8e8m0/3/dst=1@0/src=1@0/how=unsaturated,down
//	fill/double/4x0/dst=0,0@0
//	take/int4/3x5/dst=5,1@1/src=0,1@0/at=1,0@2/int32/by=0:7:5,1:9:64/wrong=1
//	dequantize/uint4-float16/3x5/dst=5,1@0/src=5,1@0/scale=float:1,0@0/zero=uint4:1,0@2/add=float:1,0@0/subtract
//	quantize/float-int8/3x5/dst=5,1@0/src=5,1@0/scale=float16:1,0@0/precision=float16/how=unsaturated
//	quantize/float-uint4/3x5/dst=5,1@0/src=5,1@0/scale=float16:1,0@0/find
//	map/uint4-float16/3x5/dst=5,1@1/src=1,3@0/table=7
//	where/int4/3x5/dst=5,1@1/src=0,0@3/b=5,1@1/cond=1,0@2/shared-b
//	put/int4/3x5/dst=0,1@1/src=5,1@0/at=1,0@2/int32/by=0:7:5:skip/wrong=1/set/once
//
// that is operation, source and destination type (one if they are the same), extents, each
// layout's strides and offset, and the deviations from the default rounding; for a take or a
// put the type of its indices, offset, extent and stride of each, and the treatment of one out
// of range, unless that is an error; for a put the reduction; for a map the begin of the table;
// for a where src is a; for scalings the terms. As a pattern of go test's -run the name matches
// itself, and ParseCase reads it.
func (c Case) String() string {
	types := c.DstType.String()
	if c.Op != OpFill && c.SrcType != c.DstType {
		types = c.SrcType.String() + "-" + types
	}
	dims := "scalar"
	if c.Dst.Rank() > 0 {
		dims = join(c.Dst.Shape(), "x")
	}
	name := string(c.Op) + "/" + types + "/" + dims + "/dst=" + written(c.Dst)
	if c.Op != OpFill {
		name += "/src=" + written(c.Src)
	}
	if c.hasIndices() {
		name += c.indicesString()
	}
	name += c.Terms.written()
	switch c.Op {
	case OpMap:
		name += fmt.Sprintf("/table=%d", c.Table)
	case OpWhere:
		name += "/b=" + written(c.B) + "/cond=" + written(c.Cond)
	}
	if how := howString(c.How); how != "" {
		name += "/how=" + how
	}
	if c.Shared {
		name += "/shared"
	}
	if c.SharedB {
		name += "/shared-b"
	}
	return name
}

// howString writes the deviations of a rounding from the default.
func howString(r device.Rounding) string {
	var words []string
	if r.Unsaturated {
		words = append(words, "unsaturated")
	}
	switch r.Scale {
	case device.RoundDown:
		words = append(words, "down")
	case device.RoundNearest:
		words = append(words, "nearest")
	}
	if r.Legacy {
		words = append(words, "legacy")
	}
	return strings.Join(words, ",")
}

func parseHow(list string) (r device.Rounding, ok bool) {
	for word := range strings.SplitSeq(list, ",") {
		switch word {
		case "unsaturated":
			r.Unsaturated = true
		case "down":
			r.Scale = device.RoundDown
		case "nearest":
			r.Scale = device.RoundNearest
		case "legacy":
			r.Legacy = true
		default:
			return r, false
		}
	}
	return r, howString(r) == list
}

// written writes strides and offset.
func written(l layout.Layout) string {
	return join(l.Strides(), ",") + "@" + strconv.FormatInt(l.Offset(), 10)
}

func join(numbers []int64, separator string) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(words, separator)
}

// ParseCase reads the name of a case. A device need not accept the operation: it may reach
// beyond any memory, or write an element twice.
func ParseCase(name string) (Case, error) {
	words := strings.Split(name, "/")
	c := Case{Op: Op(words[0])}
	words, err := c.parseFlags(words)
	if err == nil {
		err = c.parseWords(words)
	}
	if err != nil {
		return Case{}, layout.Errorf(device.ErrInvalid, "ParseCase", "%q: %v", name, err)
	}
	return c, nil
}

// parseFlags reads the words at the end of a name that may be absent: where operands share a
// buffer, puts that set an element once, and a rounding. It returns the words before them.
func (c *Case) parseFlags(words []string) ([]string, error) {
	if words[len(words)-1] == "shared-b" && c.Op == OpWhere {
		c.SharedB, words = true, words[:len(words)-1]
	}
	switch words[len(words)-1] {
	case "shared":
		c.Shared, words = true, words[:len(words)-1]
	case "once":
		c.Once, words = true, words[:len(words)-1]
	}
	if last := len(words) - 1; (c.Op == OpConvert || c.Op == OpQuantize) && last > 4 && strings.HasPrefix(words[last], "how=") {
		var ok bool
		if c.How, ok = parseHow(words[last][len("how="):]); !ok {
			return nil, fmt.Errorf("%q is not of the form how=unsaturated,down,legacy or how=nearest", words[last])
		}
		words = words[:last]
	}
	return words, nil
}

// nameWords is the number of words in the name of a case, without flags and terms.
var nameWords = map[Op]int{OpCopy: 5, OpConvert: 5, OpFill: 4, OpTake: 9, OpPut: 10, OpMap: 6, OpWhere: 7, OpDequantize: 5, OpQuantize: 5}

var errForm = errors.New("not of the form copy/types/dims/dst=strides@offset/src=strides@offset, of a take with /at=strides@offset/type/by=offset:extent:stride,.../wrong=n, of a put with /set, too, of a map with /table=offset, of a where with /b=strides@offset/cond=strides@offset, of what scales with /scale=type:strides@offset")

// parseWords reads types, shape and operands.
func (c *Case) parseWords(words []string) (err error) {
	var terms []string
	if c.scales() && len(words) > 5 {
		words, terms = words[:5], words[5:]
	}
	if want := nameWords[c.Op]; want == 0 || len(words) != want || c.Shared && (c.Op == OpFill || c.hasIndices()) || c.Once && c.Op != OpPut {
		return errForm
	}
	if err = c.parseTypes(words[1]); err != nil {
		return err
	}
	var dims []int64
	if words[2] != "scalar" {
		if dims, err = split(words[2], "x"); err != nil {
			return fmt.Errorf("dims: %v", err)
		}
	}
	if c.Dst, err = parseLayout(words[3], "dst=", dims); err != nil {
		return err
	}
	if c.Op != OpFill {
		if c.Src, err = parseLayout(words[4], "src=", dims); err != nil {
			return err
		}
	}
	switch c.Op {
	case OpTake, OpPut:
		err = c.parseIndices(words[5:], dims)
	case OpDequantize, OpQuantize:
		if terms, err = c.parseTerms(terms, dims); err == nil && len(terms) > 0 {
			err = fmt.Errorf("%q is no term", terms[0])
		}
	case OpMap:
		err = c.parseTable(words[5])
	case OpWhere:
		if c.B, err = parseLayout(words[5], "b=", dims); err == nil {
			c.Cond, err = parseLayout(words[6], "cond=", dims)
		}
	}
	return err
}

// parseTypes reads the types of src and dst, or the one of both.
func (c *Case) parseTypes(word string) (err error) {
	from, to, two := strings.Cut(word, "-")
	if !two {
		to = from
	}
	if c.DstType, err = layout.ParseDType(to); err != nil {
		return err
	}
	if c.Op != OpFill {
		c.SrcType, err = layout.ParseDType(from)
	}
	if two && (c.Op == OpFill || c.hasIndices() || c.Op == OpWhere) {
		return fmt.Errorf("%s has one type", c.Op)
	}
	return err
}

// parseTable reads the begin of a map's table.
func (c *Case) parseTable(word string) (err error) {
	offset, ok := strings.CutPrefix(word, "table=")
	if !ok {
		return fmt.Errorf("%q is not of the form table=offset", word)
	}
	if c.Table, err = strconv.ParseInt(offset, 10, 64); err == nil && c.Table < 0 {
		err = fmt.Errorf("a table at %d", c.Table)
	}
	return err
}

func parseLayout(word, role string, dims []int64) (layout.Layout, error) {
	word, ok := strings.CutPrefix(word, role)
	list, off, ok2 := strings.Cut(word, "@")
	if !ok || !ok2 {
		return layout.Layout{}, fmt.Errorf("%q is not of the form %sstrides@offset", word, role)
	}
	offset, err := strconv.ParseInt(off, 10, 64)
	if err != nil {
		return layout.Layout{}, err
	}
	var strides []int64
	if list != "" {
		if strides, err = split(list, ","); err != nil {
			return layout.Layout{}, err
		}
	}
	return layout.Strided(dims, strides, offset)
}

func split(list, separator string) ([]int64, error) {
	var numbers []int64
	for word := range strings.SplitSeq(list, separator) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}
