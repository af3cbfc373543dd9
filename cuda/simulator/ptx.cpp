// The simulator's reader of PTX: for each kernel its parameters, its bound on the threads in a
// block, and its shared memory.
#include "knobs.h"
#include "module.h"
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace sim {
namespace {

// words splits PTX into words and single marks, without comments.
std::vector<std::string> words(const char *p) {
	std::vector<std::string> all;
	const auto inWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("._$%", c) != nullptr; };
	while (*p != 0) {
		if (std::strncmp(p, "//", 2) == 0) {
			p += std::strcspn(p, "\n");
		} else if (std::strncmp(p, "/*", 2) == 0) {
			const char *end = std::strstr(p + 2, "*/");
			p = end == nullptr ? p + std::strlen(p) : end + 2;
		} else if (std::isspace(static_cast<unsigned char>(*p)) != 0) {
			p++;
		} else {
			const char *from = p++;
			while (inWord(*from) && *p != 0 && inWord(*p)) {
				p++;
			}
			all.emplace_back(from, p);
		}
	}
	return all;
}

// width is the number of bytes of a type, such as ".u64"; 0 for others.
size_t width(const std::string &type) {
	if (type == ".pred") {
		return 1;
	}
	const bool known = type.size() > 2 && type[0] == '.' && std::strchr("usbf", type[1]) != nullptr;
	const int bits = known ? std::atoi(type.c_str() + 2) : 0;
	return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? static_cast<size_t>(bits) / 8 : 0;
}

struct Reader {
	std::vector<std::string> all;
	size_t at = 0;

	bool more() const { return at < all.size(); }
	const std::string &peek() const {
		static const std::string none;
		return more() ? all[at] : none;
	}
	std::string next() {
		if (!more()) {
			throw std::string("the text ends too early");
		}
		return all[at++];
	}
	void expect(const char *word) {
		const std::string got = next();
		if (got != word) {
			throw "syntax error: \"" + got + "\", not \"" + word + "\"";
		}
	}
	size_t integer() {
		const std::string s = next();
		char *end;
		const size_t n = std::strtoull(s.c_str(), &end, 0);
		if (*end != 0) {
			throw "\"" + s + "\" is not a number";
		}
		return n;
	}

	struct Variable {
		std::string name;
		size_t size = 0, align = 1;
	};

	// variable reads the text after .param or .shared: ".align 4 .b8 name[256]".
	Variable variable() {
		size_t size = 0, align = 0;
		while (peek().compare(0, 1, ".") == 0) {
			const std::string word = next();
			if (word == ".align") {
				const size_t n = integer();
				align = size == 0 ? n : align; // after the type: the alignment of the target
			} else if (size == 0) {
				size = width(word);
			}
		}
		align = align == 0 ? size : align;
		const std::string name = next();
		if (size == 0) {
			throw "no type for " + name;
		}
		while (peek() == "[") {
			next();
			size *= peek() == "]" ? 0 : integer(); // the size of [] comes from the launch
			expect("]");
		}
		return {name, size, align};
	}
};

// body skips a kernel's braces, and adds up its shared memory.
void body(Reader &r, Entry &e, const std::map<std::string, size_t> &shared) {
	std::set<std::string> used;
	int depth = 0;
	e.begin = r.at;
	do {
		const std::string word = r.next();
		depth += word == "{" ? 1 : word == "}" ? -1 : 0;
		if (word == ".shared" && r.peek().compare(0, 1, ".") == 0) { // a declaration, within
			e.shared += r.variable().size;
		}
		const auto at = shared.find(word);
		if (at != shared.end() && used.insert(word).second) {
			e.shared += at->second;
		}
	} while (depth > 0);
	e.end = r.at;
}

Entry entry(Reader &r, const std::map<std::string, size_t> &shared) {
	Entry e;
	size_t offset = 0;
	e.name = r.next();
	if (r.peek() == "(") {
		r.next();
		while (r.peek() != ")") {
			r.expect(".param");
			const Reader::Variable v = r.variable();
			offset = (offset + v.align - 1) / v.align * v.align;
			e.params.push_back(v.size);
			e.names.push_back(v.name);
			e.offsets.push_back(offset);
			offset += v.size;
			if (r.peek() != ")") {
				r.expect(",");
			}
		}
		r.next();
	}
	while (r.peek() != "{") {
		const std::string directive = r.next();
		if (directive == ".maxntid" || directive == ".reqntid") {
			e.maxThreads = static_cast<u32>(r.integer());
			while (r.peek() == ",") {
				r.next();
				e.maxThreads *= static_cast<u32>(r.integer());
			}
		} else if (directive == ";" || directive == "}") {
			throw "no body for " + e.name;
		}
	}
	body(r, e, shared);
	if (planted("params") && !e.params.empty()) {
		e.params[0] += 4;
	}
	return e;
}

} // namespace

Ptx readPtx(const char *text) {
	Ptx ptx;
	Reader r{words(text)};
	if (r.peek() != ".version") {
		throw std::string("no .version at the beginning");
	}
	while (r.more()) {
		const std::string word = r.next();
		if (word == ".version") { // "6.0" is one word
			const std::string v = r.next();
			const size_t dot = v.find('.');
			ptx.version = std::atoi(v.c_str()) * 10 + (dot == std::string::npos ? 0 : std::atoi(v.c_str() + dot + 1));
		} else if (word == ".target") {
			const std::string target = r.next();
			ptx.capability = target.compare(0, 3, "sm_") == 0 ? std::atoi(target.c_str() + 3) : 0;
		} else if (word == ".shared") {
			const Reader::Variable v = r.variable();
			ptx.shared.emplace(v.name, v.size);
		} else if (word == ".entry") {
			ptx.entries.push_back(entry(r, ptx.shared));
		}
	}
	if (ptx.version == 0 || ptx.capability == 0) {
		throw std::string("no .version, or no .target");
	}
	ptx.words = std::move(r.all);
	return ptx;
}

} // namespace sim
