// Package model reads and writes ONNX files; it handles bytes, not devices.
//
// A Model is plain Go data: a graph of nodes with attributes, typed values and
// initializers. It exposes no protobuf types. Element data has one canonical form, whatever
// encoding the file used (see Tensor), so readers need only one rule.
//
// # What is checked
//
// For any input, a function here returns a value or an error, and never panics. An error
// says what is wrong and where, and matches layout.ErrInvalid (the file violates a rule of
// ONNX), layout.ErrUnsupported (valid, but not supported here) or device.ErrOutOfMemory.
// Sizes are checked against the bytes that are present before anything of that size is
// allocated. Files of 2 GiB and more are refused, because that is protobuf's limit; larger
// models keep their initializers in external files.
//
// While a model is parsed, its embedded data is in memory twice: in the file's bytes and
// in the tensors. Load keeps large tensors where they are in the file's bytes. The graph
// needs more memory than its bytes in the file: messages of two bytes become structs of
// hundreds. The total is computed from the file and charged to the process's budget
// (package budget) before decoding; past the limit the error is device.ErrOutOfMemory.
// The memory of a Model, a Tensor or a Value that was read is charged until it is
// garbage. Values are written in pieces (SaveValue), models in one piece.
//
// The rules of the format are checked: encodings, counts, unique names, external paths.
// Whether a node's operator exists, and accepts these inputs and attributes, must be
// checked by the code that runs the graph; so must the order of nodes. A function in the
// file is an ordinary part of it (Model.Functions): code that meets a node that calls one
// decides what to do.
//
// # What survives a round trip
//
// Everything that the types here represent survives, and so do the other fields of each
// model, graph, node, attribute, function, value and tensor message: doc strings, metadata,
// training information, quantization annotations, fields of a newer ONNX. Those fields are
// in a private field of the struct for the message, so copying the struct keeps them. Not
// kept: unknown fields inside types, dimensions, opset imports, sparse tensors, sequences
// and optionals, and, for an external tensor, keys other than location, offset and length.
// The encoding is not kept: all element data except strings is written as raw_data.
package model
