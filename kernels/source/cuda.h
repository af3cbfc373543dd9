// Prelude: the neutral dialect in CUDA C, for clang without CUDA's headers.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u128 __attribute__((ext_vector_type(4)));

#define GLOBAL
#define CONSTANT const
#define SHARED(type, name, count) __attribute__((shared)) type name[count]
#define SHARED_POINTER
#define DEVICE static __attribute__((device))
#define RESTRICT __restrict__
#define KERNEL(size) extern "C" __attribute__((global)) __attribute__((launch_bounds(size, LIVE)))
#define BARRIER() __syncthreads()
#define GROUP_ID ((u32)__nvvm_read_ptx_sreg_ctaid_x())
#define GROUPS ((u32)__nvvm_read_ptx_sreg_nctaid_x())
#define LOCAL_ID ((u32)__nvvm_read_ptx_sreg_tid_x())
#define ATOMIC_OR(p, v) __atomic_fetch_or(p, v, __ATOMIC_RELAXED)
#define ATOMIC_AND(p, v) __atomic_fetch_and(p, v, __ATOMIC_RELAXED)
#define ROTATE16(x) ((x) << 16 | (x) >> 16)
#define LEADING32(x) __builtin_clz(x)
#define LEADING64(x) __builtin_clzll(x)
#define UNROLL _Pragma("unroll")
#define STREAM(to, from, type) for (u32 k_ = 0; k_ < 64 / sizeof(type); k_++) { (to)[k_] = (from)[k_]; }
#define PREFETCH(address)
#define SCALAR

// The lower word of hi:lo >> s, of the lowest five bits of s.
DEVICE u32 funnel(u32 lo, u32 hi, u32 s) {
	u32 v;
	asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(lo), "r"(hi), "r"(s));
	return v;
}

// Four of the bytes of hi:lo, which the four digits of a hexadecimal constant name.
DEVICE u32 permute(u32 lo, u32 hi, u32 digits) {
	u32 v;
	asm("prmt.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(lo), "r"(hi), "r"(digits));
	return v;
}
#define PERMUTE(lo, hi, digits) permute(lo, hi, digits)

// Loads of 16 and 8 bytes of what no kernel writes meanwhile: clang makes many loads
// of words of some of them.
DEVICE u128 load128(const u128 *from) {
	u128 v;
	asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"((const __attribute__((address_space(1))) u128 *)from));
	return v;
}
DEVICE u32x2 load64(const u32x2 *from) {
	u32x2 v;
	asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"((const __attribute__((address_space(1))) u32x2 *)from));
	return v;
}
