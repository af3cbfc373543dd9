// Package model reads and writes ONNX files; it knows bytes, not devices.
//
// A Model is plain Go data: a graph of nodes with attributes, typed values and
// initializers. No protobuf type shows. Element data is canonical whatever
// encoding the file used (see Tensor), so what reads it needs one rule only.
//
// # What is checked
//
// Whatever the input, a function here returns a value or an error, and never
// panics. An error says what is wrong and where, and matches layout.ErrInvalid
// (the file breaks a rule of ONNX), layout.ErrUnsupported (valid, not here) or
// device.ErrOutOfMemory.
// Sizes are checked against the bytes that are present before anything of that
// size is allocated. Files of 2 GiB and more are refused, since protobuf ends
// there; larger models keep their initializers in external files.
//
// While a model is read, its embedded data is in memory twice: in the file's
// bytes and in the tensors. The graph costs more than its bytes: messages of two
// bytes become structs of hundreds. All of it is reckoned from the file and taken
// from the process's budget (package budget) before it is decoded; past the limit
// the error is device.ErrOutOfMemory. What a Model, a Tensor or a Value that was
// read takes is counted until it is garbage. Values are written by pieces
// (SaveValue), models in one piece.
//
// Checked are the rules of the format: encodings, counts, names that must be
// unique, external paths. Whether a node's operator exists, takes these inputs
// and has these attributes is for whoever runs the graph, and so is the order
// of nodes. A function in the file is an ordinary part of it (Model.Functions):
// who meets a node that calls one decides what to do.
//
// # What survives a round trip
//
// Everything that the types here show, and the rest of each model, graph, node,
// attribute, function, value and tensor message: doc strings, metadata,
// training information, quantization annotations, fields of a newer ONNX. That
// rest lives in a private field of the struct that stands for the message, so
// copying the struct keeps it. Not kept: unknown fields inside types,
// dimensions, opset imports, sparse tensors, sequences and optionals, and, of
// an external tensor, keys other than location, offset and length. The encoding
// is not kept: all element data but strings is written as raw_data.
package model
