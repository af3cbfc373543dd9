// Kernels of the user's: PTX that the host has no kernel for, interpreted.
#pragma once
#include "module.h"

namespace sim {

struct Program;

// readProgram makes a kernel ready, or throws a std::string: what it does not know.
std::shared_ptr<const Program> readProgram(const Ptx &ptx, const Entry &entry);

// Run is a launch of a program.
struct Run {
	const Program *program;
	const u8 *params;
	size_t paramBytes;
	u8 *shared;
	size_t sharedBytes;
	u32 grid[3], block[3];
	void (*check)(const Run &, u64 address, size_t bytes); // gives up where no memory is
	const void *context;
};

// runProgram runs one work-item; the argument is a Run.
void runProgram(const void *run);

} // namespace sim
