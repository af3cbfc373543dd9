// Self test: memory, copies, and the order of work; copies between devices.
#include "selftest_session.h"
#include <cstring>

// readNow reads memory that a stream may write concurrently, on purpose.
__attribute__((no_sanitize("thread"), noinline)) static u8 readNow(const void *p) { return *static_cast<const volatile u8 *>(p); }
__attribute__((no_sanitize("thread"), noinline)) static void writeNow(void *p, u8 value) { *static_cast<volatile u8 *>(p) = value; }

void testMemory() {
	Handle context, stream;
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuStreamCreate(&stream, 1));
	size_t free, total, n;
	u64 p, q;
	OK(cuMemGetInfo_v2(&free, &total));
	CHECK(total == size_t(2) << 30 && free == total);
	IS(cuMemAlloc_v2(&p, 0), ERROR_INVALID_VALUE);
	IS(cuMemAlloc_v2(&p, total + 1), ERROR_OUT_OF_MEMORY);
	OK(cuMemAlloc_v2(&p, total - 100)); // only the pages at its ends are written
	IS(cuMemAlloc_v2(&q, 101), ERROR_OUT_OF_MEMORY);
	OK(cuMemFreeAsync(p, stream));
	OK(cuMemAlloc_v2(&q, 101)); // waits for that
	OK(cuMemFree_v2(q));
	IS(cuMemFree_v2(q), ERROR_INVALID_VALUE);
	IS(cuMemFree_v2(0), ERROR_INVALID_VALUE);
	OK(cuMemAlloc_v2(&p, 1000));
	CHECK(p % 16 == 0 && (p + 1008) % 4096 == 0);
	IS(cuMemFree_v2(p + 8), ERROR_INVALID_VALUE);
	OK(cuPointerGetAttribute(&n, 12, p + 999));
	CHECK(n == 1000);
	int type = 0;
	OK(cuPointerGetAttribute(&type, 2, p));
	CHECK(type == 2);
	IS(cuPointerGetAttribute(&type, 2, reinterpret_cast<u64>(&n)), ERROR_INVALID_VALUE);

	std::vector<u8> in(1000), out(1000);
	std::iota(in.begin(), in.end(), 1);
	OK(cuMemcpyDtoH_v2(out.data(), p, 1000));
	CHECK(out[0] == 0xa5 && out[999] == 0xa5); // fresh memory has a pattern
	OK(cuMemcpyHtoD_v2(p, in.data(), 1000));
	OK(cuMemcpyDtoH_v2(out.data(), p, 1000));
	CHECK(in == out);
	IS(cuMemcpyHtoD_v2(p + 1, in.data(), 1000), ERROR_INVALID_VALUE);
	IS(cuMemcpyDtoH_v2(out.data(), reinterpret_cast<u64>(in.data()), 1), ERROR_INVALID_VALUE);
	IS(cuMemcpyHtoD_v2(p, reinterpret_cast<void *>(p), 1), ERROR_INVALID_VALUE); // not host memory
	OK(cuMemsetD32Async(p + 4, 0x01020304, 2, stream));
	IS(cuMemsetD32Async(p + 1, 0, 1, stream), ERROR_INVALID_VALUE);
	OK(cuMemcpyDtoDAsync_v2(p + 500, p, 500, stream));
	IS(cuMemcpyDtoDAsync_v2(p + 499, p, 500, stream), ERROR_INVALID_VALUE);
	OK(cuMemcpyDtoHAsync_v2(out.data(), p, 1000, stream));
	CHECK(out[3] == 4 && out[4] == 4 && out[7] == 1 && out[12] == 13 && out[504] == 4 && out[512] == 13);
	OK(cuMemFree_v2(p));

	// Stream-ordered memory.
	OK(cuMemAllocAsync(&p, 64, stream));
	OK(cuMemsetD8Async(p, 9, 64, stream));
	OK(cuMemcpyDtoHAsync_v2(out.data(), p, 64, stream));
	OK(cuMemFreeAsync(p, stream));
	IS(cuMemFreeAsync(p, stream), ERROR_INVALID_VALUE);
	IS(cuMemsetD8Async(p, 9, 64, stream), ERROR_INVALID_VALUE);
	CHECK(out[63] == 9);

	IS(cuMemHostUnregister(in.data()), ERROR_HOST_MEMORY_NOT_REGISTERED);
	OK(cuMemHostRegister_v2(in.data(), 1000, 0));
	IS(cuMemHostRegister_v2(in.data() + 10, 10, 0), ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	OK(cuMemHostUnregister(in.data()));
	struct {
		int allocation, handles, type, id;
		u8 rest[72];
	} properties{1, 0, 1, 0, {}};
	Handle pool;
	u64 bytes = 100;
	OK(cuMemPoolCreate(&pool, &properties));
	OK(cuMemPoolSetAttribute(pool, 4, &bytes));
	OK(cuMemAllocFromPoolAsync(&p, 64, pool, stream));
	OK(cuMemAllocFromPoolAsync(&q, 80, pool, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemPoolGetAttribute(pool, 5, &bytes)); // of the reserved bytes, the threshold leaves 20 in addition to the used
	CHECK(bytes == 100);
	OK(cuMemPoolTrimTo(pool, 0));
	OK(cuMemPoolGetAttribute(pool, 5, &bytes));
	CHECK(bytes == 80);
	OK(cuMemPoolDestroy(pool));
	IS(cuMemPoolDestroy(pool), ERROR_INVALID_VALUE);
	IS(cuMemAllocFromPoolAsync(&p, 64, pool, stream), ERROR_INVALID_VALUE);
	OK(cuMemFreeAsync(q, stream));
	properties.type = 2;
	IS(cuMemPoolCreate(&pool, &properties), ERROR_INVALID_VALUE);
	OK(restrideSimSet("FAIL", "cuMemAllocAsync=801:after=1"));
	OK(cuMemAllocAsync(&p, 64, stream));
	IS(cuMemAllocAsync(&q, 64, stream), ERROR_NOT_SUPPORTED);
	OK(restrideSimSet("FAIL", "cuMemAllocAsync=2:times=1"));
	IS(cuMemAllocAsync(&q, 64, stream), ERROR_OUT_OF_MEMORY);
	OK(cuMemAllocAsync(&q, 64, stream));
	OK(restrideSimSet("FAIL", ""));
	OK(cuCtxDestroy_v2(context)); // with its memory
}

// slow queues work that lasts a while, with the delays.
static void slow(Handle stream, u64 p) {
	for (int i = 0; i < 20; i++) {
		OK(cuMemsetD8Async(p, 0, 16, stream));
	}
}

// inOrder says whether work on b that waits for an event of a comes after a's work.
static bool inOrder(Handle a, Handle b, Handle event, u64 p) {
	bool ordered = true;
	for (int round = 0; round < 3; round++) {
		static u8 value = 70; // a value that is not used yet
		u8 got = 0;
		slow(a, p);
		OK(cuMemsetD8Async(p, ++value, 1, a));
		OK(cuEventRecord(event, a));
		OK(cuStreamWaitEvent(b, event, 0));
		OK(cuMemcpyDtoHAsync_v2(&got, p, 1, b));
		ordered = ordered && got == value;
		OK(cuStreamSynchronize(a));
	}
	return ordered;
}

void testOrder() {
	Handle context, a, b, blocking, event, later;
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuStreamCreate(&a, 1));
	OK(cuStreamCreate(&b, 1));
	OK(cuStreamCreate(&blocking, 0));
	OK(cuEventCreate(&event, 0));
	OK(cuEventCreate(&later, 0));
	u64 p;
	u8 *pinned;
	float ms = -1;
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuMemHostAlloc(reinterpret_cast<void **>(&pinned), 64, 0));
	std::memset(pinned, 1, 64);
	OK(restrideSimSet("DELAY", "3000"));
	OK(cuEventQuery(event)); // never recorded: complete
	IS(cuEventElapsedTime(&ms, event, later), ERROR_INVALID_HANDLE);

	// Pinned memory is written, and read, when the stream reaches the copy.
	OK(cuEventRecord(event, a));
	slow(a, p);
	OK(cuMemcpyDtoHAsync_v2(pinned, p, 64, a));
	OK(cuEventRecord(later, a));
	CHECK(readNow(pinned) == 1);
	IS(cuStreamQuery(a), ERROR_NOT_READY);
	IS(cuEventQuery(later), ERROR_NOT_READY);
	IS(cuEventElapsedTime(&ms, event, later), ERROR_NOT_READY);
	OK(cuEventSynchronize(later));
	CHECK(readNow(pinned) == 0);
	OK(cuEventElapsedTime(&ms, event, later));
	CHECK(ms > 1 && ms < 5000);
	u8 got = 0, pageable[64] = {5};
	slow(a, p);
	OK(cuMemcpyHtoDAsync_v2(p, pinned, 64, a));
	writeNow(pinned, 33); // too early
	OK(cuMemcpyDtoHAsync_v2(&got, p, 1, a));
	CHECK(got == 33);
	// Other memory is read immediately.
	slow(a, p);
	OK(cuMemcpyHtoDAsync_v2(p, pageable, 64, a));
	pageable[0] = 6;
	OK(cuMemcpyDtoHAsync_v2(&got, p, 1, a));
	CHECK(got == 5);

	CHECK(inOrder(a, b, event, p));
