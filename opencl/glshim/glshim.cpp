// An OpenCL library for tests: the system's, with cl_khr_gl_sharing for buffers of the GL that
// the process has loaded by EGL. A buffer's content is copied to its cl_mem when it is
// acquired, and back when it is released; in between the buffer is mapped in GL, so that its
// use is a GL error. While GL has the buffer, the cl_mem holds a pattern. Other functions come
// from the linked library. GL 4.5 is needed.
//
//	make gl-shim && RESTRIDE_LIBOPENCL=$PWD/build/glshim/libOpenCL.so ...
//
// With RESTRIDE_GLSHIM_EVENT=1 there is cl_khr_gl_event, too. Without it, acquiring is an error
// until GL has reached the fence of restrideGLShimExpect, and a released buffer returns to GL
// only after clFinish. With RESTRIDE_GLSHIM_DEVICE=none GL is on no device; with =late,
// clCreateContext reports that.
//
// Wrong use is reported on stderr, and is CL_INVALID_OPERATION: acquiring or releasing twice,
// or on a thread without the context, writing to a buffer that GL has or that is shared for
// reading, releasing the last reference to an acquired buffer.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

using Handle = void *;
using Int = int32_t;
using UInt = uint32_t;

enum : Int {
	success = 0,
	invalidValue = -30,
	invalidContext = -34,
	invalidOperation = -59,
	invalidGLObject = -60,
	invalidSharegroup = -1000,
};

enum : intptr_t { glContext = 0x2008, eglDisplay = 0x2009 }; // properties of a context
enum : UInt {
	deviceExtensions = 0x1030,
	contextProperties = 0x1082,
	queueContext = 0x1090,
	memReferenceCount = 0x1105,
	devicesForGL = 0x2007,
};
constexpr uint64_t readWrite = 1, readOnly = 4;
constexpr UInt glBufferSize = 0x8764, glBufferMapped = 0x88bc, glMapReadWrite = 3, glSyncStatus = 0x9114, glSignaled = 0x9119;

// cl is a function of the library itself.
template <class F>
F *cl(const char *name) {
	static void *const lib = dlopen("libOpenCL.so.1", RTLD_NOW);
	return reinterpret_cast<F *>(dlsym(lib, name));
}

// gl is a function of EGL, or of GL.
template <class F>
F *gl(const char *name) {
	static void *const lib = dlopen("libEGL.so.1", RTLD_NOW);
	static const auto address = reinterpret_cast<void *(*)(const char *)>(dlsym(lib, "eglGetProcAddress"));
	return reinterpret_cast<F *>(address(name));
}

Handle currentGL() { return gl<Handle()>("eglGetCurrentContext")(); }

bool isSet(const char *variable, const char *value) {
	const char *const word = std::getenv(variable);
	return word != nullptr && std::strcmp(word, value) == 0;
}

bool hasEvents() { return isSet("RESTRIDE_GLSHIM_EVENT", "1"); }

Int wrong(const char *what) {
	std::fprintf(stderr, "glshim: %s\n", what);
	return invalidOperation;
}

// Shared is a GL buffer with a cl_mem.
struct Shared {
	Handle context; // of GL
	UInt buffer;
	uint64_t flags;
	size_t size;
	uint8_t *inGL = nullptr; // GL's memory, while it is mapped
	bool acquired = false;
	Handle queue = nullptr; // the queue that released it, until GL has it again
};

std::mutex lock; // of all below
std::map<Handle, std::vector<intptr_t>> contexts; // those for sharing, with their properties
std::map<Handle, Shared> all; // by cl_mem
void *expected = nullptr; // a GLsync

constexpr uint8_t pattern = 0xb3;

Int transfer(const char *name, Handle queue, Handle mem, size_t size, void *host) {
	return cl<Int(Handle, Handle, UInt, size_t, size_t, void *, UInt, const Handle *, Handle *)>(name)(queue, mem, 1, 0, size, host, 0, nullptr, nullptr);
}

