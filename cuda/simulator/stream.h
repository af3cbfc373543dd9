// Streams: a thread and a queue of work each. Events: marks in the queues.
#pragma once
#include "context.h"
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>

namespace sim {

struct Capture; // see graph.h

// Work is done on a stream's thread, or kept as a node of a graph.
struct Work {
	std::string name;
	std::function<void()> run;
	bool control = false; // done even after the context has failed: others wait for it
};

// Mark is a moment in a stream's work.
class Mark {
public:
	using Time = std::chrono::steady_clock::time_point;
	void set();
	void wait();
	bool isSet();
	Time time();

private:
	std::mutex lock;
	std::condition_variable changed;
	bool is = false;
	Time at;
};

class Stream : public std::enable_shared_from_this<Stream> {
public:
	static constexpr unsigned nonBlocking = 1;
	static std::shared_ptr<Stream> start(std::shared_ptr<Context>, unsigned flags);

	const std::shared_ptr<Context> context;
	const unsigned flags;

	// State of captures, under their lock:
	std::shared_ptr<Capture> capture;
	std::set<size_t> frontier; // the nodes that the next node depends on

	// enqueue adds work after the work that legacy rules make it wait for.
	void enqueue(Work);
	void synchronize(); // also with work of the default stream
	bool idle();
	void close(); // ends the thread once the queue is empty
	bool ended();
	void join(); // waits for that

private:
	Stream(std::shared_ptr<Context> c, unsigned f) : context(std::move(c)), flags(f) {}
	void loop(u64 seed);
	void push(Work);
	u64 pushedSoFar();
	void waitUntilDone(u64 ticket);

	std::mutex lock; // of all below
	std::condition_variable changed;
	std::deque<Work> queue;
	u64 pushed = 0, done = 0;
	bool closing = false, end = false;
};

// Event is recorded as a mark, or as a place in a capture.
struct Event {
	std::shared_ptr<Context> context;
	unsigned flags = 0;
	std::mutex lock;
	std::shared_ptr<Mark> mark; // none: never recorded, so complete
	std::shared_ptr<Capture> capture;
	std::set<size_t> frontier;
};

// streamOf finds the stream for work in a context: one of its streams, or its default one.
std::shared_ptr<Stream> streamOf(Context &, Handle);

} // namespace sim
