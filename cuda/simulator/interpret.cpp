// Users' programs, item by item: see program.h.
#include "instructions.h"
#include "memory.h"
#include "program.h"
#include "trap.h"
#include <alloca.h>
#include <algorithm>
#include <cstring>

struct host_position { u32 group, groups, local; }; // as in kernels/source/host.h
extern thread_local host_position host_item;
extern "C" void host_barrier();

namespace sim {
namespace {

// Item is a work-item. It has no destructor, as a fault skips destruction.
struct Item {
	const Run *run;
	u64 *registers;
	u8 *local;

	u64 get(const Operand &o) const { return o.isRegister ? registers[o.number] : o.value; }

	// at returns the memory of an instruction.
	u8 *at(const Instruction &i, size_t bytes) const {
		const u64 address = get(i.base) + i.offset;
		if (address % bytes != 0) {
			giveUp(ERROR_MISALIGNED_ADDRESS, "misaligned address");
		}
		switch (i.space) {
		case Space::param: return within(const_cast<u8 *>(run->params), address, bytes, run->paramBytes, "outside of the parameters");
		case Space::shared: return within(run->shared, address & 0xffffffff, bytes, run->sharedBytes, "outside of shared memory");
		case Space::local: return within(local, address, bytes, run->program->local, "outside of local memory");
		default: break;
		}
		const u64 inShared = address - reinterpret_cast<u64>(run->shared), inLocal = address - reinterpret_cast<u64>(local);
		if (inShared >= run->sharedBytes && inLocal >= run->program->local) {
			run->check(*run, address, bytes);
		}
		return reinterpret_cast<u8 *>(address);
	}

	static u8 *within(u8 *base, u64 at, size_t bytes, size_t size, const char *otherwise) {
		if (at > size || bytes > size - at) {
			giveUp(ERROR_ILLEGAL_ADDRESS, otherwise);
		}
		return base + at;
	}

	void load(const Instruction &i) {
		const size_t each = i.type.bits / 8;
		const u8 *from = at(i, each * i.to.size());
		for (const Operand &to : i.to) {
			u64 v = 0;
			std::memcpy(&v, from, each);
			from += each;
			const u32 unused = 64 - i.type.bits;
			registers[to.number] = i.type.kind == 's' ? static_cast<u64>(static_cast<int64_t>(v << unused) >> unused) : v;
		}
	}

	void store(const Instruction &i) {
		const size_t each = i.type.bits / 8;
		u8 *to = at(i, each * i.of.size());
		for (const Operand &of : i.of) {
			const u64 v = get(of);
			std::memcpy(to, &v, each);
			to += each;
		}
	}

	// atomic needs no atomic instructions: items run in turn.
	void atomic(const Instruction &i) {
		const size_t bytes = i.type.bits / 8;
		u8 *const where = at(i, bytes);
		u64 old = 0;
		std::memcpy(&old, where, bytes);
		if (!i.to.empty()) {
			registers[i.to[0].number] = old;
		}
		const u64 b = get(i.of[0]), c = i.of.size() > 1 ? get(i.of[1]) : 0;
		Instruction how = i;
		how.op = i.how == "add" ? Op::add : i.how == "min" ? Op::min : i.how == "max" ? Op::max : i.how == "and" ? Op::andBits
			: i.how == "or" ? Op::orBits : Op::xorBits;
		const u64 v = i.how == "exch" ? b : i.how == "cas" ? (old == b ? c : old) : evaluate(how, old, b, 0);
		std::memcpy(where, &v, bytes);
	}

	void move(const Instruction &i) {
		if (i.to.size() > 1) { // split a value
			const u32 each = i.type.bits / static_cast<u32>(i.to.size());
			for (size_t k = 0; k < i.to.size(); k++) {
				registers[i.to[k].number] = (get(i.of[0]) >> (k * each)) & (~u64(0) >> (64 - each));
			}
			return;
		}
		u64 v = get(i.of[0]);
		if (i.of.size() > 1) { // or join one
			const u32 each = i.type.bits / static_cast<u32>(i.of.size());
			v = 0;
			for (size_t k = 0; k < i.of.size(); k++) {
				v |= (get(i.of[k]) & (~u64(0) >> (64 - each))) << (k * each);
			}
		}
		registers[i.to[0].number] = v;
	}

	void go() {
		const Program &p = *run->program;
		for (size_t pc = 0; pc < p.code.size(); pc++) {
			const Instruction &i = p.code[pc];
			if (i.guarded && (registers[i.guard] != 0) == i.unless) {
				continue;
			}
			switch (i.op) {
			case Op::end: return;
			case Op::branch: pc = i.target - 1; break;
			case Op::barrier: host_barrier(); break;
			case Op::load: load(i); break;
			case Op::store: store(i); break;
			case Op::atomic: atomic(i); break;
			case Op::mov: move(i); break;
			case Op::selp: registers[i.to[0].number] = get(i.of[get(i.of[2]) != 0 ? 0 : 1]); break;
			case Op::add2shared: registers[i.to[0].number] = get(i.of[0]) + base(i); break;
			case Op::sub2shared: registers[i.to[0].number] = get(i.of[0]) - base(i); break;
			default:
				registers[i.to[0].number] = evaluate(i, get(i.of[0]), i.of.size() > 1 ? get(i.of[1]) : 0, i.of.size() > 2 ? get(i.of[2]) : 0);
			}
		}
	}

	// base is the begin of a space in the generic address space.
	u64 base(const Instruction &i) const {
		return i.space == Space::shared ? reinterpret_cast<u64>(run->shared) : i.space == Space::local ? reinterpret_cast<u64>(local) : 0;
	}
};

} // namespace

void runProgram(const void *argument) {
	const Run &run = *static_cast<const Run *>(argument);
	Item item{&run, nullptr, nullptr};
	item.registers = static_cast<u64 *>(alloca(run.program->registers * sizeof(u64)));
	std::memset(item.registers, 0, run.program->registers * sizeof(u64));
	item.local = static_cast<u8 *>(alloca(run.program->local + 16));
	item.local += -reinterpret_cast<uintptr_t>(item.local) % 16;
	u32 group = host_item.group, local = host_item.local;
	for (u32 d = 0; d < 3; d++) {
		item.registers[tid + d] = local % run.block[d];
		item.registers[ntid + d] = run.block[d];
		item.registers[ctaid + d] = group % run.grid[d];
		item.registers[nctaid + d] = run.grid[d];
		local /= run.block[d];
		group /= run.grid[d];
	}
	item.registers[lane] = host_item.local % 32;
	item.go();
}

} // namespace sim
