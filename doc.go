// Package restride registers every device of Restride, for device.Open and
// tensor.Open. It is imported for that side effect only.
//
//	import _ "github.com/restride/restride"
//
// Without it, a program has the devices whose packages it imports; package
// tensor imports cpu. The other packages, and what each is for:
//
// For programs:
//
//   - tensor: tensors on a device, views and copies, and the verdict of each call
//   - onnx: ONNX's layout operators at every version; sessions for models
//   - onnx/model: reads and writes ONNX files
//   - onednn: the reshape operations of the oneDNN Graph API
//   - pipeline: batches through a device, with transfers that overlap the work
//   - quant: converts quantised weights between formats
//   - order: orders of elements in memory, by digits of indices, and conversions between them
//   - checkpoint: reads and writes safetensors and GGUF files
//   - dlpack: exchanges tensors with other libraries in the process, by DLPack
//   - gl: OpenGL's buffers and textures as tensors (build tag gogl)
//   - gl/headless: OpenGL contexts without a window
//   - layout: shapes, strides and offsets, without memory
//
// Devices, for programs that choose or share them:
//
//   - device: the contract of a device: memory, queues, events, errors
//   - cpu: the CPU device
//   - opencl: OpenCL devices
//   - cuda: NVIDIA GPUs
//   - device/budget: limits the memory that work may use
//
// For those who write a device:
//
//   - device/devicetest: the test suite that every device must pass
//
// Parts of this module, without a promise of compatibility:
//
//   - kernels: the source of the GPU kernels
//   - bench: measures a device
//
// docs/stability.md says which of these are stable.
package restride
