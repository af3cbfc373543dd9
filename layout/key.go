package layout

// PairKey is a pair of layouts, but for how far from the start of memory they
// lie: of offsets it has what is left modulo 64. So a plan for one pair serves
// all of its key, which lie alike for words of up to 128 bits, whatever the
// elements. It has no room for ranks above 8.
type PairKey struct {
	rank       int8
	dOff, sOff uint8
	axes       [inline]struct{ n, d, s int64 }
}

// KeyPeriod is the distance, in elements, by which offsets may differ within a
// PairKey, or a multiple of it.
const KeyPeriod = 64

// Set makes the key that of two layouts of one shape. False: it has no room.
func (k *PairKey) Set(dst, src *Layout) bool {
	if dst.rank > inline {
		return false
	}
	k.rank, k.dOff, k.sOff = int8(dst.rank), uint8(dst.offset%KeyPeriod), uint8(src.offset%KeyPeriod)
	for i := range dst.few[:dst.rank] {
		a := &dst.few[i]
		k.axes[i].n, k.axes[i].d, k.axes[i].s = a.dim, a.stride, src.few[i].stride
	}
	return true
}

// Is reports whether two layouts have one shape, and this key.
func (k *PairKey) Is(dst, src *Layout) bool {
	if dst.rank != int(k.rank) || src.rank != int(k.rank) ||
		uint64(dst.offset)%KeyPeriod != uint64(k.dOff) || uint64(src.offset)%KeyPeriod != uint64(k.sOff) {
		return false
	}
	for i := range dst.few[:k.rank] {
		d, s, x := &dst.few[i], &src.few[i], &k.axes[i]
		if d.dim != x.n || d.stride != x.d || s.dim != x.n || s.stride != x.s {
			return false
		}
	}
	return true
}

// HashPair returns a number that is the same for all pairs of a key, and mostly
// another for others. Its high bits are the best.
func HashPair(dst, src *Layout) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := uint64(dst.offset)%KeyPeriod<<6 | uint64(src.offset)%KeyPeriod
	if dst.rank > inline || src.rank > inline {
		return h
	}
	for i := range dst.few[:dst.rank] {
		d, s := &dst.few[i], &src.few[i]
		h = (h ^ uint64(d.dim) ^ uint64(d.stride)<<20 ^ uint64(s.stride)<<40) * odd
	}
	return h
}
