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
