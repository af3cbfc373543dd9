// Package dlpack exchanges tensors with other libraries of the process without a copy: PyTorch,
// numpy, JAX, CuPy and others exchange capsules of DLPack, the C structures of
// https://dmlc.github.io/dlpack. It supports version 1.1, and the structures before 1.0
// (Capsule.Unversioned). No C compiler is needed.
//
//	x, err := dlpack.Import(s, dlpack.Capsule{Pointer: theirs}, dlpack.ImportOptions{})
//	ours, err := dlpack.Export(y, dlpack.ExportOptions{})
//
// # Ownership
//
// A capsule has a deleter, which its consumer calls once when it no longer needs the memory.
// [Import] consumes the capsule: from then on Restride must call the deleter. It is called
// once: by Import itself if that fails, otherwise when the last tensor over the memory is
// released and the work queued on it is over. For memory of the host that is within Release;
// for a GPU's, within Release or in a goroutine of its own, at the latest by the device's
// Close.
//
// [Export] keeps the memory of a tensor alive, however soon the tensor is released, until
// the deleter is called. The consumer may do that from any thread.
//
// # Synchronization
//
// DLPack itself does not define an order; Python's protocol does, with the argument stream of
// __dlpack__. For a GPU:
//
//   - Before Import, the producer must order its work on the memory before that
//     of the stream that the tensor is imported on. Python's x.__dlpack__(stream=h) does,
//     with cuda.StreamOf(s.Queue()) for h; so does waiting for the producer's device.
//   - Export waits for the tensor's stream. With ExportOptions.Queue, the consumer's
//     queue (cuda.Device.AdoptStream makes it from the h passed to __dlpack__), it
//     does not: the queue waits on the device. ExportOptions.NoWait is __dlpack__'s -1.
//   - At the deleter's call, the consumer's work must be over, or be on
//     ExportOptions.Queue, for which Restride then waits.
//   - The producer of an imported capsule gets its memory back after Restride's work, so
//     that it need not wait.
//
// # Memory and types
//
// Memory of the host (kDLCPU, kDLCUDAHost, kDLCUDAManaged) becomes a tensor on a stream
// whose memory is the host's, as tensor.Host() is; kDLCUDA and kDLCUDAManaged on a stream
// of the same CUDA device; kDLOpenCL on a stream of the cl_mem's context (opencl.Adopt makes
// one of the producer's). Other memory is refused; tensor.Tensor.To moves tensors.
//
// DLPack requires data aligned to 256 bytes, with the rest in byte_offset. Few libraries
// comply, and some ignore byte_offset: Export points at the first element (of OpenCL, where
// data is a cl_mem, it cannot), Import accepts any address of the host, and on a GPU any
// multiple of the element's size.
//
// Strides may be negative, 0 or missing. Lanes become a last axis. Elements below a byte are
// packed, or one in each byte if the capsule says so, which becomes a stride. The rules of
// [tensor.FromSharedBuffer] hold for imported tensors; the producer sees writes to them.
//
// # Checks
//
// Everything in the structures is checked: versions, flags, ranks, extents, types, overflow,
// the device. Addresses cannot be: a wrong one ends the process, as in C.
package dlpack
