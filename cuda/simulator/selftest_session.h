// Shared by the self tests of kernels.
#pragma once
#include "selftest.h"
#include <algorithm>
#include <numeric>

// Session is a context with a stream, and a function of a hand-made module.
struct Session {
	Handle context = nullptr, stream = nullptr;
	explicit Session(int device = 0) {
		OK(cuCtxCreate_v2(&context, 0, device));
		OK(cuStreamCreate(&stream, 1));
	}
	~Session() { OK(cuCtxDestroy_v2(context)); }
	Session(const Session &) = delete;

	Handle function(const char *name, const std::string &text) {
		Handle module = nullptr, f = nullptr;
		OK(cuModuleLoadData(&module, text.c_str()));
		OK(cuModuleGetFunction(&f, module, name));
		return f;
	}
	Handle function(const char *name) { return function(name, ptx(name)); }
	u64 alloc(size_t n) {
		u64 p = 0;
		OK(cuMemAlloc_v2(&p, n));
		return p;
	}
	u64 upload(const std::vector<u32> &v) {
		const u64 p = alloc(v.size() * 4);
		OK(cuMemcpyHtoD_v2(p, v.data(), v.size() * 4));
		return p;
	}
	std::vector<u32> download(u64 p, size_t n) {
		std::vector<u32> v(n);
		OK(cuMemcpyDtoHAsync_v2(v.data(), p, n * 4, stream));
		return v;
	}
};

// count is 0, 1, 2, ...
inline std::vector<u32> count(size_t n) {
	std::vector<u32> v(n);
	std::iota(v.begin(), v.end(), 0);
	return v;
}

// transposing is the parameters (kernels/source/common.h) of an element kernel that
// transposes rows x columns words.
inline Parameters transposing(u32 rows, u32 columns) {
	std::vector<u32> d;
	const auto put64 = [&d](u64 x) {
		d.push_back(static_cast<u32>(x));
		d.push_back(static_cast<u32>(x >> 32));
	};
	const auto axis = [&](u32 n, u64 dst, u64 src) {
		u32 shift = 0;
		while ((u64(1) << shift) < n) {
			shift++;
		}
		d.insert(d.end(), {n, static_cast<u32>(((((u64(1) << shift) - n) << 32) / n) + 1), shift, 0});
		put64(dst);
		put64(src);
	};
	const u32 cut = 1024 / rows, blocks = (columns + cut - 1) / cut;
	d = {blocks, 1, 1, 0, cut, rows, 0, 0};
	put64(columns); // extent, and the steps of the cut axis
	put64(rows);
	put64(1);
	d.resize(32);
	axis(blocks, u64(cut) * rows, cut);
	axis(rows, 1, columns);
	Parameters all{};
	std::copy(d.begin(), d.end(), all.begin());
	return all;
}

inline std::vector<u32> transposed(const std::vector<u32> &v, u32 rows, u32 columns) {
	std::vector<u32> t(v.size());
	for (u32 i = 0; i < v.size(); i++) {
		t[i % columns * rows + i / columns] = v[i];
	}
	return t;
}
