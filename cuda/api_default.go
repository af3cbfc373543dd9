//go:build !gorgonia

package cuda

import (
	"os"
	"runtime"
	"sync"
)

// openAPI finds and initialises the driver, once.
var openAPI = sync.OnceValues(func() (api, error) {
	l, err := load(libraryNames()...)
	if err != nil {
		return nil, err
	}
	return l, nil
})

// libraryNames are the names of the driver's library, the likeliest first.
func libraryNames() []string {
	if path := os.Getenv("RESTRIDE_LIBCUDA"); path != "" {
		return []string{path}
	}
	if runtime.GOOS == "windows" {
		return []string{"nvcuda.dll"}
	}
	return []string{"libcuda.so.1", "libcuda.so"}
}
