package ptx

// Compilers combine registers without a value, or with only some bits, with others and mask the
// result: for example words of which an item needs a part. So bits are tracked where a register
// has only some: a bit of a result has a value if it is the same for all values of the missing
// bits.

// guesses are the values tried for missing bits.
var guesses = [...]uint64{0, ^uint64(0), 0x5a3c_96f0_1e87_d24b, ^uint64(0x5a3c_96f0_1e87_d24b), 0x6db6_db6d_b6db_6db6}

// lack is the bits of a register in a lane that have no value.
func (w *warp) lack(r int32, lane int) uint64 {
	switch {
	case w.written[r]>>lane&1 == 1:
		return 0
	case w.partly[r]>>lane&1 == 1:
		return w.lacking[r][lane]
	}
	return ^uint64(0)
}

// partial executes an instruction whose sources lack bits; false: it does not compute a
// register or a predicate from others.
func (w *warp) partial(in *instr, active uint32) bool {
	if in.kind != kindALU && in.kind != kindTest && in.kind != kindSelect && in.kind != kindSplit {
		return false
	}
	if in.kind == kindSelect && active&^w.predSet[in.pa] != 0 {
		return false // nothing is known
	}
	var result, differ [4]lanes
	var test, unsure uint32
	for g, guess := range guesses {
		var sources [4]lanes
		for k := range sources {
			s := in.src[k]
			sources[k] = w.values[s]
			if k >= int(in.n) {
				continue
			}
			width := ^uint64(0)
			if int(s) < len(w.program.regs) {
				width = mask(int(w.program.regs[s]))
			}
			for i := range 32 {
				lack := w.lack(s, i) & width
				sources[k][i] = sources[k][i]&^lack | guess&lack
			}
		}
		var now [4]lanes
		var holds uint32
		switch in.kind {
		case kindALU:
			in.do(&now[0], &sources[0], &sources[1], &sources[2], &sources[3])
		case kindTest:
			holds = in.test(&sources[0], &sources[1])
		case kindSelect:
			choose(&now[0], &sources[0], &sources[1], w.preds[in.pa])
		case kindSplit:
			for k := range in.mem.count {
				in.part(&now[k], &sources[0], k)
			}
		}
		if g == 0 {
			result, test = now, holds
		}
		unsure |= holds ^ test
		for k := range now {
			for i := range 32 {
				differ[k][i] |= now[k][i] ^ result[k][i]
			}
		}
	}
	if in.kind == kindTest {
		w.setPredicate(in.pdst, test, active, active&^unsure)
		return true
	}
	for k, d := range in.dst {
		if d < 0 {
			continue
		}
		known := active
		for i := range 32 {
			if active>>i&1 == 1 && differ[k][i] != 0 {
				known &^= 1 << i
			}
		}
		w.setPartly(d, &result[k], &differ[k], active, known)
	}
	return true
}

// setPartly is set for values that may lack bits.
func (w *warp) setPartly(d int32, from, lack *lanes, active, known uint32) {
	w.set(d, from, active, known)
	if known == active {
		return
	}
	for i := range 32 {
		if active&^known>>i&1 == 1 {
			w.lacking[d][i] = lack[i]
		}
	}
	w.partly[d] |= active &^ known
}

// choose is the select instruction.
func choose(d, a, b *lanes, p uint32) {
	for i := range d {
		d[i] = b[i]
		if p>>i&1 == 1 {
			d[i] = a[i]
		}
	}
}

// part takes part k of a register.
func (in *instr) part(d, a *lanes, k uint8) {
	for i := range d {
		d[i] = a[i] >> (k * in.mem.size & 63) & (1<<in.mem.size - 1)
	}
}
