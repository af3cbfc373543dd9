// For the other dialects: operations for which the prelude of CUDA has instructions.

#pragma once
#include "dialect.h"

// The lower word of hi:lo >> s, for the lowest five bits of s.
DEVICE u32 funnel(u32 lo, u32 hi, u32 s) { return lo >> (s & 31) | hi << 1 << (31 - (s & 31)); }

// The low halves of two words, and the low bytes of four, the first one lowest.
DEVICE u32 pack_halves(u32 a, u32 b) { return (a & 0xffff) | b << 16; }
DEVICE u32 pack_bytes(u32 a, u32 b, u32 c, u32 d) { return (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | d << 24; }

#define STORE_GLOBAL(type, to, v) (*(GLOBAL type *)(to) = (v))
#define LOADED_WHOLE()
#define FRESH(x)
#define FRESH64(x)
#define LIKELY(x) (x)
#define TOGETHER_AGAIN(params)

// Bytes of two words, chosen by a selector's digits, the lowest first: 0 to 3 of lo, 4 to
// 7 of hi.
DEVICE u32 bytes_of(u32 lo, u32 hi, u32 selector) {
	const u64 all = (u64)hi << 32 | lo;
	u32 v = 0;
	UNROLL
	for (u32 k = 0; k < 4; k++) {
		v |= (u32)(all >> (selector >> 4 * k & 7) * 8 & 0xff) << 8 * k;
	}
	return v;
}

// The top bits of such bytes, each eight times.
DEVICE u32 signs_of(u32 lo, u32 hi, u32 selector) { return (bytes_of(lo, hi, selector) >> 7 & 0x01010101) * 0xff; }

// A word of ones from bit n on: none if n is 32 or more.
DEVICE u32 ones_above(u32 n) { return n < 32 ? 0xffffffff << n : 0; }

// Local is an address of local memory.
typedef SHARED_POINTER const u8 *Local;
DEVICE Local local_of(SHARED_POINTER const void *p) { return (Local)p; }
DEVICE Local local_at(Local p, u32 i, u32 size) { return p + i * size; }
#define LOCAL_VALUE(type, at, bytes) (*(SHARED_POINTER const type *)((at) + (bytes)))
#define LOCAL_PLACE(type, at, bytes) (*(SHARED_POINTER type *)((at) + (bytes)))
DEVICE u32 local_8(Local at) { return *at; }
DEVICE u32 local_16(Local at) { return *(SHARED_POINTER const u16 *)at; }
DEVICE u32 local_32(Local at) { return *(SHARED_POINTER const u32 *)at; }
DEVICE u32x2 local_pair(Local at) {
	u32x2 v;
	v.x = local_32(at);
	v.y = local_32(at + 4);
	return v;
}
DEVICE u64 local_64(Local at) { return *(SHARED_POINTER const u64 *)at; }
DEVICE u128 local_128(Local at) { return *(SHARED_POINTER const u128 *)at; }
DEVICE void put_local_32(Local at, u32 v) { *(SHARED_POINTER u32 *)at = v; }
DEVICE void put_local_pair(Local at, u32x2 v) { *(SHARED_POINTER u32x2 *)at = v; }
DEVICE void put_local_128(Local at, u128 v) { *(SHARED_POINTER u128 *)at = v; }
