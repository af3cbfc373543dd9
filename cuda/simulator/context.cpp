#include "context.h"
#include "graph.h"
#include "graphics.h"
#include "knobs.h"
#include "memory.h"
#include "module.h"
#include "stream.h"
#include <algorithm>

namespace sim {
namespace {

thread_local std::vector<Handle> currents; // a stack: the last one is current

std::shared_ptr<Context> find(Handle h) { return registry<Context>().find(h, ERROR_INVALID_CONTEXT); }

} // namespace

void Device::synchronize() {
	std::unique_lock<std::mutex> hold(lock);
	const std::set<std::shared_ptr<Context>> all = contexts;
	hold.unlock();
	for (const auto &c : all) {
		c->synchronize();
	}
}

void Device::settle() {
	std::unique_lock<std::mutex> hold(lock);
	const auto all = pools;
	hold.unlock();
	for (const auto &p : all) {
		p->trim(p->threshold);
	}
}

void Pool::take(u64 size) {
	const std::lock_guard<std::mutex> hold(lock);
	const u64 there = std::min(kept, size);
	used += size;
	kept -= there;
	count("poolBytes", static_cast<long>(size - there));
}

void Pool::give(u64 size) {
	const std::lock_guard<std::mutex> hold(lock);
	used -= size;
	kept += size;
}

void Pool::trim(u64 hold) {
	const std::lock_guard<std::mutex> holdLock(lock);
	kept = std::min(kept, hold - std::min(hold, used));
}

void Context::fail(Result code, const std::string &why) {
	int healthy = SUCCESS;
	sticky.compare_exchange_strong(healthy, code);
	report(why);
}

void Context::synchronize() {
	for (const auto &s : live()) {
		s->synchronize();
	}
}

std::shared_ptr<Stream> Context::defaultStream() {
	const std::lock_guard<std::mutex> hold(lock);
	require(legacy != nullptr, ERROR_CONTEXT_IS_DESTROYED);
	return legacy;
}

std::vector<std::shared_ptr<Stream>> Context::live() {
	const std::lock_guard<std::mutex> hold(lock);
	const auto over = [](const std::shared_ptr<Stream> &s) { return s->ended(); };
	streams.erase(std::remove_if(streams.begin(), streams.end(), over), streams.end());
	return streams;
}

bool Context::reaches(Device &other, Pool *pool) {
	if (&other == &device) {
		return true;
	}
	// Pools decide themselves who may use their memory: cuMemPoolSetAccess.
	const std::lock_guard<std::mutex> hold(pool != nullptr ? pool->lock : lock);
	return pool != nullptr ? pool->guests.count(device.ordinal) > 0 : peers.count(other.ordinal) > 0;
}

bool peers(const Device &a, const Device &b) { return &a != &b && number("PEERS", 1) != 0; }

std::shared_ptr<Context> createContext(Device &device, unsigned flags) {
	const auto c = std::make_shared<Context>(device);
	c->flags = flags;
	c->legacy = Stream::start(c, 0);
	c->streams.push_back(c->legacy);
	c->handle = registry<Context>().add(c);
	const std::lock_guard<std::mutex> hold(device.lock);
	device.contexts.insert(c);
	return c;
}

void destroyContext(const std::shared_ptr<Context> &c) {
	registry<Context>().take(c->handle, ERROR_INVALID_CONTEXT);
	c->synchronize();
	for (const auto &s : c->live()) {
		s->close();
		s->join();
	}
	registry<Stream>().dropOf(c.get());
	registry<Event>().dropOf(c.get());
	registry<Module>().dropOf(c.get());
	registry<Function>().dropOf(c.get());
	registry<Executable>().dropOf(c.get());
	graphics::dropOf(c.get());
	memory::releaseAll(c.get());
	std::unique_lock<std::mutex> hold(c->lock);
	c->legacy.reset();
	c->streams.clear();
	hold.unlock();
	const std::lock_guard<std::mutex> holdDevice(c->device.lock);
	c->device.contexts.erase(c);
}

std::shared_ptr<Context> current() {
	require(!currents.empty(), ERROR_INVALID_CONTEXT);
	const auto c = registry<Context>().find(currents.back(), ERROR_CONTEXT_IS_DESTROYED);
	c->check();
	return c;
}

void loseCurrent(Result code) {
	if (currents.empty()) {
		return;
	}
	try {
		registry<Context>().find(currents.back())->fail(code, "the context is lost: injected");
	} catch (const Error &) { // it is destroyed
	}
}

} // namespace sim

