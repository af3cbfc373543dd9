// cuLaunchKernel, and how a kernel runs: block after block on the stream's thread.
#include "fiber.h"
#include "graph.h"
#include "kernels.h"
#include "knobs.h"
#include "memory.h"
#include "module.h"
#include "trap.h"
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

using namespace sim;

struct host_position { u32 group, groups, local; }; // as in kernels/source/host.h
extern thread_local host_position host_item;

namespace {

using Arguments = std::array<u64, arguments>;

struct Launch {
	const HostKernel *kernel;
	u32 blocks, threads;
	Arguments values;
	std::shared_ptr<std::vector<u64>> params; // by value, as graphs keep it
};

// place copies an argument to where the kernel finds it.
void place(Launch &l, size_t i, const void *from, size_t bytes) {
	if (i != params) {
		std::memcpy(&l.values[i], from, bytes);
		return;
	}
	l.params = std::make_shared<std::vector<u64>>(bytes / argumentBytes);
	std::memcpy(l.params->data(), from, bytes);
	l.values[params] = reinterpret_cast<u64>(l.params->data());
}

// gather copies the arguments of a call: each by its true size.
void gather(Launch &l, const std::vector<size_t> &sizes, void **kernelParams, void **extra) {
	if (kernelParams != nullptr) {
		require(extra == nullptr);
		for (size_t i = 0; i < sizes.size(); i++) {
			require(kernelParams[i] != nullptr);
			place(l, i, kernelParams[i], sizes[i]);
		}
		return;
	}
	require(extra != nullptr);
	const void *buffer = nullptr;
	const size_t *size = nullptr;
	for (; *extra != nullptr; extra += 2) { // ends with CU_LAUNCH_PARAM_END
		const uintptr_t what = reinterpret_cast<uintptr_t>(extra[0]);
		require(what == 1 || what == 2);
		(what == 1 ? buffer : *reinterpret_cast<const void **>(&size)) = extra[1];
	}
	require(buffer != nullptr && size != nullptr && *size == std::accumulate(sizes.begin(), sizes.end(), size_t(0)));
	const u8 *from = static_cast<const u8 *>(buffer);
	for (size_t i = 0; i < sizes.size(); from += sizes[i++]) {
		place(l, i, from, sizes[i]);
	}
}

// unreachable says why an argument points where the device cannot go: the host's
// own memory would do here, but not on a GPU.
const char *unreachable(Context &context, u64 pointer) {
	if (pointer == 0) {
		return nullptr; // of a fill: if it is used, it faults
	}
	const auto a = memory::find(reinterpret_cast<void *>(pointer), 0);
	if (!a.has_value()) {
		return "an argument points to no memory that is allocated or pinned";
	}
	if (a->kind == Kind::device && !context.reaches(a->context->device, a->pool.get())) {
		return "an argument points to the memory of another device";
	}
	// Contexts have address spaces of their own. Pools are the device's.
	if (a->kind == Kind::device && a->pool == nullptr && &a->context->device == &context.device && a->context.get() != &context) {
		return "an argument points to the memory of another context";
	}
	return nullptr;
}

// plantOutOfBounds makes a kernel write where dst's allocation ends.
void plantOutOfBounds(Launch &l) {
	const auto a = memory::find(reinterpret_cast<void *>(l.values[dst]), 0);
	const char *digits = std::strpbrk(l.kernel->name, "0123456789"); // element_32: the width
	if (a.has_value() && digits != nullptr) {
		const u64 left = reinterpret_cast<u64>(a->base) + a->size - l.values[dst];
		const u64 bits = std::strtoull(digits, nullptr, 10);
		l.values[dBase] = ((left + 15) / 16 * 16) * 8 / bits; // whole words: past the allocation's slack
	}
}

void runItem(const void *launch) {
	const Launch &l = *static_cast<const Launch *>(launch);
	l.kernel->run(l.values.data());
}

// runBlocks runs the blocks one after the other, in a random order.
void runBlocks(const Launch &l) {
	u32 block = static_cast<u32>(roll() % l.blocks), step;
	do {
		step = static_cast<u32>(roll() % l.blocks) + 1;
	} while (std::gcd(step, l.blocks) != 1);
	for (u32 i = 0; i < l.blocks; i++) {
		host_item = {block, l.blocks, 0};
		runBlock(l.threads, runItem, &l);
		block = static_cast<u32>((u64(block) + step) % l.blocks);
	}
}

void run(Context &context, Launch l) {
	for (const Argument p : {dst, src, first, second}) {
		const char *const why = unreachable(context, l.values[p]);
		if (why != nullptr) {
			context.fail(ERROR_ILLEGAL_ADDRESS, "kernel " + (l.kernel->name + (": " + std::string(why))));
			return;
		}
	}
	if (planted("oob")) {
		plantOutOfBounds(l);
	}
	count("kernels");
	const Fault fault = attempt([&l] { runBlocks(l); });
	if (fault.code != SUCCESS) {
		char where[100];
		std::snprintf(where, sizeof where, ", block %u of %u, thread %u of %u: ", host_item.group, l.blocks, host_item.local, l.threads);
		context.fail(fault.code, "kernel " + (l.kernel->name + (where + fault.why)));
		return;
	}
	for (const Argument p : {dst, src, first, second}) {
		const std::string wrong = memory::canaries(reinterpret_cast<void *>(l.values[p]));
		if (!wrong.empty()) {
			context.fail(ERROR_ILLEGAL_ADDRESS, "kernel " + (l.kernel->name + (": " + wrong)));
		}
	}
}

} // namespace

API cuLaunchKernel(Handle function, u32 gridX, u32 gridY, u32 gridZ, u32 blockX, u32 blockY, u32 blockZ, u32 shared,
	Handle stream, void **kernelParams, void **extra) {
	return local(__func__, [&](Context &context) {
		const auto f = registry<Function>().find(function);
		require(f->context.get() == &context, ERROR_INVALID_HANDLE);
		const auto s = streamOf(context, stream);
		require(gridX > 0 && gridY > 0 && gridZ > 0 && gridX <= 0x7fffffff && gridY <= 65535 && gridZ <= 65535);
		require(blockX > 0 && blockY > 0 && blockZ > 0 && blockX <= 1024 && blockY <= 1024 && blockZ <= 64);
		require(blockX * blockY * blockZ <= f->entry.maxThreads);
		require(shared <= static_cast<u32>(f->dynamicShared) && (f->dynamicShared > 48 << 10 || f->entry.shared + shared <= 48 << 10));
		require(gridY * gridZ * blockY * blockZ == 1, ERROR_NOT_SUPPORTED); // host_item has one dimension
		Launch l{f->kernel, gridX, blockX, {}, nullptr};
		gather(l, f->entry.params, kernelParams, extra);
		submit(s, {"kernel " + f->entry.name, [&context, l] { run(context, l); }});
	});
}
