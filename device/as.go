package device

// As finds an ability of a device or a queue, such as Recorder, or a backend's own type, such as
// *cuda.Device, in x itself or in what x wraps. A wrapper has one of the methods
//
//	Unwrap() Device
//	Unwrap() Queue
//
// It hands out the buffers and events of the wrapped device, which accepts no others. Calls of an
// ability that the wrapper lacks bypass it.
func As[T any](x any) (T, bool) {
	for {
		if ability, ok := x.(T); ok {
			return ability, true
		}
		switch wrapper := x.(type) {
		case interface{ Unwrap() Device }:
			x = wrapper.Unwrap()
		case interface{ Unwrap() Queue }:
			x = wrapper.Unwrap()
		default:
			var none T
			return none, false
		}
	}
}
