// Prelude: the neutral dialect in C++ for the host. The program around it runs the
// work-items: host_item is the position of the current one, host_barrier waits for
// its group.
#include <cstdint>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;
struct alignas(8) u32x2 { u32 x, y; };
struct alignas(16) u128 { u32 x, y, z, w; };

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
#define ROTATE16(x) ((x) << 16 | (x) >> 16)
#define LEADING32(x) __builtin_clz(x)
#define LEADING64(x) __builtin_clzll(x)
#define UNROLL
#define STREAM(to, from, type) for (u32 k_ = 0; k_ < 64 / sizeof(type); k_++) { (to)[k_] = (from)[k_]; }
#define PREFETCH(address) __builtin_prefetch((const void *)(address))
#define SCALAR
#define AS_FLOAT(x) __builtin_bit_cast(float, (u32)(x))
#define AS_BITS(x) __builtin_bit_cast(u32, (float)(x))

// The lower word of hi:lo >> s, of the lowest five bits of s.
DEVICE u32 funnel(u32 lo, u32 hi, u32 s) { return lo >> (s & 31) | hi << 1 << (31 - (s & 31)); }

// The bits of a where the mask has ones, else those of b.
DEVICE u32 choose(u32 mask, u32 a, u32 b) { return (a & mask) | (b & ~mask); }

// The low halves of two words, and the low bytes of four, the first one lowest.
DEVICE u32 pack_halves(u32 a, u32 b) { return (a & 0xffff) | b << 16; }
DEVICE u32 pack_bytes(u32 a, u32 b, u32 c, u32 d) { return (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | d << 24; }

#define LOADED_WHOLE()
#define FRESH(x)

// Bytes of two words, chosen by a selector's digits, the lowest first: 0 to 3 of lo, 4 to
// 7 of hi.
#define BYTES_OF 1 // as if it were one instruction: tests come by
DEVICE u32 bytes_of(u32 lo, u32 hi, u32 selector) {
	const u64 all = (u64)hi << 32 | lo;
	u32 v = 0;
	UNROLL
	for (u32 k = 0; k < 4; k++) {
		v |= (u32)(all >> (selector >> 4 * k & 7) * 8 & 0xff) << 8 * k;
	}
	return v;
}

// A word of ones from bit n on: none from 32 on.
DEVICE u32 ones_above(u32 n) { return n < 32 ? 0xffffffff << n : 0; }
