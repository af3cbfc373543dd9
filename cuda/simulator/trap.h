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

// installTraps puts the signal handlers above those that are there, which get
// every signal that is not ours. prepareThread lets this thread be caught.
void installTraps();
void prepareThread();

// attempt runs a function on a prepared thread, and returns the fault that ended
// it. What lay on the stack is not destroyed then.
Fault attempt(const std::function<void()> &);

// giveUp ends what attempt runs, from within.
[[noreturn]] void giveUp(Result code, const char *why);

} // namespace sim
