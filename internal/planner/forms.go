package planner

// Form is the algorithm of a kernel: a row of the table of forms.
type Form uint8

// The forms; the table describes them.
const (
	none Form = iota
	Element
	Fill
	Spread
	Run
	Repack
	Gather
	Stamp
	Pack
	Field
	Block
	Tile
	Transpose
	Batch
	Shuffle
	Permute
	Cast
	CastWords
	DenseCast
	TransposedCast
	ColumnCast
	BatchedCast
	Take
	Pick
	Picks
	Join
	Put
	Place
	Reduce
	Fold
	Where
	Blend
	Dequantize
	DequantizeCodes
	Quantize
	Codes
	Blocks
	numForms
)

// family is what the kernels of a form do with elements.
type family uint8

const (
	moves family = iota // copies, fills, and conversions by the low bits
	converts
	takes
	puts
	reduces // reducing puts
	chooses
	scales
)

// form is a row of the table.
type form struct {
	name   string
	entry  string // the beginning of its kernels' names, if it differs from the form's name
	suffix string // another part of these names
	does   family

	header         string // the kernels' header, in source
	cpuHeader      string // the header on CPUs, if it differs
	periodicHeader string // the header for chunks in periods
	elements       string // the file that one of these headers includes as ELEMENTS

	arguments  []string // the kernels' additional arguments
	room       int      // number of axes that the parameters have room for; 0: usualRoom
	general    bool     // there are also kernels with Spec.ManyAxes
	items      int64    // elements of a work-item: see Spec.items; 0: 4
	manyScaled bool     // an item has several elements with the same terms

	minBlocksPerSM func(Spec) int             // see Spec.minBlocksPerSM; nil: 0
	defines        func(Spec) []string        // additional macros
	serves         func(Spec, typesUsed) bool // see Spec.serves; nil: servesWidths
	specs          func() []Spec              // the kernels of this and the next forms without specs
}

// forms points to the table. init sets it because the table's functions read it: Go allows no
// cycles in the initialization of variables.
var forms *[numForms]form

func init() { forms = &table }

