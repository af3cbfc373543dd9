// Prelude: the neutral dialect in OpenCL C 1.2.
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef int i32;
typedef long i64;
typedef uint2 u32x2;
typedef uint4 u128;

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
#define ROTATE16(x) rotate((u32)(x), 16u) // Oclgrind does not know what becomes of shifts
#define LEADING32(x) clz((u32)(x))
#define LEADING64(x) clz((u64)(x))
#define UNROLL _Pragma("unroll")
#define AS_FLOAT(x) as_float((u32)(x))
#define AS_BITS(x) as_uint((float)(x))

// Where serial kernels are compiled straight for a CPU, STREAM(to, from, type)
// writes a cache line past the caches, from private memory, PREFETCH(address) asks
// for one to be read, and SCALAR is for short loops that vectors do not pay for.
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

// The lower word of hi:lo >> s, of the lowest five bits of s.
DEVICE u32 funnel(u32 lo, u32 hi, u32 s) { return lo >> (s & 31) | hi << 1 << (31 - (s & 31)); }

// The bits of a where the mask has ones, else those of b.
DEVICE u32 choose(u32 mask, u32 a, u32 b) { return bitselect(b, a, mask); }

// The low halves of two words, and the low bytes of four, the first one lowest.
DEVICE u32 pack_halves(u32 a, u32 b) { return (a & 0xffff) | b << 16; }
DEVICE u32 pack_bytes(u32 a, u32 b, u32 c, u32 d) { return (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | d << 24; }

#define LOADED_WHOLE()
#define FRESH(x)

// Bytes of two words, chosen by a selector's digits, the lowest first: 0 to 3 of lo, 4 to
// 7 of hi.
#define BYTES_OF 0 // many instructions
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
