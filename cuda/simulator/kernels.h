// The kernels, compiled for the host.
#pragma once
#include "api.h"

namespace sim {

// The arguments of kernels, of 8 bytes each, but that params is by value: takes have those
// up to status, what scales has scale, zero, add and a base behind hi, other kernels have
// those up to hi. table.cpp does not compile for others.
enum Argument { dst, src, params, dBase, sBase, lo, hi, at, status, add, addBase, arguments, scale = at, zero = status };
constexpr size_t argumentBytes = 8;
constexpr size_t mostArgumentBytes = 4 << 10; // of all arguments, on every GPU

struct HostKernel {
	const char *name;
	size_t arguments;
	size_t paramsBytes; // at least: without the axes
	// run is one work-item: see host_item. In place of params, values has the address of
	// a copy.
	void (*run)(const u64 values[sim::arguments]);
};

// hostKernel returns the kernel of a name, or null.
const HostKernel *hostKernel(const char *name);

} // namespace sim
