// Arithmetic of interpreted programs. Registers are 64 bits; an instruction uses the low bits
// of its type.
#include "instructions.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace sim {
namespace {

template <class T> T as(u64 bits) {
	T v;
	std::memcpy(&v, &bits, sizeof v);
	return v;
}

template <class T> u64 bitsOf(T v) {
	u64 bits = 0;
	std::memcpy(&bits, &v, sizeof v);
	return bits;
}

// typed calls f with a value of the C++ type.
template <class F> u64 typed(Type t, F f) {
	switch (t.kind) {
	case 'f': return t.bits == 32 ? f(float()) : f(double());
	case 's':
		switch (t.bits) {
		case 8: return f(int8_t());
		case 16: return f(int16_t());
		case 32: return f(int32_t());
		default: return f(int64_t());
		}
	default:
		switch (t.bits) {
		case 8: return f(uint8_t());
		case 16: return f(uint16_t());
		case 32: return f(uint32_t());
		default: return f(uint64_t());
		}
	}
}

template <class T> T floating(Op op, T a, T b, T c) {
	switch (op) {
	case Op::add: return a + b;
	case Op::sub: return a - b;
	case Op::mul: return a * b;
	case Op::mad: return std::fma(a, b, c);
	case Op::div: return a / b;
	case Op::min: return std::fmin(a, b);
	case Op::max: return std::fmax(a, b);
	case Op::neg: return -a;
	case Op::abs: return std::fabs(a);
	case Op::sqrt: return std::sqrt(a);
	case Op::rcp: return 1 / a;
	case Op::rsqrt: return 1 / std::sqrt(a);
	case Op::ex2: return std::exp2(a);
	case Op::lg2: return std::log2(a);
	case Op::sin: return std::sin(a);
	default: return std::cos(a);
	}
}

// integral computes without signed overflow, and divides by 0 as GPUs do.
template <class T> T integral(Op op, T a, T b, T c) {
	using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
	const u64 x = static_cast<u64>(a), y = static_cast<u64>(b), z = static_cast<u64>(c);
	constexpr u32 width = 8 * sizeof(T);
	const Wide product = static_cast<Wide>(a) * static_cast<Wide>(b);
	switch (op) {
	case Op::add: return static_cast<T>(x + y);
	case Op::sub: return static_cast<T>(x - y);
	case Op::mul: return static_cast<T>(x * y);
	case Op::mad: return static_cast<T>(x * y + z);
	case Op::mulHigh: return static_cast<T>(product >> width);
	case Op::madHigh: return static_cast<T>(static_cast<u64>(product >> width) + z);
	case Op::div: return b == 0 ? static_cast<T>(-1) : static_cast<T>(static_cast<Wide>(a) / static_cast<Wide>(b));
	case Op::rem: return b == 0 ? a : static_cast<T>(static_cast<Wide>(a) % static_cast<Wide>(b));
	case Op::min: return std::min(a, b);
	case Op::max: return std::max(a, b);
	case Op::neg: return static_cast<T>(-x);
	case Op::abs: return a < 0 ? static_cast<T>(-x) : a;
	case Op::andBits: return static_cast<T>(x & y);
	case Op::orBits: return static_cast<T>(x | y);
	case Op::xorBits: return static_cast<T>(x ^ y);
	case Op::notBits: return static_cast<T>(~x);
	default: return 0;
	}
}

template <class T> u64 compare(const std::string &how, T a, T b) {
	if constexpr (std::is_floating_point_v<T>) {
		const bool nan = std::isnan(a) || std::isnan(b);
		if (how == "num") { return nan ? 0 : 1; }
		if (how == "nan") { return nan ? 1 : 0; }
		if (nan) { return how.size() == 3 || how == "ne" ? how != "ne" : 0; } // equ and the like are true
	}
	const std::string c = how.substr(0, 2);
	return c == "eq" ? a == b : c == "ne" ? a != b : c == "lt" || c == "lo" ? a < b : c == "le" || c == "ls" ? a <= b
		: c == "gt" || c == "hi" ? a > b : a >= b;
}

template <class To, class From> To convert(const std::string &how, From v) {
	if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
		const From r = how == "rni" ? std::nearbyint(v) : how == "rmi" ? std::floor(v) : how == "rpi" ? std::ceil(v) : std::trunc(v);
		if (std::isnan(r)) { return 0; }
		if (r <= static_cast<From>(std::numeric_limits<To>::min())) { return std::numeric_limits<To>::min(); }
		if (r >= static_cast<From>(std::numeric_limits<To>::max())) { return std::numeric_limits<To>::max(); }
		return static_cast<To>(r);
	} else if constexpr (std::is_floating_point_v<To> && std::is_floating_point_v<From>) {
		const From r = how == "rni" ? std::nearbyint(v) : how == "rmi" ? std::floor(v) : how == "rpi" ? std::ceil(v) : how == "rzi" ? std::trunc(v) : v;
		return static_cast<To>(r);
	} else {
		return static_cast<To>(v);
	}
}

} // namespace

