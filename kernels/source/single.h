// What goes behind cast.h, before scaling.h or blocks.h.

// single reads an element as a float of 32 bits.
INLINED u32 PASTE(NAME, _single)(GLOBAL const u8 *from, i64 at, const Number is) {
	if (is.kind == KIND_FLOAT && is.bits == 32) {
		return ((GLOBAL const u32 *)from)[at];
	}
	if (is.kind == KIND_FLOAT && is.bits == 16) {
		const u32 x = ((GLOBAL const u16 *)from)[at];
		return is.mantissa == 10 ? float_of_half(x, 32) : x << 16;
	}
	return (u32)PASTE(NAME, _cast)(PASTE(NAME, _bits)(from, at, is.bits), is, number_of(SINGLE));
}
