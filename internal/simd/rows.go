package simd

// Rows are kernels for rows that are dense on at least one side: row i is at
// dst + i*dStep, and its source at src + i*sStep.
type Rows struct {
	// Move copies dense rows of one byte or more.
	Move func(dst, src *byte, dStep, sStep, size, rows int64)
	// Stream does so past the caches, for destinations that these cannot hold. Only whole
	// cache lines gain: rows of the destination should have many, or begin and end with
	// one. Near the end of a row, the last one too, it fetches the beginning of that sStep
	// on.
	Stream func(dst, src *byte, dStep, sStep, size, rows int64)
	// Join copies dense rows of 64 bytes and more, sStep apart, to neighbours past the caches:
	// so many lines of 64 bytes, of which dst is the first, from the byte skip of the row at
	// src on, 0 <= skip < size. It fetches ahead bytes before it reads.
	Join func(dst, src *byte, sStep, size, skip, lines, ahead int64)
	// Fence orders what kernels wrote past the caches before what comes next: until then,
	// other processors may not see it. It waits for all of it, so one is enough for many
	// calls.
	Fence func()

	// Direct says that lines made of elements or of short rows go past the caches faster from
	// registers, or by way of a small block in L1, than by way of a large one. Lined says
	// that PickLines is faster than a block even where Direct is false.
	Direct, Lined bool

	// PlanPick prepares Pick for elements of size bytes that are a step apart, which may
	// be negative. False: it would not pay.
	PlanPick func(p *Shuffle, size, step int64) bool
	// Pick copies n elements, p.Least or more, to neighbours. It reads nothing outside
	// of the bytes from the lowest element to the highest one.
	Pick func(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle)
	// PickLines is Pick for whole lines of 64 bytes, of a Shuffle whose Lines is set; past
	// the caches with past set: dst is a multiple of 64 then. Lines are taken in ascending
	// order of the source, and fetched ahead bytes before. nil where there is none.
	PickLines func(dst, src *byte, lines int64, p *Shuffle, ahead int64, past bool)

	// PlanSpread prepares Spread.
	PlanSpread func(p *Shuffle, size, step int64) bool
	// Spread copies n neighbours, p.Least or more, to elements that are a step apart. It
	// writes nothing between these.
	Spread func(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle)
}
