// Self test: modules, kernels, graphs.
#include "selftest_session.h"
#include <cstring>
#include <thread>

void testModules() {
	Session s;
	Handle module, f;
	char log[100] = "";
	int options[] = {5, 6};
	void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
	const std::string bad = ptx("element_32", 6);
	IS(cuModuleLoadDataEx(&module, bad.c_str(), 2, options, values), ERROR_INVALID_PTX);
	CHECK(std::strstr(log, "element_32: the parameters are not the host's") != nullptr);
	CHECK(reinterpret_cast<uintptr_t>(values[1]) == std::strlen(log));
	IS(cuModuleLoadData(&module, ptx("element_32", 7, ".u32").c_str()), ERROR_INVALID_PTX);
	const std::string byValue = ptx("element_32"), size = "[" + std::to_string(sizeof(Parameters)) + "]";
	for (const char *other : {"", "[8]", "[124]", "[4096]"}) {
		std::string text = byValue;
		IS(cuModuleLoadData(&module, text.replace(text.find(size), size.size(), other).c_str()), ERROR_INVALID_PTX);
	}
	IS(cuModuleLoadData(&module, ".version 6.0\n.target sm_70\n.entry other() { wmma.load; ret; }"), ERROR_INVALID_PTX);
	IS(cuModuleLoadData(&module, "hello"), ERROR_INVALID_PTX);
	IS(cuModuleLoadData(&module, ".version 6.0\n.target sm_70\n.entry element_32("), ERROR_INVALID_PTX);
	IS(cuModuleLoadData(&module, ".version 6.0\n.target sm_100\n"), ERROR_INVALID_PTX);
	IS(cuModuleLoadData(&module, ".version 9.0\n.target sm_70\n"), ERROR_UNSUPPORTED_PTX_VERSION);
	IS(cuModuleLoadData(&module, "\x7f" "ELF"), ERROR_INVALID_IMAGE);
	OK(restrideSimSet("PLANT", "params"));
	IS(cuModuleLoadData(&module, ptx("element_32").c_str()), ERROR_INVALID_PTX);
	OK(restrideSimSet("PLANT", ""));

	const std::string text = ".version 6.0\n.target sm_70\n.shared .align 16 .b8 tile[512];\n"
		".entry element_32(.param .u64 .ptr .global .align 1 a, .param .s64 b, .param .align 8 .b8 c[128], .param .b64 d,\n"
		".param .u64 e, .param .f64 f, .param .u64 g) .maxntid 16, 2, 1 .minnctapersm 1 { mov.u64 %r, tile; { } ret; }\n";
	OK(cuModuleLoadData(&module, text.c_str()));
	IS(cuModuleGetFunction(&f, module, "element_8"), ERROR_NOT_FOUND);
	OK(cuModuleGetFunction(&f, module, "element_32"));
	int n = 0;
	OK(cuFuncGetAttribute(&n, 0, f));
	CHECK(n == 32);
	OK(cuFuncGetAttribute(&n, 1, f));
	CHECK(n == 512);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 32, 0));
	CHECK(n == 32);
	OK(cuModuleUnload(module));
	IS(launch(f, 1, 1, s.stream, {}), ERROR_INVALID_HANDLE);
	if (!realPtx.empty()) {
		OK(cuModuleLoadData(&module, realPtx.c_str()));
		OK(cuModuleGetFunction(&f, module, "element_32"));
	}
}

void testKernels() {
	Session s;
	const u32 rows = 37, columns = 91;
	const std::vector<u32> v = count(rows * columns);
	const Parameters params = transposing(rows, columns);
	const Handle f = s.function("element_32", realPtx.empty() ? ptx("element_32") : realPtx);
	const u64 src = s.upload(v), dst = s.alloc(v.size() * 4);
	IS(launch(f, 0, 256, s.stream, {dst, src, params}), ERROR_INVALID_VALUE);
	IS(launch(f, 1, 257, s.stream, {dst, src, params}), ERROR_INVALID_VALUE); // .maxntid
	IS(launch(f, 0x80000000, 256, s.stream, {dst, src, params}), ERROR_INVALID_VALUE);
	for (const u32 blocks : {1, 2, 100}) {
		OK(cuMemsetD8Async(dst, 0, v.size() * 4, s.stream));
		OK(launch(f, blocks, 256, s.stream, {dst, src, params}));
		CHECK(s.download(dst, v.size()) == transposed(v, rows, columns));
	}
	// Arguments in one buffer.
	OK(cuMemsetD8Async(dst, 0, v.size() * 4, s.stream));
	Arguments a{dst, src, params};
	size_t size = sizeof a;
	void *extra[] = {reinterpret_cast<void *>(1), &a, reinterpret_cast<void *>(2), &size, nullptr};
	OK(cuLaunchKernel(f, 3, 1, 1, 256, 1, 1, 0, s.stream, nullptr, extra));
	size--;
	IS(cuLaunchKernel(f, 3, 1, 1, 256, 1, 1, 0, s.stream, nullptr, extra), ERROR_INVALID_VALUE);
	CHECK(s.download(dst, v.size()) == transposed(v, rows, columns));

	// Barriers.
	const Handle reverse = s.function("test_reverse");
	for (const u32 threads : {1, 64, 256}) {
		for (const u32 times : {1, 4, 5}) {
			OK(launch(reverse, 3, threads, s.stream, {dst, src, {}, 0, 0, threads, times}));
			const std::vector<u32> got = s.download(dst, 3 * threads);
			bool right = true;
			for (u32 i = 0; i < got.size(); i++) {
				right = right && got[i] == (times % 2 == 0 ? i : i / threads * threads + threads - 1 - i % threads);
			}
			CHECK(right);
		}
	}
}

