// The driver's functions that copy and fill.
#include "graph.h"
#include "knobs.h"
#include "memory.h"
#include "trap.h"
#include <algorithm>
#include <cstring>

using namespace sim;

namespace {

void *pointer(CUdeviceptr p) { return reinterpret_cast<void *>(p); }

// onDevice throws unless a device may use a range now.
void onDevice(CUdeviceptr p, size_t n) {
	const auto a = memory::find(pointer(p), n);
	require(a.has_value() && !a->freeing);
}

// pinned says whether a range of host memory is.
bool pinned(const void *p, size_t n) {
	require(p != nullptr);
	const auto first = memory::find(p, 1), whole = memory::find(p, n);
	require(!first.has_value() || (first->kind != Kind::device && whole.has_value()));
	return first.has_value();
}

// usable gives up unless a range is still in the state found when the work was submitted.
void usable(const void *p, size_t n) {
	const auto a = memory::find(p, n);
	if (!a.has_value()) {
		giveUp(ERROR_ILLEGAL_ADDRESS, "a range is no longer allocated, or no longer pinned");
	}
}

enum Side { managed, pageable }; // managed: device memory and pinned memory

Work copy(const char *name, void *dst, Side to, const void *src, Side from, size_t n) {
	return {name, [=] {
		if (to == managed) {
			usable(dst, n);
		}
		if (from == managed) {
			usable(src, n);
		}
		std::memmove(dst, src, n);
	}};
}

void toDevice(const char *name, const std::shared_ptr<Stream> &s, CUdeviceptr dst, const void *src, size_t n) {
	onDevice(dst, n);
	if (pinned(src, n)) {
		submit(s, copy(name, pointer(dst), managed, src, managed, n));
		return;
	}
	if (capturing(*s)) { // a graph reads the memory whenever it is launched
		submit(s, copy(name, pointer(dst), managed, src, pageable, n));
		return;
	}
	const u8 *const from = static_cast<const u8 *>(src);
	const auto staged = std::make_shared<std::vector<u8>>(from, from + n);
	submit(s, {name, [=] {
		usable(pointer(dst), n);
		std::memcpy(pointer(dst), staged->data(), n);
	}});
}

// toHost says whether the caller must wait: memory that is not pinned is never written
// asynchronously.
bool toHost(const char *name, const std::shared_ptr<Stream> &s, void *dst, CUdeviceptr src, size_t n) {
	onDevice(src, n);
	const Side to = pinned(dst, n) ? managed : pageable;
	submit(s, copy(name, dst, to, pointer(src), managed, n));
	return to == pageable && !capturing(*s);
}

void within(const char *name, const std::shared_ptr<Stream> &s, CUdeviceptr dst, CUdeviceptr src, size_t n) {
	onDevice(dst, n);
	onDevice(src, n);
	require(dst + n <= src || src + n <= dst); // a GPU guarantees nothing for an overlap
	submit(s, copy(name, pointer(dst), managed, pointer(src), managed, n));
}

} // namespace

API cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t n) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		if (n > 0) {
			const auto s = context.defaultStream();
			toDevice("cuMemcpyHtoD", s, dst, src, n);
			s->synchronize();
			context.check();
		}
	});
}

API cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t n) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		if (n > 0) {
			const auto s = context.defaultStream();
			toHost("cuMemcpyDtoH", s, dst, src, n);
			s->synchronize();
			context.check();
		}
	});
}

// The real one does not wait on the host, either.
API cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t n) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		if (n > 0) {
			within("cuMemcpyDtoD", context.defaultStream(), dst, src, n);
		}
	});
}

API cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto s = streamOf(context, stream);
		if (n > 0) {
			toDevice("cuMemcpyHtoDAsync", s, dst, src, n);
		}
	});
}

API cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto s = streamOf(context, stream);
		if (n > 0 && toHost("cuMemcpyDtoHAsync", s, dst, src, n)) {
			s->synchronize();
			context.check();
		}
	});
}

API cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto s = streamOf(context, stream);
		if (n > 0) {
			within("cuMemcpyDtoDAsync", s, dst, src, n);
		}
	});
}

// If neither context reaches the other's memory, the driver copies through host memory, in
// parts.
static void staged(void *dst, const void *src, size_t n) {
	std::vector<u8> part(std::min<size_t>(n, 64 << 10));
	for (size_t at = 0; at < n; at += part.size()) {
		const size_t size = std::min(part.size(), n - at);
		u8 *const to = static_cast<u8 *>(dst) + at;
		const u8 *const from = static_cast<const u8 *>(src) + at;
		usable(from, size);
		std::memcpy(part.data(), from, size);
		delay();
		usable(to, size);
		std::memcpy(to, part.data(), size);
	}
}

API cuMemcpyPeerAsync(CUdeviceptr dst, Handle dstContext, CUdeviceptr src, Handle srcContext, size_t n, Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto s = streamOf(context, stream);
		const auto to = registry<Context>().find(dstContext, ERROR_INVALID_CONTEXT);
		const auto from = registry<Context>().find(srcContext, ERROR_INVALID_CONTEXT);
		to->check();
		from->check();
		if (n == 0) {
			return;
		}
		const auto target = memory::find(pointer(dst), n), source = memory::find(pointer(src), n);
		for (const auto &[side, of] : {std::pair(&target, &to), std::pair(&source, &from)}) {
			require(side->has_value() && (*side)->kind == Kind::device && &(*side)->context->device == &(*of)->device);
		}
		if (to->reaches(from->device, source->pool.get()) || from->reaches(to->device, target->pool.get())) {
			count("peerDirect");
			within("cuMemcpyPeerAsync", s, dst, src, n);
			return;
		}
		count("peerStaged");
		onDevice(dst, n);
		onDevice(src, n);
		submit(s, {"cuMemcpyPeerAsync", [=] { staged(pointer(dst), pointer(src), n); }});
	});
}

API cuMemsetD8Async(CUdeviceptr dst, u8 value, size_t n, Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto s = streamOf(context, stream);
		if (n > 0) {
			onDevice(dst, n);
			submit(s, {"cuMemsetD8Async", [=] {
				usable(pointer(dst), n);
				std::memset(pointer(dst), value, n);
			}});
		}
	});
}

API cuMemsetD32Async(CUdeviceptr dst, u32 value, size_t n, Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto s = streamOf(context, stream);
		require(dst % 4 == 0 && n <= SIZE_MAX / 4);
		if (n > 0) {
			onDevice(dst, n * 4);
			submit(s, {"cuMemsetD32Async", [=] {
				usable(pointer(dst), n * 4);
				u32 *const to = static_cast<u32 *>(pointer(dst));
				for (size_t i = 0; i < n; i++) {
					to[i] = value;
				}
			}});
		}
	});
}
