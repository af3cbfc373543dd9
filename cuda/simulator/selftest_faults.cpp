// Self test: errors, and many threads.
#include "selftest_session.h"
#include <thread>

// dies runs a kernel that must end its context with a code and a message.
static void dies(const char *kernel, Result code, const char *why, Arguments a, bool freed = false) {
	Session s;
	const Handle f = s.function(kernel);
	if (a.dst == 0) {
		a.dst = s.alloc(1024);
	}
	if (freed) {
		OK(cuMemFree_v2(a.dst));
	}
	OK(launch(f, 2, 256, s.stream, a));
	IS(cuStreamSynchronize(s.stream), code);
	if (message().find(why) == std::string::npos) {
		failures++;
		std::fprintf(stderr, "\"%s\" is not in \"%s\"\n", why, message().c_str());
	}
	u64 p;
	IS(cuMemAlloc_v2(&p, 16), code); // like every call from now on
	IS(launch(f, 1, 1, s.stream, {}), code);
	IS(cuCtxSynchronize(), code);
}

void testFaults() {
	Session healthy(1); // another device's context is not affected
	const u64 p = healthy.alloc(16);
	dies("test_write", ERROR_ILLEGAL_ADDRESS, "kernel test_write, block 1 of 2, thread 5 of 256: illegal address", {0, 0, {}, 1024, 0, 0, 5});
	dies("test_write", ERROR_ILLEGAL_ADDRESS, "offset 1024 of an allocation of 1024 bytes", {0, 0, {}, 1024});
	dies("test_write", ERROR_ILLEGAL_ADDRESS, "kernel test_write: a byte was written at offset -4", {0, 0, {}, u64(-4)});
	dies("test_write", ERROR_ILLEGAL_ADDRESS, "points to no memory that is allocated", {0}, true);
	dies("test_write", ERROR_MISALIGNED_ADDRESS, "misaligned address in", {0, 0, {}, 2});
	dies("test_write", ERROR_LAUNCH_FAILED, "shift by the width", {0, 0, {}, 0, 0, 32});
	dies("test_diverge", ERROR_LAUNCH_FAILED, "wait at a barrier", {0, 0, {}, 0, 0, 100});
	u32 local[4];
	dies("test_write", ERROR_ILLEGAL_ADDRESS, "points to no memory", {reinterpret_cast<u64>(local)});
	dies("test_write", ERROR_ILLEGAL_ADDRESS, "memory of another device", {p});
	{
		Session s;
		OK(cuCtxEnablePeerAccess(healthy.context, 0));
		IS(cuCtxEnablePeerAccess(healthy.context, 0), ERROR_PEER_ACCESS_ALREADY_ENABLED);
		OK(launch(s.function("test_write"), 2, 256, s.stream, {p, 0, {}, 0, 0, 3, 0}));
		const u64 own = s.alloc(16);
		IS(cuMemcpyPeerAsync(own, s.context, p, s.context, 16, s.stream), ERROR_INVALID_VALUE);
		OK(cuMemcpyPeerAsync(own, s.context, p, healthy.context, 16, s.stream));
		CHECK(s.download(own, 1)[0] == 8);
	}
	{ // contexts of one device have separate address spaces
		Session other(1);
		OK(launch(other.function("test_write"), 2, 256, other.stream, {p, 0, {}, 0, 0, 3, 0}));
		IS(cuStreamSynchronize(other.stream), ERROR_ILLEGAL_ADDRESS);
		CHECK(message().find("memory of another context") != std::string::npos);
	}
	{ // through a pointer that is not a parameter
		Session s;
		const u64 dst = s.alloc(64), gone = s.alloc(64);
		OK(cuMemFree_v2(gone));
		OK(launch(s.function("test_write"), 2, 256, s.stream, {dst, 0, {}, gone - dst}));
		IS(cuStreamSynchronize(s.stream), ERROR_ILLEGAL_ADDRESS);
		CHECK(message().find("offset 0 of a freed allocation of 64 bytes") != std::string::npos);
	}
	{
		OK(restrideSimSet("PLANT", "oob"));
		Session s;
		const u64 src = s.upload(count(60)), dst = s.alloc(240);
		OK(launch(s.function("element_32"), 1, 256, s.stream, {dst, src, transposing(6, 10)}));
		IS(cuStreamSynchronize(s.stream), ERROR_ILLEGAL_ADDRESS);
		OK(restrideSimSet("PLANT", ""));
	}
	{ // memory that is freed too early on the host's side
		Session s;
		void *pinned;
		OK(cuMemHostAlloc(&pinned, 64, 0));
		const u64 q = s.alloc(64);
		OK(restrideSimSet("DELAY", "3000"));
		for (int i = 0; i < 10; i++) {
			OK(cuMemcpyDtoHAsync_v2(pinned, q, 64, s.stream));
		}
		OK(cuMemFreeHost(pinned));
		IS(cuStreamSynchronize(s.stream), ERROR_ILLEGAL_ADDRESS);
		OK(restrideSimSet("DELAY", "0"));
	}
	{
		Session s;
		OK(restrideSimSet("FAIL", "cuMemGetInfo=700:times=1:lose"));
		size_t n;
		IS(cuMemGetInfo_v2(&n, &n), ERROR_ILLEGAL_ADDRESS);
		IS(cuStreamSynchronize(s.stream), ERROR_ILLEGAL_ADDRESS);
		OK(restrideSimSet("FAIL", ""));
	}
	OK(cuCtxSetCurrent(healthy.context));
	CHECK(healthy.download(p, 1)[0] == 8);
	OK(cuMemFree_v2(p));
	OK(cuCtxSynchronize());
}

