package device

import "github.com/restride/restride/layout"

// Index is one of the indices of Queue.Take.
type Index = layout.Index

// MostIndices is how many indices Queue.Take adds up at the most; more are
// ErrUnsupported.
const MostIndices = 32
