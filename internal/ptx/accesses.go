package ptx

import (
	"fmt"
	"math/bits"
)

// access resolves a lane's address to bytes of a space, which it may read or write, or
// describes the fault.
func (w *warp) bytes(in *instr, lane int, write bool) (data []byte, what string) {
	x := &in.mem
	address, n := w.values[in.src[0]][lane]+uint64(x.off), x.bytes()
	if address%uint64(n) != 0 {
		return nil, "is misaligned"
	}
	where := x.space
	if where == generic {
		switch {
		case address >= 1<<regionBits:
			where = global
		case address >= paramWindow:
			where, address = param, address-paramWindow
		case address >= sharedWindow:
			where, address = shared, address-sharedWindow
		}
	}
	switch where {
	case global:
		return w.global(address, n, write)
	case shared:
		s := w.shared
		if address+uint64(n) > uint64(len(s.data)) || address > 1<<32 {
			return nil, "goes beyond shared memory"
		}
		at, thread := int64(address), w.first+uint32(lane)
		if write {
			what = s.write(at, n, thread)
		} else {
			w.unwritten, what = s.read(at, n, thread)
		}
		return s.data[at : at+n], what
	case param:
		if address+uint64(n) > uint64(len(w.params)) || address > 1<<32 || !w.given[address] || !w.given[address+uint64(n)-1] {
			return nil, "goes beyond the parameters"
		}
		return w.params[address:][:n], ""
	}
	return nil, "is nowhere"
}

func (w *warp) global(address uint64, n int64, write bool) ([]byte, string) {
	if address >= dataBase {
		data := w.program.data
		if at := address - dataBase; at+uint64(n) <= uint64(len(data)) && !write {
			return data[at:][:n], ""
		}
		return nil, "goes beyond a table"
	}
	a := w.near
	at := int64(address - a.Base)
	if at < 0 || at+n > a.size {
		var err error
		if a, at, err = w.memory.at(address, n); err != nil {
			return nil, err.Error()
		}
		w.near = a
	}
	return a.page(at).data[at&(pageSize-1):][:n], ""
}

// own records the writer of the bytes of global memory in changes. mark is 0 or atomically.
func (w *warp) own(in *instr, lane int, changes uint64, mark uint32) string {
	if in.mem.space == shared {
		return ""
	}
	a, n := w.near, in.mem.bytes()
	at := int64(w.values[in.src[0]][lane] + uint64(in.mem.off) - a.Base)
	if at < 0 || at >= a.size {
		return "" // generic, and not global
	}
	thread, other := w.number*w.threads+w.first+uint32(lane), int64(-1)
	if changes == ^uint64(0) {
		other = w.memory.own(a, at, n, thread, mark)
	} else {
		for i := range n {
			if changes>>(8*i)&0xff != 0 {
				other = max(other, w.memory.own(a, at+i, 1, thread, mark))
			}
		}
	}
	if other >= 0 {
		return fmt.Sprintf("writes global memory that thread %d of block %d writes", uint32(other)%w.threads, uint32(other)/w.threads)
	}
	return ""
}

func (w *warp) load(pc int32, in *instr, active uint32) error {
	x := &in.mem
	var results, lacking [4]lanes
	known := [4]uint32{active, active, active, active}
	for m := active; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		w.unwritten = 0
		data, what := w.bytes(in, lane, false)
		if what != "" {
			return w.fault(pc, lane, what)
		}
		for k := range int(x.count) {
			results[k][lane] = x.extend(get(data[k*int(x.size):], x.size), k)
			if lack := w.unwritten >> (k * int(x.size)) & (1<<x.size - 1); lack != 0 {
				known[k] &^= 1 << lane
				lacking[k][lane] = x.extend(bytesOf(lack), k)
			}
		}
	}
	for k := range int(x.count) {
		if d := in.dst[k]; d >= 0 {
			w.setPartly(d, &results[k], &lacking[k], active, known[k])
		}
	}
	return nil
}

// bytesOf has all bits of the bytes in a mask.
func bytesOf(which uint32) (v uint64) {
	for i := range 8 {
		if which>>i&1 == 1 {
			v |= 0xff << (8 * i)
		}
	}
	return v
}

func (w *warp) store(pc int32, in *instr, active uint32) error {
	x := &in.mem
	for m := active; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		data, what := w.bytes(in, lane, true)
		if what == "" {
			what = w.own(in, lane, ^uint64(0), 0)
		}
		if what != "" {
			return w.fault(pc, lane, what)
		}
		for k, s := range in.src[1 : 1+x.count] {
			put(data[k*int(x.size):], x.size, w.values[s][lane])
		}
	}
	return nil
}

func (w *warp) atomic(pc int32, in *instr, active uint32) error {
	x := &in.mem
	var old lanes
	for m := active; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		data, what := w.bytes(in, lane, true)
		if what == "" {
			what = w.own(in, lane, in.changes(w.values[in.src[1]][lane]), atomically)
		}
		if what != "" {
			return w.fault(pc, lane, what)
		}
		old[lane] = get(data, x.size)
		put(data, x.size, in.atom(old[lane], w.values[in.src[1]][lane], w.values[in.src[2]][lane]))
	}
	if d := in.dst[0]; d >= 0 {
		w.set(d, &old, active, active)
	}
	return nil
}

// changes has the bits that an atomic operation may change.
func (in *instr) changes(operand uint64) uint64 {
	switch in.mode {
	case modeAnd:
		return ^operand & (1<<(8*in.mem.size-1)<<1 - 1)
	case modeOr:
		return operand
	}
	return ^uint64(0)
}
