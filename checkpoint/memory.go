package checkpoint

// Memory of a header in bytes, apart from its texts: structs, pointers to them in slices
// that have grown, and map entries, with a load factor as low as 7/16. TestMemory compares
// it with actual allocations.
const (
	// tensorMemory covers a Tensor, its pointers in a File and a Checkpoint, and its name
	// in two maps.
	tensorMemory = 320
	// entryMemory covers an Entry and its key in a map.
	entryMemory = 192
	// listedMemory covers a tensor that an index lists.
	listedMemory = 96
	// textMemory covers the overhead of a text, including the rounding of its allocation.
	textMemory = 16
	// axisMemory covers an extent.
	axisMemory = 8
)

// memoryOf returns the memory that a text needs, in bytes.
func memoryOf[T string | []byte](text T) int64 {
	n := int64(len(text))
	return n + n/8 + textMemory
}
