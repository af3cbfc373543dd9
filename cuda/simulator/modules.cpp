// The driver's functions for modules and their kernels.
#include "graph.h"
#include "kernels.h"
#include "knobs.h"
#include "module.h"
#include "program.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

using namespace sim;

namespace {

// newest is the version of PTX that a driver reads.
int newest(u64 driver) {
	const int major = static_cast<int>(driver / 1000), minor = static_cast<int>(driver % 1000 / 10);
	switch (major) {
	case 11: return 70 + minor;
	case 12: return 80 + (minor <= 5 ? minor : minor - 1);
	default: return major > 12 ? 90 + minor : 60 + (major == 10 ? 3 + minor : minor);
	}
}

struct Refusal {
	Result code;
	std::string why;
};

// agree says whether a kernel's arguments have the sizes of the host kernel's.
bool agree(const std::vector<size_t> &sizes, const HostKernel &host) {
	bool all = sizes.size() == host.arguments;
	for (size_t i = 0; all && i < sizes.size(); i++) {
		all = i == params ? sizes[i] >= host.paramsBytes && sizes[i] % argumentBytes == 0 : sizes[i] == argumentBytes;
	}
	return all;
}

// newer says whether code needs a newer GPU than this one.
bool newer(const Ptx &ptx) { return ptx.capability > static_cast<int>(number("CAPABILITY", 90)); }

// readCode reads compiled code, which runs on GPUs of one major version.
Ptx readCode(const char *image) {
	Ptx ptx;
	try {
		ptx = readCubin(image);
	} catch (const std::string &why) {
		throw Refusal{ERROR_INVALID_IMAGE, why};
	}
	if (newer(ptx) || ptx.capability / 10 != static_cast<int>(number("CAPABILITY", 90)) / 10) {
		throw Refusal{ERROR_NO_BINARY_FOR_GPU, "the cubin is another GPU's"};
	}
	return ptx;
}

Ptx readText(const char *text) {
	Ptx ptx;
	try {
		ptx = readPtx(text);
	} catch (const std::string &why) {
		throw Refusal{ERROR_INVALID_PTX, why};
	}
	if (ptx.version > newest(number("DRIVER_VERSION", 12080))) {
		throw Refusal{ERROR_UNSUPPORTED_PTX_VERSION, "the driver is older than the PTX"};
	}
	if (newer(ptx)) {
		throw Refusal{ERROR_INVALID_PTX, "SM version specified by .target is higher than that of the device"};
	}
	return ptx;
}

using Programs = std::map<std::string, std::shared_ptr<const Program>>;

// accept reads a module, and compares each kernel with the host's; if there is none, the
// program is interpreted.
Ptx accept(const char *image, Programs &programs) {
	Ptx ptx = isElf(image) ? readCode(image) : readText(image);
	for (const Entry &e : ptx.entries) {
		const HostKernel *const host = hostKernel(e.name.c_str());
		if (host == nullptr) {
			try {
				programs[e.name] = isElf(image) ? throw std::string("compiled code of no kernel of ours is not run") : readProgram(ptx, e);
			} catch (const std::string &why) {
				throw Refusal{ERROR_INVALID_PTX, e.name + ": " + why};
			}
		} else if (!agree(e.params, *host)) {
			throw Refusal{ERROR_INVALID_PTX, e.name + ": the parameters are not the host's"};
		}
		if (std::accumulate(e.params.begin(), e.params.end(), size_t(0)) > mostArgumentBytes) {
			throw Refusal{ERROR_INVALID_PTX, e.name + ": too many parameters"};
		}
		if (e.maxThreads == 0 || e.maxThreads > 1024) {
			throw Refusal{ERROR_INVALID_PTX, e.name + ": no block has so many threads"};
		}
		if (e.shared > 48 << 10) {
			throw Refusal{ERROR_INVALID_PTX, e.name + ": uses too much shared data"};
		}
	}
	return ptx;
}

// Logs are the buffers among the options of cuModuleLoadDataEx.
void fillLogs(unsigned n, const int *options, void **values, const std::string &why) {
	for (const int which : {3, 5}) { // info and error; the size follows
		char *buffer = nullptr;
		void **size = nullptr;
		for (unsigned i = 0; i < n; i++) {
			buffer = options[i] == which ? static_cast<char *>(values[i]) : buffer;
			size = options[i] == which + 1 ? &values[i] : size;
		}
		if (size == nullptr) {
			continue;
		}
		size_t written = 0;
		const size_t room = static_cast<u32>(reinterpret_cast<uintptr_t>(*size));
		if (buffer != nullptr && room > 0) {
			const std::string line = which == 5 && !why.empty() ? "ptxas fatal   : " + why : "";
			written = std::min(line.size(), room - 1);
			std::memcpy(buffer, line.data(), written);
			buffer[written] = 0;
		}
		std::memcpy(size, &written, sizeof(u32)); // an unsigned int, stored in the pointer's place
	}
}

void load(Context &context, Handle *module, const void *image, unsigned n, const int *options, void **values) {
	require(module != nullptr && image != nullptr && (n == 0 || (options != nullptr && values != nullptr)));
	Ptx ptx;
	Programs programs;
	try {
		ptx = accept(static_cast<const char *>(image), programs);
	} catch (const Refusal &refusal) {
		fillLogs(n, options, values, refusal.why);
		report("cuModuleLoadData: " + refusal.why);
		throw Error{refusal.code};
	}
	fillLogs(n, options, values, "");
	const auto m = std::make_shared<Module>();
	m->context = context.shared_from_this();
	for (const Entry &e : ptx.entries) {
		const auto f = std::make_shared<Function>();
		f->context = m->context;
		f->entry = e;
		f->kernel = hostKernel(e.name.c_str());
		f->program = programs[e.name];
		f->ptxVersion = ptx.version;
		m->functions[e.name] = registry<Function>().add(f);
	}
	*module = registry<Module>().add(m);
}

} // namespace

