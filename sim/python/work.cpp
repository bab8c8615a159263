// SPDX-License-Identifier: MIT
#include "python/work.hpp"

#include <pthread.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace retrysim::python {
namespace {

namespace py = pybind11;

constexpr int kMaxJobs = 1024;  // as the command line has it

template <class T>
T value_of(const py::handle& value, const std::string& name, const char* expected) {
  try {
    return value.cast<T>();
  } catch (const py::cast_error&) {
    throw py::type_error(name + ": expected " + expected);
  }
}

// --- The end of the interpreter ------------------------------------------------------------------

std::atomic<int> visits = 0;
std::atomic<bool> is_ending = false;
std::thread::id ended_by;  // written before `is_ending`

// --- Threads that wait for work ------------------------------------------------------------------

class Hand;

/// The threads that have nothing to do.
class Idle {
 public:
  void add(Hand* hand) {
    const std::lock_guard lock(mutex_);
    hands_.push_back(hand);
  }
  /// One of them; null if there is none.
  Hand* take() {
    const std::lock_guard lock(mutex_);
    if (hands_.empty()) return nullptr;
    Hand* const hand = hands_.back();
    hands_.pop_back();
    return hand;
  }

 private:
  std::mutex mutex_;
  std::vector<Hand*> hands_;
};

/// Never destroyed: its threads are there until the process ends. A child of fork() has none.
Idle*& idle() {
  static Idle* here = [] {
    pthread_atfork(nullptr, nullptr, [] {
      idle() = new Idle;
      visits = 0;
    });
    return new Idle;
  }();
  return here;
}

/// A thread that does one work after another.
class Hand {
 public:
  /// An idle one, or a new one.
  static Hand& any() {
    if (Hand* const hand = idle()->take()) return *hand;
    auto hand = std::make_unique<Hand>();
    std::thread([hand = hand.get()] { hand->serve(); }).detach();
    return *hand.release();
  }

  std::shared_ptr<Errand> take(std::function<void()> work) {
    auto errand = std::make_shared<Errand>();
    {
      const std::lock_guard lock(mutex_);
      work_ = std::move(work);
      errand_ = errand;
    }
    asked_.notify_one();
    return errand;
  }

 private:
  [[noreturn]] void serve() {
    while (true) {
      std::unique_lock lock(mutex_);
      asked_.wait(lock, [this] { return work_ != nullptr; });
      std::exchange(work_, nullptr)();
      const std::shared_ptr<Errand> errand = std::move(errand_);
      lock.unlock();
      // Before it is over, so that whoever asks next finds this one.
      idle()->add(this);
      errand->over();
    }
  }

  std::mutex mutex_;
  std::condition_variable asked_;
  std::function<void()> work_;
  std::shared_ptr<Errand> errand_;
};

}  // namespace

Visit::Visit() {
  ++visits;
  const auto may_go_on = [] {
    return std::this_thread::get_id() == ended_by || PyGILState_Check() != 0;
  };
  if (!is_ending || may_go_on()) return;
  --visits;
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

Visit::~Visit() { --visits; }

void end_visits() {
  constexpr auto kLongest = std::chrono::seconds(5);
  ended_by = std::this_thread::get_id();
  is_ending = true;
  const py::gil_scoped_release release;
  const auto until = std::chrono::steady_clock::now() + kLongest;
  while (visits > 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Errand::over() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
}

bool Errand::wait_for(std::chrono::milliseconds longest) {
  // To sleep and be woken takes longer than many a short run.
  constexpr auto kAwake = std::chrono::microseconds(500);
  const auto until = std::chrono::steady_clock::now() + kAwake;
  while (!over_ && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, longest, [this] { return over_.load(); });
}

void Errand::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return over_.load(); });
}

std::shared_ptr<Errand> in_another_thread(std::function<void()> work) {
  return Hand::any().take(std::move(work));
}

Settings settings_of(const py::kwargs& given) {
  Settings settings;
  settings.progress = py::none();
  for (const auto& [key, value] : given) {
    const auto name = key.cast<std::string>();
    if (name == "progress") {
      if (!value.is_none() && !py::isinstance<py::function>(value) &&
          PyCallable_Check(value.ptr()) == 0) {
        throw py::type_error("progress: expected a callable");
      }
      settings.progress = py::reinterpret_borrow<py::object>(value);
      continue;
    }
    if (value.is_none()) continue;
    if (name == "jobs") {
      settings.jobs = value_of<int>(value, name, "a whole number");
      if (settings.jobs < 1 || settings.jobs > kMaxJobs) {
        throw py::value_error("jobs: expected 1 to " + std::to_string(kMaxJobs));
      }
    } else if (name == "timeout") {
      settings.timeout_s = value_of<double>(value, name, "seconds");
      if (!(*settings.timeout_s > 0)) throw py::value_error("timeout: expected more than 0 s");
    } else if (name == "max_events") {
      settings.max_events = value_of<std::uint64_t>(value, name, "a whole number");
    } else if (name == "max_memory") {
      settings.max_memory = value_of<std::uint64_t>(value, name, "a number of bytes");
    } else if (name == "store") {
      settings.store = open_store(value_of<std::filesystem::path>(value, name, "a folder"));
    } else {
      throw py::type_error("there is no argument \"" + name +
                           "\"; expected jobs, timeout, max_events, max_memory, store or progress");
    }
  }
  return settings;
}

}  // namespace retrysim::python
