package dlpack

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func TestImport(t *testing.T) {
	tensor.CheckLeaks(t, tensor.Host())
	for name, c := range map[string]struct {
		offset  uint64
		strides []int64 // nil: none
		dims    []int64
		want    []uint8
	}{
		"dense":    {0, nil, []int64{2, 3}, []uint8{0, 1, 2, 3, 4, 5}},
		"offset":   {4, nil, []int64{2}, []uint8{4, 5}},
		"strided":  {1, []int64{1, 4}, []int64{2, 3}, []uint8{1, 5, 9, 2, 6, 10}},
		"negative": {11, []int64{-4, -1}, []int64{2, 3}, []uint8{11, 10, 9, 7, 6, 5}},
		"mixed":    {8, []int64{-4, 1}, []int64{3, 2}, []uint8{8, 9, 4, 5, 0, 1}},
		"repeated": {3, []int64{0, 2}, []int64{2, 2}, []uint8{3, 5, 3, 5}},
		"scalar":   {7, nil, []int64{}, []uint8{7}},
		"one":      {7, []int64{-1 << 63}, []int64{1}, []uint8{7}},
		"empty":    {0, []int64{1 << 62, -5}, []int64{0, 3}, []uint8{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := produce(t, layout.Uint8, count(12), c.dims...).strided(c.offset, c.strides...)
			for _, capsule := range []Capsule{p.capsule(), p.old()} {
				x, err := Import(tensor.Host(), capsule, ImportOptions{})
				require.NoError(t, err)
				assert.Equal(t, layout.Shape(c.dims), x.Shape())
				assert.Equal(t, c.want, values[uint8](t, x))
				if len(c.want) > 0 {
					assert.False(t, x.Unshared(), "the producer has it, too")
					assert.Zero(t, deletions(capsule))
				}
				y, err := x.Unsqueeze(0)
				require.NoError(t, err)
				release(t, x)
				assert.Equal(t, c.want, values[uint8](t, y))
				release(t, y, y)
				deletedOnce(t, capsule)
				forget(capsule)
			}
		})
	}
}

func TestImportSharesMemory(t *testing.T) {
	p := produce(t, layout.Int16, make([]byte, 8), 4)
	x, err := Import(tensor.Host(), p.capsule(), ImportOptions{})
	require.NoError(t, err)
	p.data[2] = 7
	assert.Equal(t, []int16{0, 7, 0, 0}, values[int16](t, x))
	one, err := tensor.FromHost([]int16{1, 2, 3, 4})
	require.NoError(t, err)
	require.NoError(t, x.CopyFrom(one))
	assert.Equal(t, []byte{1, 0, 2, 0, 3, 0, 4, 0}, p.data)
	release(t, x, one)

	p.versioned.flags = flagCopied
	x, err = Import(tensor.Host(), p.capsule(), ImportOptions{})
	require.NoError(t, err)
	assert.True(t, x.Unshared())
	release(t, x)
}

