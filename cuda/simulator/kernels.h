// The kernels, compiled for the host.
#pragma once
#include "api.h"

namespace sim {

// Every kernel has these parameters, of 8 bytes each, takes all of them and others
// those up to hi; table.cpp does not compile for others.
enum Parameter { dst, src, desc, dBase, sBase, lo, hi, at, status, parameters };
constexpr size_t parameterBytes = 8;

struct HostKernel {
	const char *name;
	size_t parameters;
	void (*run)(const u64 arguments[sim::parameters]); // one work-item: see host_item
};

// hostKernel returns the kernel of a name, or null.
const HostKernel *hostKernel(const char *name);

} // namespace sim
