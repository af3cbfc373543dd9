// Package onnxpb is the wire format of ONNX files: Go code generated from onnx.proto. Only
// package onnx/model imports and interprets it.
package onnxpb

//go:generate sh generate.sh onnx.pb.go