// Elements below a byte: packed, in a byte each, in vectors, from the middle of memory
// backwards.
func TestImportBelowAByte(t *testing.T) {
	data := []byte{0x21, 0x43, 0x65, 0x87}
	for name, c := range map[string]struct {
		dims, strides []int64
		offset        uint64
		lanes         uint16
		flags         uint64
		shape         layout.Shape
		want          []uint8
	}{
		"packed":    {[]int64{2, 3}, nil, 1, 1, 0, layout.Shape{2, 3}, []uint8{3, 4, 5, 6, 7, 8}},
		"backwards": {[]int64{3}, []int64{-1}, 2, 1, 0, layout.Shape{3}, []uint8{5, 4, 3}},
		"padded":    {[]int64{3}, nil, 1, 1, flagPadded, layout.Shape{3}, []uint8{3, 5, 7}},
		"every 2nd": {[]int64{2}, []int64{2}, 0, 1, flagPadded, layout.Shape{2}, []uint8{1, 5}},
		"lanes":     {[]int64{2}, []int64{-1}, 2, 4, 0, layout.Shape{2, 4}, []uint8{5, 6, 7, 8, 1, 2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			p := produce(t, layout.Uint4, data, c.dims...).strided(c.offset, c.strides...)
			p.versioned.tensor.lanes, p.versioned.flags = c.lanes, c.flags
			x, err := Import(tensor.Host(), p.capsule(), ImportOptions{})
			require.NoError(t, err)
			assert.Equal(t, c.shape, x.Shape())
			assert.Equal(t, layout.Uint4, x.DType())
			y, err := x.Unpack()
			require.NoError(t, err)
			assert.Equal(t, c.want, values[uint8](t, y))
			release(t, x, y)
			deletedOnce(t, p.capsule())
		})
	}
	p := produce(t, layout.Uint4, data, 2)
	p.versioned.tensor.lanes = 3
	_, err := Import(tensor.Host(), p.capsule(), ImportOptions{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "3 lanes of 4 bits")
}

// Types that Restride lacks, imported as other types.
func TestImportAs(t *testing.T) {
	p := produce(t, layout.Uint8, count(6), 6)
	p.versioned.tensor.code = 7 // float8_e3m4
	_, err := Import(tensor.Host(), p.capsule(), ImportOptions{})
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "float8_e3m4 of 8 bits")
	_, err = Import(tensor.Host(), p.capsule(), ImportOptions{As: layout.Int16})
	require.ErrorIs(t, err, device.ErrInvalid)
	x, err := Import(tensor.Host(), p.capsule(), ImportOptions{As: layout.Uint8})
	require.NoError(t, err)
	assert.Equal(t, count(6), values[uint8](t, x))
	release(t, x)

	// Codes of 6 bits are an axis of bits: 1, 2, 3, 4 in 3 bytes, and with a byte each.
	for flags, data := range map[uint64][]byte{0: {0x81, 0x30, 0x10}, flagPadded: {1, 2, 3, 4}} {
		p := produce(t, layout.Uint8, data, 2, 2)
		p.versioned.tensor.code, p.versioned.tensor.bits, p.versioned.flags = 16, 6, flags
		_, err = Import(tensor.Host(), p.capsule(), ImportOptions{})
		require.ErrorIs(t, err, device.ErrUnsupported)
		x, err := Import(tensor.Host(), p.capsule(), ImportOptions{As: layout.Bit})
		require.NoError(t, err)
		assert.Equal(t, layout.Shape{2, 2, 6}, x.Shape())
		first, err := x.Slice(2, 0, 3, 1) // the low 3 bits
		require.NoError(t, err)
		dense, err := first.Bytes()
		require.NoError(t, err)
		assert.Equal(t, []byte{0b11010001, 0b1000}, dense)
		release(t, x, first)
	}
}

func TestImportTypes(t *testing.T) {
	for _, of := range append(layout.DTypes(), layout.Bit) {
		if of == layout.String {
			continue
		}
		p := produce(t, of, count(16), 1)
		x, err := Import(tensor.Host(), p.capsule(), ImportOptions{})
		require.NoError(t, err, "%v", of)
		assert.Equal(t, of, x.DType())
		release(t, x)
		deletedOnce(t, p.capsule())
	}
}

