package layout_test

import (
	"errors"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

func TestErrors(t *testing.T) {
	err := layout.Errorf(layout.ErrUnsupported, "Reshape-25", "%v of %d", layout.Int2, 7)
	require.ErrorIs(t, err, layout.ErrUnsupported)
	require.NotErrorIs(t, err, layout.ErrInvalid)
	require.EqualError(t, err, "Reshape-25: int2 of 7")
	var e *layout.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, layout.Error{Kind: layout.ErrUnsupported, Op: "Reshape-25", Msg: "int2 of 7"}, *e)
	require.NotErrorIs(t, layout.ErrNeedsCopy, layout.ErrInvalid)
}

func TestNamed(t *testing.T) {
	require.NoError(t, layout.Named("Flatten-13", nil))
	_, inner := layout.Shape{-1}.Count()
	err := layout.Named("Flatten-13", inner)
	refused(t, err, "Flatten-13", "[-1]", "negative")
	require.NotContains(t, err.Error(), "Shape")
	other := errors.New("disk full")
	err = layout.Named("Flatten-13", other)
	require.ErrorIs(t, err, other)
	require.EqualError(t, err, "Flatten-13: disk full")
	err = layout.Named("Reshape-14", layout.ErrNeedsCopy)
	require.ErrorIs(t, err, layout.ErrNeedsCopy)
}
