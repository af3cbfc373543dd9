package opencl

import (
	"fmt"

	"github.com/restride/restride/device"
)

// check returns the error of a code; 0 is none. Codes for lack of memory are
// device.ErrOutOfMemory, too, from any function, as drivers may allocate late.
func (f *fn) check(code int32) error {
	if code == 0 {
		return nil
	}
	err := &device.DriverError{Call: f.name, Code: int64(code), Name: codeName(code)}
	switch code {
	case memObjectAllocationFailure, outOfHostMemory, outOfResources:
		if !failedKernel(f, code) {
			return fmt.Errorf("%w: %w", device.ErrOutOfMemory, err)
		}
	}
	return err
}

func codeName(code int32) string {
	if name, ok := codeNames[code]; ok {
		return "CL_" + name
	}
	return "unknown code"
}

var codeNames = map[int32]string{
	-1:    "DEVICE_NOT_FOUND",
	-2:    "DEVICE_NOT_AVAILABLE",
	-3:    "COMPILER_NOT_AVAILABLE",
	-4:    "MEM_OBJECT_ALLOCATION_FAILURE",
	-5:    "OUT_OF_RESOURCES",
	-6:    "OUT_OF_HOST_MEMORY",
	-7:    "PROFILING_INFO_NOT_AVAILABLE",
	-8:    "MEM_COPY_OVERLAP",
	-9:    "IMAGE_FORMAT_MISMATCH",
	-10:   "IMAGE_FORMAT_NOT_SUPPORTED",
	-11:   "BUILD_PROGRAM_FAILURE",
	-12:   "MAP_FAILURE",
	-13:   "MISALIGNED_SUB_BUFFER_OFFSET",
	-14:   "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
	-15:   "COMPILE_PROGRAM_FAILURE",
	-16:   "LINKER_NOT_AVAILABLE",
	-17:   "LINK_PROGRAM_FAILURE",
	-18:   "DEVICE_PARTITION_FAILED",
	-19:   "KERNEL_ARG_INFO_NOT_AVAILABLE",
	-30:   "INVALID_VALUE",
	-31:   "INVALID_DEVICE_TYPE",
	-32:   "INVALID_PLATFORM",
	-33:   "INVALID_DEVICE",
	-34:   "INVALID_CONTEXT",
	-35:   "INVALID_QUEUE_PROPERTIES",
	-36:   "INVALID_COMMAND_QUEUE",
	-37:   "INVALID_HOST_PTR",
	-38:   "INVALID_MEM_OBJECT",
	-39:   "INVALID_IMAGE_FORMAT_DESCRIPTOR",
	-40:   "INVALID_IMAGE_SIZE",
	-41:   "INVALID_SAMPLER",
	-42:   "INVALID_BINARY",
	-43:   "INVALID_BUILD_OPTIONS",
	-44:   "INVALID_PROGRAM",
	-45:   "INVALID_PROGRAM_EXECUTABLE",
	-46:   "INVALID_KERNEL_NAME",
	-47:   "INVALID_KERNEL_DEFINITION",
	-48:   "INVALID_KERNEL",
	-49:   "INVALID_ARG_INDEX",
	-50:   "INVALID_ARG_VALUE",
	-51:   "INVALID_ARG_SIZE",
	-52:   "INVALID_KERNEL_ARGS",
	-53:   "INVALID_WORK_DIMENSION",
	-54:   "INVALID_WORK_GROUP_SIZE",
	-55:   "INVALID_WORK_ITEM_SIZE",
	-56:   "INVALID_GLOBAL_OFFSET",
	-57:   "INVALID_EVENT_WAIT_LIST",
	-58:   "INVALID_EVENT",
	-59:   "INVALID_OPERATION",
	-60:   "INVALID_GL_OBJECT",
	-61:   "INVALID_BUFFER_SIZE",
	-62:   "INVALID_MIP_LEVEL",
	-63:   "INVALID_GLOBAL_WORK_SIZE",
	-64:   "INVALID_PROPERTY",
	-65:   "INVALID_IMAGE_DESCRIPTOR",
	-66:   "INVALID_COMPILER_OPTIONS",
	-67:   "INVALID_LINKER_OPTIONS",
	-68:   "INVALID_DEVICE_PARTITION_COUNT",
	-69:   "INVALID_PIPE_SIZE",
	-70:   "INVALID_DEVICE_QUEUE",
	-71:   "INVALID_SPEC_ID",
	-72:   "MAX_SIZE_RESTRICTION_EXCEEDED",
	-1000: "INVALID_GL_SHAREGROUP_REFERENCE_KHR",
	-1001: "PLATFORM_NOT_FOUND_KHR",
}
