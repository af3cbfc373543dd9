// NVIDIA's management library, as far as its sensors go: a library of its own,
// libnvidia-ml.so.1, with the devices and knobs of the simulated driver. Numbers are those of
// an H100, and differ between devices.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>

extern "C" int restrideSimEnter(const char *name);
extern "C" uint64_t restrideSimNumber(const char *knob, uint64_t otherwise);

namespace {

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_FOUND = 6 };

std::atomic<bool> ready{false};

// A handle is the address of one of these.
char devices[4];

unsigned count() { return static_cast<unsigned>(std::min<uint64_t>(restrideSimNumber("DEVICES", 1), 4)); }

// call enters a function that needs nvmlInit.
template <class Body>
int call(const char *name, Body body) {
	if (const int injected = restrideSimEnter(name)) {
		return injected;
	}
	return ready ? body() : UNINITIALIZED;
}

// answer is call for a function that gives one value of a device.
template <class Value, class Of>
int answer(const char *name, const void *device, Value *value, Of of) {
	return call(name, [&]() -> int {
		const char *const d = static_cast<const char *>(device);
		if (d < devices || d >= devices + count() || value == nullptr) {
			return INVALID_ARGUMENT;
		}
		return of(static_cast<unsigned>(d - devices));
	});
}

} // namespace

#define API extern "C" __attribute__((visibility("default"))) int

API nvmlInit_v2() {
	const int injected = restrideSimEnter(__func__);
	ready = ready || injected == SUCCESS;
	return injected;
}

API nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
	return call(__func__, [&]() -> int {
		unsigned domain, number, slot, function;
		int end = 0;
		if (bus == nullptr || device == nullptr) {
			return INVALID_ARGUMENT;
		}
		if (std::sscanf(bus, "%x:%x:%x.%x%n", &domain, &number, &slot, &function, &end) != 4 || bus[end] != 0) {
			return INVALID_ARGUMENT;
		}
		if (domain != 0xfffe || number < 1 || number > count() || slot != 0 || function != 0) {
			return NOT_FOUND;
		}
		*device = devices + number - 1;
		return SUCCESS;
	});
}

API nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz) {
	return answer(__func__, device, mhz, [&](unsigned i) -> int {
		switch (type) {
		case 0: case 1: *mhz = 1980 - 15 * i; return SUCCESS; // graphics, multiprocessors
		case 2: *mhz = 2619 - i; return SUCCESS;              // memory
		default: return INVALID_ARGUMENT;
		}
	});
}

API nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) {
	return answer(__func__, device, celsius, [&](unsigned i) -> int {
		*celsius = 41 + i;
		return sensor == 0 ? SUCCESS : INVALID_ARGUMENT;
	});
}

API nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
	return answer(__func__, device, milliwatts, [&](unsigned i) -> int {
		*milliwatts = 312500 + i;
		return SUCCESS;
	});
}

API nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *mask) {
	return answer(__func__, device, mask, [&](unsigned) -> int {
		*mask = restrideSimNumber("HELD", 0);
		return SUCCESS;
	});
}
