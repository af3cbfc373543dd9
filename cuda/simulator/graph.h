// Capture of a stream's work into graphs, and their replay. A graph stores the dependencies of
// each piece of work, and replays in any order which they allow, so that a missing dependency
// is detected.
#pragma once
#include "stream.h"
#include <thread>

namespace sim {

struct Node {
	Work work;
	std::set<size_t> after;
};

struct Graph {
	std::shared_ptr<Context> context;
	std::vector<Node> nodes;
};

struct Executable {
	std::shared_ptr<Context> context;
	std::vector<Node> nodes;
	std::mutex lock;
	std::shared_ptr<Mark> last; // launches of one executable do not overlap
};

enum class Mode { global, threadLocal, relaxed };

struct Capture {
	std::shared_ptr<Graph> graph;
	Stream *origin;
	Mode mode;
	std::thread::id thread;
	std::vector<std::shared_ptr<Stream>> streams; // that joined
	bool broken = false, over = false;
};

// submit adds work to a stream: to its queue, or to its capture.
void submit(const std::shared_ptr<Stream> &, Work);
bool capturing(const Stream &);

void recordEvent(const std::shared_ptr<Stream> &, Event &);
void waitForEvent(const std::shared_ptr<Stream> &, Event &);

// forbidIn throws (and breaks the capture) if the stream captures, or any stream of the context
// if stream is null: waits are not allowed. forbidUnsafe throws if the mode of a current
// capture forbids this thread calls that may wait or allocate, and breaks the capture.
void forbidIn(Context &, const Stream *);
void forbidUnsafe();

} // namespace sim
