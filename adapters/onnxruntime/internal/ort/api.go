// Package ort calls ONNX Runtime's C API: what the adapter needs of it, in a library found at run
// time.
package ort

import (
	"errors"
	"runtime"
	"sync"
	"unicode/utf16"
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// version is the version of the API that is used: ONNX Runtime 1.24 and later have it.
const version = 24

// function is the index of a function in the table of the API.
type function int

const (
	getErrorMessage         function = 2
	createEnv               function = 3
	createSession           function = 7
	createSessionFromArray  function = 8
	runSession              function = 9
	createSessionOptions    function = 10
	setLogSeverity          function = 22
	setOptimization         function = 23
	setThreads              function = 24
	outputCount             function = 31
	outputTypeInfo          function = 34
	createRunOptions        function = 39
	setTerminate            function = 46
	createTensor            function = 49
	getTensorData           function = 51
	castToTensorInfo        function = 55
	elementType             function = 60
	dimensionsCount         function = 61
	dimensions              function = 62
	typeAndShape            function = 65
	valueType               function = 67
	createCPUMemoryInfo     function = 69
	releaseStatus           function = 93
	releaseSession          function = 95
	releaseValue            function = 96
	releaseRunOptions       function = 97
	releaseTypeInfo         function = 98
	releaseTypeAndShape     function = 99
	releaseSessionOptions   function = 100
	addConfigEntry          function = 130
	addExternalInitializers function = 210
	appendProvider          function = 216
	registerCustomOps       function = 228
	hasShape                function = 390
	functionsUsed                    = hasShape + 1
)

// api is the library, once it is loaded.
var api struct {
	sync.Mutex
	table       *[functionsUsed]uintptr
	environment uintptr // for the process
	cpu         uintptr // describes the host's memory
	version     string
}

// Load loads the library, once for the process.
func Load(path string) error {
	api.Lock()
	defer api.Unlock()
	if api.table != nil {
		return nil
	}
	lib, err := dl.Open(path)
	if err != nil {
		return err
	}
	base, err := lib.Lookup("OrtGetApiBase")
	if err != nil {
		return err
	}
	functions := (*[2]uintptr)(dl.Pointer(dl.Call(base)))
	table := dl.Call(functions[0], version)
	if table == 0 {
		return errors.New("it is older than ONNX Runtime 1.24")
	}
	api.table, api.version = (*[functionsUsed]uintptr)(dl.Pointer(table)), text(dl.Call(functions[1]))
	const severity = fatal // errors are returned
	err = status(createEnv, severity, uintptr(unsafe.Pointer(cString("restride"))), uintptr(unsafe.Pointer(&api.environment)))
	if err == nil {
		const arena, ordinary = 1, 0
		err = status(createCPUMemoryInfo, arena, ordinary, uintptr(unsafe.Pointer(&api.cpu)))
	}
	if err != nil {
		api.table = nil
	}
	return err
}

const fatal = 4

// Version returns the version of the library that is loaded.
func Version() string { return api.version }

// LibraryName returns the name of the library on this system.
func LibraryName() string {
	switch runtime.GOOS {
	case "windows":
		return "onnxruntime.dll"
	case "darwin", "ios":
		return "libonnxruntime.dylib"
	}
	return "libonnxruntime.so"
}

// call calls a function.
//
//go:uintptrescapes
func call(f function, args ...uintptr) uintptr { return dl.Call(api.table[f], args...) }

// status calls a function that returns an OrtStatus.
//
//go:uintptrescapes
func status(f function, args ...uintptr) error {
	failed := call(f, args...)
	if failed == 0 {
		return nil
	}
	err := errors.New(text(call(getErrorMessage, failed)))
	call(releaseStatus, failed)
	return err
}

// cString returns a string that ends with a zero.
func cString(s string) *byte { return unsafe.SliceData(append([]byte(s), 0)) }

// cPath returns a path as ONNX Runtime wants it: on Windows in UTF-16.
func cPath(path string) *byte {
	if runtime.GOOS != "windows" {
		return cString(path)
	}
	wide := append(utf16.Encode([]rune(path)), 0)
	return (*byte)(unsafe.Pointer(unsafe.SliceData(wide)))
}

// cStrings returns names for the C API.
func cStrings(names []string) []*byte {
	list := make([]*byte, len(names), len(names)+1) // an address, even of none
	for i, name := range names {
		list[i] = cString(name)
	}
	return list
}

// text returns a C string that the library keeps.
func text(at uintptr) string {
	if at == 0 {
		return ""
	}
	first := (*byte)(dl.Pointer(at))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(first), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(first, n))
}
