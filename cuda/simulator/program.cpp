// The parser of programs: see program.h. It refuses anything unknown.
#include "program.h"
#include "instructions.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sim {
namespace {

constexpr u32 mostRegisters = 3000; // they lie on a fiber's stack
constexpr size_t mostLocal = 16 << 10;

const std::map<std::string, Op> operations = {
	{"add", Op::add}, {"sub", Op::sub}, {"mul", Op::mul}, {"mul24", Op::mul}, {"mad", Op::mad}, {"mad24", Op::mad}, {"fma", Op::mad},
	{"div", Op::div}, {"rem", Op::rem}, {"min", Op::min}, {"max", Op::max}, {"neg", Op::neg}, {"abs", Op::abs}, {"sqrt", Op::sqrt},
	{"rcp", Op::rcp}, {"rsqrt", Op::rsqrt}, {"ex2", Op::ex2}, {"lg2", Op::lg2}, {"sin", Op::sin}, {"cos", Op::cos},
	{"and", Op::andBits}, {"or", Op::orBits}, {"xor", Op::xorBits}, {"not", Op::notBits}, {"shl", Op::shl}, {"shr", Op::shr},
	{"popc", Op::popc}, {"clz", Op::clz}, {"mov", Op::mov}, {"setp", Op::setp}, {"selp", Op::selp}, {"cvt", Op::cvt}, {"cvta", Op::mov},
	{"ld", Op::load}, {"ldu", Op::load}, {"st", Op::store}, {"atom", Op::atomic}, {"red", Op::atomic}, {"bra", Op::branch},
	{"bar", Op::barrier}, {"barrier", Op::barrier}, {"ret", Op::end}, {"exit", Op::end},
};

const std::map<std::string, u32> specialRegisters = {
	{"%tid.x", tid}, {"%tid.y", tid + 1}, {"%tid.z", tid + 2}, {"%ntid.x", ntid}, {"%ntid.y", ntid + 1}, {"%ntid.z", ntid + 2},
	{"%ctaid.x", ctaid}, {"%ctaid.y", ctaid + 1}, {"%ctaid.z", ctaid + 2},
	{"%nctaid.x", nctaid}, {"%nctaid.y", nctaid + 1}, {"%nctaid.z", nctaid + 2}, {"%laneid", lane},
};

// typeNamed is the type for a word such as "f32"; kind 0: none.
Type typeNamed(const std::string &word) {
	if (word == "pred") {
		return {'p', 1};
	}
	if (word.size() < 2 || std::strchr("usfb", word[0]) == nullptr || word.find_first_not_of("0123456789", 1) != std::string::npos) {
		return {};
	}
	return {word[0], static_cast<u32>(std::atoi(word.c_str() + 1))};
}

std::vector<std::string> split(const std::string &word) {
	std::vector<std::string> parts(1);
	for (const char c : word) {
		if (c == '.') {
			parts.emplace_back();
		} else {
			parts.back() += c;
		}
	}
	return parts;
}

struct Reader {
	const std::vector<std::string> &words;
	size_t at, end;
	Program &program;
	std::map<std::string, u32> registers;
	std::map<std::string, u64> symbols; // variables, by their offset in their space
	std::map<std::string, size_t> labels;
	std::vector<std::pair<size_t, std::string>> branches;

	const std::string &peek() const {
		static const std::string none;
		return at < end ? words[at] : none;
	}
	const std::string &next() {
		if (at >= end) {
			throw std::string("a statement has no end");
		}
		return words[at++];
	}
	void expect(const char *word) {
		if (const std::string &got = next(); got != word) {
			throw "\"" + got + "\", not \"" + word + "\"";
		}
	}
	void skip() {
		while (next() != ";") {
		}
	}

	u32 number(const std::string &name) {
		if (const auto special = specialRegisters.find(name); special != specialRegisters.end()) {
			return special->second;
		}
		const auto [at, fresh] = registers.emplace(name, program.registers);
		if (fresh && ++program.registers > mostRegisters) {
			throw std::string("too many registers");
		}
		return at->second;
	}