#ifndef __SANITIZE_THREAD__ // which finds the race, too
	OK(restrideSimSet("PLANT", "skipwait"));
	CHECK(!inOrder(a, b, event, p));
	OK(restrideSimSet("PLANT", ""));
#endif

	// The default stream waits for blocking streams, and they wait for it.
	slow(blocking, p);
	OK(cuMemsetD8Async(p, 1, 1, blocking));
	OK(cuMemcpyDtoH_v2(&got, p, 1));
	CHECK(got == 1);
	slow(nullptr, p);
	OK(cuMemsetD8Async(p, 2, 1, nullptr));
	OK(cuMemcpyDtoHAsync_v2(&got, p, 1, blocking));
	CHECK(got == 2);

	slow(a, p); // a destroyed stream still does its work
	OK(cuMemsetD8Async(p, 3, 1, a));
	OK(cuStreamDestroy_v2(a));
	IS(cuStreamSynchronize(a), ERROR_INVALID_HANDLE);
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(&got, p, 1));
	CHECK(got == 3);
	OK(cuEventDestroy_v2(event));
	IS(cuEventRecord(event, b), ERROR_INVALID_HANDLE);
	OK(restrideSimSet("DELAY", "0"));
	OK(cuMemFreeHost(pinned));
	IS(cuMemFreeHost(pinned), ERROR_INVALID_VALUE);
	OK(cuCtxDestroy_v2(context));
}

