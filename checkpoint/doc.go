// Package checkpoint reads and writes the files that weights are kept in, safetensors
// and GGUF, by pieces: [Open] reads headers, and a [Tensor] reads its bytes from where
// they lie; a [Writer] writes them to where they will lie, in any order.
//
//	safetensors    8 bytes: length of the header    JSON: names, types, shapes, offsets    bytes
//	GGUF           metadata, names, types, shapes, offsets; all binary                     bytes
//
// A checkpoint may be several files, with an index (safetensors) or numbered (GGUF).
//
// A file that is written comes out whole or not at all. Until then it is PATH.partial,
// which a later run goes on with.
//
// The package knows how many bytes a type's blocks have, and nothing of what they mean:
// that is package quant's.
//
// Headers may be anybody's. Sizes, counts, offsets, names and nesting are checked before
// anything is allocated for them. Errors are of the kinds of package layout.
package checkpoint
