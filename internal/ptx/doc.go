// Package ptx runs PTX programs: the kernels of package cuda, for tests and for the model of a
// GPU. It knows the instructions that clang emits for compute capability 7.0; others are errors
// of [Parse].
//
// A [Program] runs on [Memory]. All threads of a block run, a warp at a time. The seed
// chooses the order of blocks and warps, and how the threads of a warp diverge: threads on
// different paths continue in any order, as on hardware since Volta. A run ends at the first
// [Fault]:
//
//   - an access outside of all allocations, misaligned for the vector's size, or beyond
//     the parameters;
//   - shared memory that two threads access between barriers, one of them writing;
//   - a byte of global memory that two threads of a launch write, unless both do so by
//     atomic operations;
//   - a barrier that not all threads of a block reach;
//   - an address, a stored value or a path that depends on a register without a value, or
//     on shared memory that was not written (reading it without using the value is
//     not a fault: compilers do that);
//   - too many instructions: an endless loop.
//
// Arithmetic follows the text of the PTX ISA. NaN results in single or half precision are
// canonical.
package ptx
