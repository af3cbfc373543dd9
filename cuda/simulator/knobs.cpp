#include "knobs.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

namespace sim {
namespace {

struct Injected {
	Result code;
	long after; // calls that succeed first
	long times; // calls that fail then; 0: all
	bool lose;  // the context is lost with the first of them
};

// option is the number after a word in "cuInit=100:after=3"; 0 without it.
long option(const std::string &item, const char *word) {
	const size_t at = item.find(word);
	return at == std::string::npos ? 0 : std::atol(item.c_str() + at + std::strlen(word));
}

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
		failures.clear(); // "cuInit=100,cuMemAlloc=2:after=3:times=1,cuEventQuery=700:lose"
		std::stringstream list(value);
		for (std::string item; std::getline(list, item, ',');) {
			const size_t equals = item.find('=');
			if (equals != std::string::npos) {
				const auto code = Result(std::atoi(item.c_str() + equals + 1));
				const bool lose = item.find(":lose") != std::string::npos;
				failures[item.substr(0, equals)] = {code, option(item, ":after="), option(item, ":times="), lose};
			}
		}
	}
};

Knobs &knobs() {
	static auto *const all = new Knobs; // never destroyed: threads may outlive main
	return *all;
}

// plain is a function's name without its version, which tests then need not know.
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

namespace {

// injected is the error of a call; code SUCCESS: none.
Injected injected(const char *name) {
	Knobs &k = knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	const std::string bare = plain(name);
	k.counters[bare]++;
	auto at = k.failures.find(name);
	at = at == k.failures.end() ? k.failures.find(bare) : at;
	if (at == k.failures.end() || at->second.after-- > 0) {
		return {SUCCESS, 0, 0, false};
	}
	const Injected now = at->second;
	if (now.times > 0 && --at->second.times == 0) {
		k.failures.erase(at);
	}
	k.counters["injected"]++;
	return now;
}

} // namespace

void enter(const char *name) {
	const Injected now = injected(name);
	if (now.code == SUCCESS) {
		return;
	}
	if (now.lose) {
		loseCurrent(now.code);
	}
	throw Error{now.code};
}

} // namespace sim

// Functions that the real driver does not have.

// restrideSimSet turns a knob: a name without RESTRIDE_SIM_.
API restrideSimSet(const char *name, const char *value) {
	sim::Knobs &k = sim::knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	k.set(name, value);
	return SUCCESS;
}

// restrideSimCount is the number of calls of a function ("cuLaunchKernel"), or of other things:
// "injected" failures, "allocations" and "bytes" of device memory in use now, "kernels" that
// ran, "peerDirect" and "peerStaged" copies between devices.
extern "C" __attribute__((visibility("default"))) long restrideSimCount(const char *name) {
	sim::Knobs &k = sim::knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	return k.counters[sim::plain(name)];
}

// restrideSimCalls writes the names of the functions that were called so far, a space behind
// each, and returns the number of bytes.
extern "C" __attribute__((visibility("default"))) long restrideSimCalls(char *buffer, size_t size) {
	sim::Knobs &k = sim::knobs();
	const std::lock_guard<std::mutex> hold(k.lock);
	std::string all;
	for (const auto &one : k.counters) {
		if (one.first.compare(0, 2, "cu") == 0) {
			all += one.first + " ";
		}
	}
	return std::snprintf(buffer, size, "%s", all.c_str());
}

// restrideSimEnter and restrideSimNumber are enter and number for the simulated NVML, which is
// a library of its own: the former returns the error to inject.
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