// Kernels without a host kernel are interpreted.
void testPrograms() {
	Session s;
	const char *const text = ".version 6.0\n.target sm_70\n.shared .align 4 .b8 tile[256];\n"
		".visible .entry turn(.param .u64 to, .param .u8 by, .param .align 8 .b8 pair[16]) {\n"
		"	.reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
		"	ld.param.u64 %rd1, [to]; cvta.to.global.u64 %rd1, %rd1;\n"
		"	ld.param.s8 %r1, [by]; ld.param.u32 %r2, [pair+8];\n"
		"	mov.u32 %r3, %tid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %ctaid.y; mad.lo.s32 %r6, %r5, %r4, %r3;\n"
		"	mul.wide.u32 %rd2, %r6, 4; add.s64 %rd2, %rd1, %rd2; ld.global.u32 %r7, [%rd2];\n"
		"	mul.wide.u32 %rd3, %r3, 4; mov.u64 %rd4, tile; add.s64 %rd3, %rd4, %rd3; st.shared.u32 [%rd3], %r7;\n"
		"	bar.sync 0;\n"
		"	sub.s32 %r8, %r4, %r3; mul.wide.u32 %rd3, %r8, 4; add.s64 %rd3, %rd4, %rd3; ld.shared.u32 %r7, [%rd3+-4];\n"
		"	mad.lo.s32 %r7, %r7, %r1, %r2; setp.ge.u32 %p1, %r5, 2; @%p1 bra $end; st.global.u32 [%rd2], %r7;\n"
		"$end: ret;\n}\n";
	const Handle f = s.function("turn", text);
	size_t offset = 0, size = 0;
	OK(cuFuncGetParamInfo(f, 2, &offset, &size));
	CHECK(offset == 16 && size == 16);
	IS(cuFuncGetParamInfo(f, 3, &offset, &size), ERROR_INVALID_VALUE);
	u64 to = s.upload(count(64));
	signed char by = -3;
	u32 pair[4] = {0, 0, 1000, 0};
	void *params[] = {&to, &by, pair};
	OK(cuLaunchKernel(f, 1, 2, 1, 32, 1, 1, 0, s.stream, params, nullptr));
	const std::vector<u32> got = s.download(to, 64);
	for (u32 i = 0; i < 64; i++) {
		CHECK(got[i] == 1000 - 3 * (i / 32 * 32 + 31 - i % 32));
	}
	for (const char *bad : {"tex.2d;", "ret", "add.u32 %r1;", "bra $none;", "mov.u32 1, %r1;", "ld.global.u32 %r1, [%clock.x];", ".loc 1 2 3;"}) {
		Handle module = nullptr;
		IS(cuModuleLoadData(&module, (".version 6.0\n.target sm_70\n.entry other() { " + (bad + std::string(" }"))).c_str()), ERROR_INVALID_PTX);
	}
	to += 224; // the second block's words are beyond the end
	OK(cuLaunchKernel(f, 1, 2, 1, 32, 1, 1, 0, s.stream, params, nullptr));
	IS(cuStreamSynchronize(s.stream), ERROR_ILLEGAL_ADDRESS);
	CHECK(message().find("beyond the end") != std::string::npos || message().find("no memory") != std::string::npos);
}