	Operand operand() {
		std::string word = next();
		Operand o;
		if (word[0] == '%') {
			if (word.find('.') != std::string::npos && specialRegisters.count(word) == 0) {
				throw word + " is not known";
			}
			o.isRegister = true;
			o.number = number(word);
			return o;
		}
		if (const auto symbol = symbols.find(word); symbol != symbols.end()) {
			o.value = symbol->second;
			return o;
		}
		const bool negative = word == "-";
		if (negative) {
			word = next();
		}
		char *rest = nullptr;
		const bool coded = word.size() > 2 && word[0] == '0' && std::strchr("fFdD", word[1]) != nullptr;
		o.value = coded ? std::strtoull(word.c_str() + 2, &rest, 16) : std::strtoull(word.c_str(), &rest, 0);
		if (rest == word.c_str() || (*rest != 0 && std::strcmp(rest, "U") != 0)) {
			throw "\"" + word + "\" is not known";
		}
		if (negative) {
			o.value = -o.value;
		}
		return o;
	}

	// operands reads one operand, or several in braces.
	std::vector<Operand> operands() {
		if (peek() != "{") {
			return {operand()};
		}
		next();
		std::vector<Operand> all = {operand()};
		while (peek() == ",") {
			next();
			all.push_back(operand());
		}
		expect("}");
		return all;
	}

	void address(Instruction &i) {
		expect("[");
		i.base = operand();
		while (peek() == "+" || peek() == "-") {
			const bool minus = next() == "-";
			const u64 by = operand().value;
			i.offset += minus ? -by : by;
		}
		expect("]");
	}

	// modifiers reads the suffixes of an operation's name.
	void modifiers(Instruction &i, const std::vector<std::string> &parts) {
		std::vector<Type> types;
		bool to = false;
		for (size_t k = 1; k < parts.size(); k++) {
			const std::string &word = parts[k];
			if (const Type t = typeNamed(word); t.kind != 0) {
				types.push_back(t);
			} else if (word == "hi") {
				i.op = i.op == Op::mul ? Op::mulHigh : Op::madHigh;
			} else if (word == "wide") {
				i.op = i.op == Op::mul ? Op::mulWide : Op::madWide;
			} else if (word == "param") {
				i.space = Space::param;
			} else if (word == "shared") {
				i.space = Space::shared;
			} else if (word == "local") {
				i.space = Space::local;
			} else if (word == "to") {
				to = true;
			} else if (word == "sat" || word == "cc" || word == "const") {
				throw "modifier ." + word + " is not known";
			} else if (i.op == Op::setp || i.op == Op::cvt || i.op == Op::atomic) {
				if (word != "ftz" && word != "rn" && word != "relaxed" && word != "gpu" && word != "global" && word != "lo") {
					i.how = word;
				}
			}
		}
		if (!types.empty()) {
			i.type = types.front();
			i.from = types.back();
		}
		if (parts[0] == "cvta" && i.space != Space::generic) {
			i.op = to ? Op::sub2shared : Op::add2shared;
		}
		const bool sixteen = i.type.kind == 'f' && i.type.bits == 16;
		if ((sixteen && i.op != Op::load && i.op != Op::store && i.op != Op::mov) || i.type.bits > 64) {
			throw std::string("halves, and numbers of 128 bits, are not computed with");
		}
	}

