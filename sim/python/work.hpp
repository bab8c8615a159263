// Long work that Python asks for: it runs in a thread of its own without the interpreter's lock,
// while the calling thread shows progress and notices Ctrl-C.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/run.hpp>

#include <pybind11/pybind11.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace retrysim::python {

/// The keyword arguments that every question takes.
struct Settings {
  int jobs = 1;
  std::optional<double> timeout_s;
  std::optional<std::uint64_t> max_events, max_memory;
  std::shared_ptr<Store> store;  ///< null: nothing is reused
  pybind11::object progress;     ///< None, or called with the share done in [0, 1]
};

/// The settings among keyword arguments, as their names say; `store` is a folder. Throws
/// py::type_error for any other name, and py::value_error for values out of range.
Settings settings_of(const pybind11::kwargs& given);

/// Work under way in another thread.
class Errand {
 public:
  void over();
  /// Waits, at most so long; whether it is over.
  bool wait_for(std::chrono::milliseconds longest);
  void wait();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> over_ = false;
};

/// Does `work`, which throws nothing, in another thread. Threads wait for the next work when they
/// have done theirs: to start one, whose share of the heap is empty, takes longer than many a short
/// run. Throws std::system_error if none can be started.
std::shared_ptr<Errand> in_another_thread(std::function<void()> work);

/// A thread is, or is about to be, with the interpreter's lock in code of Python from which it
/// comes back to C++. To be had before the lock is asked for, and kept until it is given back. Once
/// the interpreter ends, it kills any thread that asks for the lock, which C++ cannot bear: here
/// such a thread waits for the end of the process instead.
class Visit {
 public:
  Visit();
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
};

/// The interpreter is about to end: waits until no other thread is on a `Visit`, for a few seconds
/// at most, and lets no other begin one. To be called with the lock, by `atexit`.
void end_visits();

/// Calls `ask` with the options in another thread and waits for it; call it with the interpreter's
/// lock. About twenty times a second the calling thread handles signals and calls `progress`: what
/// either raises ends the work and is raised. What `ask` throws is thrown.
template <class F>
auto answer_of(const Settings& settings, F&& ask) {
  using Found = decltype(ask(std::declval<const ReplicationOptions&>()));
  std::atomic<bool> stop = false;
  std::atomic<double> share = -1;
  std::optional<Found> answer;
  std::exception_ptr failure;

  ReplicationOptions options;
  options.jobs = settings.jobs;
  options.store = settings.store.get();
  options.stop_flag = &stop;
  if (settings.timeout_s) options.timeout = Duration::from_seconds(*settings.timeout_s);
  if (settings.max_events) options.max_events = *settings.max_events;
  if (settings.max_memory) options.max_memory = *settings.max_memory;
  if (!settings.progress.is_none()) options.progress = [&](double now) { share = now; };

  const std::shared_ptr<Errand> errand = in_another_thread([&] {
    try {
      const StopScope scope(&stop);
      answer = ask(options);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  // The visit ends after the lock is held again.
  const auto is_over = [&](std::optional<Visit>& visit) {
    const pybind11::gil_scoped_release release;
    const bool over = errand->wait_for(std::chrono::milliseconds(50));
    visit.emplace();
    return over;
  };
  try {
    double shown = -1;
    for (bool over = false; !over;) {
      std::optional<Visit> visit;
      over = is_over(visit);
      if (over) break;
      if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
      if (const double now = share; now != shown) settings.progress(shown = now);
    }
    if (!settings.progress.is_none() && !failure) settings.progress(1.0);
  } catch (...) {
    stop = true;
    std::optional<Visit> visit;
    while (!is_over(visit)) visit.reset();
    throw;
  }
  if (failure) std::rethrow_exception(failure);
  return *std::move(answer);
}

}  // namespace retrysim::python
