// The kernels, compiled for the host.
#pragma once
#include "api.h"

namespace sim {

// The arguments of kernels, of 8 bytes each: takes have all of them, other kernels those
// up to hi. table.cpp does not compile for others.
enum Argument { dst, src, params, dBase, sBase, lo, hi, at, status, arguments };
constexpr size_t argumentBytes = 8;

struct HostKernel {
	const char *name;
	size_t arguments;
	void (*run)(const u64 values[sim::arguments]); // one work-item: see host_item
};

// hostKernel returns the kernel of a name, or null.
const HostKernel *hostKernel(const char *name);

} // namespace sim
