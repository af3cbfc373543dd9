// Prelude: the neutral dialect in CUDA C, for clang without CUDA's headers.

#pragma once
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u128 __attribute__((ext_vector_type(4)));
typedef u64 u64x2 __attribute__((ext_vector_type(2)));

#define GLOBAL
// STORE_GLOBAL names global memory explicitly: clang cannot prove it for all pointers that
// loops advance.
#define STORE_GLOBAL(type, to, v) (*(__attribute__((address_space(1))) type *)(to) = (v))
#define CONSTANT const
#define SHARED(type, name, count) __attribute__((shared)) type name[count]
#define SHARED_POINTER
#define DEVICE static __attribute__((device))
#define RESTRICT __restrict__
#define KERNEL_OF(size, live) extern "C" __attribute__((global)) __attribute__((launch_bounds(size, live)))
#define KERNEL(size) KERNEL_OF(size, 0)
// IN_ORDER(1) leaves a kernel's blocks of code in their order, so that threads that leave a
// loop's body early reconverge at its end.
#define IN_ORDER_0
#define IN_ORDER_1 __attribute__((minsize))
#define IN_ORDER(yes) PASTE(IN_ORDER_, yes)
// A launch's parameters are an argument by value, with room for ROOM axes: no launch waits for
// an upload. The compiler does not copy them if a pointer to them is used for additions and
// loads only.
#define ENTRY \
	typedef struct { Params params; Axis axes[ROOM]; } PASTE(NAME, _parameters); \
	INLINED void PASTE(NAME, _body)(u8 *dst, const u8 *src, const Params *params, ARGUMENTS); \
	KERNEL_OF(GROUP, LIVE) IN_ORDER(ORDERED) void NAME(u8 *dst, const u8 *src, const PASTE(NAME, _parameters) all, ARGUMENTS) { \
		PASTE(NAME, _body)(dst, src, &all.params, NAMED); \
	} \
	INLINED void PASTE(NAME, _body)(u8 *dst, const u8 *src, const Params *params, ARGUMENTS)
#define BARRIER() __syncthreads()
#define GROUP_ID ((u32)__nvvm_read_ptx_sreg_ctaid_x())
#define GROUPS ((u32)__nvvm_read_ptx_sreg_nctaid_x())
#define LOCAL_ID ((u32)__nvvm_read_ptx_sreg_tid_x())
#define ATOMIC_OR(p, v) __atomic_fetch_or(p, v, __ATOMIC_RELAXED)
#define ATOMIC_AND(p, v) __atomic_fetch_and(p, v, __ATOMIC_RELAXED)
#define ATOMIC_CAS(p, old, v) __sync_val_compare_and_swap(p, old, v)
#define ATOMIC_ADD(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define ATOMIC_CAS64(p, old, v) ATOMIC_CAS(p, old, v)
#define ATOMIC_ADD64(p, v) ATOMIC_ADD(p, v)
#define ROTATE16(x) ((x) << 16 | (x) >> 16)
#define UP_TO(n, x) ((n) - MIN(x, n)) // from x to n, or 0
#define LEADING32(x) __builtin_clz(x)
#define LEADING64(x) __builtin_clzll(x)
#define UNROLL _Pragma("unroll")
#define STREAM(to, from, type) for (u32 k_ = 0; k_ < 64 / sizeof(type); k_++) { (to)[k_] = (from)[k_]; }
#define PREFETCH(address)
#define SCALAR
#define AS_FLOAT(x) __builtin_bit_cast(float, (u32)(x))
#define AS_BITS(x) __builtin_bit_cast(u32, (float)(x))

// Conversions by one instruction, which saturate. NaN becomes 0 as an integer, and is
// unspecified otherwise. See floats.h for devices without them.
#define HALF_OF(x) __builtin_bit_cast(unsigned short, (_Float16)AS_FLOAT(x))
#define FLOAT_OF(h) AS_BITS((float)__builtin_bit_cast(_Float16, (u16)(h)))
#define HALVES_LESS(a, b) halves_less(a, b) // of two halves, two others
#define INTEGER_OF(x) __nvvm_f2i_rz(AS_FLOAT(x))
#define NEAREST_OF(x) __nvvm_f2i_rn(AS_FLOAT(x))
#define CARDINAL_OF(x) ((u32)__nvvm_f2ui_rz(AS_FLOAT(x)))

// Arithmetic on the bits of floats (see arithmetic.h). Compiler options forbid fusing.
#define SUM_OF(a, b) AS_BITS(__nvvm_add_rn_f(AS_FLOAT(a), AS_FLOAT(b)))
#define PRODUCT_OF(a, b) AS_BITS(__nvvm_mul_rn_f(AS_FLOAT(a), AS_FLOAT(b)))
#define QUOTIENT_OF(a, b) AS_BITS(__nvvm_div_rn_f(AS_FLOAT(a), AS_FLOAT(b)))
#define TRUNCATED_SUM(a, b) __nvvm_add_rz_f(a, b) // rounded towards zero
#define FUSED(a, b, c) __nvvm_fma_rn_f(a, b, c)
#define AS_DOUBLE(x) __builtin_bit_cast(double, (u64)(x))
#define DOUBLE_SUM_OF(a, b) __builtin_bit_cast(u64, __nvvm_add_rn_d(AS_DOUBLE(a), AS_DOUBLE(b)))
#define DOUBLE_PRODUCT_OF(a, b) __builtin_bit_cast(u64, __nvvm_mul_rn_d(AS_DOUBLE(a), AS_DOUBLE(b)))

