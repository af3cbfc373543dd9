// Package ptx runs PTX programs: the kernels of package cuda, for tests and for the
// model of a GPU. It knows what clang writes for compute capability 7.0; what it does
// not know is an error of [Parse].
//
// A [Program] runs on [Memory]. All threads of a block run, a warp at a time. The seed
// chooses the order of blocks and warps, and how the threads of a warp diverge: threads
// on different paths go on in any order, as on hardware since Volta. A run ends at the
// first [Fault]:
//
//   - an access outside of all allocations, misaligned for the vector's size, or beyond
//     the parameters;
//   - shared memory that two threads access between barriers, of which one writes;
//   - a byte of global memory that two threads of a launch write, unless both do so by
//     atomic operations;
//   - a barrier that not all threads of a block reach;
//   - an address, a stored value or a path that depends on a register without a value, or
//     on shared memory that was not written (to read it and make no use of it is no
//     fault: compilers do that);
//   - too many instructions: a loop without an end.
//
// Arithmetic is by the text of the PTX ISA. A NaN that single or half precision makes
// is the canonical one.
package ptx
