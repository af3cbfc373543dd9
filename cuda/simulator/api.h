// The types of the CUDA driver's functions, as far as the simulator has them, and the entry of
// each function. Numbers are those of CUDA 12.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

using u8 = uint8_t;
using u32 = uint32_t;
using u64 = uint64_t;

using CUdevice = int;
using CUdeviceptr = u64; // the address in host memory
using Handle = void *;   // a context, stream, event, module, ...: see registry.h

#define RESULTS(X) \
	X(SUCCESS, 0, "no error") \
	X(ERROR_INVALID_VALUE, 1, "invalid argument") \
	X(ERROR_OUT_OF_MEMORY, 2, "out of memory") \
	X(ERROR_NOT_INITIALIZED, 3, "initialization error") \
	X(ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected") \
	X(ERROR_INVALID_DEVICE, 101, "invalid device ordinal") \
	X(ERROR_INVALID_IMAGE, 200, "device kernel image is invalid") \
	X(ERROR_INVALID_CONTEXT, 201, "invalid device context") \
	X(ERROR_ALREADY_MAPPED, 208, "resource already mapped") \
	X(ERROR_NO_BINARY_FOR_GPU, 209, "no kernel image is available for execution on the device") \
	X(ERROR_NOT_MAPPED, 211, "resource not mapped") \
	X(ERROR_PEER_ACCESS_UNSUPPORTED, 217, "peer access is not supported between these two devices") \
	X(ERROR_INVALID_PTX, 218, "a PTX JIT compilation failed") \
	X(ERROR_INVALID_GRAPHICS_CONTEXT, 219, "invalid OpenGL or DirectX context") \
	X(ERROR_UNSUPPORTED_PTX_VERSION, 222, "the provided PTX was compiled with an unsupported toolchain") \
	X(ERROR_INVALID_HANDLE, 400, "invalid resource handle") \
	X(ERROR_ILLEGAL_STATE, 401, "the operation cannot be performed in the present state") \
	X(ERROR_NOT_FOUND, 500, "named symbol not found") \
	X(ERROR_NOT_READY, 600, "device not ready") \
	X(ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered") \
	X(ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch") \
	X(ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, "peer access is already enabled") \
	X(ERROR_PEER_ACCESS_NOT_ENABLED, 705, "peer access has not been enabled") \
	X(ERROR_CONTEXT_IS_DESTROYED, 709, "context is destroyed") \
	X(ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "part or all of the requested memory range is already mapped") \
	X(ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "pointer does not correspond to a registered memory region") \
	X(ERROR_MISALIGNED_ADDRESS, 716, "misaligned address") \
	X(ERROR_LAUNCH_FAILED, 719, "unspecified launch failure") \
	X(ERROR_NOT_SUPPORTED, 801, "operation not supported") \
	X(ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "operation not permitted when stream is capturing") \
	X(ERROR_STREAM_CAPTURE_INVALIDATED, 901, "operation failed due to a previous error during capture") \
	X(ERROR_STREAM_CAPTURE_MERGE, 902, "operation would result in a merge of separate capture sequences") \
	X(ERROR_STREAM_CAPTURE_UNMATCHED, 903, "capture was not ended in the same stream as it began") \
	X(ERROR_STREAM_CAPTURE_UNJOINED, 904, "capturing stream has unjoined work") \
	X(ERROR_STREAM_CAPTURE_ISOLATION, 905, "dependency created on uncaptured work in another stream") \
	X(ERROR_STREAM_CAPTURE_IMPLICIT, 906, "operation would make the legacy stream depend on a capturing blocking stream") \
	X(ERROR_CAPTURED_EVENT, 907, "operation not permitted on an event last recorded in a capturing stream") \
	X(ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, "attempt to terminate a thread-local capture sequence from another thread") \
	X(ERROR_UNKNOWN, 999, "unknown error")

enum Result : int {
#define X(name, code, text) name = code,
	RESULTS(X)
#undef X
};

// API begins the definition of a driver function.
#define API extern "C" __attribute__((visibility("default"))) Result

namespace sim {

// Error is what a function's body throws to return a code.
struct Error {
	Result code;
};

// require throws unless a condition holds.
inline void require(bool ok, Result otherwise = ERROR_INVALID_VALUE) {
	if (!ok) {
		throw Error{otherwise};
	}
}

struct Context;

void enter(const char *name);       // counts the call; throws an injected error
void loseCurrent(Result code);      // ends this thread's context, if it has one, with a sticky error
void initialised();                 // throws before cuInit
std::shared_ptr<Context> current(); // of this thread; throws if there is none, or its sticky error

// anywhere, global and local run the body of a driver function: one without requirements, one
// after cuInit, or one with a healthy current context, which is the body's argument.
template <class Body>
Result anywhere(const char *name, Body body) {
	try {
		enter(name);
		body();
		return SUCCESS;
	} catch (const Error &e) {
		return e.code;
	} catch (const std::bad_alloc &) {
		return ERROR_OUT_OF_MEMORY;
	}
}

template <class Body>
Result global(const char *name, Body body) {
	return anywhere(name, [&] {
		initialised();
		body();
	});
}

template <class Body>
Result local(const char *name, Body body) {
	return global(name, [&] { body(*current()); });
}

} // namespace sim
