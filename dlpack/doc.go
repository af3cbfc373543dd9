// Package dlpack exchanges tensors with other libraries of the process without a copy:
// PyTorch, numpy, JAX, CuPy and others hand each other capsules of DLPack, the C
// structures of https://dmlc.github.io/dlpack. It speaks version 1.1, and what was before
// 1.0 (Capsule.Unversioned). No C compiler is needed.
//
//	x, err := dlpack.Import(s, dlpack.Capsule{Pointer: theirs}, dlpack.ImportOptions{})
//	ours, err := dlpack.Export(y, dlpack.ExportOptions{})
//
// # Who owns what
//
// A capsule has a deleter, which its consumer calls once when it needs the memory no more.
// [Import] consumes the capsule: from then on the deleter is Restride's to call. It is
// called once: by Import itself if that fails, else when the last tensor over the memory is
// released and the work queued on it is over. For memory of the host that is within
// Release; for a GPU's, within Release or in a goroutine of its own, at the latest by the
// device's Close.
//
// [Export] keeps the memory of a tensor alive, however soon the tensor is released, until
// the deleter is called. The consumer may do that from any thread.
//
// # Who waits
//
// DLPack itself says nothing of order; Python's protocol for it does, with the argument
// stream of __dlpack__. For a GPU:
//
//   - Before Import, the producer sees to it that its work on the memory comes before that
//     of the stream that the tensor is imported on. Python's x.__dlpack__(stream=h) does,
//     with cuda.StreamOf(s.Queue()) for h; so does waiting for the producer's device.
//   - Export waits for the tensor's stream. With ExportOptions.Queue, the queue of the
//     consumer (cuda.Device.AdoptStream makes one of the h that __dlpack__ is given), it
//     does not: the queue waits on the device. ExportOptions.NoWait is __dlpack__'s -1.
//   - At the deleter's call, the consumer's work must be over, or be on
//     ExportOptions.Queue, of which Restride then takes account.
//   - The producer of an imported capsule gets its memory back after Restride's work, so
//     that it need not wait.
//
// # Memory and types
//
// Memory of the host (kDLCPU, kDLCUDAHost, kDLCUDAManaged) becomes a tensor on a stream
// whose memory is the host's, as tensor.Host() is; kDLCUDA and kDLCUDAManaged on a stream
// of the same CUDA device; kDLOpenCL on a stream of the cl_mem's context
// (opencl.Adopt makes one of the producer's). Other memory is refused; to bring it
// elsewhere is tensor.Tensor.To's work.
//
// DLPack asks for data that begins on a multiple of 256 bytes, with the rest in
// byte_offset. Hardly a library does so, and some ignore byte_offset: Export points at the
// first element (of OpenCL, where data is a cl_mem, it cannot), Import takes any address
// of the host's, and on a GPU any multiple of the element's size.
//
// Strides may be negative, 0 or missing. Lanes become a last axis. Elements below a byte
// are packed, or one in each byte where the capsule says so, which then is a stride. What
// [tensor.FromSharedBuffer] says holds for imported tensors; what is written to them, the
// producer sees.
//
// # What is checked
//
// All that the structures say: versions, flags, ranks, extents, types, overflow, the
// device. What they point to cannot be: a wrong address is the end of the process, as in C.
package dlpack
