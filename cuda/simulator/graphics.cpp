// Buffers of OpenGL as device memory: those of the GL that the process has loaded, by EGL. A
// buffer's content is copied to memory of the device when it is mapped, at a new address each
// time, and back when it is unmapped. In between the buffer is mapped in GL, too, so that its
// use is a GL error.
#include "graphics.h"
#include "graph.h"
#include "knobs.h"
#include "memory.h"
#include <cstring>
#include <dlfcn.h>
#include <vector>

namespace sim {
namespace {

constexpr u32 bufferSize = 0x8764, bufferMapped = 0x88bc, mapReadWrite = 3; // of GL

// Flags of a registration.
constexpr unsigned readOnly = 1, discard = 2;

// GL holds the functions in use. All but current apply to the current context.
struct GL {
	void *(*current)() = nullptr;
	u8 (*isBuffer)(u32) = nullptr;
	void (*parameter)(u32 buffer, u32 key, int64_t *) = nullptr;
	void *(*map)(u32 buffer, intptr_t off, intptr_t size, u32 access) = nullptr;
	u8 (*unmap)(u32 buffer) = nullptr;
	void (*finish)() = nullptr;
	u32 (*error)() = nullptr;
};

GL load() {
	void *const egl = dlopen("libEGL.so.1", RTLD_NOW | RTLD_NOLOAD);
	require(egl != nullptr, ERROR_INVALID_GRAPHICS_CONTEXT); // there is no context
	const auto address = reinterpret_cast<void *(*)(const char *)>(dlsym(egl, "eglGetProcAddress"));
	GL g;
	const auto find = [&](auto &function, const char *name) {
		function = reinterpret_cast<std::decay_t<decltype(function)>>(address(name));
		require(function != nullptr, ERROR_UNKNOWN);
	};
	find(g.current, "eglGetCurrentContext");
	find(g.isBuffer, "glIsBuffer");
	find(g.parameter, "glGetNamedBufferParameteri64v");
	find(g.map, "glMapNamedBufferRange");
	find(g.unmap, "glUnmapNamedBuffer");
	find(g.finish, "glFinish");
	find(g.error, "glGetError");
	return g;
}

const GL &gl() {
	static const GL all = load(); // kept once loaded without an error
	return all;
}

// currentGL is the GL context of the calling thread.
void *currentGL() {
	void *const c = gl().current();
	require(c != nullptr, ERROR_INVALID_GRAPHICS_CONTEXT);
	return c;
}

std::mutex lock; // of all resources

struct Resource {
	std::shared_ptr<Context> context;
	void *owner; // the GL context
	u32 buffer;
	unsigned flags;
	size_t size;
	u8 *inGL = nullptr; // GL's memory while it is mapped,
	u8 *base = nullptr; // and the device's,
	std::shared_ptr<Mark> open = nullptr; // from when on it may be accessed
};

using Resources = std::vector<std::shared_ptr<Resource>>;

// resourcesOf finds the resources to be mapped or unmapped: on the thread of its GL context,
// and on a stream that does not capture.
Resources resourcesOf(Context &context, unsigned count, const Handle *handles, const Stream &s) {
	require(count > 0 && handles != nullptr);
	require(!capturing(s), ERROR_STREAM_CAPTURE_UNSUPPORTED);
	Resources all;
	for (unsigned i = 0; i < count; i++) {
		all.push_back(registry<Resource>().find(handles[i]));
		require(all.back()->context.get() == &context, ERROR_INVALID_HANDLE);
		require(all.back()->owner == currentGL(), ERROR_INVALID_GRAPHICS_CONTEXT);
	}
	return all;
}

// map lends a buffer: the device's memory may be accessed once the stream has reached this
// point.
void map(Resource &r, const std::shared_ptr<Stream> &s) {
	void *const in = gl().map(r.buffer, 0, intptr_t(r.size), mapReadWrite);
	if (in == nullptr) {
		gl().error(); // ours
		report("GL does not lend the buffer: it has it mapped, or deleted");
		throw Error{ERROR_UNKNOWN};
	}
	r.inGL = static_cast<u8 *>(in);
	r.base = memory::reserve(Kind::device, *r.context, r.size);
	r.open = std::make_shared<Mark>();
	submit(s, {"cuGraphicsMapResources", [from = r.inGL, to = r.base, size = r.size, flags = r.flags, open = r.open] {
		memory::open(to); // filled: visible if the buffer's content is discarded
		if (flags != discard) {
			std::memcpy(to, from, size);
		}
		open->set();
	}, true});
}

// lent reports whether GL has a buffer mapped, as map left it.
bool lent(u32 buffer) {
	int64_t mapped = 0;
	if (gl().isBuffer(buffer) != 0) {
		gl().parameter(buffer, bufferMapped, &mapped);
	}
	return mapped != 0;
}

// unmap is called when the stream has done its work; the driver orders GL after that work
// alone, so later use of the memory by others is an error.
std::string unmap(Resource &r) {
	std::string wrong;
	if (!r.open->isSet()) {
		wrong = "a graphics resource was unmapped by a stream that did not wait for the one that maps it";
		r.open->wait();
	}
	if (!lent(r.buffer)) {
		wrong = "a GL buffer was deleted, or unmapped, while a graphics resource was mapped";
	} else if (r.flags != readOnly) {
		std::memcpy(r.inGL, r.base, r.size);
	} else if (std::memcmp(r.inGL, r.base, r.size) != 0) {
		wrong = "a graphics resource was written that is registered to be read";
	}
	if (lent(r.buffer)) {
		gl().unmap(r.buffer);
	}
	memory::claim(r.base, Kind::device);
	const std::string broken = memory::release(r.base);
	r.base = nullptr;
	return broken.empty() ? wrong : broken;
}

} // namespace

void graphics::dropOf(const Context *context) {
	const std::lock_guard<std::mutex> hold(lock);
	registry<Resource>().dropOf(context);
}

} // namespace sim