void testGraphs() {
	Session s;
	Handle other, event, back, graph, executable;
	int status;
	OK(cuStreamCreate(&other, 1));
	OK(cuEventCreate(&event, 2));
	OK(cuEventCreate(&back, 2));
	const u32 rows = 16, columns = 24;
	const Parameters params = transposing(rows, columns);
	const Handle f = s.function("element_32");
	const u64 src = s.upload(count(rows * columns));
	const u64 dst = s.alloc(rows * columns * 4), copy = s.alloc(rows * columns * 4);

	IS(cuStreamEndCapture(s.stream, &graph), ERROR_ILLEGAL_STATE);
	IS(cuStreamBeginCapture_v2(nullptr, 0), ERROR_STREAM_CAPTURE_UNSUPPORTED);
	OK(cuStreamBeginCapture_v2(s.stream, 1));
	OK(cuStreamIsCapturing(s.stream, &status));
	CHECK(status == 1);
	OK(launch(f, 2, 256, s.stream, {dst, src, params}));
	OK(cuEventRecord(event, s.stream));
	OK(cuStreamWaitEvent(other, event, 0)); // joins
	OK(cuMemcpyDtoDAsync_v2(copy, dst, rows * columns * 4, other));
	OK(cuEventRecord(back, other));
	OK(cuStreamWaitEvent(s.stream, back, 0));
	OK(cuMemsetD8Async(dst, 0, rows * columns * 4, s.stream));
	int mode = 2; // the mode in which captures forbid a thread nothing
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	CHECK(mode == 0);
	IS(cuEventQuery(back), ERROR_CAPTURED_EVENT);
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	CHECK(mode == 2);
	OK(cuStreamEndCapture(s.stream, &graph));
	OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
	OK(cuGraphDestroy(graph));
	CHECK(s.download(copy, 1)[0] == 0xa5a5a5a5); // nothing ran
	for (u32 round = 0; round < 3; round++) {
		std::vector<u32> v = count(rows * columns);
		v[0] = round;
		OK(cuMemcpyHtoDAsync_v2(src, v.data(), v.size() * 4, s.stream));
		OK(cuGraphLaunch(executable, s.stream));
		CHECK(s.download(copy, v.size()) == transposed(v, rows, columns));
		CHECK(s.download(dst, 1)[0] == 0);
	}
	OK(cuGraphExecDestroy(executable));
	IS(cuGraphLaunch(executable, s.stream), ERROR_INVALID_VALUE);

	// Calls that break a capture.
	u64 p;
	OK(cuStreamBeginCapture_v2(s.stream, 0));
	IS(cuStreamSynchronize(s.stream), ERROR_STREAM_CAPTURE_UNSUPPORTED);
	OK(cuStreamIsCapturing(s.stream, &status));
	CHECK(status == 2);
	IS(cuStreamEndCapture(s.stream, &graph), ERROR_STREAM_CAPTURE_INVALIDATED);
	OK(cuStreamBeginCapture_v2(s.stream, 0));
	IS(cuMemAlloc_v2(&p, 16), ERROR_STREAM_CAPTURE_UNSUPPORTED);
	IS(cuStreamEndCapture(s.stream, &graph), ERROR_STREAM_CAPTURE_INVALIDATED);
	// Another thread's calls, in a global capture.
	for (const int mine : {0, 1, 2}) {
		OK(cuStreamBeginCapture_v2(s.stream, 0));
		std::thread([&] {
			int relax = mine;
			OK(cuCtxSetCurrent(s.context));
			OK(cuThreadExchangeStreamCaptureMode(&relax));
			IS(cuMemAlloc_v2(&p, 16), mine == 0 ? ERROR_STREAM_CAPTURE_UNSUPPORTED : SUCCESS);
		}).join();
		IS(cuStreamEndCapture(s.stream, &graph), mine == 0 ? ERROR_STREAM_CAPTURE_INVALIDATED : SUCCESS);
	}
	OK(cuStreamBeginCapture_v2(s.stream, 2));
	OK(cuEventRecord(event, s.stream));
	OK(cuStreamWaitEvent(other, event, 0));
	OK(cuMemsetD8Async(dst, 0, 16, other)); // which s.stream never waits for
	IS(cuStreamEndCapture(s.stream, &graph), ERROR_STREAM_CAPTURE_UNJOINED);
	OK(cuStreamBeginCapture_v2(s.stream, 1));
	std::thread([&] {
		OK(cuCtxSetCurrent(s.context));
		IS(cuStreamEndCapture(s.stream, &graph), ERROR_STREAM_CAPTURE_WRONG_THREAD);
	}).join();
	OK(cuStreamEndCapture(s.stream, &graph));
	OK(cuEventRecord(event, other));
	OK(cuStreamBeginCapture_v2(s.stream, 1));
	IS(cuStreamWaitEvent(s.stream, event, 0), ERROR_STREAM_CAPTURE_ISOLATION);
	IS(cuStreamEndCapture(s.stream, &graph), ERROR_STREAM_CAPTURE_INVALIDATED);
}