API cuModuleLoadData(Handle *module, const void *image) {
	return local(__func__, [&](Context &context) { load(context, module, image, 0, nullptr, nullptr); });
}

API cuModuleLoadDataEx(Handle *module, const void *image, unsigned n, int *options, void **values) {
	return local(__func__, [&](Context &context) { load(context, module, image, n, options, values); });
}

API cuModuleGetFunction(Handle *function, Handle module, const char *name) {
	return local(__func__, [&](Context &) {
		require(function != nullptr && name != nullptr);
		const auto m = registry<Module>().find(module);
		const auto at = m->functions.find(name);
		require(at != m->functions.end(), ERROR_NOT_FOUND);
		*function = at->second;
	});
}

API cuModuleUnload(Handle module) {
	return local(__func__, [&](Context &) {
		forbidUnsafe();
		const auto m = registry<Module>().take(module);
		for (const auto &[name, function] : m->functions) {
			registry<Function>().take(function);
		}
	});
}

API cuFuncGetAttribute(int *value, int attribute, Handle function) {
	return local(__func__, [&](Context &) {
		const auto f = registry<Function>().find(function);
		require(value != nullptr);
		switch (attribute) {
		case 0: *value = static_cast<int>(f->entry.maxThreads); return;
		case 1: *value = static_cast<int>(f->entry.shared); return;
		case 2: case 3: case 7: *value = 0; return; // constant and local memory, caching
		case 4: *value = 32; return;                // registers
		case 5: *value = f->ptxVersion; return;
		case 6: *value = static_cast<int>(number("CAPABILITY", 90)); return;
		case 8: *value = f->dynamicShared; return;
		case 9: *value = f->carveout; return;
		default: throw Error{ERROR_INVALID_VALUE};
		}
	});
}

API cuFuncGetParamInfo(Handle function, size_t i, size_t *offset, size_t *size) {
	return local(__func__, [&](Context &) {
		const auto f = registry<Function>().find(function);
		require(offset != nullptr && i < f->entry.params.size());
		*offset = f->entry.offsets.empty() ? i * argumentBytes : f->entry.offsets[i];
		if (size != nullptr) {
			*size = f->entry.params[i];
		}
	});
}

API cuFuncSetAttribute(Handle function, int attribute, int value) {
	return local(__func__, [&](Context &) {
		const auto f = registry<Function>().find(function);
		if (attribute == 8) {
			require(value >= 0 && value + f->entry.shared <= 227 << 10);
			f->dynamicShared = value;
		} else {
			require(attribute == 9 && value >= -1 && value <= 100);
			f->carveout = value;
		}
	});
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Handle function, int threads, size_t dynamicShared) {
	return local(__func__, [&](Context &) {
		const auto f = registry<Function>().find(function);
		require(blocks != nullptr && threads > 0);
		const u32 warps = (static_cast<u32>(threads) + 31) / 32;
		const size_t shared = f->entry.shared + dynamicShared;
		const u32 fit = static_cast<u32>(threads) > f->entry.maxThreads ? 0 : std::min(32u, 64 / warps);
		*blocks = static_cast<int>(shared == 0 ? fit : std::min<size_t>(fit, (228 << 10) / (shared + 1024)));
	});
}
