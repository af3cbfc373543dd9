// Package kernels holds the kernels that copy, fill and convert elements on a
// device, and a planner that chooses among them. The planner is pure Go, from
// two layouts to a [Launch]; a device package gives that to its driver.
//
// # Plan
//
// A copy is first rewritten over the fewest axes and the widest elements, up to 16
// bytes (layout.Simplify, layout.Widen). Its class ([nest.Class]) says where its
// elements lie, its [Form] is the algorithm, which depends on the elements' bits, too.
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
// The table in forms.go has all forms: what each is for, its header, the room for its
// parameters, how many of its groups a multiprocessor holds, its arguments and macros.
//
// Where several forms could do a copy, the one with the lowest estimated cost is chosen:
// instructions, sectors of memory and passes through local memory of a block (cost.go).
// The same estimate chooses the shape of a tile. A sector of dst that two groups complete
// costs a GPU much more than its bytes: tiles overlap by a sector where lines of dst do not
// begin on sectors.
//
// Beside its operands a kernel reads the parameters of its launch: the extents, steps
// and magic numbers of the axes, the same on every target. In CUDA they are an argument
// by value, of a size that depends on the kernel only; launches of layouts of very many
// axes have kernels of their own, of the general forms. Elsewhere they lie in memory.
// [Cache] keeps launches by layouts.
//
// Command kernels/model predicts the performance of the kernels on GPUs: see
// docs/gpu-model.md.
//
// # One source
//
// The kernels are written once, in C with a few macros, and compile as OpenCL C, CUDA C
// and C++ by a short prelude for each. Headers include what they need; [Source] makes one
// text of them. A [Spec] is a form made for element widths: bits, not types. Only a
// conversion by value has to know its types: most read them at run time, from arguments
// (see [Numbers]), and those between the types that are converted most have kernels of
// their own.
//
// A work-item writes elements, whole words, or chunks that no other one writes. Where some
// of a word's bits are not dst's, or another work-item's, they are merged by atomic
// operations (of elements below a byte) or byte by byte, so that nothing but dst's
// elements changes.
package planner
