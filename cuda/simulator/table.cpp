// The table of the kernels. Both files are made for the build: kernels.cpp by
// kernels/emit, kernels.inc from the names in it.
#include "kernels.cpp"
#include "testkernels.h"
#include "../micro/micro.h"

#include "kernels.h"
#include <cstring>

namespace sim {

// Kernels are of these types. If they get another one, change Argument, too.
using Plain = void (*)(u8 *, const u8 *, const Params *, i64, i64, u64, u64);
using Map = void (*)(u8 *, const u8 *, const Params *, i64, i64, u64, u64, const u8 *);
using Where = void (*)(u8 *, const u8 *, const Params *, i64, i64, u64, u64, const u8 *, const u8 *);
using Take = void (*)(u8 *, const u8 *, const Params *, i64, i64, u64, u64, const u8 *, u32 *);

constexpr size_t count(Plain) { return hi + 1; }
constexpr size_t count(Map) { return first + 1; }
constexpr size_t count(Where) { return second + 1; }
constexpr size_t count(Take) { return second + 1; }

template <typename Kernel, typename... More>
static void call(Kernel kernel, const u64 *a, More... more) {
	kernel(reinterpret_cast<u8 *>(a[dst]), reinterpret_cast<const u8 *>(a[src]), reinterpret_cast<const Params *>(a[params]),
		static_cast<i64>(a[dBase]), static_cast<i64>(a[sBase]), a[lo], a[hi], more...);
}

template <Plain kernel>
static void run(const u64 *a) {
	call(kernel, a);
}

template <Map kernel>
static void run(const u64 *a) {
	call(kernel, a, reinterpret_cast<const u8 *>(a[first]));
}

template <Where kernel>
static void run(const u64 *a) {
	call(kernel, a, reinterpret_cast<const u8 *>(a[first]), reinterpret_cast<const u8 *>(a[second]));
}

template <Take kernel>
static void run(const u64 *a) {
	call(kernel, a, reinterpret_cast<const u8 *>(a[first]), reinterpret_cast<u32 *>(a[second]));
}

static const HostKernel kernels[] = {
#define HOST_KERNEL(name) {#name, count(name), sizeof(Params), run<name>},
#include "kernels.inc"
	HOST_KERNEL(test_reverse) HOST_KERNEL(test_diverge) HOST_KERNEL(test_write)
#undef HOST_KERNEL
// These read none, and may have a pointer in their place.
#define HOST_KERNEL(name) {#name, count(name), sizeof(u64), run<name>},
	HOST_KERNEL(micro_copy_1) HOST_KERNEL(micro_copy_2) HOST_KERNEL(micro_copy_4) HOST_KERNEL(micro_copy_8)
	HOST_KERNEL(micro_read) HOST_KERNEL(micro_write) HOST_KERNEL(micro_sectors)
	HOST_KERNEL(micro_operations) HOST_KERNEL(micro_chase) HOST_KERNEL(micro_nothing)
};

const HostKernel *hostKernel(const char *name) {
	for (const HostKernel &k : kernels) {
		if (std::strcmp(k.name, name) == 0) {
			return &k;
		}
	}
	return nullptr;
}

} // namespace sim
