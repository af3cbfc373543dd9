package ptx

// arithmetic decodes operations on numbers: integers or floats.
func (b *builder) arithmetic() error {
	if err := b.typed(); err != nil {
		return err
	}
	w := b.width
	sources := map[string]int{"mad": 3, "fma": 3, "abs": 1, "neg": 1, "rcp": 1, "sqrt": 1}[b.name]
	if sources == 0 {
		sources = 2
	}
	from := []int{w, w, w}[:sources]
	if b.isFloat() {
		do, err := b.float()
		if err != nil {
			return err
		}
		return b.operands(do, w, from...)
	}
	name, to := b.name, w
	if name == "mul" || name == "mad" {
		half := b.one("lo", "hi", "wide")
		name += "." + half
		if half == "wide" {
			to = 2 * w
			if sources == 3 {
				from[2] = to
			}
		}
	}
	return b.operands(integer(name, w, b.signed()), to, from...)
}

// bitwise decodes operations on bits, and on predicates.
func (b *builder) bitwise() error {
	if err := b.typed(); err != nil {
		return err
	}
	if b.kind == "pred" {
		return b.predicates()
	}
	w := b.width
	switch b.name {
	case "not", "cnot":
		return b.operands(bitwise(b.name, w, false), w, w)
	case "shl", "shr":
		return b.operands(bitwise(b.name, w, b.signed()), w, w, 32)
	}
	return b.operands(bitwise(b.name, w, false), w, w, w)
}

func (b *builder) predicates() error {
	switch b.name {
	case "and":
		return b.logic(func(x, y uint32) uint32 { return x & y }, 2)
	case "or":
		return b.logic(func(x, y uint32) uint32 { return x | y }, 2)
	case "xor":
		return b.logic(func(x, y uint32) uint32 { return x ^ y }, 2)
	case "not":
		return b.logic(func(x, _ uint32) uint32 { return ^x }, 1)
	}
	return errUnknown
}

// logic is an operation on predicates.
func (b *builder) logic(do func(x, y uint32) uint32, sources int) (err error) {
	if err := b.need(sources + 1); err != nil {
		return err
	}
	b.in.kind, b.in.logic = kindLogic, do
	if b.in.pdst, err = b.predicate(b.args[0]); err != nil {
		return err
	}
	if b.in.pa, err = b.predicate(b.args[1]); err != nil {
		return err
	}
	if b.in.pb = b.in.pa; sources == 2 {
		b.in.pb, err = b.predicate(b.args[2])
	}
	return err
}

// setp compares.
func (b *builder) setp() (err error) {
	if err := b.typed(); err != nil {
		return err
	}
	if err := b.need(3); err != nil {
		return err
	}
	b.take("ftz")
	if len(b.mods) == 0 {
		return errUnknown
	}
	name := b.mods[0]
	b.mods = b.mods[1:]
	b.in.kind = kindTest
	if b.isFloat() {
		b.in.test = compareFloats(name, b.kind)
	} else {
		b.in.test = compare(name, b.width, b.signed())
	}
	if b.in.test == nil {
		return errUnknown
	}
	if b.in.pdst, err = b.predicate(b.args[0]); err != nil {
		return err
	}
	if err = b.from(b.args[1], b.width); err != nil {
		return err
	}
	return b.from(b.args[2], b.width)
}

// selp chooses between two values.
func (b *builder) selp() (err error) {
	if err := b.typed(); err != nil {
		return err
	}
	if err := b.need(4); err != nil {
		return err
	}
	b.in.kind = kindSelect
	if b.in.pa, err = b.predicate(b.args[3]); err != nil {
		return err
	}
	if err = b.to(0, b.args[0], b.width); err != nil {
		return err
	}
	if err = b.from(b.args[1], b.width); err != nil {
		return err
	}
	return b.from(b.args[2], b.width)
}
