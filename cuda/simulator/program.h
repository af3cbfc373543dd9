// Users' kernels: PTX without a host kernel, interpreted.
#pragma once
#include "module.h"

namespace sim {

struct Program;

// readProgram prepares a kernel, or throws a std::string with what it does not know.
std::shared_ptr<const Program> readProgram(const Ptx &ptx, const Entry &entry);

// Run is a launch of a program.
struct Run {
	const Program *program;
	const u8 *params;
	size_t paramBytes;
	u8 *shared;
	size_t sharedBytes;
	u32 grid[3], block[3];
	void (*check)(const Run &, u64 address, size_t bytes); // gives up where there is no memory
	const void *context;
};

// runProgram runs one work-item; the argument is a Run.
void runProgram(const void *run);

} // namespace sim
