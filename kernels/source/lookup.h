// lookup: casts from elements of at most 8 bits, by a table that each group makes of what
// a byte of them becomes. It goes behind cast.h, which fills the table, and before dense.h.

#define IN_BYTE (8 / SBITS)
#define ENTRY_BITS (IN_BYTE * DBITS)

// A slot holds what comes of a byte.
#if ENTRY_BITS == 128
typedef u128 PASTE(NAME, _slot);
#elif ENTRY_BITS == 64
typedef u32x2 PASTE(NAME, _slot);
#elif ENTRY_BITS == 32
typedef u32 PASTE(NAME, _slot);
#elif ENTRY_BITS == 16
typedef u16 PASTE(NAME, _slot);
#else
typedef u8 PASTE(NAME, _slot);
#endif
#define SLOT PASTE(NAME, _slot)

// entry converts the elements in a byte.
DEVICE SLOT PASTE(NAME, _entry)(u32 byte, u64 lo, u64 hi) {
	const Number is = number_of(lo), becomes = number_of(hi);
	u32 word[4] = {0, 0, 0, 0};
	UNROLL
	for (u32 k = 0; k < IN_BYTE; k++) {
		const u32 x = byte >> (k * SBITS) & (0xff >> (8 - SBITS));
		const u64 y = PASTE(NAME, _cast)(x, is, becomes) & (~(u64)0 >> (64 - DBITS));
		word[k * DBITS / 32] |= (u32)y << (k * DBITS % 32);
#if DBITS == 64
		word[2 * k + 1] = (u32)(y >> 32);
#endif
	}
#if ENTRY_BITS == 128
	SLOT v;
	v.x = word[0];
	v.y = word[1];
	v.z = word[2];
	v.w = word[3];
	return v;
#elif ENTRY_BITS == 64
	SLOT v;
	v.x = word[0];
	v.y = word[1];
	return v;
#else
	return (SLOT)word[0];
#endif
}

#define PREPARE \
	SHARED(PASTE(NAME, _slot), table, 256); \
	table[LOCAL_ID] = PASTE(NAME, _entry)(LOCAL_ID, lo, hi); \
	BARRIER();

#define CONVERT(out, raw) PASTE(NAME, _convert)(out, raw, table)

#define COUNT (128 / MAX(DBITS, SBITS)) // elements of an item, see dense.h

#define ITEMS 4
#define TOGETHER 1

// convert looks an item up.
INLINED void PASTE(NAME, _convert)(u32 *out, const u32 *raw, SHARED_POINTER const SLOT *table) {
	UNROLL
	for (u32 i = 0; i < MAX(1, COUNT * DBITS / 32); i++) {
		out[i] = 0;
	}
	UNROLL
	for (u32 k = 0; k < COUNT / IN_BYTE; k++) {
		const SLOT v = table[raw[k / 4] >> (k % 4 * 8) & 255];
#if ENTRY_BITS == 128
		out[4 * k] = v.x;
		out[4 * k + 1] = v.y;
		out[4 * k + 2] = v.z;
		out[4 * k + 3] = v.w;
#elif ENTRY_BITS == 64
		out[2 * k] = v.x;
		out[2 * k + 1] = v.y;
#else
		out[k * ENTRY_BITS / 32] |= (u32)v << (k * ENTRY_BITS % 32);
#endif
	}
}

#undef IN_BYTE
#undef COUNT
#undef ENTRY_BITS
#undef SLOT