// copied says how a copy from one session's stream to the other's device counts: 1 if it is
// direct, 0 if it is staged; -1 if the bytes are wrong.
static int copied(Session &to, Session &from, u64 dst, u64 src, size_t n) {
	static u8 value = 10;
	const long direct = restrideSimCount("peerDirect");
	Handle event;
	OK(cuCtxSetCurrent(from.context));
	OK(cuEventCreate(&event, 0));
	slow(from.stream, src);
	OK(cuMemsetD8Async(src, ++value, n, from.stream));
	OK(cuEventRecord(event, from.stream));
	OK(cuCtxSetCurrent(to.context));
	OK(cuStreamWaitEvent(to.stream, event, 0));
	OK(cuMemcpyPeerAsync(dst, to.context, src, from.context, n, to.stream));
	std::vector<u8> got(n);
	OK(cuMemcpyDtoHAsync_v2(got.data(), dst, n, to.stream));
	return got == std::vector<u8>(n, value) ? static_cast<int>(restrideSimCount("peerDirect") - direct) : -1;
}

void testPeers() {
	Session a(0), b(1); // b is current
	int can = 0;
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	CHECK(can == 1);
	OK(cuDeviceCanAccessPeer(&can, 1, 1));
	CHECK(can == 0);
	constexpr size_t size = 150000; // some parts, where it is staged
	u64 src, pooled;
	const u64 dst = b.alloc(size);
	OK(cuCtxSetCurrent(a.context));
	OK(cuMemAlloc_v2(&src, size));
	OK(cuMemAllocAsync(&pooled, size, a.stream));
	OK(restrideSimSet("DELAY", "500"));
	CHECK(copied(b, a, dst, src, size) == 0);

	OK(restrideSimSet("PEERS", "0"));
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	CHECK(can == 0);
	IS(cuCtxEnablePeerAccess(a.context, 0), ERROR_PEER_ACCESS_UNSUPPORTED);
	OK(restrideSimSet("PEERS", ""));
	OK(cuCtxEnablePeerAccess(a.context, 0));
	CHECK(copied(b, a, dst, src, size) == 1);

	// That does not open pools.
	CHECK(copied(b, a, dst, pooled, size) == 0);
	Handle pool;
	struct {
		int type, id, flags;
	} access{1, 1, 3};
	OK(cuDeviceGetMemPool(&pool, 0));
	OK(cuMemPoolSetAccess(pool, &access, 1));
	CHECK(copied(b, a, dst, pooled, size) == 1);
	access.flags = 0;
	OK(cuMemPoolSetAccess(pool, &access, 1));
	CHECK(copied(b, a, dst, pooled, size) == 0);
	access.id = 0; // its own
	IS(cuMemPoolSetAccess(pool, &access, 1), ERROR_INVALID_VALUE);

	// The contexts must be those of the memory, and the range one allocation.
	IS(cuMemcpyPeerAsync(dst, a.context, src, a.context, 16, b.stream), ERROR_INVALID_VALUE);
	IS(cuMemcpyPeerAsync(dst, b.context, src + 1, a.context, size, b.stream), ERROR_INVALID_VALUE);
	IS(cuMemcpyPeerAsync(dst, b.context, src, a.context, 16, a.stream), ERROR_INVALID_HANDLE);
	IS(cuMemcpyPeerAsync(dst, b.context, src, a.stream, 16, b.stream), ERROR_INVALID_CONTEXT);
	OK(cuMemcpyPeerAsync(dst, b.context, src, a.context, 0, b.stream));

	// Memory that is freed before the stream reaches its use is detected.
	slow(b.stream, dst);
	OK(cuMemcpyPeerAsync(dst, b.context, src, a.context, size, b.stream));
	OK(cuCtxSetCurrent(a.context));
	OK(cuMemFree_v2(src)); // waits for its own device only
	OK(cuCtxSetCurrent(b.context));
	IS(cuStreamSynchronize(b.stream), ERROR_ILLEGAL_ADDRESS);
	CHECK(message().find("cuMemcpyPeerAsync") != std::string::npos);
	OK(cuCtxSetCurrent(a.context));
	IS(cuMemcpyPeerAsync(pooled, a.context, dst, b.context, 16, a.stream), ERROR_ILLEGAL_ADDRESS);
	OK(restrideSimSet("DELAY", "0"));
}