using namespace sim;

API cuCtxCreate_v2(Handle *context, unsigned flags, CUdevice d) {
	return global(__func__, [&] {
		require(context != nullptr);
		*context = createContext(device(d), flags)->handle;
		currents.push_back(*context);
	});
}

API cuCtxDestroy_v2(Handle context) {
	return global(__func__, [&] {
		const auto c = find(context);
		require(c->device.primary != context, ERROR_INVALID_CONTEXT);
		destroyContext(c);
		if (!currents.empty() && currents.back() == context) {
			currents.pop_back();
		}
	});
}

API cuCtxSetCurrent(Handle context) {
	return global(__func__, [&] {
		if (context != nullptr) {
			find(context);
		}
		if (!currents.empty()) {
			currents.pop_back();
		}
		if (context != nullptr) {
			currents.push_back(context);
		}
	});
}

API cuCtxGetCurrent(Handle *context) {
	return global(__func__, [&] {
		require(context != nullptr);
		*context = currents.empty() ? nullptr : currents.back();
	});
}

API cuCtxPushCurrent_v2(Handle context) {
	return global(__func__, [&] {
		find(context);
		currents.push_back(context);
	});
}

API cuCtxPopCurrent_v2(Handle *context) {
	return global(__func__, [&] {
		require(!currents.empty(), ERROR_INVALID_CONTEXT);
		if (context != nullptr) {
			*context = currents.back();
		}
		currents.pop_back();
	});
}

API cuCtxGetDevice(CUdevice *d) {
	return local(__func__, [&](Context &c) {
		require(d != nullptr);
		*d = c.device.ordinal;
	});
}

API cuCtxSynchronize() {
	return local(__func__, [&](Context &c) {
		forbidIn(c, nullptr);
		c.synchronize();
		c.device.settle();
		const std::string wrong = memory::canaries(c.device);
		if (!wrong.empty()) {
			c.fail(ERROR_ILLEGAL_ADDRESS, wrong);
		}
		c.check();
	});
}

API cuCtxEnablePeerAccess(Handle peer, unsigned flags) {
	return local(__func__, [&](Context &c) {
		const auto other = find(peer);
		require(flags == 0);
		require(peers(c.device, other->device), ERROR_PEER_ACCESS_UNSUPPORTED);
		const std::lock_guard<std::mutex> hold(c.lock);
		require(c.peers.insert(other->device.ordinal).second, ERROR_PEER_ACCESS_ALREADY_ENABLED);
	});
}

API cuDevicePrimaryCtxRetain(Handle *context, CUdevice d) {
	return global(__func__, [&] {
		require(context != nullptr);
		Device &on = device(d);
		static std::mutex one; // a lock: two threads make one context
		const std::lock_guard<std::mutex> hold(one);
		std::unique_lock<std::mutex> holdDevice(on.lock);
		const bool make = on.retained++ == 0;
		holdDevice.unlock();
		const Handle made = make ? createContext(on, 0)->handle : nullptr;
		holdDevice.lock();
		on.primary = make ? made : on.primary;
		*context = on.primary;
	});
}

API cuDevicePrimaryCtxRelease_v2(CUdevice d) {
	return global(__func__, [&] {
		Device &on = device(d);
		std::unique_lock<std::mutex> hold(on.lock);
		require(on.retained > 0, ERROR_INVALID_CONTEXT);
		if (--on.retained == 0) {
			const Handle primary = on.primary;
			on.primary = nullptr;
			hold.unlock();
			destroyContext(find(primary));
		}
	});
}

API cuDevicePrimaryCtxGetState(CUdevice d, unsigned *flags, int *active) {
	return global(__func__, [&] {
		require(flags != nullptr && active != nullptr);
		Device &on = device(d);
		const std::lock_guard<std::mutex> hold(on.lock);
		*flags = 0;
		*active = on.retained > 0 ? 1 : 0;
	});
}
