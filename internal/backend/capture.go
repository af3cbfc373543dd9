package backend

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// CheckCaptured checks a call of a queue that is capturing.
func CheckCaptured(op string) error {
	switch op {
	case "Copy", "Fill", "FillString", "Convert", "Take", "Put", "Map", "Where", "Dequantize", "Quantize", "Launch":
		return nil
	}
	return layout.Errorf(device.ErrInvalid, op, "the queue is capturing, which only Copy, Fill, Convert, Take, Put, Map, Where, Dequantize, Quantize and Launch can be part of")
}
