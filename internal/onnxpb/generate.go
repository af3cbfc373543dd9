// Package onnxpb is the wire format of ONNX files: Go code generated from
// onnx.proto. Package onnx/model gives it meaning; nothing else imports it.
package onnxpb

//go:generate sh generate.sh onnx.pb.go
