// An item needs a stack of its own only once it waits at a barrier. So a fiber runs item after
// item, and when one of them waits, the next fiber continues with those that have not begun:
// one fiber for a block without barriers, one for each item otherwise.
#include "fiber.h"
#include "knobs.h"
#include "trap.h"
#include <cstring>
#include <numeric>
#include <sys/mman.h>
#include <vector>

struct host_position { u32 group, groups, local; }; // as in kernels/source/host.h
thread_local host_position host_item;

// sim_switch saves the callee-saved registers on this stack, stores its pointer, and resumes
// what another stack pointer saved in the same way.
extern "C" void sim_switch(void **save, void *load);

#if defined(__x86_64__)
asm(R"(
.text
.hidden sim_switch
.globl sim_switch
.type sim_switch, @function
sim_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
.size sim_switch, .-sim_switch
)");
// Six registers, the return address, and the one that a call would leave.
static constexpr size_t frame = 8, entryAt = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.hidden sim_switch
.globl sim_switch
.type sim_switch, %function
sim_switch:
	stp x19, x20, [sp, #-160]!
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mov x2, sp
	str x2, [x0]
	mov sp, x1
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	ldp x19, x20, [sp], #160
	ret
.size sim_switch, .-sim_switch
)");
static constexpr size_t frame = 20, entryAt = 11;
#else
#error "the simulator's fibers are for x86-64 and aarch64"
#endif

namespace sim {
namespace {

constexpr size_t guard = 4096, stackBytes = 64 << 10;

struct Fiber {
	u8 *map;
	void *top; // its saved stack pointer
};

struct Scheduler {
	std::vector<Fiber> fibers; // kept for the next block
	void *home = nullptr;      // the thread's own stack
	Fiber *running = nullptr;
	bool waits = false; // why a fiber came home

	u32 n, begun, returned, next, step;
	void (*item)(const void *);
	const void *argument;

	~Scheduler() {
		for (const Fiber &f : fibers) {
			munmap(f.map, guard + stackBytes);
		}
	}
};

thread_local Scheduler scheduler;

void goHome(Scheduler &s, bool waits) {
	s.waits = waits;
	sim_switch(&s.running->top, s.home);
}

void fiberMain() {
	Scheduler &s = scheduler;
	while (s.begun < s.n) {
		s.begun++;
		host_item.local = s.next;
		s.next = (s.next + s.step) % s.n;
		s.item(s.argument);
		s.returned++;
	}
	goHome(s, false); // and never returns
}

void prepare(Scheduler &s, size_t i) {
	if (i == s.fibers.size()) {
		void *map = mmap(nullptr, guard + stackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (map == MAP_FAILED || mprotect(map, guard, PROT_NONE) != 0) {
			giveUp(ERROR_LAUNCH_OUT_OF_RESOURCES, "no memory for a work-item's stack");
		}
		s.fibers.push_back({static_cast<u8 *>(map), nullptr});
	}
	void **const top = reinterpret_cast<void **>(s.fibers[i].map + guard + stackBytes) - frame;
	std::memset(top, 0, frame * sizeof *top);
	top[entryAt] = reinterpret_cast<void *>(&fiberMain);
	s.fibers[i].top = top;
}

// resume runs a fiber until it waits or ends, and says whether it waits.
bool resume(Scheduler &s, Fiber &f) {
	s.running = &f;
	sim_switch(&s.home, f.top);
	return s.waits;
}

} // namespace

void runBlock(u32 n, void (*item)(const void *), const void *argument) {
	Scheduler &s = scheduler;
	s.n = n;
	s.begun = s.returned = 0;
	s.item = item;
	s.argument = argument;
	s.next = static_cast<u32>(roll() % n);
	do { // a step that comes to every item
		s.step = static_cast<u32>(roll() % n) + 1;
	} while (std::gcd(s.step, n) != 1);

	size_t waiting = 0; // the fibers before this one wait
	while (s.begun < n) {
		prepare(s, waiting);
		waiting += resume(s, s.fibers[waiting]) ? 1 : 0;
	}
	while (waiting > 0) {
		if (s.returned > 0) {
			giveUp(ERROR_LAUNCH_FAILED, "some work-items of a block wait at a barrier, and others have returned");
		}
		size_t still = 0;
		const bool backwards = roll() % 2 == 0;
		for (size_t i = 0; i < waiting; i++) {
			still += resume(s, s.fibers[backwards ? waiting - 1 - i : i]) ? 1 : 0;
		}
		if (still > 0 && still < waiting) {
			giveUp(ERROR_LAUNCH_FAILED, "some work-items of a block wait at a barrier, and others have returned");
		}
		waiting = still;
	}
}

} // namespace sim

extern "C" void host_barrier() {
	const host_position here = host_item;
	sim::goHome(sim::scheduler, true);
	host_item = here;
}
