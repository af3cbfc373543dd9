// Memory of devices, and pinned host memory. Each allocation is a mapping of its
// own between two unreadable guards, and ends at the second one (up to the next multiple of 16
// bytes). The rest of its pages is filled with canaries. A freed allocation stays unreadable
// for a while.
#pragma once
#include "context.h"
#include <optional>

namespace sim {

enum class Kind { device, host, registered };

struct Allocation {
	Kind kind;
	std::shared_ptr<Context> context; // in which it was made
	u8 *base;
	size_t size;
	u8 *map; // guards included
	size_t mapped;
	bool opened;
	std::shared_ptr<Pool> pool; // its pool, or none
	bool freeing; // by a call that its stream has not reached
};

namespace memory {

// reserve finds the addresses, which are readable only after open. It throws
// ERROR_OUT_OF_MEMORY.
u8 *reserve(Kind, Context &, size_t size, std::shared_ptr<Pool> = nullptr);
void open(u8 *base);

// claim marks an allocation as freeing, or throws ERROR_INVALID_VALUE if there is none at this
// address. release then unmaps it; it returns a description of damaged canaries, or nothing.
Allocation claim(u8 *base, Kind);
std::string release(u8 *base);
void releaseAll(const Context *);

// find returns the allocation that holds n bytes from an address, if any does.
std::optional<Allocation> find(const void *at, size_t n);

// canaries describes damaged canaries of the allocation at an address, or of all in a device.
std::string canaries(const void *at);
std::string canaries(const Device &);

void pin(Context &, u8 *base, size_t size); // cuMemHostRegister
void unpin(u8 *base);

// explain describes the neighbourhood of an address.
std::string explain(const void *at);

} // namespace memory
} // namespace sim
