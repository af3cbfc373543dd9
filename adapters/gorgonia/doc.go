// Package gorgonia has engines for gorgonia.org/tensor whose transpositions, copies of
// views, concatenations and repetitions are Restride's: [Host] over the tensors' own
// memory, with the arithmetic of tensor.StdEng, and [Device] over that of a cpu, OpenCL
// or CUDA device.
//
//	x := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(data), tensor.WithEngine(gorgonia.Host{}))
//	err := x.T()
//	err = x.Transpose() // by Restride
//
// Slice and T are metadata, and gorgonia's own. Materialize is not, but a Dense never
// asks its engine for it: call that of the engine.
//
// [Repack] rearranges the weights of a checkpoint that is being converted, in the type
// in which the file has them.
package gorgonia
