package planner

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Spec names one kernel: an algorithm for element widths and a kind of processor. It is
// comparable: the key of compiled kernels.
type Spec struct {
	Form      Form
	DstBits   uint8 // the width of an element in dst: 1 to 128
	SrcBits   uint8 // and in src; 0 for a fill
	AtBits    uint8 // of a take: the width of an index
	Signed    bool  // unpacking keeps the sign
	Wide      bool  // steps within a block need 64 bits
	CPUTarget bool  // for CPUs, which run a work-group as a loop
	ManyAxes  bool  // more parameters than usual kernels have room for: see ParameterBytes
	Mapped    bool  // uses a table in memory: see source/map.h
	Periodic  bool  // chunks come in periods: see source/periods.h
	Step      int8  // of forms with a constant innermost step of src: that step, or 0 for any

	To, From layout.DType // of a cast that is made for a pair of types; otherwise 0
}

// String returns the name of the kernel's entry point: "element_32",
// "pack_8_s4", "cast_16_32", "cast_float16_float32", "run_4_serial".
func (s Spec) String() string {
	entry := s.entry()
	name := entry + "_" + strconv.Itoa(int(s.DstBits))
	if s.pair() {
		name = entry + "_" + s.To.String() + "_" + s.From.String()
	} else if s.byValue() {
		name += "_" + strconv.Itoa(int(s.SrcBits))
	} else if s.SrcBits != s.DstBits && s.SrcBits != 0 {
		name += "_"
		if s.Signed {
			name += "s"
		} else {
			name += "u"
		}
		name += strconv.Itoa(int(s.SrcBits))
	}
	if s.Mapped {
		name += "_map"
	}
	if s.AtBits != 0 {
		name += "_i" + strconv.Itoa(int(s.AtBits))
	}
	if s.SrcBits == 0 && (s.Form == Pack || s.Form == Gather) {
		name += "_fill"
	}
	if s.Step == repeated {
		name += "_repeat"
	} else if s.Step > 0 {
		name += "_step" + strconv.Itoa(int(s.Step))
	} else if s.Step < 0 {
		name += "_back" + strconv.Itoa(-int(s.Step))
	}
	if s.Periodic {
		name += "_periods"
	}
	name += s.form().suffix
	if s.Wide {
		name += "_wide"
	}
	if s.ManyAxes {
		name += "_long"
	}
	if s.CPUTarget {
		name += "_serial"
	}
	return name
}

// kernel is the readable name: the form, and the width of the elements written.
func (s Spec) kernel() string { return s.Form.String() + "." + strconv.Itoa(int(s.DstBits)) }

// entry is the beginning of the name: the form, or the method of a conversion of dense elements.
func (s Spec) entry() string {
	f := s.form()
	switch {
	case s.dense() && s.looksUp():
		return "lookup"
	case s.dense():
		return "value"
	case f.entry != "":
		return f.entry
	}
	return f.name
}

// group is the number of work-items in a group.
func (s Spec) group() uint32 {
	if s.CPUTarget {
		return 1
	}
	return GroupSize
}

// minBlocksPerSM is the least number of groups that a multiprocessor holds; the compiler limits
// registers accordingly. 0: it chooses. (With 1 it uses more registers than by its own choice.)
// Variables without a register go to memory, which makes an H100 up to five times slower; one more
// group makes it up to a tenth faster.
func (s Spec) minBlocksPerSM() int {
	if blocks := s.form().minBlocksPerSM; blocks != nil {
		return blocks(s)
	}
	return 0
}

// Arguments is the number of the kernel's arguments, of 8 bytes each except for parameters passed
// by value (see ParameterBytes): dst, src, the launch's parameters, the bases of dst and src, two
// values lo and hi (the pattern of a fill, or values for the additional arguments), then
// additional arguments, mostly memory.
func (s Spec) Arguments() int { return usualArguments + len(s.arguments()) }

// arguments are the additional arguments.
func (s Spec) arguments() []string {
	if s.Mapped {
		return mapArguments
	}
	return s.form().arguments
}

const usualArguments = 7

// MaxArguments is the largest number of arguments.
const MaxArguments = usualArguments + 4

// GroupSize is the number of work-items in a group, except in kernels for CPUs, whose groups have
// one.
const GroupSize = 256

// defines are the macros that turn a form's source into this kernel.
func (s Spec) defines() []string {
	index := "i32"
	if s.Wide || s.ManyAxes || s.casts() {
		index = "i64"
	}
	flag := func(b bool) string {
		if b {
			return "1"
		}
		return "0"
	}
	merge := "merge_bytes"
	if s.DstBits < 8 {
		merge = "merge_bits"
	}
	more, named := "", ""
	for _, argument := range s.arguments() {
		more += ", " + argument
		named += ", " + argument[strings.LastIndexAny(argument, "* ")+1:]
	}
	var from, to uint64
	var read int
	if s.pair() {
		from, to = Numbers(s.To, s.From, device.Rounding{})
		read = s.From.Bits()
	}
	all := []string{
		"NAME " + s.String(),
		"DBITS " + strconv.Itoa(int(s.DstBits)),
		"ABITS " + strconv.Itoa(int(s.AtBits)),
		"SBITS " + strconv.Itoa(int(s.SrcBits)),
		"WORD " + fmt.Sprintf("u%d", max(s.DstBits, 8)),
		"INDEX " + index,
		"SIGNED " + flag(s.Signed),
		"CAST " + flag(s.casts()),
		"SCALES " + flag(s.Scales()),
		"PAIR " + flag(s.pair()),
		"FBITS " + strconv.Itoa(read),
		"FROM " + fmt.Sprintf("%#x", from),
		"TO " + fmt.Sprintf("%#x", to),
		"SERIAL " + flag(s.CPUTarget),
		"PUT " + flag(s.puts()),
		"REDUCES " + flag(s.reduces()),
		"PERIODIC " + flag(s.Periodic),
		"STEP " + strconv.Itoa(int(s.Step)),
		"LIVE " + strconv.Itoa(s.minBlocksPerSM()),
		"ORDERED " + flag(s.Form == Shuffle),
		"GROUP " + strconv.Itoa(int(s.group())),
		"BLOCK_BYTES " + strconv.Itoa(blockBytes),
		"MERGE " + merge,
		"ROOM " + strconv.Itoa(s.room()),
		"ARGUMENTS i64 dBase, i64 sBase, u64 lo, u64 hi" + more,
		"NAMED dBase, sBase, lo, hi" + named,
	}
	f := s.form()
	if f.elements != "" {
		all = append(all, include("ELEMENTS", f.elements))
	}
	if f.defines != nil {
		all = append(all, f.defines(s)...)
	}
	return all
}

// include is a macro that names the header another one includes.
func include(macro, header string) string { return macro + ` "` + header + `"` }

// Specs lists every kernel that a plan may need.
func Specs() []Spec {
	var all []Spec
	for _, f := range table {
		if f.specs != nil {
			all = append(all, f.specs()...)
		}
	}
	return append(all, manyAxesSpecs(all)...)
}
