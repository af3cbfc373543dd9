// The simulator's self test: selftest LIBRARY [PTX]
#include "selftest.h"
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <thread>

#define X(name, ...) Result (*name)(__VA_ARGS__);
FUNCTIONS(X)
#undef X
long (*restrideSimCount)(const char *);
int failures = 0;
std::string realPtx;

// glibc frees the thread-local data of an ended thread on another thread; ThreadSanitizer does
// not see the ordering.
extern "C" __attribute__((visibility("default"))) const char *__tsan_default_suppressions() { return "race:_dl_deallocate_tls\n"; }

template <class F>
static void lookUp(void *library, const char *name, F *f) {
	*f = reinterpret_cast<F>(dlsym(library, name));
	CHECK(*f != nullptr);
}

Result launch(Handle function, u32 blocks, u32 threads, Handle stream, Arguments a) {
	void *params[] = {&a.dst, &a.src, &a.params, &a.dBase, &a.sBase, &a.lo, &a.hi};
	return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, params, nullptr);
}

std::string message() {
	char text[400];
	restrideSimMessage(text, sizeof text);
	return text;
}

std::string ptx(const std::string &name, int params, const char *type) {
	std::string text = "// hand-made\n.version 6.0\n.target sm_70\n.address_size 64\n.visible .entry " + name + "(\n";
	for (int i = 0; i < params; i++) {
		const std::string size = i == 2 ? "[" + std::to_string(sizeof(Parameters)) + "]" : "";
		text += std::string("\t.param ") + (i == 2 ? ".align 8 .b8" : type) + " " + name + "_param_" + std::to_string(i) + size + (i + 1 < params ? ",\n" : "\n");
	}
	return text + ")\n.maxntid 256, 1, 1\n{ /* nothing */ ret; }\n";
}

// Before and directly after cuInit.
static void testInit() {
	int n = 0;
	Handle h;
	const char *text = nullptr;
	IS(cuDeviceGetCount(&n), ERROR_NOT_INITIALIZED);
	IS(cuCtxGetCurrent(&h), ERROR_NOT_INITIALIZED);
	OK(cuDriverGetVersion(&n));
	CHECK(n == 12080);
	OK(restrideSimSet("DRIVER_VERSION", "11040"));
	OK(cuDriverGetVersion(&n));
	CHECK(n == 11040);
	OK(restrideSimSet("DRIVER_VERSION", ""));

	OK(restrideSimSet("FAIL", "cuInit=100"));
	IS(cuInit(0), ERROR_NO_DEVICE);
	OK(restrideSimSet("FAIL", ""));
	IS(cuInit(1), ERROR_INVALID_VALUE);
	OK(restrideSimSet("DEVICES", "2"));
	OK(cuInit(0));
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	CHECK(n == 2);
	IS(cuDeviceGet(&n, 2), ERROR_INVALID_DEVICE);
	OK(cuDeviceGet(&n, 1));
	char name[64];
	OK(cuDeviceGetName(name, sizeof name, 1));
	CHECK(std::strcmp(name, "Restride simulator 1") == 0);
	OK(cuDeviceGetAttribute(&n, 75, 0));
	CHECK(n == 9);
	OK(cuGetErrorName(ERROR_ILLEGAL_ADDRESS, &text));
	CHECK(std::strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
	OK(cuGetErrorString(ERROR_OUT_OF_MEMORY, &text));
	CHECK(std::strcmp(text, "out of memory") == 0);
	IS(cuGetErrorName(Result(12345), &text), ERROR_INVALID_VALUE);
	void *f = nullptr;
	OK(cuGetProcAddress_v2("cuMemAlloc", &f, 12000, 0, &n));
	CHECK(f == reinterpret_cast<void *>(cuMemAlloc_v2) && n == 0);
	IS(cuGetProcAddress_v2("cuNothing", &f, 12000, 0, &n), ERROR_NOT_FOUND);
	CHECK(f == nullptr && n == 1);
	OK(cuGetProcAddress_v2("cuMemcpy", &f, 12000, 0, &n)); // absent: present only for linking
	IS(reinterpret_cast<Result (*)(u64, u64, size_t)>(f)(1, 2, 3), ERROR_NOT_SUPPORTED);
	CHECK(restrideSimCount("cuMemcpy") == 1);
}

void testContexts() {
	Handle a, b, h;
	u64 p;
	unsigned flags;
	int active, d;
	IS(cuMemAlloc_v2(&p, 16), ERROR_INVALID_CONTEXT);
	IS(cuCtxSynchronize(), ERROR_INVALID_CONTEXT);
	OK(cuCtxGetCurrent(&h));
	CHECK(h == nullptr);
	IS(cuDevicePrimaryCtxRelease_v2(0), ERROR_INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxRetain(&a, 0));
	OK(cuDevicePrimaryCtxRetain(&b, 0));
	CHECK(a == b);
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(active == 1);
	OK(cuCtxSetCurrent(a));
	OK(cuMemAlloc_v2(&p, 16));
	std::thread([&] { // another thread has a current context of its own
		IS(cuMemFree_v2(p), ERROR_INVALID_CONTEXT);
		OK(cuCtxSetCurrent(a));
		OK(cuMemFree_v2(p));
	}).join();
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuCtxSynchronize());
	OK(cuDevicePrimaryCtxRelease_v2(0));
	IS(cuCtxSynchronize(), ERROR_CONTEXT_IS_DESTROYED);
	IS(cuCtxSetCurrent(a), ERROR_INVALID_CONTEXT);
	OK(cuCtxSetCurrent(nullptr));

	OK(cuCtxCreate_v2(&a, 0, 0));
	OK(cuCtxCreate_v2(&b, 0, 1));
	OK(cuCtxGetDevice(&d));
	CHECK(d == 1);
	OK(cuCtxPopCurrent_v2(&h));
	CHECK(h == b);
	OK(cuCtxGetDevice(&d));
	CHECK(d == 0);
	OK(cuCtxPushCurrent_v2(b));
	Handle stream;
	OK(cuStreamCreate(&stream, 0));
	OK(cuCtxPopCurrent_v2(nullptr));
	IS(cuMemsetD8Async(1, 0, 1, stream), ERROR_INVALID_HANDLE); // the other context's stream
	OK(cuCtxDestroy_v2(b));
	IS(cuStreamSynchronize(stream), ERROR_INVALID_HANDLE);
	IS(cuCtxDestroy_v2(b), ERROR_INVALID_CONTEXT);
	OK(cuCtxDestroy_v2(a));
	OK(cuCtxGetCurrent(&h));
	CHECK(h == nullptr);
}

int main(int count, char **arguments) {
	void *const library = dlopen(count > 1 ? arguments[1] : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == nullptr) {
		std::fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
#define X(name, ...) lookUp(library, #name, &name);
	FUNCTIONS(X)
#undef X
	lookUp(library, "restrideSimCount", &restrideSimCount);
	if (count > 2) {
		std::stringstream text;
		text << std::ifstream(arguments[2]).rdbuf();
		realPtx = text.str();
	}
	testInit();
	testContexts();
	testMemory();
	testOrder();
	testPeers();
	testModules();
	testKernels();
	testPrograms();
	testGraphs();
	testFaults();
	testThreads();
	CHECK(restrideSimCount("allocations") == 0 && restrideSimCount("bytes") == 0);
	std::fprintf(stderr, failures == 0 ? "the simulator is as it should be%s\n" : "FAILED%s\n", realPtx.empty() ? " (no PTX from a compiler)" : "");
	return failures == 0 ? 0 : 1;
}
