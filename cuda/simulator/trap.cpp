#include "trap.h"
#include "memory.h"
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace sim {
namespace {

struct Trap {
	sigjmp_buf home;
	int signal;
	const void *address;
	Result code; // of giveUp
	const char *why;
};

// The signal stacks of the streams' threads are contiguous, each with the trap that its thread
// has set. So a handler finds the trap by its own stack, and knows whether the thread is one of
// these. (It must not read thread_local data: on a thread that never used any, that allocates.)
constexpr size_t stackBytes = 1 << 16, threads = 1024;

struct Slot {
	alignas(stackBytes) u8 stack[stackBytes - 64];
	Trap *trap;
	std::atomic<bool> taken;
};
static_assert(sizeof(Slot) == stackBytes);

Slot *slots; // one per thread

thread_local struct Own {
	Slot *slot = nullptr;
	~Own() {
		if (slot != nullptr) {
			stack_t none = {};
			none.ss_flags = SS_DISABLE;
			sigaltstack(&none, nullptr);
			slot->taken = false;
		}
	}
} own;

constexpr int caught[] = {SIGSEGV, SIGBUS, SIGFPE};
struct sigaction previous[NSIG];

void handle(int signal, siginfo_t *info, void *machine) {
	const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), first = reinterpret_cast<uintptr_t>(slots);
	if (first <= here && here < first + threads * sizeof(Slot)) {
		Trap *&set = slots[(here - first) / sizeof(Slot)].trap;
		Trap *const trap = set;
		if (trap != nullptr) {
			set = nullptr;
			trap->signal = signal;
			trap->address = info->si_addr;
			siglongjmp(trap->home, 1);
		}
	}
	const struct sigaction &before = previous[signal];
	if ((before.sa_flags & SA_SIGINFO) != 0) {
		before.sa_sigaction(signal, info, machine); // usually Go's
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(signal);
	} else {
		sigaction(signal, &before, nullptr); // and fault again
	}
}

} // namespace

void installTraps() {
	void *memory = mmap(nullptr, (threads + 1) * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	require(memory != MAP_FAILED, ERROR_OUT_OF_MEMORY);
	slots = reinterpret_cast<Slot *>((reinterpret_cast<uintptr_t>(memory) + sizeof(Slot) - 1) / sizeof(Slot) * sizeof(Slot));
	for (const int signal : caught) {
		struct sigaction ours;
		sigaction(signal, nullptr, &previous[signal]);
		ours = previous[signal]; // with the mask that the previous handler expects
		ours.sa_sigaction = handle;
		// Go requires SA_ONSTACK of every handler; so no handler runs on an overflowed stack.
		ours.sa_flags = (previous[signal].sa_flags | SA_SIGINFO | SA_ONSTACK) & ~static_cast<int>(SA_RESETHAND);
		sigaction(signal, &ours, nullptr);
	}
}

void prepareThread() {
	for (size_t i = 0; i < threads && own.slot == nullptr; i++) {
		if (!slots[i].taken.exchange(true)) {
			own.slot = &slots[i];
		}
	}
	stack_t stack = {};
	stack.ss_sp = own.slot;
	stack.ss_size = sizeof own.slot->stack;
	if (own.slot == nullptr || sigaltstack(&stack, nullptr) != 0) {
		std::fprintf(stderr, "restride-sim: more than %zu streams\n", threads);
		std::abort();
	}
}

Fault attempt(const std::function<void()> &run) {
	Trap trap = {};
	Trap *const outer = own.slot->trap;
	const bool fell = sigsetjmp(trap.home, 1) != 0;
	if (!fell) {
		own.slot->trap = &trap;
		run();
	}
	own.slot->trap = outer;
	if (!fell) {
		return {};
	}
	if (trap.signal == 0) {
		return {trap.code, trap.why};
	}
	if (trap.signal == SIGFPE) {
		return {ERROR_LAUNCH_FAILED, "division by zero"};
	}
	char address[32];
	std::snprintf(address, sizeof address, "%p: ", trap.address);
	return {ERROR_ILLEGAL_ADDRESS, "illegal address " + (address + memory::explain(trap.address))};
}

void giveUp(Result code, const char *why) {
	Trap *const trap = own.slot == nullptr ? nullptr : own.slot->trap;
	if (trap == nullptr) {
		std::fprintf(stderr, "restride-sim: %s\n", why);
		std::abort();
	}
	own.slot->trap = nullptr;
	trap->code = code;
	trap->why = why;
	siglongjmp(trap->home, 1);
}

} // namespace sim

// Functions that GCC calls from a kernel compiled with -fsanitize=alignment, shift-exponent and
// bounds: errors on a GPU, or results unlike the host's. Each gets the place in kernels.cpp.
namespace {

struct Source {
	const char *file;
	u32 line, column;
};

[[noreturn]] void undefined(Result code, const char *what, const void *where) {
	static thread_local char text[300];
	const Source *const at = static_cast<const Source *>(where);
	std::snprintf(text, sizeof text, "%s in %s:%u", what, at->file, at->line);
	sim::giveUp(code, text);
}

} // namespace

extern "C" void __ubsan_handle_type_mismatch_v1_abort(void *where, void *) {
	undefined(ERROR_MISALIGNED_ADDRESS, "misaligned address", where);
}
extern "C" void __ubsan_handle_shift_out_of_bounds_abort(void *where, void *, void *) {
	undefined(ERROR_LAUNCH_FAILED, "shift by the width or more", where);
}
extern "C" void __ubsan_handle_out_of_bounds_abort(void *where, void *) {
	undefined(ERROR_LAUNCH_FAILED, "index out of an array's bounds", where);
}
