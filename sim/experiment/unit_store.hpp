// Where a sweep keeps the units of work that are done.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/request_error.hpp>
#include <retrysim/sweep.hpp>

#include "execution/journal.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace retrysim::experiment {

/// The bytes of the units that are done: in a journal, or in memory.
class UnitStore {
 public:
  UnitStore(const SweepPlan& plan, const SweepOptions& options, std::size_t units)
      : journal_(open(plan, options, units)), bytes_(journal_ ? 0 : units) {}

  bool has(std::size_t unit) const {
    return journal_ ? journal_->has(unit) : !bytes_[unit].empty();
  }
  std::size_t count() const { return journal_ ? journal_->count() : count_; }
  std::uint64_t dropped_bytes() const { return journal_ ? journal_->dropped_bytes() : 0; }
  void append(std::size_t unit, const std::string& bytes) {
    if (journal_) return journal_->append(unit, bytes);
    count_ += bytes_[unit].empty();
    bytes_[unit] = bytes;
  }
  std::string read(std::size_t unit) { return journal_ ? journal_->read(unit) : bytes_[unit]; }
  void flush() {
    if (journal_) journal_->flush();
  }
  void sync() {
    if (journal_) journal_->sync();
  }
  void remove() {
    if (journal_) journal_->remove();
  }

 private:
  static std::optional<execution::Journal> open(const SweepPlan& plan, const SweepOptions& options,
                                                std::size_t units) {
    if (options.journal.empty()) return std::nullopt;
    if (plan.identity.empty()) throw RequestError("a sweep made by hand has no journal");
    return options.resume ? execution::Journal::resume(options.journal, plan.identity, units)
                          : execution::Journal::begin(options.journal, plan.identity, units);
  }

  std::optional<execution::Journal> journal_;
  std::vector<std::string> bytes_;  // by unit; empty: not done
  std::size_t count_ = 0;
};

}  // namespace retrysim::experiment
