// Package kernels holds the kernels that copy, fill and convert elements on a
// device, and a planner that chooses among them. The planner is pure Go, from
// two layouts to a [Launch]; a device package gives that to its driver.
//
// # Plan
//
// A copy is first rewritten over the fewest axes and the widest elements, up to 16
// bytes (layout.Simplify, layout.Widen). Its class ([layout.Class]) says where its elements lie, its
// [Form] is the algorithm, which depends on the elements' bits, too. The usual forms:
//
//	                                             on a GPU                         on a CPU
//	class      dst, src                          32 to 128  8, 16      2, 4       8 to 128  2, 4
//	dense      one dense run                     element    run        run        block     run
//	rows       dense rows                        element    run        run        block     run
//	transpose  dense along different, long axes  tile       transpose  transpose  block     transpose
//	shuffle    dense along different axes        shuffle    permute    permute    block     pack
//	reversed   src's rows run backwards          element    repack     repack     block     repack
//	strided    src's rows have gaps              element    element    field      block     pack
//	broadcast  src repeats elements              spread     gather     gather     block     pack
//	general    anything else                     element    element    gather     block     pack
//	fill       -                                 fill       gather     gather     fill      pack
//
// tile's blocks have the shape that costs least, of up to so many elements as a group of
// work-items can load at once: 64 by 64 words, longer and narrower ones, or several
// small matrices. It takes permutations of short axes of 64 bytes and more, too.
//
// transpose reads and writes 16 bytes at a time, of lines that begin anywhere, and across
// lines where these follow each other in dst. Its tile of 32 KiB has the shape that takes
// least: long and narrow for few channels, of several matrices where these are small.
// Where a shuffle takes less than either, by about how many instructions, sectors and
// passes through local memory a block has (effort.go), it goes by that.
//
// The items of run, repack and gather are chunks of dst: 16 aligned bytes (source/chunks.h).
// Run and repack shift and rearrange whole 16-byte words of src for them, gather reads
// elements below a byte, or one that a row repeats. Of many rows at any pitch, chunks come in
// periods (source/periods.h): what a work-item finds out about its chunk holds for several.
// Rows that src repeats are read once, and those of fewer elements than a chunk, below a byte,
// are put together once for all periods (source/stamp.h).
// Short rows with gaps between them in dst go element by element, as merging the ends of chunks
// costs more. Rows of 32 and 64 bits that begin anywhere in sectors of dst go by chunks, too,
// where several passes of a block would write a part of a sector each (torn.go): forwards, and a
// fill of one run, as elements of 16 bits. On a CPU items are words of dst. Other elements are
// moved one by one, by element or fill, several by a work-item. Where lines of dst come from many
// lines of src, other classes go by tile, transpose and shuffle, too; element and gather are for
// what has axes too short or too far apart for their tiles, and gather for rows of reversed
// elements shorter than two words.
//
// transpose, below 32 bits, has squares of elements in registers, and a tile of 16-byte slots of
// lines of dst. Where these lines do not begin on sectors of memory, 32 bytes, its tiles overlap by
// a sector, as those of tile may: one that two groups complete costs a GPU much more than its bytes.
//
// batch is for transposed matrices, of 2 to 16 bits, whose elements follow each other in
// dst, small ones or strips: it reads them as they lie in src, and writes one run of dst.
//
// shuffle's tile holds rows of src as they lie there; each run of dst is put together from
// it, by tables: in units of 8 or 16 aligned bytes, and single elements at its ends
// afterwards. Rows of elements of 8 and 16 bits that are shorter than 16 bytes go the
// same way, pixels for one. Of the tiles that fit local memory the cheapest is taken, by
// about how many instructions it costs.
//
// permute is for elements of 2 to 16 bits whose numbers, on both sides, differ by an
// exchange of bits, as those of weights in a packed format and another: words are read
// and written, and the bits that choose an element in a word are exchanged in
// registers. Words of which a side has some elements only, fields within bytes, are moved
// as whole ones, and merged into dst's. Its tile has the bits that cost least in sectors and in what lies beyond
// extents. What has axes that are not powers of two within a word goes by shuffle, of
// 8 bits or more, or gather. Elements of 8 and 16 bits go by shuffle also where that takes less.
//
// field is for fields of a few bits at some pitch on either side, which no width of elements
// fits: single bits, codes of 3, 5 and 6 bits, and what planes of bits add to codes; and for
// elements of 2 and 4 bits with gaps between them in dst, or small ones in src. Its items are
// words of dst.
//
// A conversion between a type below a byte and 8 bits by the low bits is repack's
// where both sides are dense, in rows of two words or more, and else gather's. One by
// value is cast's, in integer arithmetic, which goes in front of pack or element;
// on a GPU, what is dense on both sides, in rows of 16 bytes or more on the side with the
// wider elements, is lookup's, of elements up to 8 bits, or value's, which pass through a
// float of 32 bits. Where the sides are dense along different axes, both have kernels of their
// own: some convert what they read, and transpose it as transpose does (Spec.Turned); those of
// longer lines, from 8 and 16 bits to 16 and 32, take elements from lines of src in local memory,
// and convert them as they are written (Spec.Columns), as do those of small matrices that follow
// each other (Spec.Batched).
//
// take, join, picks and pick are for copies whose positions in src depend on indices: of
// rows, of rows of 16 elements and more that begin or end within 16 bytes, which join puts
// together by chunks, of single elements whose indices are neighbours, also by chunks, or of
// any others. On a GPU all elements below a byte are join's. Of long rows whose elements have
// indices in common with those of other rows, columns, take and put move one row after the other,
// which the caches then have as a whole.
// put and place are take and pick with indices of dst: those below a byte are merged.
// reduce is place where elements are added and so on, by atomic operations. Where what
// comes of that depends on the order, or there are none of 64 bits, it is fold: an item owns
// places of dst, and goes through what may be put there in order.
//
// A map, by a table in memory, is lookup's and cast's, too, in kernels of their own
// (Spec.Mapped). A choice between two tensors is blend's on a GPU, of elements up to 32
// bits, where rows of a chunk and more are dense in dst, and dense or of one element on
// the other sides: it reads and writes 16 bytes at a time; else it is where's, element by
// element, or below a byte by words of dst.
//
// Elements are scaled by terms, which have layouts of their own. On a GPU, codes of 2 to 8 bits
// that lie densely along a row with its terms in common are dequantize's by units of 16 bytes of
// dst; codes does the same for quantizations of floats to 4 and 8 bits. Else dequantize and
// quantize go element by element, or below a byte by words of dst. blocks is a quantization in
// blocks that finds each one's scale.
//
// Beside its operands a kernel reads the parameters of its launch: the extents, steps
// and magic numbers of the axes, the same on every target. In CUDA they are an argument
// by value, of a size that depends on the kernel only; launches of layouts of very many
// axes have kernels of their own, of the general forms. Elsewhere they lie in memory.
// [Cache] keeps launches by layouts.
//
// What a model of GPUs predicts for them is in docs/gpu-model.md, which the command
// kernels/model writes.
//
// # One source
//
// The kernels are written once, in C with a few macros, and compile as OpenCL C,
// CUDA C and C++ by a short prelude for each ([Source]). A [Spec] is a form made
// for element widths: bits, not types. Only a conversion by value has to know its
// types: most take them at run time, as arguments (see [Numbers]), and those between
// the types that are converted most have kernels of their own.
//
// A work-item writes elements, whole words, or chunks that no other one writes. Where some of
// a word's bits are not dst's, or another work-item's, they are merged by atomic
// operations (of elements below a byte) or byte by byte, so that nothing but dst's
// elements changes.
package kernels