// Contradictions are errors, and the capsule is deleted.
func TestImportRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *producer, x *cTensor)
		kind   error
		word   string
	}{
		"version":       {func(p *producer, _ *cTensor) { p.versioned.major = 2 }, device.ErrUnsupported, "DLPack 2.1"},
		"version 0":     {func(p *producer, _ *cTensor) { p.versioned.major = 0 }, device.ErrUnsupported, "DLPack 0.1"},
		"flags":         {func(p *producer, _ *cTensor) { p.versioned.flags = 1 << 40 }, device.ErrUnsupported, "0x10000000000"},
		"read-only":     {func(p *producer, _ *cTensor) { p.versioned.flags = flagReadOnly }, device.ErrUnsupported, "ReadOnly"},
		"rank":          {func(_ *producer, x *cTensor) { x.rank = -1 }, device.ErrInvalid, "-1"},
		"ranks":         {func(_ *producer, x *cTensor) { x.rank = 1 << 30 }, device.ErrInvalid, "64"},
		"no shape":      {func(_ *producer, x *cTensor) { x.shape = 0 }, device.ErrInvalid, "without a shape"},
		"odd shape":     {func(_ *producer, x *cTensor) { x.shape++ }, device.ErrInvalid, "no int64"},
		"odd strides":   {func(_ *producer, x *cTensor) { x.strides = 12 }, device.ErrInvalid, "no int64"},
		"extent":        {func(p *producer, _ *cTensor) { p.dims[0] = -2 }, device.ErrInvalid, "negative"},
		"elements":      {func(p *producer, _ *cTensor) { p.dims[0], p.dims[1] = 1<<32, 1<<32 }, device.ErrInvalid, "overflow"},
		"bytes":         {func(p *producer, _ *cTensor) { p.dims[0] = 1 << 61 }, device.ErrInvalid, "overflow"},
		"address":       {func(p *producer, x *cTensor) { p.dims[0] = 1 << 58; x.data = 1<<63 - 8 }, device.ErrInvalid, "any memory"},
		"stride":        {func(p *producer, _ *cTensor) { p.strided(0, 1<<62, 1) }, device.ErrInvalid, "overflow"},
		"back":          {func(p *producer, _ *cTensor) { p.strided(0, -1<<63, 1) }, device.ErrInvalid, "overflow"},
		"before 0":      {func(p *producer, _ *cTensor) { p.strided(0, -1<<57, 1) }, device.ErrInvalid, "any memory"},
		"nil":           {func(_ *producer, x *cTensor) { x.data = 0 }, device.ErrInvalid, "nil"},
		"offset":        {func(p *producer, _ *cTensor) { p.strided(1<<64 - 8) }, device.ErrInvalid, "any memory"},
		"type":          {func(_ *producer, x *cTensor) { x.code = 99 }, device.ErrUnsupported, "type code 99"},
		"width":         {func(_ *producer, x *cTensor) { x.bits = 24 }, device.ErrUnsupported, "float of 24 bits"},
		"no bits":       {func(_ *producer, x *cTensor) { x.bits = 0 }, device.ErrInvalid, "0 bits"},
		"no lanes":      {func(_ *producer, x *cTensor) { x.lanes = 0 }, device.ErrInvalid, "0 lanes"},
		"lanes":         {func(p *producer, x *cTensor) { p.strided(0, 1<<50, 1); x.lanes = 1 << 15 }, device.ErrInvalid, "overflow"},
		"device":        {func(_ *producer, x *cTensor) { x.device = onCUDA }, device.ErrInvalid, "cpu"},
		"no device":     {func(_ *producer, x *cTensor) { x.device = -7 }, device.ErrInvalid, "-7"},
		"opencl device": {func(_ *producer, x *cTensor) { x.device = onOpenCL }, device.ErrInvalid, "cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			p := produce(t, layout.Float32, make([]byte, 32), 2, 3)
			c.change(p, &p.versioned.tensor)
			x, err := Import(tensor.Host(), p.capsule(), ImportOptions{})
			require.ErrorIs(t, err, c.kind)
			assert.ErrorContains(t, err, c.word)
			assert.Nil(t, x)
			assert.EqualValues(t, 1, deletions(p.capsule()))
			forget(p.capsule())
		})
	}
	p := produce(t, layout.Float32, make([]byte, 32), 2, 3)
	_, err := Import(tensor.Host(), Capsule{}, ImportOptions{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = Import(tensor.Host(), Capsule{Pointer: unaligned(p)}, ImportOptions{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = Import(nil, p.capsule(), ImportOptions{})
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.Zero(t, deletions(p.capsule()), "it is not consumed")

	p.versioned.flags = flagReadOnly
	x, err := Import(tensor.Host(), p.capsule(), ImportOptions{ReadOnly: true})
	require.NoError(t, err)
	release(t, x)
}

func TestImportTwice(t *testing.T) {
	p := produce(t, layout.Float32, make([]byte, 32), 2, 3)
	x, err := Import(tensor.Host(), p.capsule(), ImportOptions{})
	require.NoError(t, err)
	_, err = Import(tensor.Host(), p.capsule(), ImportOptions{})
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "consumed before")
	require.ErrorIs(t, p.capsule().Delete(), device.ErrInvalid)
	assert.Zero(t, deletions(p.capsule()))
	release(t, x)
	deletedOnce(t, p.capsule())
	x, err = Import(tensor.Host(), p.capsule(), ImportOptions{}) // reuses the producer's address
	require.NoError(t, err)
	release(t, x)
}

// A capsule may have no deleter.
func TestImportWithoutDeleter(t *testing.T) {
	p := produce(t, layout.Float32, make([]byte, 32), 2, 3)
	p.versioned.deleter = 0
	x, err := Import(tensor.Host(), p.capsule(), ImportOptions{})
	require.NoError(t, err)
	release(t, x)
	require.NoError(t, p.capsule().Delete())
}
