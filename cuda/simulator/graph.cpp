#include "graph.h"
#include "knobs.h"
#include <algorithm>

namespace sim {
namespace {

std::mutex lock; // of all captures, and of their state in streams and events
std::vector<std::shared_ptr<Capture>> &captures() {
	static auto *const all = new std::vector<std::shared_ptr<Capture>>;
	return *all;
}

thread_local Mode threadMode = Mode::global;

[[noreturn]] void breakWith(Capture &c, Result code) {
	c.broken = true;
	throw Error{code};
}

void leave(Capture &c) {
	c.over = true;
	for (const auto &s : c.streams) {
		s->capture.reset();
		s->frontier.clear();
	}
	c.streams.clear();
	const auto same = [&c](const std::shared_ptr<Capture> &other) { return other.get() == &c; };
	captures().erase(std::remove_if(captures().begin(), captures().end(), same), captures().end());
}

// joined says whether each node precedes some node of a frontier.
bool joined(const std::vector<Node> &nodes, std::set<size_t> seen) {
	for (size_t i = nodes.size(); i-- > 0;) { // a node's dependencies precede it in the list
		if (seen.count(i) == 0) {
			return false;
		}
		seen.insert(nodes[i].after.begin(), nodes[i].after.end());
	}
	return true;
}

// someOrder is a random order of the nodes that keeps their dependencies.
std::vector<size_t> someOrder(const std::vector<Node> &nodes) {
	std::vector<size_t> order;
	std::set<size_t> done;
	while (order.size() < nodes.size()) {
		std::vector<size_t> ready;
		for (size_t i = 0; i < nodes.size(); i++) {
			if (done.count(i) == 0 && std::includes(done.begin(), done.end(), nodes[i].after.begin(), nodes[i].after.end())) {
				ready.push_back(i);
			}
		}
		order.push_back(ready[roll() % ready.size()]);
		done.insert(order.back());
	}
	return order;
}

// forbidImplicit throws if a stream is the default one, and would wait for a capturing stream.
void forbidImplicit(const Stream &s, bool breaks) {
	if (&s != s.context->defaultStream().get()) {
		return;
	}
	for (const auto &c : captures()) {
		for (const auto &other : c->streams) {
			if (other->context == s.context && (other->flags & Stream::nonBlocking) == 0) {
				c->broken |= breaks;
				throw Error{ERROR_STREAM_CAPTURE_IMPLICIT};
			}
		}
	}
}

} // namespace

void submit(const std::shared_ptr<Stream> &s, Work work) {
	std::unique_lock<std::mutex> hold(lock);
	if (s->capture != nullptr) {
		require(!s->capture->broken, ERROR_STREAM_CAPTURE_INVALIDATED);
		std::vector<Node> &nodes = s->capture->graph->nodes;
		nodes.push_back({std::move(work), s->frontier});
		s->frontier = {nodes.size() - 1};
		return;
	}
	forbidImplicit(*s, true);
	hold.unlock();
	s->enqueue(std::move(work));
}

bool capturing(const Stream &s) {
	const std::lock_guard<std::mutex> hold(lock);
	return s.capture != nullptr;
}

void recordEvent(const std::shared_ptr<Stream> &s, Event &e) {
	std::unique_lock<std::mutex> hold(lock);
	std::unique_lock<std::mutex> holdEvent(e.lock);
	e.capture = s->capture;
	e.frontier = s->frontier;
	if (e.capture != nullptr) {
		return;
	}
	const auto mark = std::make_shared<Mark>();
	e.mark = mark;
	holdEvent.unlock();
	hold.unlock();
	submit(s, {"cuEventRecord", [mark] { mark->set(); }, true});
}

void waitForEvent(const std::shared_ptr<Stream> &s, Event &e) {
	std::unique_lock<std::mutex> hold(lock);
	std::unique_lock<std::mutex> holdEvent(e.lock);
	if (e.capture != nullptr) {
		require(!e.capture->over, ERROR_CAPTURED_EVENT);
		if (s == s->context->defaultStream()) {
			breakWith(*e.capture, ERROR_STREAM_CAPTURE_IMPLICIT);
		}
		if (s->capture != nullptr && s->capture != e.capture) {
			s->capture->broken = true;
			breakWith(*e.capture, ERROR_STREAM_CAPTURE_MERGE);
		}
		if (s->capture == nullptr) {
			s->capture = e.capture;
			s->capture->streams.push_back(s);
		}
		s->frontier.insert(e.frontier.begin(), e.frontier.end());
		return;
	}
	const std::shared_ptr<Mark> mark = e.mark;
	if (mark == nullptr) {
		return;
	}
	if (s->capture != nullptr) {
		breakWith(*s->capture, ERROR_STREAM_CAPTURE_ISOLATION);
	}
	holdEvent.unlock();
	hold.unlock();
	submit(s, {"cuStreamWaitEvent", [mark] { mark->wait(); }, true});
}

void forbidIn(Context &context, const Stream *stream) {
	const std::lock_guard<std::mutex> hold(lock);
	for (const auto &c : captures()) {
		for (const auto &s : c->streams) {
			if (s.get() == stream || (stream == nullptr && s->context.get() == &context)) {
				breakWith(*c, ERROR_STREAM_CAPTURE_UNSUPPORTED);
			}
		}
	}
}

void forbidUnsafe() {
	if (threadMode == Mode::relaxed) {
		return;
	}
	const std::lock_guard<std::mutex> hold(lock);
	for (const auto &c : captures()) {
		const bool own = c->thread == std::this_thread::get_id();
		if (own ? c->mode != Mode::relaxed : c->mode == Mode::global && threadMode == Mode::global) {
			breakWith(*c, ERROR_STREAM_CAPTURE_UNSUPPORTED);
		}
	}
}

} // namespace sim

