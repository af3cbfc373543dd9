// The driver's functions for device memory, pools and pinned host memory.
#include "graph.h"
#include "knobs.h"
#include "memory.h"
#include <algorithm>
#include <iterator>

using namespace sim;

namespace {

u8 *bytes(CUdeviceptr p) { return reinterpret_cast<u8 *>(p); }

CUdeviceptr allocate(Context &context, size_t size, const std::shared_ptr<Pool> &pool) {
	try {
		return reinterpret_cast<CUdeviceptr>(memory::reserve(Kind::device, context, size, pool));
	} catch (const Error &e) {
		require(e.code == ERROR_OUT_OF_MEMORY, e.code);
	}
	context.device.synchronize(); // for frees that streams have not reached
	return reinterpret_cast<CUdeviceptr>(memory::reserve(Kind::device, context, size, pool));
}

void release(Context &context, u8 *base) {
	const std::string wrong = memory::release(base);
	if (!wrong.empty()) {
		context.fail(ERROR_ILLEGAL_ADDRESS, wrong);
	}
}

std::shared_ptr<Pool> poolOf(Handle pool) { return registry<Pool>().find(pool, ERROR_INVALID_VALUE); }

// allocateOn is a pool's allocation in the order of a stream: the memory may be accessed once
// the stream has reached this point, not before.
void allocateOn(Context &context, Handle stream, CUdeviceptr *p, size_t size, const std::shared_ptr<Pool> &pool) {
	require(p != nullptr);
	const auto s = streamOf(context, stream);
	require(!capturing(*s), ERROR_STREAM_CAPTURE_UNSUPPORTED); // memory nodes
	require(pool->device == &context.device); // it could be opened otherwise: no test needs that
	*p = allocate(context, size, pool);
	submit(s, {"cuMemAllocAsync", [base = bytes(*p)] { memory::open(base); }, true});
}

} // namespace

API cuMemGetInfo_v2(size_t *free, size_t *total) {
	return local(__func__, [&](Context &context) {
		require(free != nullptr && total != nullptr);
		*total = context.device.total;
		*free = context.device.total - context.device.used;
	});
}

API cuMemAlloc_v2(CUdeviceptr *p, size_t size) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		require(p != nullptr);
		*p = allocate(context, size, nullptr);
		memory::open(bytes(*p));
	});
}

API cuMemFree_v2(CUdeviceptr p) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		const Allocation a = memory::claim(bytes(p), Kind::device);
		a.context->device.synchronize();
		release(context, a.base);
		context.check();
	});
}

API cuMemAllocAsync(CUdeviceptr *p, size_t size, Handle stream) {
	return local(__func__, [&](Context &context) { allocateOn(context, stream, p, size, poolOf(context.device.pool)); });
}

API cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t size, Handle pool, Handle stream) {
	return local(__func__, [&](Context &context) { allocateOn(context, stream, p, size, poolOf(pool)); });
}

API cuMemFreeAsync(CUdeviceptr p, Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto s = streamOf(context, stream);
		require(!capturing(*s), ERROR_STREAM_CAPTURE_UNSUPPORTED);
		const Allocation a = memory::claim(bytes(p), Kind::device);
		submit(s, {"cuMemFreeAsync", [&context, base = a.base] { release(context, base); }, true});
	});
}

API cuDeviceGetDefaultMemPool(Handle *pool, CUdevice d) {
	return global(__func__, [&] {
		require(pool != nullptr);
		*pool = device(d).pool;
	});
}

// The current pool is the default one: it cannot be set.
API cuDeviceGetMemPool(Handle *pool, CUdevice d) { return cuDeviceGetDefaultMemPool(pool, d); }

// MemAccess is CUmemAccessDesc: the accessor (1: a device) and its access (0: none, 3: read and
// write).
struct MemAccess {
	int type, id, flags;
};

API cuMemPoolSetAccess(Handle pool, const MemAccess *access, size_t n) {
	return global(__func__, [&] {
		const auto p = poolOf(pool);
		require(access != nullptr || n == 0);
		for (size_t i = 0; i < n; i++) {
			const MemAccess &a = access[i];
			require(a.type == 1 && (a.flags == 0 || a.flags == 3));
			require(peers(*p->device, device(a.id)));
			const std::lock_guard<std::mutex> hold(p->lock);
			if (a.flags == 3) {
				p->guests.insert(a.id);
			} else {
				p->guests.erase(a.id);
			}
		}
	});
}

// PoolProps is CUmemPoolProps: pinned memory (1) on a device (1), not shared with other
// processes.
struct PoolProps {
	int allocation, handles, locationType, locationId;
	void *security;
	size_t most;
	u8 reserved[56];
};
static_assert(sizeof(PoolProps) == 88);

