package tensor

// By pieces of other sizes than 4 MiB.
var (
	WriteTo = (*Tensor).writeTo
	Strings = (*Tensor).strings
)