using namespace sim;

API cuStreamBeginCapture_v2(Handle stream, int mode) {
	return local(__func__, [&](Context &context) {
		require(mode >= 0 && mode <= 2);
		const auto s = streamOf(context, stream);
		require(s != context.defaultStream(), ERROR_STREAM_CAPTURE_UNSUPPORTED);
		const std::lock_guard<std::mutex> hold(lock);
		require(s->capture == nullptr, ERROR_ILLEGAL_STATE);
		const auto c = std::make_shared<Capture>();
		c->graph = std::make_shared<Graph>();
		c->graph->context = s->context;
		c->origin = s.get();
		c->mode = Mode(mode);
		c->thread = std::this_thread::get_id();
		c->streams.push_back(s);
		s->capture = c;
		captures().push_back(c);
	});
}

API cuStreamEndCapture(Handle stream, Handle *graph) {
	return local(__func__, [&](Context &context) {
		require(graph != nullptr);
		*graph = nullptr;
		const auto s = streamOf(context, stream);
		const std::lock_guard<std::mutex> hold(lock);
		const std::shared_ptr<Capture> c = s->capture;
		require(c != nullptr, ERROR_ILLEGAL_STATE);
		if (c->origin != s.get()) {
			breakWith(*c, ERROR_STREAM_CAPTURE_UNMATCHED);
		}
		require(c->mode == Mode::relaxed || c->thread == std::this_thread::get_id(), ERROR_STREAM_CAPTURE_WRONG_THREAD);
		const bool whole = joined(c->graph->nodes, s->frontier);
		leave(*c);
		require(!c->broken, ERROR_STREAM_CAPTURE_INVALIDATED);
		require(whole, ERROR_STREAM_CAPTURE_UNJOINED);
		*graph = registry<Graph>().add(c->graph);
	});
}

API cuThreadExchangeStreamCaptureMode(int *mode) {
	return global(__func__, [&] {
		require(mode != nullptr && *mode >= 0 && *mode <= 2);
		const Mode before = threadMode;
		threadMode = Mode(*mode);
		*mode = int(before);
	});
}

API cuStreamIsCapturing(Handle stream, int *status) {
	return local(__func__, [&](Context &context) {
		require(status != nullptr);
		const auto s = streamOf(context, stream);
		const std::lock_guard<std::mutex> hold(lock);
		forbidImplicit(*s, false);
		*status = s->capture == nullptr ? 0 : s->capture->broken ? 2 : 1;
	});
}

API cuGraphInstantiateWithFlags(Handle *executable, Handle graph, u64) {
	return local(__func__, [&](Context &) {
		require(executable != nullptr);
		const auto g = registry<Graph>().find(graph, ERROR_INVALID_VALUE);
		const auto e = std::make_shared<Executable>();
		e->context = g->context;
		e->nodes = g->nodes;
		*executable = registry<Executable>().add(e);
	});
}

API cuGraphLaunch(Handle executable, Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto e = registry<Executable>().find(executable, ERROR_INVALID_VALUE);
		require(e->context.get() == &context, ERROR_INVALID_VALUE);
		const auto s = streamOf(context, stream);
		require(!capturing(*s), ERROR_STREAM_CAPTURE_UNSUPPORTED); // a graph in a graph
		const std::lock_guard<std::mutex> hold(e->lock);
		if (e->last != nullptr) {
			submit(s, {"cuGraphLaunch", [mark = e->last] { mark->wait(); }, true});
		}
		for (const size_t i : someOrder(e->nodes)) {
			submit(s, e->nodes[i].work);
		}
		e->last = std::make_shared<Mark>();
		submit(s, {"cuGraphLaunch", [mark = e->last] { mark->set(); }, true});
	});
}

API cuGraphExecDestroy(Handle executable) {
	return local(__func__, [&](Context &) { registry<Executable>().take(executable, ERROR_INVALID_VALUE); });
}

API cuGraphDestroy(Handle graph) {
	return local(__func__, [&](Context &) { registry<Graph>().take(graph, ERROR_INVALID_VALUE); });
}
