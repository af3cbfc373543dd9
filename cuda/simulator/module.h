// Modules: PTX text, whose kernels are replaced by the host's of the same names.
#pragma once
#include "context.h"
#include <map>

namespace sim {

struct HostKernel; // see kernels.h
struct Program;    // see program.h

// Entry is the description of a kernel in PTX.
struct Entry {
	std::string name;
	std::vector<size_t> params, offsets; // sizes and offsets
	std::vector<std::string> names;      // of the parameters
	size_t begin = 0, end = 0;           // of the body among the words
	u32 maxThreads = 1024;
	size_t shared = 0; // bytes, statically
};

struct Ptx {
	int version = 0;    // 60 is 6.0
	int capability = 0; // of the target
	std::vector<Entry> entries;
	std::vector<std::string> words;
	std::map<std::string, size_t> shared; // variables of the module
};

// isElf says whether an image is compiled. readCubin reads it, or throws the reason, like
// readPtx.
bool isElf(const char *image);
Ptx readCubin(const char *image);

// readPtx throws the reason, a std::string, if it cannot parse a text.
Ptx readPtx(const char *text);

struct Function {
	std::shared_ptr<Context> context;
	Entry entry;
	const HostKernel *kernel; // null: the program is interpreted
	std::shared_ptr<const Program> program;
	int ptxVersion;
	std::atomic<int> dynamicShared{48 << 10}; // the most that a launch may request
	std::atomic<int> carveout{-1};
};

struct Module {
	std::shared_ptr<Context> context;
	std::map<std::string, Handle> functions;
};

} // namespace sim
