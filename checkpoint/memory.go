package checkpoint

// What a header becomes in memory, in bytes, beside its texts: structs, pointers to them in
// slices that have grown, and their places in maps, of which 7 of 16 may be in use.
// TestMemory compares it with what is allocated.
const (
	// tensorMemory is for a Tensor, its pointers in a File and a Checkpoint, and the two
	// maps that find its name.
	tensorMemory = 320
	// entryMemory is for an Entry and the map that finds its key.
	entryMemory = 192
	// listedMemory is for a tensor that an index lists.
	listedMemory = 96
	// textMemory is for a text, with the rest of its block of memory.
	textMemory = 16
	// axisMemory is for an extent.
	axisMemory = 8
)

// memoryOf returns the bytes that a text has in memory.
func memoryOf[T string | []byte](text T) int64 {
	n := int64(len(text))
	return n + n/8 + textMemory
}
