package kernels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Form is the algorithm of a kernel: the name of its source file.
type Form string

// Spec names one kernel: an algorithm made for element widths and a kind of
// processor. It is comparable: the key under which compiled kernels are kept.
type Spec struct {
	Form    Form
	DstBits uint8 // the width of an element in dst: 1 to 128
	SrcBits uint8 // and in src; 0 for a fill
	AtBits  uint8 // of a take: the width of an index
	Signed  bool  // unpacking keeps the sign
	Wide    bool  // steps within a block need 64 bits
	Serial  bool  // for processors that run a work-group as a loop: CPUs
	Long    bool  // more parameters than the others of its form have room for: see ParameterBytes
	Mapped  bool  // by a table in memory: see source/map.h
	Periods bool  // chunks come in periods: see source/periods.h
	Turned  bool  // a cast that is a transposition: see source/turned.h
	Columns bool  // the same, of longer lines: see source/columns.h
	Batched bool  // the same, of small matrices: see source/cast_batch.h
	Step    int8  // of forms for which src's innermost step is a constant: that, or 0 for any

	To, From layout.DType // of a cast that is made for a pair of types; otherwise 0
}

// String returns the name of the kernel's entry point: "element_32",
// "pack_8_s4", "cast_16_32", "cast_float16_float32", "run_4_serial".
func (s Spec) String() string {
	name := string(s.Form) + "_" + strconv.Itoa(int(s.DstBits))
	if s.pair() {
		name = string(s.Form) + "_" + s.To.String() + "_" + s.From.String()
	} else if s.Form.byValue() {
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
	if s.Periods {
		name += "_periods"
	}
	if s.Turned {
		name += "_turned"
	}
	if s.Columns {
		name += "_columns"
	}
	if s.Batched {
		name += "_batched"
	}
	if s.Wide {
		name += "_wide"
	}
	if s.Long {
		name += "_long"
	}
	if s.Serial {
		name += "_serial"
	}
	return name
}

// group is the number of work-items in a group.
func (s Spec) group() uint32 {
	if s.Serial {
		return 1
	}
	return GroupSize
}

// live is how many groups live on a multiprocessor at least, for which the compiler
// keeps to so few registers; 0: it chooses. (Where it is told 1, it takes more than it
// would by itself.) What does not fit goes to memory, without which an H100 is up to five
// times faster; one more group makes it up to a tenth faster.
func (s Spec) live() int {
	if s.Turned {
		return 768 / GroupSize
	}
	if s.Columns || s.Batched || s.Periods && (s.Form == Run || s.Form == Repack) {
		return 1024 / GroupSize
	}
	switch s.Form {
	case Transpose:
		return 768 / GroupSize
	case Tile:
		return 1280 / GroupSize
	case Batch, Gather, Shuffle, Lookup, Blend, Value, Join, Codes, Picks:
		return 1024 / GroupSize
	case Blocks:
		return 512 / GroupSize
	case Cast:
		if !s.pair() {
			return 1024 / GroupSize
		}
	case Dequantize:
		if s.SrcBits < 32 {
			return 1024 / GroupSize
		}
	}
	if s.Form == Permute {
		return 2048 / GroupSize >> (registerBits(int(s.DstBits)) - 3)
	}
	return 0
}

// Arguments is the number of the kernel's arguments, of 8 bytes each but for parameters
// by value (see ParameterBytes): dst, src, the launch's parameters, the bases of dst and
// src, and two values, lo and hi: the pattern of a fill, or what arguments behind them
// need, which is mostly memory.
func (s Spec) Arguments() int { return usualArguments + len(s.memory()) }

// memory is what a kernel has beside dst and src: a take the indices, whose base is lo,
// and where one out of range is noted (see source/indices.h); a map the table (see
// source/map.h); a where the condition and b (see source/sides.h); what scales its terms, and the base of the last one.
func (s Spec) memory() []string {
	switch {
	case s.takes():
		return takeMemory
	case s.Mapped:
		return mapMemory
	case s.wheres():
		return whereMemory
	case s.Scales():
		return scaleMemory
	}
	return nil
}

// What memory returns: made once, as every launch counts its arguments.
var (
	takeMemory  = []string{"GLOBAL const u8 *at", "GLOBAL u32 *status"}
	mapMemory   = []string{"GLOBAL const u8 *entries"}
	whereMemory = []string{"GLOBAL const u8 *cond", "GLOBAL const u8 *more"}
	scaleMemory = []string{"GLOBAL const u8 *scale", "GLOBAL const u8 *zero", "GLOBAL const u8 *add", "i64 addBase"}
)

const usualArguments = 7

// MaxArguments is the largest number of arguments.
const MaxArguments = usualArguments + 4

// GroupSize is the number of work-items in a group, but for serial kernels,
// which have one.
const GroupSize = 256

// defines are the macros that make a form's source into this kernel.
func (s Spec) defines() []string {
	index := "i32"
	if s.Wide || s.Long || s.Form == Cast {
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
	for _, argument := range s.memory() {
		more += ", " + argument
		named += ", " + argument[strings.LastIndexAny(argument, "* ")+1:]
	}
	var from, to uint64
	var read int
	if s.pair() {
		from, to = Numbers(s.To, s.From, device.Rounding{})
		read = s.From.Bits()
	}
	return append(append([]string{
		"NAME " + s.String(),
		"DBITS " + strconv.Itoa(int(s.DstBits)),
		"ABITS " + strconv.Itoa(int(s.AtBits)),
		"SBITS " + strconv.Itoa(int(s.SrcBits)),
		"WORD " + fmt.Sprintf("u%d", max(s.DstBits, 8)),
		"INDEX " + index,
		"SIGNED " + flag(s.Signed),
		"CAST " + flag(s.Form == Cast),
		"SCALES " + flag(s.Scales()),
		"PAIR " + flag(s.pair()),
		"FBITS " + strconv.Itoa(read),
		"FROM " + fmt.Sprintf("%#x", from),
		"TO " + fmt.Sprintf("%#x", to),
		"SERIAL " + flag(s.Serial),
		"PUT " + flag(s.puts()),
		"REDUCES " + flag(s.reduces()),
		"PERIODIC " + flag(s.Periods),
		"STEP " + strconv.Itoa(int(s.Step)),
		"LIVE " + strconv.Itoa(s.live()),
		"ORDERED " + flag(s.Form == Shuffle),
		"GROUP " + strconv.Itoa(int(s.group())),
		"BLOCK_BYTES " + strconv.Itoa(blockBytes),
		"MERGE " + merge,
		"ROOM " + strconv.Itoa(s.room()),
		"ARGUMENTS i64 dBase, i64 sBase, u64 lo, u64 hi" + more,
		"NAMED dBase, sBase, lo, hi" + named,
	}, s.headers()...), s.formDefines()...)
}

// formDefines are the macros of the form alone.
func (s Spec) formDefines() []string {
	switch s.Form {
	case Tile, Transpose:
		return s.transposeDefines()
	case Batch:
		return s.batchDefines()
	case Shuffle:
		return s.shuffleDefines()
	case Permute:
		return s.permuteDefines()
	case Element, Fill, Spread, Take, Pick, Put, Place, Join, Cast, Where:
		return s.itemDefines()
	case Blend:
		return []string{"COND_BITS " + strconv.Itoa(8*128/int(s.DstBits))}
	case Value, Lookup:
		return s.denseDefines()
	case Reduce, Fold:
		return s.reduceDefines()
	case Dequantize, Quantize, Codes, Blocks:
		return s.scalingDefines()
	}
	return nil
}

// Specs lists every kernel that a plan may ask for.
func Specs() []Spec {
	all := slices.Concat(elementSpecs(), wordSpecs(), fieldSpecs(), castSpecs(), blockSpecs(), transposeSpecs(), batchSpecs(), shuffleSpecs(), permuteSpecs(), spreadSpecs(), takeSpecs(), mapSpecs(), whereSpecs(), scalingSpecs())
	return append(all, longSpecs(all)...)
}
