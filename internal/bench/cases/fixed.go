package cases

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// mostName is the most bytes of a name: a case's text may be its name.
const mostName = 1000

// Fixed is a caller's own case, which is the same at any size.
func Fixed(name string, o oracle.Case) (Case, error) {
	refuse := func(rule string) (Case, error) {
		return Case{}, layout.Errorf(device.ErrInvalid, "Case", "%s: %s", quote.Plain(name), rule)
	}
	if name == "" || len(name) > mostName || quote.Text(name) != name || strings.ContainsFunc(name, unicode.IsSpace) {
		return refuse(fmt.Sprintf("a name has 1 to %d bytes, none of them a space or what cannot be printed", mostName))
	}
	if rule := unmeasured(&o); rule != "" {
		return refuse(rule)
	}
	return Case{Name: name, Class: "own", Op: o.Op, DstType: o.DstType, SrcType: o.SrcType, fixed: &o}, nil
}

// unmeasured is the rule for measurements that an operation breaks; "": none, if the device
// supports the operation.
func unmeasured(o *oracle.Case) string {
	indexed := o.Op == oracle.OpTake || o.Op == oracle.OpPut
	switch scale := o.Terms.Scale.Type; {
	case o.DstType.Bits() == 0 || o.Op != oracle.OpFill && o.SrcType.Bits() == 0:
		return "elements have a size: strings have none"
	case o.Dst.Count() == 0:
		return "it has at least one element"
	case o.Shared || o.SharedB:
		return "each operand has a buffer of its own"
	case indexed && (len(o.By) != 1 || o.By[0].Offset != 0):
		return "it has one index, which is read at offset 0"
	case indexed && o.By[0].Extent < 1:
		return "the extent of an index is at least 1"
	case indexed && o.AtType != layout.Int32 && o.AtType != layout.Int64:
		return "indices are int32 or int64"
	case o.Wrong > 0:
		return "all indices are in range"
	case o.Op == oracle.OpMap && (o.Table != 0 || o.SrcType.Bits() > 8):
		return "a table begins at 0, and elements of at most 8 bits are looked up in it"
	case o.Terms.Add.Type != layout.Invalid:
		return "nothing is added to what scales"
	case (o.Op == oracle.OpDequantize || o.Op == oracle.OpQuantize) && Scale(scale) == nil:
		return "scales are float16, bfloat16, float or float8e8m0"
	}
	return ""
}

// Parse reads a caller's own case: an operation in the form of restride verify, or
// NAME=OPERATION. Without a name, its text is its name.
func Parse(text string) (Case, error) {
	name, operation, ok := strings.Cut(text, "=")
	if !ok || strings.HasSuffix(name, "/dst") { // the first that an operation has
		name, operation = text, text
	}
	return named(name, operation)
}

func named(name, operation string) (Case, error) {
	o, err := oracle.ParseCase(operation)
	if err != nil {
		return Case{}, err
	}
	return Fixed(name, o)
}

// Read reads a list of a caller's own cases: lines of a name and an operation, in the form of
// restride verify. Lines that begin with # are comments.
func Read(r io.Reader) (all []Case, err error) {
	scan := bufio.NewScanner(r)
	for n := 1; scan.Scan(); n++ {
		words := strings.Fields(scan.Text())
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
			continue
		case len(words) != 2:
			err = layout.Errorf(device.ErrInvalid, "Case", "want a name and an operation, without spaces in them")
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		c, err := named(words[0], words[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, c)
	}
	return all, scan.Err()
}
