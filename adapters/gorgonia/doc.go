// Package gorgonia has engines for gorgonia.org/tensor that use Restride for transpositions,
// copies of views, concatenations and repetitions: [Host] over the tensors' own memory, with
// the arithmetic of tensor.StdEng, and [Device] over the memory of a cpu, OpenCL or CUDA
// device.
//
//	x := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(data), tensor.WithEngine(gorgonia.Host{}))
//	err := x.T()
//	err = x.Transpose() // by Restride
//
// Slice and T change metadata only, in gorgonia itself. Materialize does not, but a Dense never
// asks its engine for it: call the engine's method.
//
// [Repack] rearranges the weights of a checkpoint that is being converted, in the file's type.
package gorgonia
