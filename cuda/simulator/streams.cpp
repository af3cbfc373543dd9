// The driver's functions for streams and events.
#include "graph.h"
#include "knobs.h"
#include "memory.h"

using namespace sim;

API cuStreamCreate(Handle *stream, unsigned flags) {
	return local(__func__, [&](Context &context) {
		require(stream != nullptr && flags <= Stream::nonBlocking);
		const auto s = Stream::start(context.shared_from_this(), flags);
		const std::lock_guard<std::mutex> hold(context.lock);
		context.streams.push_back(s);
		*stream = registry<Stream>().add(s);
	});
}

API cuStreamDestroy_v2(Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto s = registry<Stream>().find(stream);
		forbidIn(context, s.get());
		registry<Stream>().take(stream);
		s->close(); // queued work still runs
	});
}

API cuStreamSynchronize(Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto s = streamOf(context, stream);
		forbidUnsafe();
		forbidIn(context, s.get());
		s->synchronize();
		context.device.settle();
		context.check();
	});
}

API cuStreamQuery(Handle stream) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		const auto s = streamOf(context, stream);
		forbidIn(context, s.get());
		require(s->idle(), ERROR_NOT_READY);
		context.check();
	});
}

API cuStreamGetCtx(Handle stream, Handle *context) {
	return local(__func__, [&](Context &c) {
		require(context != nullptr);
		*context = stream == nullptr ? c.handle : registry<Stream>().find(stream)->context->handle;
	});
}

API cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
	return local(__func__, [&](Context &context) {
		require(flags <= 1);
		const auto s = streamOf(context, stream);
		const auto e = registry<Event>().find(event); // of any context
		if (!planted("skipwait")) {
			waitForEvent(s, *e);
		}
	});
}

API cuEventCreate(Handle *event, unsigned flags) {
	return local(__func__, [&](Context &context) {
		require(event != nullptr && flags <= 3); // events are not shared between processes
		const auto e = std::make_shared<Event>();
		e->context = context.shared_from_this();
		e->flags = flags;
		*event = registry<Event>().add(e);
	});
}

API cuEventDestroy_v2(Handle event) {
	return local(__func__, [&](Context &) { registry<Event>().take(event); });
}

API cuEventRecord(Handle event, Handle stream) {
	return local(__func__, [&](Context &context) {
		const auto e = registry<Event>().find(event);
		require(e->context.get() == &context, ERROR_INVALID_HANDLE);
		recordEvent(streamOf(context, stream), *e);
	});
}

// markOf is the event's last record; null if it has none.
static std::shared_ptr<Mark> markOf(Handle event) {
	const auto e = registry<Event>().find(event);
	const std::lock_guard<std::mutex> hold(e->lock);
	require(e->capture == nullptr, ERROR_CAPTURED_EVENT);
	return e->mark;
}

API cuEventQuery(Handle event) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		const auto mark = markOf(event);
		require(mark == nullptr || mark->isSet(), ERROR_NOT_READY);
		context.check();
	});
}

API cuEventSynchronize(Handle event) {
	return local(__func__, [&](Context &context) {
		forbidUnsafe();
		const auto mark = markOf(event);
		if (mark != nullptr) {
			mark->wait();
		}
		context.device.settle();
		context.check();
	});
}

API cuEventElapsedTime(float *milliseconds, Handle from, Handle to) {
	return local(__func__, [&](Context &) {
		require(milliseconds != nullptr);
		for (const Handle event : {from, to}) {
			const auto e = registry<Event>().find(event);
			require((e->flags & 2) == 0 && markOf(event) != nullptr, ERROR_INVALID_HANDLE); // 2: no timing
		}
		const auto a = markOf(from), b = markOf(to);
		require(a->isSet() && b->isSet(), ERROR_NOT_READY);
		*milliseconds = std::chrono::duration<float, std::milli>(b->time() - a->time()).count();
	});
}