Int read(Handle queue, Handle mem, size_t size, void *to) { return transfer("clEnqueueReadBuffer", queue, mem, size, to); }
Int write(Handle queue, Handle mem, size_t size, void *from) { return transfer("clEnqueueWriteBuffer", queue, mem, size, from); }

Int fill(Handle queue, Handle mem, size_t size) {
	std::vector<uint8_t> bytes(size, pattern);
	return write(queue, mem, size, bytes.data());
}

bool isPattern(const std::vector<uint8_t> &bytes) {
	for (const uint8_t b : bytes) {
		if (b != pattern) {
			return false;
		}
	}
	return true;
}

Handle contextOf(Handle queue) {
	Handle context = nullptr;
	cl<Int(Handle, UInt, size_t, void *, size_t *)>("clGetCommandQueueInfo")(queue, queueContext, sizeof context, &context, nullptr);
	return context;
}

// parameterOf is a buffer's parameter in GL; 0: there is none.
int64_t parameterOf(UInt buffer, UInt key) {
	int64_t value = 0;
	if (gl<uint8_t(UInt)>("glIsBuffer")(buffer) != 0) {
		gl<void(UInt, UInt, int64_t *)>("glGetNamedBufferParameteri64v")(buffer, key, &value);
	}
	return value;
}

// unlend returns a buffer to GL.
void unlend(Shared &s) {
	if (parameterOf(s.buffer, glBufferMapped) != 0) {
		gl<uint8_t(UInt)>("glUnmapNamedBuffer")(s.buffer);
	}
	s.inGL = nullptr;
	s.queue = nullptr;
}

// check finds the buffers of a call, which must be made on the right thread and queue.
Int check(Handle queue, UInt count, const Handle *mems, bool acquired) {
	if (contexts.count(contextOf(queue)) == 0) {
		return invalidContext;
	}
	if (count == 0 || mems == nullptr) {
		return invalidValue;
	}
	for (UInt i = 0; i < count; i++) {
		const auto at = all.find(mems[i]);
		if (at == all.end()) {
			return invalidGLObject;
		}
		if (at->second.context != currentGL()) {
			return wrong("the GL context is not current on the calling thread");
		}
		if (at->second.acquired != acquired) {
			return wrong(acquired ? "what is released was not acquired" : "what is acquired was acquired before");
		}
	}
	return success;
}

Int acquire(Handle queue, Handle mem, Shared &s) {
	if (s.queue != nullptr) { // released without clFinish, and not used by GL since
		unlend(s);
	}
	std::vector<uint8_t> before(s.size);
	if (const Int e = read(queue, mem, s.size, before.data())) {
		return e;
	}
	if (!isPattern(before)) {
		return wrong("a buffer was written while it was GL's");
	}
	s.inGL = static_cast<uint8_t *>(gl<void *(UInt, intptr_t, intptr_t, UInt)>("glMapNamedBufferRange")(s.buffer, 0, intptr_t(s.size), glMapReadWrite));
	if (s.inGL == nullptr) {
		gl<UInt()>("glGetError")();
		return invalidGLObject;
	}
	s.acquired = true;
	return write(queue, mem, s.size, s.inGL);
}

Int release(Handle queue, Handle mem, Shared &s) {
	if (parameterOf(s.buffer, glBufferMapped) == 0) {
		return wrong("a GL buffer was deleted, or unmapped, while it was acquired");
	}
	std::vector<uint8_t> now(s.size);
	if (const Int e = read(queue, mem, s.size, now.data())) {
		return e;
	}
	s.acquired = false;
	s.queue = queue;
	const bool changed = std::memcmp(now.data(), s.inGL, s.size) != 0;
	std::memcpy(s.inGL, now.data(), s.size);
	const Int e = fill(queue, mem, s.size);
	if (hasEvents()) {
		unlend(s);
	}
	return changed && s.flags == readOnly ? wrong("a buffer was written that is shared to be read") : e;
}

