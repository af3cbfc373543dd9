// Package planner chooses the kernels that copy, fill and convert elements on a
// device. It is pure Go: from two layouts it plans a [Launch], which a device
// package passes to its driver. Package kernels holds the kernels' source.
//
// # Plan
//
// A copy is first rewritten over the fewest axes and the widest elements, up to 16
// bytes (layout.Simplify, layout.Widen). Its class ([nest.Class]) describes where its
// elements lie. Its [Form] is the algorithm, which also depends on the element width.
// The usual forms:
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
// The table in forms.go describes all forms: purpose, header, room for parameters, groups
// per multiprocessor, arguments and macros.
//
// If several forms can do a copy, the one with the lowest estimated cost is chosen. The
// cost is a block's instructions, sectors of memory and passes through local memory (cost.go).
// The same estimate chooses the shape of a tile. A sector of dst that two groups complete
// costs a GPU much more than its bytes: tiles overlap by a sector where lines of dst do not
// begin on sectors.
//
// Apart from its operands, a kernel reads the parameters of its launch: the extents, steps
// and magic numbers of the axes, the same on every target. In CUDA they are an argument
// by value, whose size depends only on the kernel; layouts of very many axes use separate
// kernels of the general forms. Elsewhere they lie in memory. [Cache] keeps launches by
// layout.
//
// Command kernels/model predicts the performance of the kernels on GPUs: see
// docs/gpu-model.md.
//
// # One source
//
// The kernels are written once, in C with a few macros, and compile as OpenCL C, CUDA C
// and C++ with a short prelude for each. Headers include what they need; [Source] combines
// them into one text. A [Spec] is a form compiled for element widths: bits, not types. Only
// conversions by value depend on types: most read them at run time, from arguments (see
// [Numbers]); conversions between the most common types have their own kernels.
//
// A work-item writes elements, whole words, or chunks that no other work-item writes. Where
// some of a word's bits are not dst's, or belong to another work-item, they are merged by
// atomic operations (of elements below a byte) or byte by byte, so that only dst's elements
// change.
package planner
