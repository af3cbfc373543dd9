// Package kernels holds the kernels that copy, fill and convert elements on a
// device, and a planner that chooses among them. The planner is pure Go, from
// two layouts to a [Launch]; a device package gives that to its driver.
//
// # Plan
//
// A copy is first rewritten over the fewest axes and the widest elements, up to
// 16 bytes (layout.Simplify, layout.Widen). Its [Class] says where its elements
// lie, its [Form] is the algorithm:
//
//	class       dst, src                             form on a GPU         on a CPU
//	contiguous  one dense run                        gather, run           block, run
//	rows        dense rows                           gather, run           block, run
//	transpose   dense along different, long axes     tile, turn            block, turn
//	shuffle     dense along different, short axes    shuffle, pack         block, pack
//	reverse     src's rows run backwards             gather, repack        block, repack
//	strided     src's rows have gaps                 gather, pack          block, pack
//	broadcast   src repeats elements                 spread, gather, pack  block, pack
//	gather      anything else                        gather, pack          block, pack
//	fill        -                                    fill, pack            fill, pack
//	convert     between types                        repack, pack, cast    repack, pack, cast
//	take        src's positions depend on indices    take                  take
//
// The last form of a row is that for elements narrower than 32 bits on a GPU, and
// than a byte on a CPU: there an item is a whole word of dst. See each form's file
// in source, and transposes, planPermute and planSerial for when it is taken. A
// conversion that keeps low bits is repack's where src is dense as well, else pack's
// (rows of less than two words are, too); cast is for those by value, in integer
// arithmetic only: it goes in front of pack or element.
//
// What a kernel reads beside its operands are the parameters of a launch: the extents, steps
// and magic numbers of the axes, the same on every target. [Cache] keeps plans by
// layouts, with their parameters on the device.
//
// # One source
//
// The kernels are written once, in C with a few macros, and compile as OpenCL C,
// CUDA C and C++ by a short prelude for each ([Source]). A [Spec] is a form made
// for element widths: bits, not types. Only a conversion by value has to know its
// types: most take them at run time, as arguments (see [Numbers]), and those between
// the types that are converted most have kernels of their own.
//
// Every work-item writes elements, or whole words, that it alone owns. Where a word
// of packed elements is not dst's as a whole, its bits are merged by atomic
// operations, so that nothing but dst's elements changes.
package kernels
