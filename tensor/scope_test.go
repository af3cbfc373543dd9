package tensor_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestScope: what was made in a scope, by whatever call, is released with it, but for
// what was kept.
func TestScope(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			before, _ := fill(t, s, layout.Int32, 1, 3, 4)
			scope := tensor.NewScope(s)
			x, err := before.Transpose()
			require.NoError(t, err)
			y, err := x.Reshape(12)
			require.NoError(t, err)
			z, err := tensor.Concat(0, y, y)
			require.NoError(t, err)
			gone, err := z.Alias()
			require.NoError(t, err)
			require.NoError(t, gone.Release())
			written, err := z.Overwrite("op", tensor.Part{})
			require.NoError(t, err)
			inner := tensor.NewScope(s)
			deep, err := z.Clone()
			require.NoError(t, err)
			kept, err := z.Slice(0, 0, 3, 1)
			require.NoError(t, err)
			tensor.Keep(kept, nil, kept, before)
			require.NoError(t, inner.Close())
			require.NoError(t, inner.Close(), "a second Close does nothing")
			for x, released := range map[*tensor.Tensor]bool{deep: true, kept: false, z: false, written: false, before: false} {
				_, err := x.Alias()
				require.Equal(t, released, err != nil)
			}
			left := tensor.NewScope(s) // closed by the one around it
			late, err := kept.Clone()
			require.NoError(t, err)
			require.NoError(t, scope.Close())
			require.NoError(t, left.Close())
			for _, x := range []*tensor.Tensor{x, y, z, gone, written, late} {
				_, err := x.Alias()
				require.ErrorIs(t, err, tensor.ErrReleased)
			}
			requireIs(t, contents(t, before), keep(t)(before.Alias()))
			require.NoError(t, kept.Release())
			outside, err := before.Clone()
			require.NoError(t, err)
			require.NoError(t, scope.Close())
			require.NoError(t, outside.Release())
		})
	}
	require.ErrorIs(t, tensor.NewScope(nil).Close(), device.ErrInvalid)
	var none *tensor.Scope
	require.ErrorIs(t, none.Close(), device.ErrInvalid)
}

// Goroutines make and release tensors while scopes open and close.
func TestScopeOfManyGoroutines(t *testing.T) {
	s := openCPU(t)
	x, _ := fill(t, s, layout.Int8, 1, 4, 4)
	var all sync.WaitGroup
	var mu sync.Mutex
	var made []*tensor.Tensor
	for range 4 {
		all.Go(func() {
			for i := range 200 {
				y, err := x.Clone()
				if err != nil {
					panic(err)
				}
				switch i % 3 {
				case 0:
					_ = y.Release()
				case 1:
					tensor.Keep(y)
				}
				mu.Lock()
				made = append(made, y)
				mu.Unlock()
			}
		})
	}
	for range 50 {
		require.NoError(t, tensor.NewScope(s).Close())
	}
	all.Wait()
	for _, y := range made {
		require.NoError(t, y.Release())
	}
}

// A step that releases all that it made but its result.
func ExampleNewScope() {
	s, _ := tensor.Open("cpu")
	defer s.Close()
	x, _ := tensor.FromSlice(s, []float32{1, 2, 3, 4}, 2, 2)
	defer x.Release()

	scope := tensor.NewScope(s)
	y, _ := x.Transpose()
	z, _ := y.Reshape(4) // a copy
	result, _ := tensor.Concat(0, z, z)
	tensor.Keep(result)
	_ = scope.Close() // y and z

	fmt.Println(result, s.Device().Stats().Buffers)
	_ = result.Release()
	// Output: float[8] on cpu: [1. 3. 2. 4. 1. 3. 2. 4.] 2
}
