// The simulator's reader of cubins, compiled kernels: their GPU, and for each kernel what PTX
// would say. A cubin is an ELF file of 64 bits.
#include "module.h"
#include <algorithm>
#include <cstring>

namespace sim {
namespace {

// Image reads the file, whose size is unknown, up to the size in its header.
struct Image {
	const u8 *at;

	u64 number(size_t offset, size_t bytes) const {
		u64 n = 0;
		std::memcpy(&n, at + offset, bytes);
		return n;
	}
};

struct Section {
	std::string name;
	const u8 *at;
	u64 offset, size;
};

std::vector<Section> sections(const Image &i) {
	const u64 table = i.number(40, 8), each = i.number(58, 2), count = i.number(60, 2), names = i.number(62, 2);
	if (each != 64 || names >= count) {
		throw std::string("the cubin has no sections");
	}
	const u64 text = i.number(table + names * each + 24, 8);
	std::vector<Section> all;
	for (u64 s = 0; s < count; s++) {
		const u64 header = table + s * each, offset = i.number(header + 24, 8);
		all.push_back({reinterpret_cast<const char *>(i.at + text + i.number(header, 4)), i.at, offset, i.number(header + 32, 8)});
	}
	return all;
}

// describe reads a kernel's .nv.info: attributes of a format, a number and a value.
void describe(Entry &e, const Image &i, const Section &info) {
	for (u64 at = info.offset; at + 4 <= info.offset + info.size;) {
		const u64 format = i.number(at, 1), attribute = i.number(at + 1, 1), value = i.number(at + 2, 2);
		at += 4;
		if (format != 4) { // not followed by that many bytes
			continue;
		}
		if (attribute == 0x17) { // a parameter: its index, number, offset, and size
			const u64 number = i.number(at + 4, 2);
			e.params.resize(std::max<size_t>(e.params.size(), number + 1));
			e.params[number] = i.number(at + 8, 4) >> 18;
		} else if (attribute == 0x05) { // the most threads
			e.maxThreads = static_cast<u32>(i.number(at, 4) * i.number(at + 4, 4) * i.number(at + 8, 4));
		}
		at += value;
	}
}

} // namespace

bool isElf(const char *image) { return std::memcmp(image, "\x7f" "ELF", 4) == 0; }

Ptx readCubin(const char *image) {
	const Image i{reinterpret_cast<const u8 *>(image)};
	if (std::strlen(image) < 8 || i.number(4, 1) != 2 || i.number(18, 2) != 190) {
		throw std::string("no cubin");
	}
	Ptx p;
	p.version = 60;
	p.capability = static_cast<int>(i.number(8, 1) >= 8 ? i.number(48, 4) >> 8 & 0xff : i.number(48, 4) & 0xff);
	const std::vector<Section> all = sections(i);
	for (const Section &text : all) {
		if (text.name.compare(0, 6, ".text.") != 0) {
			continue;
		}
		Entry e;
		e.name = text.name.substr(6);
		for (const Section &s : all) {
			if (s.name == ".nv.info." + e.name) {
				describe(e, i, s);
			} else if (s.name == ".nv.shared." + e.name) {
				e.shared = s.size;
			}
		}
		p.entries.push_back(e);
	}
	return p;
}

} // namespace sim
