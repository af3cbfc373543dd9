// Prelude: the neutral dialect in C++ for the host. The program around it runs the
// work-items: host_item is the position of the current one, host_barrier waits for
// its group.

#pragma once
#include <cstdint>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;
struct alignas(8) u32x2 { u32 x, y; };
struct alignas(16) u128 { u32 x, y, z, w; };
struct alignas(16) u64x2 { u64 x, y; };

struct host_position { u32 group, groups, local; };
extern thread_local host_position host_item;
extern "C" void host_barrier();

#define GLOBAL
#define CONSTANT const
// One per group at a time: groups run in turn on a thread.
#define SHARED(type, name, count) alignas(16) static thread_local type name[count]
#define SHARED_POINTER
#define DEVICE static inline
#define RESTRICT __restrict__
#define KERNEL(size) extern "C"
#define ENTRY KERNEL(GROUP) void NAME(GLOBAL u8 *dst, GLOBAL const u8 *src, CONSTANT Params *params, ARGUMENTS)
#define BARRIER() host_barrier()
#define GROUP_ID (host_item.group)
#define GROUPS (host_item.groups)
#define LOCAL_ID (host_item.local)
#define ATOMIC_OR(p, v) __atomic_fetch_or(p, v, __ATOMIC_RELAXED)
#define ATOMIC_AND(p, v) __atomic_fetch_and(p, v, __ATOMIC_RELAXED)
#define ATOMIC_CAS(p, old, v) __sync_val_compare_and_swap(p, old, v)
#define ATOMIC_ADD(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define ATOMIC_CAS64(p, old, v) ATOMIC_CAS(p, old, v)
#define ATOMIC_ADD64(p, v) ATOMIC_ADD(p, v)
#define ROTATE16(x) ((x) << 16 | (x) >> 16)
#define UP_TO(n, x) ((n) - MIN(x, n))
#define LEADING32(x) __builtin_clz(x)
#define LEADING64(x) __builtin_clzll(x)
#define HIGH64(a, b) ((u64)((unsigned __int128)(a) * (b) >> 64))
#define UNROLL
#define STREAM(to, from, type) for (u32 k_ = 0; k_ < 64 / sizeof(type); k_++) { (to)[k_] = (from)[k_]; }
#define PREFETCH(address) __builtin_prefetch((const void *)(address))
#define SCALAR
#define AS_FLOAT(x) __builtin_bit_cast(float, (u32)(x))
#define AS_BITS(x) __builtin_bit_cast(u32, (float)(x))

// The bits of a where the mask has ones, otherwise the bits of b.
DEVICE u32 choose(u32 mask, u32 a, u32 b) { return (a & mask) | (b & ~mask); }

#define BYTES_OF 1 // as if it were one instruction, so that tests cover it

#include "plain.h"