var table = [numForms]form{
	// Single elements, on a GPU; several per work-item.

	// Elements anywhere.
	Element: {
		name: "element", header: "element.h", elements: "copy.h", general: true, items: 16,
		defines: itemDefines, specs: elementSpecs,
	},
	// One value.
	Fill: {name: "fill", header: "fill.h", general: true, defines: itemDefines},
	// Elements that src repeats along an outer axis.
	Spread: {name: "spread", header: "element.h", elements: "spread.h", defines: itemDefines, specs: spreadSpecs},

	// Words of dst on CPUs, or chunks of 16 bytes. Chunks of many rows at any pitch form
	// periods (source/periods.h). Rows of 32 and 64 bits that begin anywhere in sectors of dst
	// are also moved as chunks of 16-bit elements, where single elements would leave partial
	// sectors.

	// Runs that are dense on both sides.
	Run: {
		name: "run", header: "chunks.h", periodicHeader: "periodic_chunks.h", cpuHeader: "run.h", elements: "run.h",
		minBlocksPerSM: inPeriods(4), serves: servesWider, specs: wordSpecs,
	},
	// The same between widths, or backwards in src.
	Repack: {
		name: "repack", header: "chunks.h", periodicHeader: "periodic_chunks.h", cpuHeader: "repack.h", elements: "repack.h",
		minBlocksPerSM: inPeriods(4),
	},
	// Elements anywhere that are below a byte, or that a row repeats; and one value.
	Gather: {
		name: "gather", header: "chunks.h", periodicHeader: "periodic_chunks.h", elements: "gather.h", general: true,
		minBlocksPerSM: always(4), serves: servesWider,
	},
	// Rows that are shorter than a chunk and that src repeats: each chunk is assembled once.
	Stamp: {name: "stamp", entry: "gather", header: "stamp.h", minBlocksPerSM: always(4)},
	// Elements anywhere, on CPUs.
	Pack: {name: "pack", header: "pack.h", elements: "narrow.h"},
	// Fields of a few bits at some pitch on both sides that match no element width: single
	// bits, codes of 3, 5 and 6 bits, bit planes. Elements of 2 and 4 bits with gaps between
	// them.
	Field: {name: "field", header: "field.h", serves: servesFields, specs: fieldSpecs},

	// Permutations of axes.

	// Any permutation, on CPUs: blocks of dst are assembled in a private tile.
	Block: {name: "block", header: "block.h", specs: blockSpecs},
	// Two long axes are swapped, with elements of 32 bits and more.
	Tile: {name: "tile", header: "tile.h", minBlocksPerSM: always(5), defines: tileDefines, specs: transposeSpecs},
	// The same for narrower elements: squares of them are transposed in registers.
	Transpose: {
		name: "transpose", header: "transpose.h", cpuHeader: "transpose_cpu.h",
		minBlocksPerSM: always(3), defines: transposeDefines,
	},
	// The same for small matrices that follow each other in dst, or for strips.
	Batch: {name: "batch", header: "batch.h", minBlocksPerSM: always(4), defines: batchDefines, specs: batchSpecs},
	// Short axes, of elements of 8 bits and more. The tile holds rows of src in their order;
	// runs of dst are assembled with tables.
	Shuffle: {name: "shuffle", header: "shuffle.h", room: shuffleRoom, minBlocksPerSM: always(4), defines: shuffleDefines, specs: shuffleSpecs},
	// Elements of 2 to 16 bits whose indices are a bit permutation, as in packed weight
	// formats: bits that select an element in a word are exchanged in registers.
	Permute: {name: "permute", header: "permute.h", room: permuteRoom, minBlocksPerSM: permuteBlocks, defines: permuteDefines, specs: permuteSpecs},

	// Conversions by value: between any types of certain widths, or between two given types,
	// which is several times as fast. A map is a conversion with a table in memory
	// (Spec.Mapped).

	// Elements anywhere.
	Cast: {
		name: "cast", does: converts, header: "element.h", general: true,
		minBlocksPerSM: castBlocks, defines: castDefines, serves: servesCast, specs: castSpecs,
	},
	// The same with words of dst: for elements below a byte, and on a GPU below a word.
	CastWords: {
		name: "castWords", entry: "cast", does: converts, header: "pack.h", general: true,
		minBlocksPerSM: castBlocks, defines: castDefines, serves: servesCast,
	},
	// Rows that are dense on both sides, of 16 bytes and more on the side with wider elements.
	DenseCast: {
		name: "denseCast", does: converts, header: "dense.h",
		minBlocksPerSM: always(4), defines: denseDefines, serves: servesDense,
	},
	// Two long axes are swapped: what is read is converted, then transposed in registers.
	TransposedCast: {
		name: "transposedCast", suffix: "_turned", does: converts, header: "transpose.h",
		minBlocksPerSM: always(3), defines: transposedCastDefines, serves: servesDense,
	},
	// The same for longer lines: what is read is kept in local memory and converted when
	// written.
	ColumnCast: {
		name: "columnCast", suffix: "_columns", does: converts, header: "column_cast.h",
		minBlocksPerSM: always(4), defines: columnCastDefines, serves: servesDense,
	},
	// The same for small matrices that follow each other on both sides.
	BatchedCast: {
		name: "batchedCast", suffix: "_batched", does: converts, header: "batched_cast.h",
		minBlocksPerSM: always(4), defines: columnCastDefines, serves: servesDense,
	},

	// Copies whose positions in src (for puts, in dst) depend on indices in memory.

	// Rows whose elements share their indices.
	Take: {
		name: "take", does: takes, header: "take.h", arguments: takeArguments, room: takeRoom, general: true, items: 8,
		defines: itemDefines, specs: takeSpecs,
	},
	// Elements with their own index.
	Pick: {name: "pick", does: takes, header: "pick.h", arguments: takeArguments, room: takeRoom, general: true, defines: itemDefines},
	// The same in chunks, for neighbouring indices.
	Picks: {name: "picks", does: takes, header: "picks.h", arguments: takeArguments, room: takeRoom, minBlocksPerSM: always(4)},
	// Chunks of rows, which may begin anywhere, or of elements below a byte.
	Join: {
		name: "join", does: takes, header: "join.h", arguments: takeArguments, room: joinRoom, general: true,
		minBlocksPerSM: always(4), defines: joinDefines, serves: servesParts, specs: joinSpecs,
	},
	// Take and Pick for puts: the sides are swapped. Elements below a byte are merged.
	Put: {
		name: "put", does: puts, header: "take.h", arguments: takeArguments, room: takeRoom, general: true, items: 8,
		defines: itemDefines,
	},
	Place: {name: "place", does: puts, header: "pick.h", arguments: takeArguments, room: takeRoom, general: true, defines: itemDefines},
	// Put with a reduction, by atomic operations, where the order does not matter.
	Reduce: {
		name: "reduce", does: reduces, header: "reduce.h", arguments: takeArguments, room: takeRoom, general: true,
		defines: reduceDefines, serves: servesReduced, specs: reduceSpecs,
	},
	// The same in the order of the elements: each work-item owns places of dst.
	Fold: {
		name: "fold", does: reduces, header: "fold.h", arguments: takeArguments, room: takeRoom, general: true,
		defines: foldDefines, serves: servesReduced,
	},

	// Choices between elements of two tensors.

	// Elements anywhere.
	Where: {
		name: "where", does: chooses, header: "where.h", arguments: whereArguments, room: takeRoom, general: true,
		defines: itemDefines, specs: whereSpecs,
	},
	// Chunks of rows that are dense or repeat an element, of up to 32 bits.
	Blend: {
		name: "blend", does: chooses, header: "blend.h", arguments: whereArguments, room: takeRoom,
		minBlocksPerSM: always(4), defines: blendDefines,
	},

	// Elements that are scaled by terms with their own layouts.

	// Elements anywhere.
	Dequantize: {
		name: "dequantize", does: scales, header: "scaling.h", arguments: scalingArguments, room: scalingRoom, general: true,
		defines: scalingDefines, serves: servesScaling, specs: scalingSpecs,
	},
	// Codes of 2 to 8 bits that are dense along a row that shares its terms.
	DequantizeCodes: {
		name: "dequantizeCodes", entry: "dequantize", does: scales, header: "dequantize.h", arguments: scalingArguments, room: scalingRoom,
		manyScaled: true, minBlocksPerSM: always(4), defines: scalingDefines, serves: servesScaling,
	},
	// Elements anywhere.
	Quantize: {
		name: "quantize", does: scales, header: "scaling.h", arguments: scalingArguments, room: scalingRoom, general: true,
		defines: scalingDefines, serves: servesScaling,
	},
	// To codes of 4 and 8 bits that are dense along a row that shares its terms.
	Codes: {
		name: "codes", does: scales, header: "codes.h", arguments: scalingArguments, room: scalingRoom,
		manyScaled: true, minBlocksPerSM: always(4), defines: scalingDefines, serves: servesScaling,
	},
	// To codes in blocks, with a computed scale for each block.
	Blocks: {
		name: "blocks", does: scales, header: "blocks.h", arguments: scalingArguments, room: scalingRoom, general: true,
		minBlocksPerSM: always(2), defines: scalingDefines, serves: servesScaling,
	},
}

func (s Spec) form() *form { return &forms[s.Form] }

// String returns the form's name.
func (f Form) String() string { return forms[f].name }

// The kernels' additional arguments. For takes: the indices, whose base is lo, and where to record
// one out of range (see source/indices.h). For a map: the table (see source/map.h). For a choice:
// the condition and b (see source/where_operands.h). For scalings: the terms, and the base of the
// last one.
var (
	takeArguments    = []string{"GLOBAL const u8 *at", "GLOBAL u32 *status"}
	mapArguments     = []string{"GLOBAL const u8 *entries"}
	whereArguments   = []string{"GLOBAL const u8 *cond", "GLOBAL const u8 *more"}
	scalingArguments = []string{"GLOBAL const u8 *scale", "GLOBAL const u8 *zero", "GLOBAL const u8 *add", "i64 addBase"}
)

// always and inPeriods return a number of blocks for all kernels of a form, or for its kernels
// with periods.
func always(blocks int) func(Spec) int { return func(Spec) int { return blocks } }

func inPeriods(blocks int) func(Spec) int {
	return func(s Spec) int {
		if s.Periodic {
			return blocks
		}
		return 0
	}
}