void testThreads() {
	Session s;
	const u32 rows = 32, columns = 40;
	const Handle f = s.function("element_32"), reverse = s.function("test_reverse");
	const Parameters params = transposing(rows, columns);
	OK(restrideSimSet("DELAY", "50"));
	std::vector<std::thread> threads;
	std::vector<int> wrong(16); // failures is not thread-safe
	for (u32 t = 0; t < 16; t++) {
		threads.emplace_back([&, t] {
			Handle stream = nullptr, event = nullptr;
			int bad = cuCtxSetCurrent(s.context) + cuStreamCreate(&stream, t % 2) + cuEventCreate(&event, 0);
			for (u32 round = 0; round < 5; round++) {
				std::vector<u32> v(rows * columns, t * 100 + round), got(v.size());
				std::iota(v.begin() + 1, v.end(), round);
				u64 src, dst;
				bad += cuMemAllocAsync(&src, v.size() * 4, stream) + cuMemAllocAsync(&dst, v.size() * 4, stream);
				bad += cuMemcpyHtoDAsync_v2(src, v.data(), v.size() * 4, stream);
				bad += launch(f, 2, 256, stream, {dst, src, params});
				bad += cuEventRecord(event, stream) + cuStreamWaitEvent(stream, event, 0);
				bad += cuMemcpyDtoHAsync_v2(got.data(), dst, v.size() * 4, stream);
				bad += got != transposed(v, rows, columns);
				bad += launch(reverse, 2, 64, stream, {dst, src, {}, 0, 0, 64, 3});
				bad += cuMemcpyDtoHAsync_v2(got.data(), dst, v.size() * 4, stream);
				bad += got[63] != v[0] || got[64] != v[127];
				bad += cuMemFreeAsync(src, stream) + cuMemFreeAsync(dst, stream) + cuEventSynchronize(event);
			}
			bad += cuStreamSynchronize(stream) + cuStreamDestroy_v2(stream);
			wrong[t] = bad;
		});
	}
	for (std::thread &t : threads) {
		t.join();
	}
	OK(restrideSimSet("DELAY", "0"));
	CHECK(std::accumulate(wrong.begin(), wrong.end(), 0) == 0);
}