u64 evaluate(const Instruction &i, u64 a, u64 b, u64 c) {
	switch (i.op) {
	case Op::setp:
		if (i.type.kind == 'p') { return i.how == "eq" ? a == b : a != b; }
		return typed(i.type, [&](auto t) { return compare(i.how, as<decltype(t)>(a), as<decltype(t)>(b)); });
	case Op::cvt:
		return typed(i.from, [&](auto from) {
			return typed(i.type, [&](auto to) {
				const u64 v = bitsOf(convert<decltype(to)>(i.how, as<decltype(from)>(a)));
				// A wider register receives a small integer sign-extended.
				return i.type.kind == 's' ? static_cast<u64>(static_cast<int64_t>(v << (64 - i.type.bits)) >> (64 - i.type.bits)) : v;
			});
		});
	case Op::shl: return (b & 0xffffffff) >= i.type.bits ? 0 : (a << (b & 63)) & (~u64(0) >> (64 - i.type.bits));
	case Op::shr:
		return typed(i.type, [&](auto t) -> u64 {
			using T = decltype(t);
			if constexpr (std::is_integral_v<T>) {
				const u32 by = static_cast<u32>(std::min<u64>(b & 0xffffffff, 8 * sizeof(T)));
				const T v = as<T>(a);
				return bitsOf(by < 8 * sizeof(T) ? static_cast<T>(v >> by) : static_cast<T>(v < 0 ? -1 : 0));
			}
			return 0;
		});
	case Op::popc: return static_cast<u64>(__builtin_popcountll(i.type.bits == 32 ? a & 0xffffffff : a));
	case Op::clz: {
		const u64 v = i.type.bits == 32 ? a & 0xffffffff : a;
		return v == 0 ? i.type.bits : static_cast<u64>(__builtin_clzll(v)) - (64 - i.type.bits);
	}
	case Op::mulWide: case Op::madWide:
		return typed(i.type, [&](auto t) -> u64 {
			using T = decltype(t);
			if constexpr (std::is_integral_v<T>) {
				const u64 wide = static_cast<u64>(static_cast<int64_t>(as<T>(a))) * static_cast<u64>(static_cast<int64_t>(as<T>(b)));
				return i.op == Op::madWide ? wide + c : wide;
			}
			return 0;
		});
	default:
		if (i.type.kind == 'p') {
			return integral<u64>(i.op, a, b, c) & 1;
		}
		return typed(i.type, [&](auto t) -> u64 {
			using T = decltype(t);
			if constexpr (std::is_floating_point_v<T>) {
				return bitsOf(floating(i.op, as<T>(a), as<T>(b), as<T>(c)));
			} else {
				return bitsOf(integral(i.op, as<T>(a), as<T>(b), as<T>(c)));
			}
		});
	}
}

} // namespace sim
