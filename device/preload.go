package device

import "github.com/restride/restride/layout"

// Preloader is implemented by devices whose kernels are compiled or loaded when they are first
// needed, which may take a second each.
type Preloader interface {
	// Preload prepares the kernels that Copy, Fill and Take may need for elements of the given
	// types, in any layout, and those that Convert needs between two of the types; without types,
	// all kernels. It leaves out rare ones, for layouts of dozens of axes. It uses several
	// threads and returns when the kernels are ready; queues may be used meanwhile. The error
	// joins the errors of all kernels that fail; their first use tries again, and the others are
	// ready.
	Preload(types ...layout.DType) error
}
