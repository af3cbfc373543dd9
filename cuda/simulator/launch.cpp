// cuLaunchKernel, and how a kernel runs: block after block on the stream's thread.
#include "fiber.h"
#include "graph.h"
#include "instructions.h"
#include "kernels.h"
#include "knobs.h"
#include "memory.h"
#include "module.h"
#include "program.h"
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

// place copies an argument to the place that the kernel reads.
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

// gatherProgram is gather for a program, whose parameters have the layout of PTX.
std::shared_ptr<std::vector<u8>> gatherProgram(const Entry &e, void **kernelParams, void **extra) {
	require(extra == nullptr); // a single buffer is for kernels of the host
	auto bytes = std::make_shared<std::vector<u8>>(e.params.empty() ? 0 : e.offsets.back() + e.params.back());
	for (size_t i = 0; i < e.params.size(); i++) {
		require(kernelParams != nullptr && kernelParams[i] != nullptr);
		std::memcpy(bytes->data() + e.offsets[i], kernelParams[i], e.params[i]);
	}
	return bytes;
}

// unreachable says why a device cannot access an argument's memory: host memory would work
// here, but not on a GPU.
const char *unreachable(Context &context, u64 pointer) {
	if (pointer == 0) {
		return nullptr; // for a fill: if it is used, it faults
	}
	const auto a = memory::find(reinterpret_cast<void *>(pointer), 0);
	if (!a.has_value()) {
		return "an argument points to no memory that is allocated or pinned";
	}
	if (a->kind == Kind::device && !context.reaches(a->context->device, a->pool.get())) {
		return "an argument points to the memory of another device";
	}
	// Contexts have separate address spaces. Pools belong to the device.
	if (a->kind == Kind::device && a->pool == nullptr && &a->context->device == &context.device && a->context.get() != &context) {
		return "an argument points to the memory of another context";
	}
	return nullptr;
}

// plantOutOfBounds makes a kernel write behind the end of dst's allocation.
void plantOutOfBounds(Launch &l) {
	const auto a = memory::find(reinterpret_cast<void *>(l.values[dst]), 0);
	const char *digits = std::strpbrk(l.kernel->name, "0123456789"); // element_32: the width
	if (a.has_value() && digits != nullptr) {
		const u64 left = reinterpret_cast<u64>(a->base) + a->size - l.values[dst];
		const u64 bits = std::strtoull(digits, nullptr, 10);
		l.values[dBase] = ((left + 15) / 16 * 16) * 8 / bits; // whole words: beyond the allocation's padding
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
	for (const Argument p : {dst, src, first, second, third}) {
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
	for (const Argument p : {dst, src, first, second, third}) {
		const std::string wrong = memory::canaries(reinterpret_cast<void *>(l.values[p]));
		if (!wrong.empty()) {
			context.fail(ERROR_ILLEGAL_ADDRESS, "kernel " + (l.kernel->name + (": " + wrong)));
		}
	}
}

// checkAccess ends a program that accesses anything but memory of its device. The last
// allocation found is usually the next one, too.
void checkAccess(const Run &run, u64 address, size_t bytes) {
	static thread_local u64 from = 0, to = 0;
	static thread_local const Run *of = nullptr;
	if (of == &run && address >= from && address + bytes <= to) {
		return;
	}
	Context &context = *static_cast<Context *>(const_cast<void *>(run.context));
	const char *why = address == 0 ? "a null pointer" : unreachable(context, address);
	if (why == nullptr) {
		const auto a = memory::find(reinterpret_cast<void *>(address), bytes);
		why = a.has_value() ? nullptr : "beyond the end of an allocation";
		if (a.has_value()) {
			of = &run;
			from = reinterpret_cast<u64>(a->base);
			to = from + a->size;
		}
	}
	if (why != nullptr) {
		giveUp(ERROR_ILLEGAL_ADDRESS, why);
	}
}

// runUser runs a program, block after block.
void runUser(Context &context, const Function &f, Run run, const std::vector<u8> &params, size_t dynamicShared) {
	std::vector<u64> shared((mostShared + dynamicShared) / sizeof(u64) + 2, 0xa5a5a5a5a5a5a5a5);
	run.params = params.data();
	run.paramBytes = params.size();
	run.shared = reinterpret_cast<u8 *>((reinterpret_cast<uintptr_t>(shared.data()) + 15) / 16 * 16);
	run.sharedBytes = mostShared + dynamicShared;
	run.check = checkAccess;
	run.context = &context;
	count("kernels");
	const u32 blocks = run.grid[0] * run.grid[1] * run.grid[2], threads = run.block[0] * run.block[1] * run.block[2];
	const Fault fault = attempt([&] {
		for (u32 i = 0; i < blocks; i++) {
			host_item = {blocks - 1 - i, blocks, 0};
			runBlock(threads, runProgram, &run);
		}
	});
	if (fault.code != SUCCESS) {
		char where[100];
		std::snprintf(where, sizeof where, ", block %u of %u, thread %u of %u: ", host_item.group, blocks, host_item.local, threads);
		context.fail(fault.code, "kernel " + (f.entry.name + (where + fault.why)));
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
		if (f->program != nullptr) {
			require(u64(gridX) * gridY * gridZ < u64(1) << 31, ERROR_NOT_SUPPORTED);
			const Run run{f->program.get(), nullptr, 0, nullptr, 0, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, nullptr, nullptr};
			const auto bytes = gatherProgram(f->entry, kernelParams, extra);
			submit(s, {"kernel " + f->entry.name, [&context, f, run, bytes, shared] { runUser(context, *f, run, *bytes, shared); }});
			return;
		}
		require(gridY * gridZ * blockY * blockZ == 1, ERROR_NOT_SUPPORTED); // host_item has one dimension
		Launch l{f->kernel, gridX, blockX, {}, nullptr};
		gather(l, f->entry.params, kernelParams, extra);
		submit(s, {"kernel " + f->entry.name, [&context, l] { run(context, l); }});
	});
}
