#include "memory.h"
#include "knobs.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <sys/mman.h>

namespace sim::memory {
namespace {

constexpr size_t page = 4096, guard = 1 << 20;
constexpr size_t filled = 16 << 20; // the bytes at either end of fresh memory that are filled
constexpr u8 canary = 0xc7, fresh = 0xa5;
constexpr size_t graves = 1024; // freed allocations that stay unreadable

struct Table {
	std::mutex lock;
	std::map<const u8 *, Allocation> live; // by base
	std::deque<Allocation> freed;
};

Table &table() {
	static auto *const all = new Table;
	return *all;
}

size_t roundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

// at is the allocation that contains an address, or ends there. The table is locked.
const Allocation *lookUp(Table &t, const void *address) {
	const u8 *at = static_cast<const u8 *>(address);
	auto next = t.live.upper_bound(at);
	if (next == t.live.begin()) {
		return nullptr;
	}
	const Allocation &a = std::prev(next)->second;
	return at <= a.base + a.size ? &a : nullptr;
}

std::string format(const char *text, const Allocation &a, const void *at) {
	char line[200];
	std::snprintf(line, sizeof line, text, static_cast<long>(static_cast<const u8 *>(at) - a.base), a.size, static_cast<const void *>(a.base));
	return line;
}

std::string broken(const Allocation &a) {
	if (!a.opened) {
		return "";
	}
	const u8 *front = a.map + guard, *end = a.map + a.mapped - guard;
	for (const u8 *p = front; p < end; p++) {
		if (p == a.base) {
			p += a.size;
			if (p == end) {
				break;
			}
		}
		if (*p != canary) {
			return format("a byte was written at offset %ld of an allocation of %zu bytes at %p", a, p);
		}
	}
	return "";
}

void unmap(const Allocation &a, Table &t) {
	// New pages without access, in one step, so that no other mapping gets the addresses.
	mmap(a.map, a.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	t.freed.push_back(a);
	t.freed.back().context.reset();
	if (t.freed.size() > graves) {
		munmap(t.freed.front().map, t.freed.front().mapped);
		t.freed.pop_front();
	}
}

// bury removes an allocation from the table, which is locked.
std::string bury(Table &t, const u8 *base) {
	const Allocation a = t.live.at(base);
	t.live.erase(base);
	const std::string wrong = broken(a);
	if (a.pool != nullptr) {
		a.pool->give(a.size);
	}
	if (a.kind == Kind::device) {
		a.context->device.used -= a.size;
		count("allocations", -1);
		count("bytes", -static_cast<long>(a.size));
	}
	if (a.kind != Kind::registered) {
		unmap(a, t);
	}
	return wrong;
}

} // namespace

u8 *reserve(Kind kind, Context &context, size_t size, std::shared_ptr<Pool> pool) {
	Device &d = context.device;
	require(size > 0);
	require(size <= size_t(1) << 46, ERROR_OUT_OF_MEMORY);
	if (kind == Kind::device) {
		const u64 used = d.used += size;
		if (used > d.total) {
			d.used -= size;
			throw Error{ERROR_OUT_OF_MEMORY};
		}
	}
	const size_t pages = roundUp(size, page), mapped = pages + 2 * guard;
	void *map = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED) {
		d.used -= kind == Kind::device ? size : 0;
		throw Error{ERROR_OUT_OF_MEMORY};
	}
	u8 *const first = static_cast<u8 *>(map);
	u8 *const base = first + guard + pages - roundUp(size, 16);
	Table &t = table();
	const std::lock_guard<std::mutex> hold(t.lock);
	t.live[base] = {kind, context.shared_from_this(), base, size, first, mapped, false, pool, false};
	if (pool != nullptr) {
		pool->take(size);
	}
	if (kind == Kind::device) {
		count("allocations");
		count("bytes", static_cast<long>(size));
	}
	return base;
}

void open(u8 *base) {
	Table &t = table();
	std::unique_lock<std::mutex> hold(t.lock);
	const Allocation a = t.live.at(base);
	hold.unlock(); // filling is slow
	u8 *const front = a.map + guard, *const end = a.map + a.mapped - guard;
	require(mprotect(front, end - front, PROT_READ | PROT_WRITE) == 0, ERROR_OUT_OF_MEMORY);
	std::memset(front, canary, base - front);
	std::memset(base + a.size, canary, end - base - a.size);
	const size_t part = std::min(a.size, filled);
	std::memset(base, fresh, part);
	std::memset(base + a.size - part, fresh, part);
	hold.lock();
	t.live.at(base).opened = true;
}

Allocation claim(u8 *base, Kind kind) {
	Table &t = table();
	const std::lock_guard<std::mutex> hold(t.lock);
	const auto at = t.live.find(base);
	require(at != t.live.end() && at->second.kind == kind && !at->second.freeing);
	at->second.freeing = true;
	return at->second;
}

std::string release(u8 *base) {
	Table &t = table();
	const std::lock_guard<std::mutex> hold(t.lock);
	return t.live.count(base) > 0 ? bury(t, base) : "";
}

void releaseAll(const Context *context) {
	Table &t = table();
	const std::lock_guard<std::mutex> hold(t.lock);
	for (auto at = t.live.begin(); at != t.live.end();) {
		const Allocation &a = (at++)->second;
		if (a.context.get() == context) {
			const std::string wrong = bury(t, a.base);
			if (!wrong.empty()) {
				report(wrong);
			}
		}
	}
}

std::optional<Allocation> find(const void *at, size_t n) {
	Table &t = table();
	const std::lock_guard<std::mutex> hold(t.lock);
	const Allocation *a = lookUp(t, at);
	const u8 *const from = static_cast<const u8 *>(at);
	if (a == nullptr || n > a->size - (from - a->base)) {
		return std::nullopt;
	}
	return *a;
}

std::string canaries(const void *at) {
	Table &t = table();
	const std::lock_guard<std::mutex> hold(t.lock);
	const Allocation *a = lookUp(t, at);
	return a != nullptr ? broken(*a) : "";
}

std::string canaries(const Device &device) {
	Table &t = table();
	const std::lock_guard<std::mutex> hold(t.lock);
	for (const auto &[base, a] : t.live) {
		const std::string wrong = &a.context->device == &device ? broken(a) : "";
		if (!wrong.empty()) {
			return wrong;
		}
	}
	return "";
}

void pin(Context &context, u8 *base, size_t size) {
	require(base != nullptr && size > 0);
	Table &t = table();
	const std::lock_guard<std::mutex> hold(t.lock);
	for (const auto &[start, a] : t.live) {
		require(base + size <= start || start + a.size <= base, ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	}
	t.live[base] = {Kind::registered, context.shared_from_this(), base, size, nullptr, 0, false, nullptr, false};
}

void unpin(u8 *base) {
	Table &t = table();
	const std::lock_guard<std::mutex> hold(t.lock);
	const auto at = t.live.find(base);
	require(at != t.live.end() && at->second.kind == Kind::registered, ERROR_HOST_MEMORY_NOT_REGISTERED);
	t.live.erase(at);
}

std::string explain(const void *address) {
	Table &t = table();
	const std::lock_guard<std::mutex> hold(t.lock);
	const u8 *const at = static_cast<const u8 *>(address);
	const auto covers = [at](const Allocation &a) { return a.map != nullptr && a.map <= at && at < a.map + a.mapped; };
	for (const auto &[base, a] : t.live) {
		if (covers(a)) {
			return format("offset %ld of an allocation of %zu bytes at %p", a, at);
		}
	}
	for (auto a = t.freed.rbegin(); a != t.freed.rend(); ++a) { // the newest first
		if (covers(*a)) {
			return format("offset %ld of a freed allocation of %zu bytes at %p", *a, at);
		}
	}
	return "in no allocation";
}

} // namespace sim::memory
