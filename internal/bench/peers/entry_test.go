package peers

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// parse reads the name of an operation.
func parse(t *testing.T, name string) oracle.Case {
	t.Helper()
	c, err := oracle.ParseCase(name)
	require.NoError(t, err, name)
	return c
}

// The entry determines the place of every element.
func TestNewEntry(t *testing.T) {
	var entries []Entry
	for _, c := range cases.All() {
		e, err := NewEntry(c, 1<<20, 3)
		require.NoError(t, err)
		entries = append(entries, e)
	}
	text, err := json.Marshal(entries)
	require.NoError(t, err)
	var back []Entry
	require.NoError(t, json.Unmarshal(text, &back))
	require.Len(t, back, len(cases.All()))
	folds := 0
	for _, e := range back {
		assert.Equal(t, 3, e.Rotation)
		axis := 0
		if e.At != nil {
			axis = e.At.Axis
		}
		c := parse(t, e.Case)
		assert.Equal(t, string(c.Op), e.Op)
		if e.Dst.Bits > c.DstType.Bits() && c.Op == oracle.OpCopy {
			folds++
			c = asBytes(c)
		}
		type part struct {
			place Location
			l     layout.Layout
			t     layout.DType
		}
		parts := []part{{e.Dst, c.Dst, c.DstType}, {e.Src, c.Src, c.SrcType}}
		assert.Equal(t, c.Op == oracle.OpFill, e.Pattern != "", e.Name)
		assert.Equal(t, c.Op == oracle.OpTake, e.At != nil, e.Name)
		switch c.Op {
		case oracle.OpFill:
			assert.Zero(t, e.Src)
			assert.Len(t, e.Pattern, c.DstType.Bits()/4)
			parts = parts[:1]
		case oracle.OpTake:
			table, along, err := tableOf(c)
			require.NoError(t, err)
			assert.Equal(t, axis, along)
			assert.Equal(t, c.By, []layout.Index{{Extent: table.Dim(axis), Stride: table.Stride(axis)}})
			parts[1].l = table
			parts = append(parts, part{e.At.Location, c.At, c.AtType})
		}
		for _, p := range parts {
			l, err := layout.Strided(p.place.Dims, p.place.Strides, p.place.Offset)
			require.NoError(t, err)
			assert.True(t, l.Equal(&p.l), e.Name)
			assert.True(t, l.Fits(p.place.Length), e.Name)
			assert.False(t, l.Fits(p.place.Length-1), e.Name)
			assert.Equal(t, p.t.String(), p.place.Type)
			assert.Equal(t, p.t.Bits(), p.place.Bits)
			require.NotNil(t, p.place.Recipe, e.Name)
			made(t, p.place.Recipe, l)
		}
	}
	assert.Equal(t, 3, folds, "c-heads/4, weights-tiles/4 and gptq-nk/4 are copies of bytes, and no other cases are")
	_, err = NewEntry(cases.All()[0], 0, 1)
	require.ErrorIs(t, err, device.ErrInvalid)
}

// Parts of a user's own case that the protocol lacks are refused.
func TestEntryRefuses(t *testing.T) {
	for text, rule := range map[string]string{
		"take/float/8x16/dst=16,1@0/src=16,1@0/at=1,0@0/int64/by=0:4:128/wrong=0": "does not stand still along one axis",
		"take/float/8x16/dst=16,1@0/src=0,0@0/at=16,1@0/int64/by=0:128:1/wrong=0": "does not stand still along one axis",
		"convert/float-float8e4m3fn/16/dst=1@0/src=1@0/how=unsaturated":           "peers are told no rounding",
	} {
		c, err := cases.Parse(text)
		require.NoError(t, err)
		_, err = NewEntry(c, 1, 1)
		require.ErrorIs(t, err, layout.ErrUnsupported)
		assert.ErrorContains(t, err, rule)
	}
}
