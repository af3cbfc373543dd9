// Shared by the parts of the simulator's self test.
#pragma once
#include "api.h"
#include <array>
#include <cstdio>
#include <string>
#include <vector>

// The functions under test, looked up in the library as a program would.
#define FUNCTIONS(X) \
	X(cuInit, unsigned) \
	X(cuDriverGetVersion, int *) \
	X(cuGetErrorName, Result, const char **) \
	X(cuGetErrorString, Result, const char **) \
	X(cuGetProcAddress_v2, const char *, void **, int, u64, int *) \
	X(cuDeviceGetCount, int *) \
	X(cuDeviceGet, int *, int) \
	X(cuDeviceGetName, char *, int, int) \
	X(cuDeviceGetAttribute, int *, int, int) \
	X(cuDeviceTotalMem_v2, size_t *, int) \
	X(cuDevicePrimaryCtxRetain, Handle *, int) \
	X(cuDevicePrimaryCtxRelease_v2, int) \
	X(cuDevicePrimaryCtxGetState, int, unsigned *, int *) \
	X(cuCtxCreate_v2, Handle *, unsigned, int) \
	X(cuCtxDestroy_v2, Handle) \
	X(cuCtxSetCurrent, Handle) \
	X(cuCtxGetCurrent, Handle *) \
	X(cuCtxPushCurrent_v2, Handle) \
	X(cuCtxPopCurrent_v2, Handle *) \
	X(cuCtxGetDevice, int *) \
	X(cuCtxSynchronize) \
	X(cuCtxEnablePeerAccess, Handle, unsigned) \
	X(cuDeviceCanAccessPeer, int *, int, int) \
	X(cuMemGetInfo_v2, size_t *, size_t *) \
	X(cuMemAlloc_v2, u64 *, size_t) \
	X(cuMemFree_v2, u64) \
	X(cuMemAllocAsync, u64 *, size_t, Handle) \
	X(cuMemFreeAsync, u64, Handle) \
	X(cuDeviceGetMemPool, Handle *, int) \
	X(cuMemAllocFromPoolAsync, u64 *, size_t, Handle, Handle) \
	X(cuMemPoolCreate, Handle *, const void *) \
	X(cuMemPoolDestroy, Handle) \
	X(cuMemPoolGetAttribute, Handle, int, void *) \
	X(cuMemPoolSetAttribute, Handle, int, void *) \
	X(cuMemPoolTrimTo, Handle, size_t) \
	X(cuMemPoolSetAccess, Handle, const void *, size_t) \
	X(cuMemHostAlloc, void **, size_t, unsigned) \
	X(cuMemFreeHost, void *) \
	X(cuMemHostRegister_v2, void *, size_t, unsigned) \
	X(cuMemHostUnregister, void *) \
	X(cuPointerGetAttribute, void *, int, u64) \
	X(cuMemcpyHtoD_v2, u64, const void *, size_t) \
	X(cuMemcpyDtoH_v2, void *, u64, size_t) \
	X(cuMemcpyHtoDAsync_v2, u64, const void *, size_t, Handle) \
	X(cuMemcpyDtoHAsync_v2, void *, u64, size_t, Handle) \
	X(cuMemcpyDtoDAsync_v2, u64, u64, size_t, Handle) \
	X(cuMemcpyPeerAsync, u64, Handle, u64, Handle, size_t, Handle) \
	X(cuMemsetD8Async, u64, u8, size_t, Handle) \
	X(cuMemsetD32Async, u64, u32, size_t, Handle) \
	X(cuStreamCreate, Handle *, unsigned) \
	X(cuStreamDestroy_v2, Handle) \
	X(cuStreamSynchronize, Handle) \
	X(cuStreamQuery, Handle) \
	X(cuStreamWaitEvent, Handle, Handle, unsigned) \
	X(cuStreamBeginCapture_v2, Handle, int) \
	X(cuStreamEndCapture, Handle, Handle *) \
	X(cuStreamIsCapturing, Handle, int *) \
	X(cuThreadExchangeStreamCaptureMode, int *) \
	X(cuGraphInstantiateWithFlags, Handle *, Handle, u64) \
	X(cuGraphLaunch, Handle, Handle) \
	X(cuGraphExecDestroy, Handle) \
	X(cuGraphDestroy, Handle) \
	X(cuEventCreate, Handle *, unsigned) \
	X(cuEventRecord, Handle, Handle) \
	X(cuEventQuery, Handle) \
	X(cuEventSynchronize, Handle) \
	X(cuEventDestroy_v2, Handle) \
	X(cuEventElapsedTime, float *, Handle, Handle) \
	X(cuModuleLoadData, Handle *, const void *) \
	X(cuModuleLoadDataEx, Handle *, const void *, unsigned, int *, void **) \
	X(cuModuleGetFunction, Handle *, Handle, const char *) \
	X(cuModuleUnload, Handle) \
	X(cuFuncGetAttribute, int *, int, Handle) \
	X(cuFuncGetParamInfo, Handle, size_t, size_t *, size_t *) \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *, Handle, int, size_t) \
	X(cuLaunchKernel, Handle, u32, u32, u32, u32, u32, u32, u32, Handle, void **, void **) \
	X(restrideSimSet, const char *, const char *) \
	X(restrideSimMessage, char *, size_t)

#define X(name, ...) extern Result (*name)(__VA_ARGS__);
FUNCTIONS(X)
#undef X
extern long (*restrideSimCount)(const char *);

// CHECK counts and prints failures; OK is for calls that must succeed.
extern int failures;
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			failures++; \
			std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
		} \
	} while (0)
#define IS(call, want) \
	do { \
		const int got_ = (call); \
		if (got_ != (want)) { \
			failures++; \
			std::fprintf(stderr, "%s:%d: %s is %d, not %d\n", __FILE__, __LINE__, #call, got_, int(want)); \
		} \
	} while (0)
#define OK(call) IS(call, SUCCESS)

extern std::string realPtx; // the kernels' PTX; empty without a compiler

using Parameters = std::array<u32, 128>; // of a launch, with the axes

struct Arguments {
	u64 dst = 0, src = 0;
	Parameters params{};
	u64 dBase = 0, sBase = 0, lo = 0, hi = 0;
};
Result launch(Handle function, u32 blocks, u32 threads, Handle stream, Arguments);
std::string message();
std::string ptx(const std::string &name, int params = 7, const char *type = ".u64"); // text of a module with one kernel, whose parameter 2 is by value

void testContexts();
void testMemory();
void testOrder();
void testPeers();
void testKernels();
void testFaults();
void testModules();
void testPrograms();
void testGraphs();
void testThreads();
