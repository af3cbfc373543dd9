package onnxruntime

import (
	"errors"
	"runtime"
	"strings"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	ort "github.com/yalue/onnxruntime_go"
)

// loading guards the library's path, which onnxruntime_go keeps for the whole process.
var loading sync.Mutex

// load loads the library, once for the process.
func load(path string) error {
	loading.Lock()
	defer loading.Unlock()
	if ort.IsInitialized() {
		return nil
	}
	if path == "" {
		path = libraryName(runtime.GOOS)
	}
	ort.SetSharedLibraryPath(path)
	err := ort.InitializeEnvironment()
	if err == nil {
		return nil
	}
	// OrtApiBase.GetApi returns nothing for a version of its API that it does not know.
	if strings.HasSuffix(err.Error(), "Error setting ORT API base: 2") {
		err = errors.New("it is older than the ONNX Runtime that onnxruntime_go is written for")
	}
	return layout.Errorf(device.ErrNoDevice, "onnxruntime.New", "ONNX Runtime cannot be loaded from %q: %v", path, err)
}

func libraryName(system string) string {
	switch system {
	case "windows":
		return "onnxruntime.dll"
	case "darwin", "ios":
		return "libonnxruntime.dylib"
	}
	return "libonnxruntime.so"
}
