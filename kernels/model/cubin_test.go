package main

import (
	"encoding/binary"
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
)

// program is a line number program with the given size of address steps.
func program(body ...byte) []byte {
	head := []byte{0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 16, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0}
	binary.LittleEndian.PutUint32(head, uint32(len(head)+len(body)-4))
	binary.LittleEndian.PutUint32(head[6:], uint32(len(head)-10))
	return append(head, body...)
}

// TestLines: a table of lines is read as DWARF defines it, and a truncated one is an error.
func TestLines(t *testing.T) {
	text := program(
		0, 9, 2, 0x40, 0, 0, 0, 0, 0, 0, 0, // the address is 0x40
		3, 0xe3, 0, // 99 lines on
		1,
		10+14*2+5, // two instructions on, the same line
		10+5-3,    // three lines back
		2, 0x81, 1, 3, 0x7f, 1,
		5, 9, 8, 9, 2, 0, 1, // a column; steps
		0, 1, 1,
	)
	lines, err := lineTable(text)
	require.NoError(t, err)
	far := uint64(0x60 + 129*16)
	assert.Equal(t, map[uint64]int{0x40: 100, 0x60: 97, far: 96, far + 17*16 + 2: 96}, lines)
	for n := range len(text) - 4 {
		_, _ = lineTable(text[:n]) // must not panic
	}
	_, err = lineTable(text[:len(text)-5])
	require.ErrorIs(t, err, errLineTable)
	_, err = lineTable(nil)
	require.ErrorIs(t, err, errLineTable)
	_, err = spills([]byte("no"))
	require.Error(t, err)
}

// TestSpills: the assembler's spilled registers are located in the program.
func TestSpills(t *testing.T) {
	ptxas, err := exec.LookPath("../../build/nvcc/ptxas")
	devicetest.Require(t, "ptxas", err)
	text := []byte(`.version 6.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 k_param_0)
.maxntid 256, 1, 1
.minnctapersm 8
{
	.reg .b32 %r<200>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [k_param_0];
`)
	r := resources{}
	for _, arch := range []string{"sm_80", "sm_90", "sm_100"} {
		full := text
		for i := range 64 {
			full = append(full, fmt.Sprintf("\tld.volatile.global.u32 %%r%d, [%%rd1+%d];\n", i, 4*i)...)
		}
		for i := range 64 {
			full = append(full, fmt.Sprintf("\tst.volatile.global.u32 [%%rd1+%d], %%r%d;\n", 4*i, 63-i)...)
		}
		r, err = assemble(ptxas, arch, append(full, "	ret;\n}\n"...))
		require.NoError(t, err)
		assert.Equal(t, 32, r.registers)
		assert.Positive(t, r.spilled)
		stores, loads := 0., 0.
		for line, n := range r.local {
			assert.GreaterOrEqual(t, line, 10)
			stores, loads = stores+n.stores, loads+n.loads
		}
		assert.InDelta(t, r.spilled/4, stores, float64(r.spilled)/8, arch)
		assert.GreaterOrEqual(t, loads, stores/2, arch)
		assert.Equal(t, ", 132 spilled", (&resources{spilled: 132}).note())
	}
}