API cuMemPoolCreate(Handle *pool, const PoolProps *props) {
	return global(__func__, [&] {
		require(pool != nullptr && props != nullptr);
		require(props->allocation == 1 && props->handles == 0 && props->locationType == 1 && props->most == 0);
		require(std::all_of(std::begin(props->reserved), std::end(props->reserved), [](u8 b) { return b == 0; }));
		const auto p = std::make_shared<Pool>();
		p->device = &device(props->locationId);
		const std::lock_guard<std::mutex> hold(p->device->lock);
		p->device->pools.push_back(p);
		*pool = registry<Pool>().add(p);
		count("pools");
	});
}

// Its allocations live on.
API cuMemPoolDestroy(Handle pool) {
	return global(__func__, [&] {
		require(poolOf(pool)->device->pool != pool); // the default one
		const auto p = registry<Pool>().take(pool);
		const std::lock_guard<std::mutex> hold(p->device->lock);
		auto &all = p->device->pools;
		all.erase(std::remove(all.begin(), all.end(), p), all.end());
		count("pools", -1);
	});
}

API cuMemPoolSetAttribute(Handle pool, int attribute, void *value) {
	return global(__func__, [&] {
		const auto p = poolOf(pool);
		require(value != nullptr);
		const std::lock_guard<std::mutex> hold(p->lock);
		switch (attribute) {
		case 1: case 2: case 3: return; // kinds of reuse: there is none
		case 4: p->threshold = *static_cast<u64 *>(value); return;
		default: throw Error{ERROR_INVALID_VALUE};
		}
	});
}

API cuMemPoolGetAttribute(Handle pool, int attribute, void *value) {
	return global(__func__, [&] {
		const auto p = poolOf(pool);
		require(value != nullptr);
		const std::lock_guard<std::mutex> hold(p->lock);
		switch (attribute) {
		case 1: case 2: case 3: *static_cast<int *>(value) = 1; return;
		case 4: *static_cast<u64 *>(value) = p->threshold; return;
		case 5: *static_cast<u64 *>(value) = p->used + p->kept; return; // reserved
		case 7: *static_cast<u64 *>(value) = p->used; return;
		default: throw Error{ERROR_INVALID_VALUE};
		}
	});
}

API cuMemPoolTrimTo(Handle pool, size_t hold) {
	return global(__func__, [&] { poolOf(pool)->trim(hold); });
}

API cuMemHostAlloc(void **p, size_t size, unsigned flags) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		require(p != nullptr && flags <= 7);
		u8 *const base = memory::reserve(Kind::host, context, size);
		memory::open(base);
		*p = base;
	});
}

API cuMemAllocHost_v2(void **p, size_t size) { return cuMemHostAlloc(p, size, 0); }

// This does not wait for copies: the driver does not guarantee it.
API cuMemFreeHost(void *p) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		release(context, memory::claim(static_cast<u8 *>(p), Kind::host).base);
		context.check();
	});
}

API cuMemHostRegister_v2(void *p, size_t size, unsigned flags) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		require(flags <= 15);
		memory::pin(context, static_cast<u8 *>(p), size);
	});
}

API cuMemHostUnregister(void *p) {
	return local(__func__, [&](Context &) { memory::unpin(static_cast<u8 *>(p)); });
}

API cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *p, unsigned flags) {
	return local(__func__, [&](Context &) {
		const auto a = memory::find(p, 1);
		require(device != nullptr && flags == 0 && a.has_value() && a->kind != Kind::device);
		*device = reinterpret_cast<CUdeviceptr>(p);
	});
}

API cuPointerGetAttribute(void *value, int attribute, CUdeviceptr p) {
	return local(__func__, [&](Context &) {
		const auto a = memory::find(bytes(p), 1);
		require(value != nullptr && a.has_value());
		switch (attribute) {
		case 1: *static_cast<Handle *>(value) = a->pool != nullptr ? nullptr : a->context->handle; return; // pools belong to the device
		case 2: *static_cast<u32 *>(value) = a->kind == Kind::device ? 2 : 1; return; // host 1, device 2
		case 3: *static_cast<CUdeviceptr *>(value) = p; return;
		case 4:
			require(a->kind != Kind::device);
			*static_cast<void **>(value) = bytes(p);
			return;
		case 8: *static_cast<u8 *>(value) = 0; return; // not managed
		case 9: *static_cast<int *>(value) = a->context->device.ordinal; return;
		case 11: *static_cast<u8 **>(value) = a->base; return;
		case 12: *static_cast<size_t *>(value) = a->size; return;
		case 13: *static_cast<u8 *>(value) = 1; return; // mapped
		default: throw Error{ERROR_INVALID_VALUE};
		}
	});
}
