package egl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// The constants of EGL and of its extensions in use.
const (
	yes    = 1
	openGL = 0x30A2

	extensions          = 0x3055
	platformDevice      = 0x313F
	platformSurfaceless = 0x31DD

	none         = 0x3038
	majorVersion = 0x3098
	minorVersion = 0x30FB
	profileMask  = 0x30FD
	coreProfile  = 1
)

// library is EGL's.
type library struct {
	getProcAddress, getError                                        uintptr
	initialize, bindAPI, createContext, destroyContext, makeCurrent uintptr
	getPlatformDisplay, queryDevices, queryDeviceString             uintptr // of extensions; 0: absent
}

// load finds the library, once.
var load = sync.OnceValues(func() (*library, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("GL contexts without a window are made by EGL, on Linux")
	}
	lib, err := dl.Open("libEGL.so.1", "libEGL.so")
	if err != nil {
		return nil, fmt.Errorf("there is no EGL: %w", err)
	}
	l := &library{}
	for name, at := range map[string]*uintptr{
		"eglGetProcAddress": &l.getProcAddress, "eglGetError": &l.getError, "eglInitialize": &l.initialize, "eglBindAPI": &l.bindAPI,
		"eglCreateContext": &l.createContext, "eglDestroyContext": &l.destroyContext, "eglMakeCurrent": &l.makeCurrent,
	} {
		if *at, err = lib.Lookup(name); err != nil {
			return nil, err
		}
	}
	l.getPlatformDisplay = l.extension("eglGetPlatformDisplayEXT")
	l.queryDevices = l.extension("eglQueryDevicesEXT")
	l.queryDeviceString = l.extension("eglQueryDeviceStringEXT")
	if l.getPlatformDisplay == 0 {
		return nil, errors.New("this EGL has displays of windows only: it lacks EGL_EXT_platform_base")
	}
	return l, nil
})

func (l *library) extension(name string) uintptr {
	z := append([]byte(name), 0)
	return dl.Call(l.getProcAddress, uintptr(unsafe.Pointer(&z[0])))
}

func (l *library) failed(call string) error {
	return fmt.Errorf("%s: EGL's error %#x", call, uint32(dl.Call(l.getError)))
}

// display is a display that needs no window system.
type display struct {
	platform, native uintptr
	place            string // for people
}

// displays lists GPUs first, then displays on the processor.
func (l *library) displays() []display {
	var gpus, others []display
	for i, d := range l.devices() {
		found := display{platformDevice, d, fmt.Sprintf("EGL device %d", i)}
		if strings.Contains(l.deviceExtensions(d), "EGL_MESA_device_software") {
			others = append(others, found)
		} else {
			gpus = append(gpus, found)
		}
	}
	return append(append(gpus, display{platformSurfaceless, 0, "EGL without surfaces"}), others...)
}

// devices returns the EGLDeviceEXTs, none if EGL cannot list them.
func (l *library) devices() []uintptr {
	if l.queryDevices == 0 {
		return nil
	}
	all, n := make([]uintptr, 32), new(int32)
	if dl.Call(l.queryDevices, uintptr(len(all)), uintptr(unsafe.Pointer(&all[0])), uintptr(unsafe.Pointer(n)))&yes == 0 {
		return nil
	}
	return all[:*n]
}

func (l *library) deviceExtensions(d uintptr) string {
	if l.queryDeviceString == 0 {
		return ""
	}
	at := dl.Call(l.queryDeviceString, d, extensions)
	if at == 0 {
		return ""
	}
	p, n := (*byte)(dl.Pointer(at)), 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

func (l *library) platformDisplay(d display) uintptr {
	return dl.Call(l.getPlatformDisplay, d.platform, d.native, 0)
}

// newContext makes a context of the newest available version of GL. It has no EGLConfig, which
// only surfaces need.
func (l *library) newContext(display uintptr) (uintptr, error) {
	for _, version := range [][2]int32{{4, 6}, {4, 5}, {4, 3}, {3, 3}} {
		attributes := &[7]int32{majorVersion, version[0], minorVersion, version[1], profileMask, coreProfile, none}
		if c := dl.Call(l.createContext, display, 0, 0, uintptr(unsafe.Pointer(attributes))); c != 0 {
			return c, nil
		}
	}
	return 0, l.failed("eglCreateContext of GL 3.3 to 4.6")
}
