// Who does the work: threads of this process, or the ranks of an MPI job. The work comes in
// numbered units that do not depend on one another; each gives bytes that are a pure function of
// its number, so the schedule decides nothing but the time it takes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>

namespace retrysim {

/// Computes one unit. May keep what it has learnt for the next one (a scenario it has loaded), as
/// long as the bytes do not depend on it. Called by one thread at a time.
using Work = std::function<std::string(std::size_t unit)>;

/// What an executor is asked to do.
struct Task {
  std::size_t units = 0;  ///< numbered from 0
  /// Makes the `Work` of one thread; called in that thread.
  std::function<Work()> make_work;
  /// Takes a unit's bytes, in any order of units, one call at a time, in the thread that called
  /// `run`, of the owner only. Units are handed out in order, so the bytes come roughly in order.
  std::function<void(std::size_t unit, std::string bytes)> deliver;
  /// Called by the owner about ten times a second, between deliveries; may be empty.
  std::function<void()> tick;
};

/// In a process that helps: the owner has called `finish`, for whatever reason.
class Dismissed : public std::exception {
 public:
  const char* what() const noexcept override { return "the process that leads has finished"; }
};

/// Several processes may work together (MPI): all make the same calls on their executors in the
/// same order. Exactly one of them is the owner, which plans, takes what is computed, and writes.
/// It may call `finish` at any time instead of what the others expect.
class Executor {
 public:
  virtual ~Executor() = default;

  virtual bool is_owner() const = 0;
  /// Whether there is no other process: all memory is shared, and nothing needs to travel.
  virtual bool is_alone() const = 0;

  /// The owner's `bytes`, in every process. Throws `Dismissed`.
  virtual std::string share(std::string bytes) = 0;

  /// Makes sure that `bytes` are the same in every process. Throws `Dismissed`, and
  /// std::runtime_error in a process whose bytes are not the owner's: it is out of step.
  virtual void agree(const std::string& bytes) = 0;

  /// Does all units. If one throws, no further ones are begun; those before it are finished and
  /// delivered, and the owner throws what the lowest failing unit threw. Throws `Interrupted` if
  /// asked to stop before the end; what is finished has been delivered then. What `deliver` and
  /// `tick` throw ends the run as well. Processes that are not the owner return when there is
  /// nothing left to do, whatever the reason; they throw `Dismissed`, and std::runtime_error if
  /// their task has another number of units than the owner's: they are out of step.
  virtual void run(const Task& task) = 0;

  /// No further calls, except for this one, which then does nothing. The owner sends the others
  /// home. Any other process waits for that; std::runtime_error if it is out of step: the owner
  /// goes on without it, or expects something else of it.
  virtual void finish() {}
};

/// `jobs` threads (at least 1) of this process, which is the owner. `stop` may be null.
std::unique_ptr<Executor> make_thread_executor(int jobs, const std::atomic<bool>* stop);

}  // namespace retrysim