	void instruction(Instruction i, const std::string &word) {
		const std::vector<std::string> parts = split(word);
		const auto op = operations.find(parts[0]);
		if (op == operations.end()) {
			throw "instruction " + word + " is not known";
		}
		i.op = op->second;
		modifiers(i, parts);
		switch (i.op) {
		case Op::branch:
			branches.emplace_back(program.code.size(), next());
			break;
		case Op::barrier:
			if (parts.size() > 1 && parts[1] != "sync" && parts[1] != "cta") {
				throw word + " is not known";
			}
			[[fallthrough]];
		case Op::end:
			while (peek() != ";") {
				next();
			}
			break;
		case Op::store:
			address(i);
			expect(",");
			i.of = operands();
			break;
		case Op::atomic:
			if (parts[0] == "atom") {
				i.to = operands();
				expect(",");
			}
			address(i);
			while (peek() == ",") {
				next();
				i.of.push_back(operand());
			}
			break;
		case Op::load:
			i.to = operands();
			expect(",");
			address(i);
			break;
		default:
			i.to = operands();
			while (peek() == ",") {
				next();
				const auto more = operands();
				i.of.insert(i.of.end(), more.begin(), more.end());
			}
		}
		expect(";");
		check(i, word);
		program.code.push_back(std::move(i));
	}

	static void check(const Instruction &i, const std::string &word) {
		const bool computes = i.op < Op::load || i.op == Op::add2shared || i.op == Op::sub2shared;
		bool bad = computes && (i.to.empty() || i.of.empty());
		bad = bad || (i.op == Op::selp && i.of.size() < 3) || (i.op == Op::atomic && i.of.empty());
		for (const Operand &to : i.to) {
			bad = bad || !to.isRegister;
		}
		const bool typeless = i.op == Op::branch || i.op == Op::barrier || i.op == Op::end;
		bad = bad || (!typeless && (i.type.kind == 0 || (i.type.bits < 8 && i.type.kind != 'p')));
		if (bad) {
			throw word + " has other operands than are known";
		}
	}

	// variable reads ".align 4 .b8 name[256];", and gives it a place in its space.
	void variable(size_t &space) {
		size_t align = 1, size = 0;
		while (peek()[0] == '.') {
			const std::string word = next();
			if (word == ".align") {
				align = std::strtoull(next().c_str(), nullptr, 0);
			} else if (const Type t = typeNamed(word.substr(1)); t.kind != 0) {
				size = t.bits / 8;
				align = std::max(align, size);
			}
		}
		const std::string name = next();
		while (peek() == "[") {
			next();
			size *= peek() == "]" ? 0 : std::strtoull(next().c_str(), nullptr, 0);
			expect("]");
		}
		expect(";");
		space = (space + align - 1) / align * align;
		symbols[name] = space;
		space += size;
	}

	void statements() {
		while (at < end) {
			const std::string word = next();
			if (word == "{" || word == "}" || word == ";") {
				continue;
			}
			if (word == ".reg" || word == ".pragma") {
				skip();
			} else if (word == ".shared") {
				variable(program.shared);
			} else if (word == ".local") {
				variable(program.local);
			} else if (word[0] == '.') {
				throw "directive " + word + " is not known";
			} else if (peek() == ":") {
				next();
				labels[word] = program.code.size();
			} else if (word == "@") {
				Instruction i;
				i.guarded = true;
				if ((i.unless = peek() == "!")) {
					next();
				}
				i.guard = number(next());
				instruction(i, next());
			} else {
				instruction({}, word);
			}
		}
		for (const auto &[from, label] : branches) {
			const auto to = labels.find(label);
			if (to == labels.end()) {
				throw "there is no label " + label;
			}
			program.code[from].target = to->second;
		}
	}
};

} // namespace

std::shared_ptr<const Program> readProgram(const Ptx &ptx, const Entry &entry) {
	auto p = std::make_shared<Program>();
	Reader r{ptx.words, entry.begin, entry.end, *p, {}, {}, {}, {}};
	for (size_t i = 0; i < entry.params.size(); i++) {
		r.symbols[entry.names[i]] = entry.offsets[i];
	}
	for (const auto &[name, size] : ptx.shared) { // the size comes from the launch if it is 0
		p->shared = (p->shared + 15) / 16 * 16;
		r.symbols[name] = size > 0 ? p->shared : mostShared;
		p->shared += size;
	}
	r.statements();
	if (p->shared > mostShared) {
		throw std::string("too much shared memory");
	}
	if (p->local > mostLocal) {
		throw std::string("too much local memory");
	}
	return p;
}

} // namespace sim
