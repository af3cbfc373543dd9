#include "knobs.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

namespace sim {
namespace {

struct Injected {
	Result code;
	long after; // calls that succeed first
};

struct Knobs {
	std::mutex lock;
	std::map<std::string, std::string> values;
	std::map<std::string, Injected> failures;
	std::map<std::string, long> counters;
	std::string message;

	Knobs() {
		for (const char *name : {"DELAY", "SEED", "DEVICES", "MEMORY", "PEERS", "CAPABILITY", "DRIVER_VERSION", "FAIL", "PLANT", "HELD", "GL_DEVICE"}) {
			const char *value = std::getenv((std::string("RESTRIDE_SIM_") + name).c_str());
			if (value != nullptr) {
				set(name, value);
			}
		}
	}

	void set(const std::string &name, const std::string &value) {
		values[name] = value;
		if (name != "FAIL") {
			return;
		}
		failures.clear(); // "cuInit=100,cuMemAlloc=2:after=3"
		std::stringstream list(value);
		for (std::string item; std::getline(list, item, ',');) {
			const size_t equals = item.find('='), after = item.find(":after=");
			if (equals != std::string::npos) {
				const long calls = after == std::string::npos ? 0 : std::atol(item.c_str() + after + 7);
				failures[item.substr(0, equals)] = {Result(std::atoi(item.c_str() + equals + 1)), calls};
			}
		}
	}
};

Knobs &knobs() {
	static auto *const all = new Knobs; // never destroyed: threads may outlive main
	return *all;
}

// plain is a function's name without its version: tests need not know it.
std::string plain(const std::string &name) {
	const size_t at = name.rfind("_v");
	return at != std::string::npos && at + 3 == name.size() ? name.substr(0, at) : name;
}

thread_local u64 generator = 0;

} // namespace

std::string text(const char *knob) {
	Knobs &k = knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	return k.values[knob];
}

u64 number(const char *knob, u64 otherwise) {
	const std::string value = text(knob);
	return value.empty() ? otherwise : std::strtoull(value.c_str(), nullptr, 0);
}

bool planted(const char *fault) {
	return ("," + text("PLANT") + ",").find("," + std::string(fault) + ",") != std::string::npos;
}

void seedThread(u64 n) {
	generator = number("SEED", 1) * 0x9e3779b97f4a7c15 + n;
}

u64 roll() { // splitmix64
	u64 z = generator += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void delay() {
	const u64 most = number("DELAY", 0);
	if (most > 0) {
		std::this_thread::sleep_for(std::chrono::microseconds(roll() % (most + 1)));
	}
}

void report(const std::string &line) {
	Knobs &k = knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	k.message = line;
	std::fprintf(stderr, "restride-sim: %s\n", line.c_str());
}

void count(const char *counter, long by) {
	Knobs &k = knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	k.counters[counter] += by;
}

void enter(const char *name) {
	Knobs &k = knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	const std::string bare = plain(name);
	k.counters[bare]++;
	auto at = k.failures.find(name);
	at = at == k.failures.end() ? k.failures.find(bare) : at;
	if (at != k.failures.end() && at->second.after-- <= 0) {
		throw Error{at->second.code};
	}
}

} // namespace sim

// The functions that the driver does not have.

// restrideSimSet turns a knob: a name without RESTRIDE_SIM_.
API restrideSimSet(const char *name, const char *value) {
	sim::Knobs &k = sim::knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	k.set(name, value);
	return SUCCESS;
}

// restrideSimCount is how often a function was called ("cuLaunchKernel"), or a
// number of things: "allocations" and "bytes" of device memory in use now,
// "kernels" that ran, "peerDirect" and "peerStaged" copies between devices.
extern "C" __attribute__((visibility("default"))) long restrideSimCount(const char *name) {
	sim::Knobs &k = sim::knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	return k.counters[sim::plain(name)];
}

// restrideSimEnter and restrideSimNumber are enter and number for the simulated NVML,
// which is a library of its own: the former gives what is to be injected.
extern "C" __attribute__((visibility("default"))) int restrideSimEnter(const char *name) {
	return sim::anywhere(name, [] {});
}

extern "C" __attribute__((visibility("default"))) u64 restrideSimNumber(const char *knob, u64 otherwise) {
	return sim::number(knob, otherwise);
}

// restrideSimMessage copies the last line that was reported.
API restrideSimMessage(char *buffer, size_t size) {
	sim::Knobs &k = sim::knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	std::snprintf(buffer, size, "%s", k.message.c_str());
	return SUCCESS;
}
