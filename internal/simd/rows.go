package simd

// Rows are kernels for rows that are dense on at least one side. That of number i
// is at dst + i*dStep, and what goes there at src + i*sStep.
type Rows struct {
	// Move copies dense rows of one byte or more.
	Move func(dst, src *byte, dStep, sStep, size, rows int64)
	// Stream copies such rows past the caches: for destinations that these
	// cannot hold. What it wrote is seen by other processors from its return on.
	// Only whole cache lines gain: rows of the destination should have many, or
	// begin and end with one.
	Stream func(dst, src *byte, dStep, sStep, size, rows int64)

	// PlanPick prepares Pick for elements of some bytes that are a step apart;
	// backwards, too. False: it would not pay.
	PlanPick func(p *Shuffle, size, step int64) bool
	// Pick gathers n elements, p.Least or more, to neighbours. It reads none but
	// what is between the first byte of an element and the last one of another.
	Pick func(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle)

	// PlanSpread prepares Spread.
	PlanSpread func(p *Shuffle, size, step int64) bool
	// Spread scatters n neighbours, p.Least or more, to elements that are a step
	// apart. It writes nothing between these.
	Spread func(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle)
}
