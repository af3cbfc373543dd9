// Devices and their contexts.
#pragma once
#include "registry.h"
#include <set>
#include <string>
#include <vector>

namespace sim {

class Stream;
struct Device;

// Pool is a memory pool. Freed memory stays in it until the next wait, and then as much as the
// threshold allows: kept is only a count, without addresses.
struct Pool {
	Device *device = nullptr;
	std::mutex lock; // of all below
	std::set<int> guests; // other devices that may use the memory
	u64 threshold = 0, used = 0, kept = 0;

	void take(u64 size); // counts memory beyond the kept: "poolBytes"
	void give(u64 size);
	void trim(u64 hold); // keeps at most that, including used memory
};

struct Device {
	int ordinal = 0;
	u64 total = 0;
	std::atomic<u64> used{0};
	std::mutex lock; // of all below
	std::set<std::shared_ptr<Context>> contexts;
	Handle primary = nullptr; // while it is retained
	unsigned retained = 0;
	Handle pool = nullptr; // the default one
	std::vector<std::shared_ptr<Pool>> pools; // all

	// synchronize waits for all work of all contexts.
	void synchronize();
	// settle is the effect of a wait on the pools.
	void settle();
};

struct Context : std::enable_shared_from_this<Context> {
	explicit Context(Device &d) : device(d) {}

	Device &device;
	Handle handle = nullptr;
	unsigned flags = 0;
	std::atomic<bool> destroyed{false};
	std::atomic<int> sticky{SUCCESS};
	std::mutex lock;                              // of all below
	std::shared_ptr<Stream> legacy;               // the default stream
	std::vector<std::shared_ptr<Stream>> streams; // with legacy; destroyed ones until they are empty
	std::set<int> peers;                          // devices whose memory the kernels may use

	// check throws the error that destroyed the context.
	void check() const { require(sticky == SUCCESS, Result(sticky.load())); }
	// fail kills the context: all later calls fail with the code.
	void fail(Result code, const std::string &why);
	void synchronize();
	std::shared_ptr<Stream> defaultStream();
	std::vector<std::shared_ptr<Stream>> live();
	bool reaches(Device &, Pool *); // its kernels may use that device's memory: of a pool, or other
};

// devices exist after cuInit.
std::vector<Device> &devices();
Device &device(CUdevice ordinal); // or throws

// peers says whether devices can access each other's memory.
bool peers(const Device &, const Device &);

// createContext makes a context with its default stream; destroyContext waits for its work and
// drops all that it owns.
std::shared_ptr<Context> createContext(Device &, unsigned flags);
void destroyContext(const std::shared_ptr<Context> &);

} // namespace sim
