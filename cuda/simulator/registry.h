// Handles: names that are never reused, so that a stale one is always detected. A real driver
// returns pointers; these point nowhere.
#pragma once
#include "api.h"
#include <atomic>
#include <mutex>
#include <unordered_map>

namespace sim {

inline Handle newHandle() {
	static std::atomic<u64> last{0x5ead0000000};
	return reinterpret_cast<Handle>(last += 64);
}

// Registry holds the objects of one kind by their handles.
template <class T>
class Registry {
public:
	Handle add(std::shared_ptr<T> object) {
		const std::lock_guard<std::mutex> hold(lock);
		const Handle h = newHandle();
		objects[h] = std::move(object);
		return h;
	}

	std::shared_ptr<T> find(Handle h, Result otherwise = ERROR_INVALID_HANDLE) {
		const std::lock_guard<std::mutex> hold(lock);
		const auto at = objects.find(h);
		require(at != objects.end(), otherwise);
		return at->second;
	}

	std::shared_ptr<T> take(Handle h, Result otherwise = ERROR_INVALID_HANDLE) {
		const std::lock_guard<std::mutex> hold(lock);
		const auto at = objects.find(h);
		require(at != objects.end(), otherwise);
		const std::shared_ptr<T> object = at->second;
		objects.erase(at);
		return object;
	}

	// dropOf drops the objects of a context.
	void dropOf(const Context *owner) {
		const std::lock_guard<std::mutex> hold(lock);
		for (auto at = objects.begin(); at != objects.end();) {
			at = at->second->context.get() == owner ? objects.erase(at) : std::next(at);
		}
	}

	size_t size() {
		const std::lock_guard<std::mutex> hold(lock);
		return objects.size();
	}

private:
	std::mutex lock;
	std::unordered_map<Handle, std::shared_ptr<T>> objects;
};

// registry is the registry of a kind. It outlives every thread: never destroyed.
template <class T>
Registry<T> &registry() {
	static auto *const all = new Registry<T>;
	return *all;
}

} // namespace sim
