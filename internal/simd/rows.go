package simd

// Rows are kernels for rows that are dense on at least one side: row i is at
// dst + i*dStep, and its source at src + i*sStep.
type Rows struct {
	// Move copies dense rows of one byte or more.
	Move func(dst, src *byte, dStep, sStep, size, rows int64)
	// Stream is Move bypassing the caches, for destinations larger than these. Only whole cache
	// lines are faster: rows of the destination should have many, or begin and end with one.
	// Near the end of a row, even the last, it prefetches the row sStep further on.
	Stream func(dst, src *byte, dStep, sStep, size, rows int64)
	// Join copies dense rows of 64 bytes and more, sStep apart, to a contiguous destination,
	// bypassing the caches: the given number of lines of 64 bytes from dst on, from the byte
	// skip of the row at src on, 0 <= skip < size. It prefetches ahead bytes before it reads.
	Join func(dst, src *byte, sStep, size, skip, lines, ahead int64)
	// Fence orders stores that bypassed the caches before later ones: until then, other
	// processors may not see them. It waits for all of them, so one is enough for many calls.
	Fence func()

	// Direct says that lines made of elements or of short rows bypass the caches faster from
	// registers, or through a small block in L1, than through a large one. Lined says that
	// PickLines is faster than a block even where Direct is false.
	Direct, Lined bool

	// PlanPick prepares Pick for elements of size bytes that are a step apart, which may be
	// negative. It returns false if Pick would not pay.
	PlanPick func(p *Shuffle, size, step int64) bool
	// Pick copies n elements, p.Least or more, to a contiguous destination. It reads nothing
	// outside of the bytes from the lowest element to the highest one.
	Pick func(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle)
	// PickLines is Pick for whole lines of 64 bytes, for a Shuffle whose Lines is set; with
	// past set it bypasses the caches: dst is then a multiple of 64. Lines are read in
	// ascending order of the source, and prefetched ahead bytes before. nil: none.
	PickLines func(dst, src *byte, lines int64, p *Shuffle, ahead int64, past bool)

	// PlanSpread prepares Spread.
	PlanSpread func(p *Shuffle, size, step int64) bool
	// Spread copies n contiguous elements, p.Least or more, to places that are a step apart. It
	// writes nothing between these.
	Spread func(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle)
}
