// Units that are computed where no memory is shared, in an MPI rank or a worker of Node.js: what is
// sent back of them, and computing them there.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/error.hpp>
#include <retrysim/run.hpp>

#include "execution/archive.hpp"
#include "execution/executor.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace retrysim::execution {

/// An exception that a unit threw, in a form that can be sent.
struct Failure {
  enum Kind : std::uint8_t { kOther, kLimit, kInterrupted, kInvariant, kMemory, kRequest };
  std::size_t unit = 0;
  std::uint8_t kind = kOther;
  std::string message;
  LimitKind limit = LimitKind::kTime;  ///< the kind of limit, if `kind` is kLimit

  template <Either<Failure> T>
  friend void archive(auto& visit, T& failure) {
    visit(failure.unit, failure.kind, failure.message, failure.limit);
  }

  static Failure current(std::size_t unit) {
    try {
      throw;
    } catch (const LimitExceeded& e) {
      return {unit, kLimit, e.what(), e.kind()};
    } catch (const Interrupted& e) {
      return {unit, kInterrupted, e.what()};
    } catch (const InvariantViolated& e) {
      return {unit, kInvariant, e.what()};
    } catch (const std::bad_alloc& e) {
      return {unit, kMemory, e.what()};
    } catch (const RequestError& e) {
      return {unit, kRequest, e.text(RequestError::part)};  // parts are named at the owner
    } catch (const std::exception& e) {
      return {unit, kOther, e.what()};
    }
  }

  [[noreturn]] void raise() const {
    if (kind == kLimit) throw LimitExceeded(message, limit);
    if (kind == kInterrupted) throw Interrupted();
    if (kind == kInvariant) throw InvariantViolated(message);
    if (kind == kMemory) throw std::bad_alloc();
    if (kind == kRequest) throw RequestError(message);
    throw std::runtime_error(message);
  }
};

struct Done {
  std::size_t unit = 0;
  std::string bytes;

  template <Either<Done> T>
  friend void archive(auto& visit, T& done) {
    visit(done.unit, done.bytes);
  }
};

/// The result of one batch.
struct BatchResult {
  double seconds = 0;
  std::vector<Done> done;
  std::optional<Failure> failure;

  template <Either<BatchResult> T>
  friend void archive(auto& visit, T& result) {
    visit(result.seconds, result.done, result.failure);
  }
};

/// Computes batches, in one thread.
class BatchWorker {
 public:
  BatchWorker(const Task& task, const std::atomic<bool>* stop) : task_(task), stop_(stop) {}

  BatchResult compute(Batch batch) {
    BatchResult result;
    const auto start = std::chrono::steady_clock::now();
    std::size_t unit = batch.first;
    try {
      if (!work_) work_ = task_.make_work();
      for (; unit < batch.first + batch.count; ++unit) {
        if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) throw Interrupted();
        result.done.push_back({unit, work_(unit)});
      }
    } catch (...) {
      result.failure = Failure::current(unit);
    }
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  const Task& task_;
  const std::atomic<bool>* stop_;
  Work work_;
};

}  // namespace retrysim::execution
