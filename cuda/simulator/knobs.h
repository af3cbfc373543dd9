// Settings for tests: from RESTRIDE_SIM_* in the environment when the library is first used,
// and later by restrideSimSet.
#pragma once
#include "api.h"
#include <string>

namespace sim {

// number and text are the value of a knob, such as RESTRIDE_SIM_DELAY for "DELAY".
u64 number(const char *knob, u64 otherwise);
std::string text(const char *knob);

// planted says whether RESTRIDE_SIM_PLANT lists a fault.
bool planted(const char *fault);

// roll is the next of a thread's random numbers; seedThread seeds them.
u64 roll();
void seedThread(u64 number);

// delay waits for up to RESTRIDE_SIM_DELAY microseconds.
void delay();

// report writes a line to stderr and keeps it for restrideSimMessage.
void report(const std::string &line);

// count adds to a counter of restrideSimCount.
void count(const char *counter, long by = 1);

} // namespace sim