DEVICE u32 halves_less(u32 a, u32 b) {
	u32 v;
	asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
	return v;
}

// The lower word of hi:lo >> s, for the lowest five bits of s.
DEVICE u32 funnel(u32 lo, u32 hi, u32 s) {
	u32 v;
	asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(lo), "r"(hi), "r"(s));
	return v;
}

// The bits of a where the mask has ones, otherwise the bits of b.
DEVICE u32 choose(u32 mask, u32 a, u32 b) {
	u32 v;
	asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(v) : "r"(mask), "r"(a), "r"(b));
	return v;
}

// The low halves of two words, and the low bytes of four, the first one lowest.
DEVICE u32 pack_halves(u32 a, u32 b) { return __nvvm_prmt(a, b, 0x5410); }
DEVICE u32 pack_bytes(u32 a, u32 b, u32 c, u32 d) {
	return __nvvm_prmt(__nvvm_prmt(a, b, 0x0040), __nvvm_prmt(c, d, 0x0040), 0x5410);
}

// Between loads of 16 bytes and their use: otherwise clang may split the loads.
#define LOADED_WHOLE() asm volatile("" ::: "memory")

// At the end of a loop's body, behind code that some work-items skip: without it, the compiler
// moves the start of the next round in front of that code, and the others begin the round alone
// unless the assembler repairs it. (No block has 0 indices.)
#define TOGETHER_AGAIN(params) \
	if ((params)->cut == 0) { \
		asm volatile(""); \
	}

// Bytes of two words, chosen by a selector's digits, the lowest first: 0 to 3 of lo, 4 to
// 7 of hi.
#define BYTES_OF 1 // one instruction
DEVICE u32 bytes_of(u32 lo, u32 hi, u32 selector) { return __nvvm_prmt(lo, hi, selector); }

// The top bits of such bytes, each eight times.
DEVICE u32 signs_of(u32 lo, u32 hi, u32 selector) { return __nvvm_prmt(lo, hi, selector | 0x8888); }

// A word of ones from bit n on: none if n is 32 or more.
DEVICE u32 ones_above(u32 n) {
	u32 v;
	asm("shl.b32 %0, %1, %2;" : "=r"(v) : "r"(0xffffffff), "r"(n)); // in C, only up to 31
	return v;
}

// A condition that mostly holds: the code that depends on it is laid out in line, where
// work-items that skip it reconverge.
#define LIKELY(x) __builtin_expect(x, 1)

// Computes from x again for each block, instead of keeping the result in registers.
#define FRESH(x) asm volatile("" : "+r"(x))
#define FRESH64(x) asm volatile("" : "+l"(x))

// Local is an address of local memory, of 32 bits: additions cost half as much as on a pointer.
// local_of makes one of a pointer.
typedef u32 Local;
DEVICE Local local_of(const void *p) { return (u32)(u64)(__attribute__((address_space(3))) const void *)p; }
DEVICE Local local_at(Local p, u32 i, u32 size) { // the address of element i: in C, two instructions
	Local v;
	asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(v) : "r"(i), "r"(size), "r"(p));
	return v;
}
// LOCAL_VALUE is the value that many bytes further on, a part of the instruction if constant.
#define LOCAL_VALUE(type, at, bytes) (*(__attribute__((address_space(3))) const type *)((u64)(at) + (bytes)))
#define LOCAL_PLACE(type, at, bytes) (*(__attribute__((address_space(3))) type *)((u64)(at) + (bytes)))
DEVICE u32 local_8(Local at) {
	u32 v;
	asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(at));
	return v;
}
DEVICE u32 local_16(Local at) {
	u32 v;
	asm volatile("ld.shared.u16 %0, [%1];" : "=r"(v) : "r"(at));
	return v;
}
DEVICE u32 local_32(Local at) {
	u32 v;
	asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at));
	return v;
}
DEVICE u32x2 local_pair(Local at) { // of words
	u32x2 v;
	asm volatile("ld.shared.u32 %0, [%2];\n\tld.shared.u32 %1, [%2+4];" : "=&r"(v.x), "=r"(v.y) : "r"(at));
	return v;
}
DEVICE u64 local_64(Local at) {
	u64 v;
	asm volatile("ld.shared.u64 %0, [%1];" : "=l"(v) : "r"(at));
	return v;
}
DEVICE u128 local_128(Local at) {
	u128 v;
	asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at));
	return v;
}
DEVICE void put_local_32(Local at, u32 v) { asm volatile("st.shared.u32 [%0], %1;" : : "r"(at), "r"(v) : "memory"); }
DEVICE void put_local_pair(Local at, u32x2 v) { asm volatile("st.shared.v2.u32 [%0], {%1, %2};" : : "r"(at), "r"(v.x), "r"(v.y) : "memory"); }
DEVICE void put_local_128(Local at, u128 v) {
	asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" : : "r"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
