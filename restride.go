// Package restride is imported for its side effect: it makes every device that
// Restride has known to device.Open and tensor.Open.
//
//	import _ "github.com/restride/restride"
//
// Without it, a program has the devices whose packages it imports; package
// tensor imports cpu. What to call is in these packages:
//
//   - tensor: tensors on a device, their views and copies, and what each call did
//   - onnx: ONNX's data movement operators at every version; sessions for models
//   - onnx/model: ONNX files
//   - pipeline: batches through a device, with transfers that overlap the work
//   - onednn: the reshape operations of the oneDNN Graph API
//   - layout: dims, strides and offsets alone
//   - device: the contract of a device, for engines with their own kernels
package restride

import (
	_ "github.com/restride/restride/cpu"
	_ "github.com/restride/restride/cuda"
	_ "github.com/restride/restride/opencl"
)
