#include "stream.h"
#include "knobs.h"
#include "trap.h"
#include <csignal>
#include <thread>

namespace sim {

void Mark::set() {
	const std::lock_guard<std::mutex> hold(lock);
	is = true;
	at = std::chrono::steady_clock::now();
	changed.notify_all();
}

void Mark::wait() {
	std::unique_lock<std::mutex> hold(lock);
	changed.wait(hold, [this] { return is; });
}

bool Mark::isSet() {
	const std::lock_guard<std::mutex> hold(lock);
	return is;
}

Mark::Time Mark::time() {
	const std::lock_guard<std::mutex> hold(lock);
	return at;
}

std::shared_ptr<Stream> Stream::start(std::shared_ptr<Context> context, unsigned flags) {
	static std::atomic<u64> streams{0};
	const u64 seed = ++streams;
	const std::shared_ptr<Stream> s(new Stream(std::move(context), flags));
	// A Go program's signals are for Go's threads: this thread handles faults only.
	sigset_t faults, before;
	sigfillset(&faults);
	for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
		sigdelset(&faults, signal);
	}
	pthread_sigmask(SIG_SETMASK, &faults, &before);
	std::thread([s, seed] { s->loop(seed); }).detach();
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	return s;
}

void Stream::loop(u64 seed) {
	prepareThread();
	seedThread(seed);
	std::unique_lock<std::mutex> hold(lock);
	for (;;) {
		changed.wait(hold, [this] { return closing || !queue.empty(); });
		if (queue.empty()) {
			end = true;
			changed.notify_all();
			return;
		}
		Work work = std::move(queue.front());
		queue.pop_front();
		hold.unlock();
		delay();
		if (work.control) {
			work.run();
		} else if (context->sticky == SUCCESS) {
			const Fault fault = attempt(work.run);
			if (fault.code != SUCCESS) {
				context->fail(fault.code, work.name + ": " + fault.why);
			}
		}
		work = {}; // its resources are released before it counts as done
		hold.lock();
		done++;
		changed.notify_all();
	}
}

void Stream::push(Work work) {
	const std::lock_guard<std::mutex> hold(lock);
	queue.push_back(std::move(work));
	pushed++;
	changed.notify_all();
}

u64 Stream::pushedSoFar() {
	const std::lock_guard<std::mutex> hold(lock);
	return pushed;
}

void Stream::waitUntilDone(u64 ticket) {
	std::unique_lock<std::mutex> hold(lock);
	changed.wait(hold, [&] { return done >= ticket; });
}

void Stream::enqueue(Work work) {
	const auto after = [this](const std::shared_ptr<Stream> &other) {
		const u64 ticket = other->pushedSoFar();
		if (!other->idle()) {
			push({"the default stream", [other, ticket] { other->waitUntilDone(ticket); }, true});
		}
	};
	const std::shared_ptr<Stream> legacy = context->defaultStream();
	if (this == legacy.get()) {
		for (const auto &s : context->live()) {
			if (s.get() != this && (s->flags & nonBlocking) == 0) {
				after(s);
			}
		}
	} else if ((flags & nonBlocking) == 0) {
		after(legacy);
	}
	push(std::move(work));
}

void Stream::synchronize() { waitUntilDone(pushedSoFar()); }

bool Stream::idle() {
	const std::lock_guard<std::mutex> hold(lock);
	return done == pushed;
}

void Stream::close() {
	const std::lock_guard<std::mutex> hold(lock);
	closing = true;
	changed.notify_all();
}

bool Stream::ended() {
	const std::lock_guard<std::mutex> hold(lock);
	return end;
}

void Stream::join() {
	std::unique_lock<std::mutex> hold(lock);
	changed.wait(hold, [this] { return end; });
}

std::shared_ptr<Stream> streamOf(Context &context, Handle h) {
	if (h == nullptr || h == reinterpret_cast<Handle>(1)) { // CU_STREAM_LEGACY
		return context.defaultStream();
	}
	require(h != reinterpret_cast<Handle>(2), ERROR_NOT_SUPPORTED); // CU_STREAM_PER_THREAD
	const std::shared_ptr<Stream> s = registry<Stream>().find(h);
	require(s->context.get() == &context, ERROR_INVALID_HANDLE);
	return s;
}

} // namespace sim
