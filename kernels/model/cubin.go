package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// spilled is the number of machine instructions that store spilled registers, and that load
// them.
type spilled struct{ stores, loads float64 }

// The machine's instructions since compute capability 7.0 have 16 bytes; the lowest 12 bits of
// the first are the opcode.
const (
	instructionBytes = 16
	opcodeBits       = 12
	storeLocal       = 0x387
	loadLocal        = 0x983
)

// spills finds the instructions of a compiled kernel that access spilled registers, and their
// lines.
func spills(cubin []byte) (map[int]spilled, error) {
	const version = 20 // of the format: NVIDIA has its own there, which package elf refuses
	cubin = slices.Clone(cubin)
	if len(cubin) > version {
		cubin[version] = byte(elf.EV_CURRENT)
	}
	f, err := elf.NewFile(bytes.NewReader(cubin))
	if err != nil {
		return nil, err
	}
	var code []byte
	var lines map[uint64]int
	for _, s := range f.Sections {
		switch {
		case strings.HasPrefix(s.Name, ".text."):
			code, err = s.Data()
		case s.Name == ".debug_line":
			var program []byte
			if program, err = s.Data(); err == nil {
				lines, err = lineTable(program)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", s.Name, err)
		}
	}
	all, line := map[int]spilled{}, 0
	for at := 0; at+instructionBytes <= len(code); at += instructionBytes {
		if l, ok := lines[uint64(at)]; ok {
			line = l
		}
		n := all[line]
		switch binary.LittleEndian.Uint16(code[at:]) & (1<<opcodeBits - 1) {
		case storeLocal:
			n.stores++
		case loadLocal:
			n.loads++
		default:
			continue
		}
		all[line] = n
	}
	return all, nil
}

var errLineTable = errors.New("the table of lines is not as the assembler writes it")

// lineTable runs a line number program of DWARF 2, and returns the lines at which
// addresses begin.
func lineTable(program []byte) (map[uint64]int, error) {
	le := binary.LittleEndian
	r := reader{left: program}
	head := r.take(15)
	if r.short || le.Uint16(head[4:]) != 2 || head[13] == 0 || head[14] == 0 {
		return nil, errLineTable
	}
	least, base, width, first := uint64(head[10]), int(int8(head[12])), int(head[13]), head[14]
	operands := r.take(int(first) - 1) // of standard opcodes
	r.left = program[15+len(operands):]
	r.take(int(le.Uint32(head[6:])) - 5 - len(operands)) // files
	lines, address, line := map[uint64]int{}, uint64(0), 1
	for len(r.left) > 0 {
		switch op := r.byte(); {
		case op >= first: // special
			address += uint64(int(op-first)/width) * least
			line += base + int(op-first)%width
			lines[address] = line
		case op == 0: // extended
			if body := r.take(int(r.unsigned())); len(body) == 9 && body[0] == 2 {
				address = le.Uint64(body[1:])
			}
		case op == 1: // copy
			lines[address] = line
		case op == 2: // advance the address
			address += r.unsigned() * least
		case op == 3: // advance the line
			line += int(r.signed())
		case op == 8: // advance the address as special opcode 255 does
			address += uint64(int(255-first)/width) * least
		case op == 9: // advance it by a fixed size
			if b := r.take(2); !r.short {
				address += uint64(le.Uint16(b))
			}
		default:
			for range operands[op-1] {
				r.unsigned()
			}
		}
	}
	if r.short {
		return nil, errLineTable
	}
	return lines, nil
}

// reader reads numbers of DWARF.
type reader struct {
	left  []byte
	short bool // bytes were missing
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.left) {
		r.left, r.short = nil, true
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// unsigned reads a LEB128.
func (r *reader) unsigned() (v uint64) {
	for shift := 0; ; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

func (r *reader) signed() (v int64) {
	for shift := 0; ; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}