// answer returns the result of an information function.
Int answer(const void *value, size_t n, size_t room, void *to, size_t *need) {
	if (need != nullptr) {
		*need = n;
	}
	if (to == nullptr) {
		return success;
	}
	if (room < n) {
		return invalidValue;
	}
	std::memcpy(to, value, n);
	return success;
}

bool forGL(intptr_t property) { return property >= glContext && property <= glContext + 4; }

intptr_t propertyOf(const intptr_t *list, intptr_t key) {
	for (; list != nullptr && *list != 0; list += 2) {
		if (list[0] == key) {
			return list[1];
		}
	}
	return 0;
}

// onGL reports whether properties name the current context: others are unknown.
bool onGL(const intptr_t *list) {
	return currentGL() != nullptr && propertyOf(list, glContext) == reinterpret_cast<intptr_t>(currentGL()) &&
		propertyOf(list, eglDisplay) == reinterpret_cast<intptr_t>(gl<Handle()>("eglGetCurrentDisplay")());
}

} // namespace

#define API extern "C" __attribute__((visibility("default")))

// restrideGLShimExpect names the GLsync that GL must have reached at the next call that
// acquires; 0: none.
API void restrideGLShimExpect(void *fence) {
	const std::lock_guard<std::mutex> hold(lock);
	expected = fence;
}

API Int clGetDeviceInfo(Handle device, UInt key, size_t room, void *to, size_t *need) {
	const auto real = cl<Int(Handle, UInt, size_t, void *, size_t *)>("clGetDeviceInfo");
	if (key != deviceExtensions) {
		return real(device, key, room, to, need);
	}
	char text[16384];
	if (const Int e = real(device, key, sizeof text, text, nullptr)) {
		return e;
	}
	const std::string longer = std::string(text) + " cl_khr_gl_sharing" + (hasEvents() ? " cl_khr_gl_event" : "");
	return answer(longer.c_str(), longer.size() + 1, room, to, need);
}

API Int clGetGLContextInfoKHR(const intptr_t *properties, UInt key, size_t room, void *to, size_t *need) {
	if (key != devicesForGL) {
		return invalidValue;
	}
	if (!onGL(properties)) {
		return invalidSharegroup;
	}
	if (isSet("RESTRIDE_GLSHIM_DEVICE", "none")) {
		return answer(nullptr, 0, room, to, need);
	}
	const auto platform = reinterpret_cast<Handle>(propertyOf(properties, 0x1084));
	Handle devices[16];
	UInt n = 0;
	if (const Int e = cl<Int(Handle, uint64_t, UInt, Handle *, UInt *)>("clGetDeviceIDs")(platform, 0xFFFFFFFF, 16, devices, &n)) {
		return e;
	}
	return answer(devices, n * sizeof(Handle), room, to, need);
}

API Handle clCreateContext(const intptr_t *properties, UInt n, const Handle *devices, void *notify, void *data, Int *code) {
	const auto real = cl<Handle(const intptr_t *, UInt, const Handle *, void *, void *, Int *)>("clCreateContext");
	if (propertyOf(properties, glContext) == 0) {
		return real(properties, n, devices, notify, data, code);
	}
	if (!onGL(properties) || isSet("RESTRIDE_GLSHIM_DEVICE", "late")) {
		*code = invalidSharegroup;
		return nullptr;
	}
	std::vector<intptr_t> known, given;
	for (const intptr_t *p = properties; *p != 0; p += 2) {
		given.insert(given.end(), p, p + 2);
		if (!forGL(*p)) {
			known.insert(known.end(), p, p + 2);
		}
	}
	known.push_back(0);
	given.push_back(0);
	const Handle context = real(known.data(), n, devices, notify, data, code);
	if (context != nullptr) {
		const std::lock_guard<std::mutex> hold(lock);
		contexts[context] = given;
	}
	return context;
}

