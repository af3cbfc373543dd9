package models

import (
	"errors"
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Difference returns the largest difference of two tensors, infinite where one has a NaN alone,
// and the largest number of the second.
func Difference(x, y *tensor.Tensor) (worst, most float64, err error) {
	a, err := numbers(x)
	if err != nil {
		return 0, 0, err
	}
	b, err := numbers(y)
	if err != nil {
		return 0, 0, err
	}
	for i := range a {
		switch {
		case a[i] == b[i] || math.IsNaN(a[i]) && math.IsNaN(b[i]):
		case math.IsNaN(a[i]) || math.IsNaN(b[i]):
			worst = math.Inf(1)
		default:
			worst = max(worst, math.Abs(a[i]-b[i]))
		}
		if v := math.Abs(b[i]); v > most {
			most = v
		}
	}
	return worst, most, nil
}

func numbers(x *tensor.Tensor) (_ []float64, err error) {
	y, err := x.Cast(layout.Float64, device.Rounding{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, y.Release()) }()
	return tensor.Values[float64](y)
}
