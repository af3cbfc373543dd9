// lookup: converts elements of at most 8 bits by a table, which each group makes, of what each
// byte becomes. ELEMENTS, cast.h or map.h, defines the result as ELEMENT(x), from the arguments
// that they LEARN first.

#include "kernel.h"
#include "conversions.h"
#include ELEMENTS

#define IN_BYTE (8 / SBITS)
#define ENTRY_BITS (IN_BYTE * DBITS)
#define SLOT PASTE(Piece, SLOT_BITS) // the result for a byte

// entry converts the elements in a byte.
DEVICE SLOT PASTE(NAME, _entry)(u32 byte, ARGUMENTS) {
	LEARN
	u32 word[4] = {0, 0, 0, 0};
	UNROLL
	for (u32 k = 0; k < IN_BYTE; k++) {
		const u32 x = byte >> (k * SBITS) & (0xff >> (8 - SBITS));
		const u64 y = ELEMENT(x) & (~(u64)0 >> (64 - DBITS));
		word[k * DBITS / 32] |= (u32)y << (k * DBITS % 32);
#if DBITS == 64
		word[2 * k + 1] = (u32)(y >> 32);
#endif
	}
	return PASTE(piece_, SLOT_BITS)(word);
}

// Where bytes are integers that become halves, a subtraction replaces the table: half 0x6400 +
// byte is 1024 more than the byte.
#if SBITS == 8 && DBITS == 16 && defined(WHOLE_HALVES) && defined(HALVES_LESS)
#define SUBTRACTS 1
#else
#define SUBTRACTS 0
#endif

// less is subtracted from two such halves, made of bytes whose sign bit was flipped; 0: use the
// table.
DEVICE u32 PASTE(NAME, _less)(ARGUMENTS) {
#if SUBTRACTS
	LEARN
	if (WHOLE_HALVES) {
		return is.kind == KIND_INT ? 0x64806480 : 0x64006400;
	}
#endif
	return 0;
}

#define PREPARE \
	SHARED(PASTE(Piece, SLOT_BITS), table, 256); \
	const u32 less = PASTE(NAME, _less)(NAMED); \
	if (less == 0) { \
		table[LOCAL_ID] = PASTE(NAME, _entry)(LOCAL_ID, NAMED); \
	} \
	BARRIER();

#define CONVERT(out, raw) PASTE(NAME, _convert)(out, raw, local_of(table), less)
#define KNOWN , SHARED_POINTER const SLOT *table, u32 less
#define KNOWS , table, less

#define ITEMS 4
#define TOGETHER 1

// IN_SLOT is the result for byte k of an item.
#define IN_SLOT(k) PASTE(local_, SLOT_BITS)(local_at(table, raw[(k) / 4] >> ((k) % 4 * 8) & 255, SLOT_BITS / 8))

// convert looks an item up, or subtracts.
INLINED void PASTE(NAME, _convert)(u32 *out, const u32 *raw, Local table, u32 less) {
#if SUBTRACTS
	if (less != 0) {
		const u32 turn = (less & 0x00800080) * 0x0101;
		UNROLL
		for (u32 k = 0; k < EACH; k += 4) {
			const u32 four = raw[k / 4] ^ turn;
			out[k / 2] = HALVES_LESS(bytes_of(four, 0x64646464, 0x4140), less);
			out[k / 2 + 1] = HALVES_LESS(bytes_of(four, 0x64646464, 0x4342), less);
		}
		return;
	}
#endif
#if ENTRY_BITS == 16 && EACH / IN_BYTE % 2 == 0
	UNROLL
	for (u32 k = 0; k < EACH / IN_BYTE; k += 2) {
		out[k / 2] = pack_halves(IN_SLOT(k), IN_SLOT(k + 1));
	}
#else
	UNROLL
	for (u32 i = 0; i < MAX(1, ITEM_D / 32); i++) {
		out[i] = 0;
	}
	UNROLL
	for (u32 k = 0; k < EACH / IN_BYTE; k++) {
		u32 made[MAX(1, ENTRY_BITS / 32)];
#if SLOT_BITS == 128
		words_128(made, IN_SLOT(k));
#elif SLOT_BITS == 64
		const u64 two = IN_SLOT(k);
		made[0] = (u32)two;
		made[1] = (u32)(two >> 32);
#else
		made[0] = IN_SLOT(k);
#endif
		UNROLL
		for (u32 i = 0; i < MAX(1, ENTRY_BITS / 32); i++) {
			out[k * ENTRY_BITS / 32 + i] |= made[i] << (k * ENTRY_BITS % 32);
		}
	}
#endif
}

#undef IN_SLOT
#undef IN_BYTE
#undef ENTRY_BITS
#undef ELEMENT
#undef LEARN
#undef WHOLE_HALVES
#undef SUBTRACTS
