package device

import "github.com/restride/restride/layout"

// Preloader is implemented by devices whose kernels are compiled, or loaded, when they
// are first needed, which may take a second each.
type Preloader interface {
	// Preload makes kernels ready: those that Copy, Fill and Take may need for elements of
	// the given types, in whatever layout, and Convert between two of them; all, if no type
	// is given. Rare ones are left out: those of layouts of dozens of axes. It returns when
	// they are ready, and uses several threads for that; queues may be used meanwhile. The
	// error joins those of all kernels that fail, which their first use tries again; the
	// others are ready.
	Preload(types ...layout.DType) error
}
