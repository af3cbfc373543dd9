// Package kernels holds the source of the GPU kernels: one text that compiles as OpenCL C,
// CUDA C and C++. Package internal/planner chooses among them.
package kernels

import "embed"

// Source has the headers, in the folder source.
//
//go:embed source/*.h
var Source embed.FS
