// Prelude: the neutral dialect in OpenCL C 1.2.

#pragma once
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef int i32;
typedef long i64;
typedef uint2 u32x2;
typedef uint4 u128;
typedef ulong2 u64x2;

#define GLOBAL __global
#define CONSTANT __constant
#define SHARED(type, name, count) __local type name[count]
#define SHARED_POINTER __local
#define DEVICE
#define RESTRICT restrict
#define KERNEL(size) __kernel __attribute__((reqd_work_group_size(size, 1, 1)))
#define ENTRY KERNEL(GROUP) void NAME(GLOBAL u8 *dst, GLOBAL const u8 *src, CONSTANT Params *params, ARGUMENTS)
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GROUP_ID ((u32)get_group_id(0))
#define GROUPS ((u32)get_num_groups(0))
#define LOCAL_ID ((u32)get_local_id(0))
#define ATOMIC_OR(p, v) atomic_or(p, v)
#define ATOMIC_AND(p, v) atomic_and(p, v)
#define ATOMIC_CAS(p, old, v) atomic_cmpxchg(p, old, v)
#define ATOMIC_ADD(p, v) atomic_add(p, v)
#define ROTATE16(x) rotate((u32)(x), 16u) // Oclgrind does not track definedness through shifts
#define UP_TO(n, x) ((u32)((n) - MIN((i32)(x), n))) // nor through saturating differences of unsigned numbers
#define LEADING32(x) clz((u32)(x))
#define LEADING64(x) clz((u64)(x))
#define HIGH64(a, b) mul_hi((u64)(a), (u64)(b))
#define UNROLL _Pragma("unroll")
#define AS_FLOAT(x) as_float((u32)(x))
#define AS_BITS(x) as_uint((float)(x))

// Arithmetic on the bits of floats by the device, where package opencl has found it exact;
// otherwise on integers (arithmetic.h, doubles.h).
#pragma OPENCL FP_CONTRACT OFF
#ifdef FLOATS
#define SUM_OF(a, b) AS_BITS(AS_FLOAT(a) + AS_FLOAT(b))
#define PRODUCT_OF(a, b) AS_BITS(AS_FLOAT(a) * AS_FLOAT(b))
#endif
#ifdef QUOTIENTS
#define QUOTIENT_OF(a, b) AS_BITS(AS_FLOAT(a) / AS_FLOAT(b))
#endif
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define DOUBLE_SUM_OF(a, b) as_ulong(as_double((u64)(a)) + as_double((u64)(b)))
#define DOUBLE_PRODUCT_OF(a, b) as_ulong(as_double((u64)(a)) * as_double((u64)(b)))
#endif

// Where kernels for CPUs are compiled directly for a CPU, STREAM(to, from, type) writes a cache
// line from private memory, bypassing the caches, PREFETCH(address) prefetches a line, and
// SCALAR keeps short loops from being vectorized.
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
typedef uint LooseLine __attribute__((ext_vector_type(16), may_alias, aligned(1)));
typedef uint Line __attribute__((ext_vector_type(16), may_alias, aligned(64)));
#define STREAM(to, from, type) __builtin_nontemporal_store((Line)*(const LooseLine *)(from), (__global Line *)(to))
#define PREFETCH(address) __builtin_prefetch((const void *)(address))
#define SCALAR _Pragma("clang loop vectorize(disable) unroll_count(4)")
#else
#define STREAM(to, from, type) for (u32 k_ = 0; k_ < 64 / sizeof(type); k_++) { (to)[k_] = (from)[k_]; }
#define PREFETCH(address)
#define SCALAR
#endif

// Devices may lack 64-bit atomic operations, and then get no kernel that uses them.
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#define ATOMIC_CAS64(p, old, v) atom_cmpxchg(p, old, v)
#define ATOMIC_ADD64(p, v) atom_add(p, v)

// The bits of a where the mask has ones, otherwise the bits of b.
DEVICE u32 choose(u32 mask, u32 a, u32 b) { return bitselect(b, a, mask); }

#define BYTES_OF 0 // many instructions

#include "plain.h"
