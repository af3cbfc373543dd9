// The state before any context: the driver, its devices, its errors.
#include "context.h"
#include "knobs.h"
#include "trap.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

namespace sim {
namespace {

std::atomic<bool> ready{false};

// attribute returns roughly an H100's value; 0 for attributes that are not listed.
int attribute(int number) {
	const int capability = static_cast<int>(sim::number("CAPABILITY", 90));
	switch (number) {
	case 1: return 1024;                // threads per block
	case 2: case 3: return 1024;        // block x, y
	case 4: return 64;                  // block z
	case 5: return 0x7fffffff;          // grid x
	case 6: case 7: return 65535;       // grid y, z
	case 8: return 48 << 10;            // shared memory per block
	case 9: return 64 << 10;            // constant memory
	case 10: return 32;                 // warp
	case 11: return 0x7fffffff;         // pitch
	case 12: case 82: return 65536;     // registers
	case 13: return 1980000;            // kHz
	case 14: return 512;                // texture alignment
	case 15: case 31: return 1;         // copies concurrent with kernels, kernels with kernels
	case 16: return 132;                // multiprocessors
	case 19: case 41: return 1;         // maps host memory, unified addressing
	case 36: return 2619000;            // kHz of the memory
	case 37: return 5120;               // bits of its bus
	case 38: return 50 << 20;           // L2
	case 39: return 2048;               // threads per multiprocessor
	case 40: return 3;                  // copy engines
	case 50: return 0xfffe;             // PCI domain that no machine has
	case 75: return capability / 10;
	case 76: return capability % 10;
	case 78: case 83: case 90: case 91: return 1;
	case 81: return 228 << 10;          // shared memory per multiprocessor
	case 95: case 99: case 115: return 1; // cooperative launch, host register, pools
	case 97: return 227 << 10;          // shared memory per block, opted in
	case 106: return 32;                // blocks per multiprocessor
	default: return 0;
	}
}

} // namespace

std::vector<Device> &devices() {
	static auto *const all = [] {
		auto *const made = new std::vector<Device>(std::min<u64>(number("DEVICES", 1), 4));
		for (size_t i = 0; i < made->size(); i++) {
			(*made)[i].ordinal = static_cast<int>(i);
			(*made)[i].total = number("MEMORY", u64(2) << 30);
			const auto pool = std::make_shared<Pool>();
			pool->device = &(*made)[i];
			(*made)[i].pools = {pool};
			(*made)[i].pool = registry<Pool>().add(pool);
		}
		return made;
	}();
	return *all;
}

Device &device(CUdevice ordinal) {
	require(ordinal >= 0 && static_cast<size_t>(ordinal) < devices().size(), ERROR_INVALID_DEVICE);
	return devices()[static_cast<size_t>(ordinal)];
}

void initialised() { require(ready, ERROR_NOT_INITIALIZED); }

} // namespace sim

using namespace sim;

API cuInit(unsigned flags) {
	return anywhere(__func__, [&] {
		require(flags == 0);
		require(!devices().empty(), ERROR_NO_DEVICE);
		static std::once_flag once;
		std::call_once(once, installTraps);
		ready = true;
	});
}

API cuDriverGetVersion(int *version) {
	return anywhere(__func__, [&] {
		require(version != nullptr);
		*version = static_cast<int>(number("DRIVER_VERSION", 12080));
	});
}

// known is the name and text of a code.
static bool known(Result code, const char **name, const char **text) {
	switch (code) {
#define X(label, value, words) \
	case label: \
		*name = "CUDA_" #label; \
		*text = words; \
		return true;
		RESULTS(X)
#undef X
	}
	*name = *text = nullptr;
	return false;
}

API cuGetErrorName(Result code, const char **name) {
	const char *other;
	return name != nullptr && known(code, name, &other) ? SUCCESS : ERROR_INVALID_VALUE;
}

API cuGetErrorString(Result code, const char **text) {
	const char *other;
	return text != nullptr && known(code, &other, text) ? SUCCESS : ERROR_INVALID_VALUE;
}

// The newest version of a function, whatever version was asked for.
API cuGetProcAddress_v2(const char *symbol, void **function, int, u64, int *status) {
	return anywhere(__func__, [&] {
		require(symbol != nullptr && function != nullptr);
		Dl_info self;
		require(dladdr(reinterpret_cast<void *>(&cuInit), &self) != 0, ERROR_UNKNOWN);
		void *const library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
		require(library != nullptr, ERROR_UNKNOWN);
		*function = nullptr;
		for (const char *suffix : {"_v3", "_v2", ""}) {
			*function = *function == nullptr ? dlsym(library, (symbol + std::string(suffix)).c_str()) : *function;
		}
		dlclose(library);
		if (status != nullptr) {
			*status = *function == nullptr ? 1 : 0; // 1: CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
		}
		require(*function != nullptr, ERROR_NOT_FOUND);
	});
}

API cuGetProcAddress(const char *symbol, void **function, int version, u64 flags) {
	return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

API cuDeviceGetCount(int *n) {
	return global(__func__, [&] {
		require(n != nullptr);
		*n = static_cast<int>(devices().size());
	});
}

API cuDeviceGet(CUdevice *d, int ordinal) {
	return global(__func__, [&] {
		require(d != nullptr);
		*d = device(ordinal).ordinal;
	});
}

API cuDeviceGetName(char *name, int size, CUdevice d) {
	return global(__func__, [&] {
		require(name != nullptr && size > 0);
		std::snprintf(name, static_cast<size_t>(size), "Restride simulator %d", device(d).ordinal);
	});
}

API cuDeviceGetUuid_v2(u8 *uuid, CUdevice d) { // 16 bytes
	return global(__func__, [&] {
		require(uuid != nullptr);
		std::memcpy(uuid, "restride-sim-000", 16);
		uuid[15] = static_cast<u8>('0' + device(d).ordinal);
	});
}

API cuDeviceTotalMem_v2(size_t *bytes, CUdevice d) {
	return global(__func__, [&] {
		require(bytes != nullptr);
		*bytes = device(d).total;
	});
}

API cuDeviceGetAttribute(int *value, int number, CUdevice d) {
	return global(__func__, [&] {
		require(value != nullptr && number > 0 && number < 150);
		*value = attribute(number);
		switch (number) {
		case 33: *value = device(d).ordinal + 1; break; // PCI bus
		default: device(d);
		}
	});
}

API cuDeviceCanAccessPeer(int *can, CUdevice d, CUdevice peer) {
	return global(__func__, [&] {
		require(can != nullptr);
		*can = peers(device(d), device(peer)) ? 1 : 0;
	});
}
