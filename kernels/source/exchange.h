// exchange: how squares of elements in registers are transposed. squares.h and batch.h have
// LINES lines of VEC words each in r: TRANSPOSE transposes each square; a square has as many
// lines as a word has elements.

#include "common.h"

// EXCHANGE exchanges the high halves of the fields of a, which are twice that many bits wide,
// with the low halves of the fields of b.
#define BYTES(a, b, low, high)             \
	{                                      \
		const u32 t = bytes_of(a, b, low); \
		b = bytes_of(a, b, high);          \
		a = t;                             \
	}
#define BITS(a, b, bits, low)                           \
	{                                                   \
		const u32 t = choose(low, a, b << (bits));      \
		b = choose(low, a >> (bits), b);                \
		a = t;                                          \
	}
#define EXCHANGE16(a, b) BYTES(a, b, 0x5410, 0x7632)
#define EXCHANGE8(a, b) BYTES(a, b, 0x6240, 0x7351)
#define EXCHANGE4(a, b) BITS(a, b, 4, 0x0f0f0f0f)
#define EXCHANGE2(a, b) BITS(a, b, 2, 0x33333333)

#define ROW(k) (r + (k) * VEC) // a work-item's words of a line

// SWAP exchanges all pairs of lines whose distance is the number of elements in that many bits.
#define SWAP(bits)                                                      \
	UNROLL                                                              \
	for (u32 k = 0; k < LINES; k++) {                                   \
		if ((k & (bits) / DBITS) == 0) {                                \
			UNROLL                                                      \
			for (u32 v = 0; v < VEC; v++) {                             \
				EXCHANGE##bits(ROW(k)[v], ROW(k + (bits) / DBITS)[v])   \
			}                                                           \
		}                                                               \
	}

#if DBITS == 16
#define TRANSPOSE SWAP(16)
#elif DBITS == 8
#define TRANSPOSE SWAP(16) SWAP(8)
#elif DBITS == 4
#define TRANSPOSE SWAP(16) SWAP(8) SWAP(4)
#elif DBITS == 2
#define TRANSPOSE SWAP(16) SWAP(8) SWAP(4) SWAP(2)
#else
#define TRANSPOSE
#endif
