// Package checkpoint reads and writes the files that hold weights, safetensors and GGUF, in
// pieces: [Open] reads headers, and a [Tensor] reads its bytes from the file; a [Writer]
// writes tensors directly to their final place, in any order.
//
//	safetensors    8 bytes: length of the header    JSON: names, types, shapes, offsets    bytes
//	GGUF           metadata, names, types, shapes, offsets; all binary                     bytes
//
// A checkpoint may consist of several files, with an index (safetensors) or numbered
// (GGUF).
//
// A file is written completely or not at all. Until it is complete it is PATH.partial,
// which a later run can continue.
//
// The package knows how many bytes a type's blocks have, but not what they mean: package
// quant does.
//
// Headers are not trusted. Sizes, counts, offsets, names and nesting are checked before
// anything is allocated for them. Errors have the kinds of package layout.
package checkpoint
