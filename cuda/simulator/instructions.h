// The parts of programs: see program.h.
#pragma once
#include "api.h"
#include <string>
#include <vector>

namespace sim {

struct Type {
	char kind = 0; // u, s, f, b; p: a predicate; 0: none
	u32 bits = 0;
};

enum class Op {
	add, sub, mul, mulHigh, mulWide, mad, madHigh, madWide, div, rem, min, max, neg, abs, sqrt, rcp, rsqrt, ex2, lg2, sin, cos,
	andBits, orBits, xorBits, notBits, shl, shr, popc, clz, mov, setp, selp, cvt, load, store, atomic, add2shared, sub2shared, branch, barrier, end,
};

enum class Space { generic, param, shared, local };

// Operand is a register or a value.
struct Operand {
	bool isRegister = false;
	u32 number = 0;
	u64 value = 0;
};

struct Instruction {
	Op op{};
	Type type, from; // from: of cvt's source
	Space space = Space::generic;
	std::string how; // a comparison, a rounding, or an atomic operation
	bool guarded = false, unless = false;
	u32 guard = 0;
	std::vector<Operand> to, of; // for memory: the elements are in one of them
	Operand base;                // of an address
	u64 offset = 0;
	size_t target = 0;
};

// mostShared is the most static shared memory of a kernel. A launch's dynamic memory follows
// it.
constexpr size_t mostShared = 48 << 10;

// The special registers come before all others.
enum Special : u32 { tid, ntid = 3, ctaid = 6, nctaid = 9, lane = 12, specials };

struct Program {
	std::vector<Instruction> code;
	u32 registers = specials;
	size_t shared = 0, local = 0; // bytes
};

// evaluate is an instruction of arithmetic.
u64 evaluate(const Instruction &, u64 a, u64 b, u64 c);

} // namespace sim