// PoCL 3.1 crashes if it is asked for properties that a context does not have.
API Int clGetContextInfo(Handle context, UInt key, size_t room, void *to, size_t *need) {
	if (key != contextProperties) {
		return cl<Int(Handle, UInt, size_t, void *, size_t *)>("clGetContextInfo")(context, key, room, to, need);
	}
	const std::lock_guard<std::mutex> hold(lock);
	const auto at = contexts.find(context);
	if (at == contexts.end()) {
		return answer(nullptr, 0, room, to, need);
	}
	return answer(at->second.data(), at->second.size() * sizeof(intptr_t), room, to, need);
}

API Handle clCreateFromGLBuffer(Handle context, uint64_t flags, UInt buffer, Int *code) {
	const std::lock_guard<std::mutex> hold(lock);
	const auto at = contexts.find(context);
	if (at == contexts.end()) {
		*code = invalidContext;
		return nullptr;
	}
	const auto owner = reinterpret_cast<Handle>(propertyOf(at->second.data(), glContext));
	if (owner != currentGL()) {
		*code = wrong("the GL context is not current on the calling thread");
		return nullptr;
	}
	const int64_t size = parameterOf(buffer, glBufferSize);
	if (size <= 0) {
		*code = invalidGLObject;
		return nullptr;
	}
	std::vector<uint8_t> bytes(size_t(size), pattern);
	const Handle mem = cl<Handle(Handle, uint64_t, size_t, void *, Int *)>("clCreateBuffer")(context, readWrite | 1 << 5, size_t(size), bytes.data(), code);
	if (mem != nullptr) {
		all[mem] = {owner, buffer, flags, size_t(size)};
	}
	return mem;
}

API Int clReleaseMemObject(Handle mem) {
	std::unique_lock<std::mutex> hold(lock);
	if (all.count(mem) > 0) {
		UInt references = 0;
		cl<Int(Handle, UInt, size_t, void *, size_t *)>("clGetMemObjectInfo")(mem, memReferenceCount, sizeof references, &references, nullptr);
		if (references == 1 && all[mem].acquired) {
			return wrong("the last reference to what is acquired was released");
		}
		if (references == 1) {
			all.erase(mem);
		}
	}
	hold.unlock();
	return cl<Int(Handle)>("clReleaseMemObject")(mem);
}

API Int clEnqueueAcquireGLObjects(Handle queue, UInt count, const Handle *mems, UInt, const Handle *, Handle *) {
	const std::lock_guard<std::mutex> hold(lock);
	Int e = check(queue, count, mems, false);
	if (e == success && !hasEvents() && expected != nullptr) {
		Int status = 0, n = 0;
		gl<void(void *, UInt, Int, Int *, Int *)>("glGetSynciv")(expected, glSyncStatus, 1, &n, &status);
		e = UInt(status) == glSignaled ? success : wrong("what is acquired is still in use by GL: glFinish comes before");
	}
	for (UInt i = 0; e == success && i < count; i++) {
		e = acquire(queue, mems[i], all[mems[i]]);
	}
	return e;
}

API Int clEnqueueReleaseGLObjects(Handle queue, UInt count, const Handle *mems, UInt, const Handle *, Handle *) {
	const std::lock_guard<std::mutex> hold(lock);
	Int e = check(queue, count, mems, true);
	for (UInt i = 0; e == success && i < count; i++) {
		e = release(queue, mems[i], all[mems[i]]);
	}
	return e;
}

API Int clFinish(Handle queue) {
	const Int e = cl<Int(Handle)>("clFinish")(queue);
	const std::lock_guard<std::mutex> hold(lock);
	for (auto &[mem, s] : all) {
		if (s.queue == queue && s.context == currentGL()) {
			unlend(s);
		}
	}
	return e;
}