using namespace sim;

// The GL context is on the device with the number RESTRIDE_SIM_GL_DEVICE.
API cuGLGetDevices_v2(unsigned *count, CUdevice *all, unsigned room, int list) {
	return global(__func__, [&] {
		require(count != nullptr && all != nullptr && room > 0 && list >= 1 && list <= 3);
		currentGL();
		const u64 of = number("GL_DEVICE", 0);
		require(of < devices().size(), ERROR_NO_DEVICE);
		*count = 1;
		all[0] = CUdevice(of);
	});
}

API cuGraphicsGLRegisterBuffer(Handle *resource, u32 buffer, unsigned flags) {
	return local(__func__, [&](Context &context) {
		require(resource != nullptr && flags <= 2);
		void *const owner = currentGL();
		require(u64(context.device.ordinal) == number("GL_DEVICE", 0), ERROR_INVALID_GRAPHICS_CONTEXT);
		require(gl().isBuffer(buffer) != 0);
		int64_t size = 0;
		gl().parameter(buffer, bufferSize, &size);
		require(size > 0);
		const auto r = std::make_shared<Resource>(Resource{context.shared_from_this(), owner, buffer, flags, size_t(size)});
		*resource = registry<Resource>().add(r);
		count("resources");
	});
}

API cuGraphicsUnregisterResource(Handle resource) {
	return local(__func__, [&](Context &) {
		const std::lock_guard<std::mutex> hold(lock);
		const auto r = registry<Resource>().find(resource);
		require(r->owner == currentGL(), ERROR_INVALID_GRAPHICS_CONTEXT);
		require(r->base == nullptr, ERROR_ALREADY_MAPPED);
		registry<Resource>().take(resource);
		count("resources", -1);
	});
}

API cuGraphicsMapResources(unsigned count, Handle *resources, Handle stream) {
	return local(__func__, [&](Context &context) {
		const std::lock_guard<std::mutex> hold(lock);
		const auto s = streamOf(context, stream);
		const Resources all = resourcesOf(context, count, resources, *s);
		for (const auto &r : all) {
			require(r->base == nullptr, ERROR_ALREADY_MAPPED);
		}
		gl().finish();
		for (const auto &r : all) {
			map(*r, s);
		}
	});
}

API cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr *p, size_t *size, Handle resource) {
	return local(__func__, [&](Context &) {
		const std::lock_guard<std::mutex> hold(lock);
		const auto r = registry<Resource>().find(resource);
		require(p != nullptr && size != nullptr);
		require(r->base != nullptr, ERROR_NOT_MAPPED);
		*p = reinterpret_cast<CUdeviceptr>(r->base);
		*size = r->size;
	});
}

API cuGraphicsUnmapResources(unsigned count, Handle *resources, Handle stream) {
	return local(__func__, [&](Context &context) {
		const std::lock_guard<std::mutex> hold(lock);
		const auto s = streamOf(context, stream);
		const Resources all = resourcesOf(context, count, resources, *s);
		for (const auto &r : all) {
			require(r->base != nullptr, ERROR_NOT_MAPPED);
		}
		s->synchronize();
		context.check();
		for (const auto &r : all) {
			const std::string wrong = unmap(*r);
			if (!wrong.empty()) {
				context.fail(ERROR_ILLEGAL_ADDRESS, wrong);
			}
		}
		context.check();
	});
}
