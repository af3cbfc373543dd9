// Faults of the work on a stream: they end that work, not the process.
#pragma once
#include "api.h"
#include <functional>
#include <string>

namespace sim {

struct Fault {
	Result code = SUCCESS;
	std::string why;
};

// installTraps puts the signal handlers in front of the present ones, which get all other
// signals. prepareThread prepares this thread for traps.
void installTraps();
void prepareThread();

// attempt runs a function on a prepared thread, and returns the fault that ended it. Objects on
// the stack are not destroyed then.
Fault attempt(const std::function<void()> &);

// giveUp ends the function of attempt, from within.
[[noreturn]] void giveUp(Result code, const char *why);

} // namespace sim
