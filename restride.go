// Package restride registers every device of Restride, for device.Open and
// tensor.Open. It is imported for that side effect only.
//
//	import _ "github.com/restride/restride"
//
// Without it, a program has the devices whose packages it imports; package
// tensor imports cpu. The functions are in these packages:
//
//   - tensor: tensors on a device, views and copies, and the verdict of each call
//   - onnx: ONNX's data movement operators at every version; sessions for models
//   - onnx/model: ONNX files
//   - pipeline: batches through a device, with transfers that overlap the work
//   - onednn: the reshape operations of the oneDNN Graph API
//   - layout: dims, strides and offsets, without memory
//   - device: the contract of a device, for engines with their own kernels
//   - device/backend: what implementers of a device share
package restride

import (
	_ "github.com/restride/restride/cpu"
	_ "github.com/restride/restride/cuda"
	_ "github.com/restride/restride/opencl"
)
