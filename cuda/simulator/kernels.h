// The kernels, compiled for the host.
#pragma once
#include "api.h"

namespace sim {

// The arguments of kernels, of 8 bytes each, except params, which is by value: all have those
// up to hi, and some one or two more pointers; kernels that scale have three, and a base.
// table.cpp does not compile for others.
enum Argument { dst, src, params, dBase, sBase, lo, hi, first, second, third, base, arguments };
constexpr size_t argumentBytes = 8;
constexpr size_t mostArgumentBytes = 4 << 10; // of all arguments, on every GPU

struct HostKernel {
	const char *name;
	size_t arguments;
	size_t paramsBytes; // at least: without the axes
	// run is one work-item: see host_item. values has the address of a copy of params.
	void (*run)(const u64 values[sim::arguments]);
};

// hostKernel returns the kernel of a name, or null.
const HostKernel *hostKernel(const char *name);

} // namespace sim
