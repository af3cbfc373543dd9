package opencl

import (
	"fmt"
	"strings"
	"sync"
)

// inventory are the devices of the machine's drivers, in their order.
type inventory struct {
	usable  []properties
	skipped []string // unusable platforms and devices, with the reason
	err     error
}

// devices queries the drivers, once: their devices do not change.
var devices = sync.OnceValue(func() (all inventory) {
	if all.err = load(); all.err != nil {
		return all
	}
	platforms, err := clGetPlatformIDs.list()
	if isCode(err, platformNotFound) || err == nil && len(platforms) == 0 {
		all.err = noDevice("the OpenCL library finds no driver (%s gives no platform)", clGetPlatformIDs.name)
		return all
	}
	if err != nil {
		all.err = err
		return all
	}
	for _, p := range platforms {
		all.add(p)
	}
	if len(all.usable) == 0 {
		all.err = noDevice("%s", strings.Join(all.skipped, "; "))
	}
	return all
})

// add adds the devices of a platform.
func (all *inventory) add(platform uintptr) {
	name, err := clGetPlatformInfo.text(platform, platformName)
	if err != nil {
		name = "a platform"
	}
	ids, err := clGetDeviceIDs.list(platform, typeAll)
	switch {
	case isCode(err, deviceNotFound) || err == nil && len(ids) == 0:
		if isPoCL(name) {
			name += ", which needs a folder that it can write to (POCL_CACHE_DIR, or HOME),"
		}
		all.skipped = append(all.skipped, name+" has no devices")
		return
	case err != nil:
		all.skipped = append(all.skipped, fmt.Sprintf("%s: %v", name, err))
		return
	}
	for _, id := range ids {
		p, err := propertiesOf(platform, id)
		if err != nil {
			all.skipped = append(all.skipped, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		p.info.Index = len(all.usable)
		all.usable = append(all.usable, p)
	}
}
