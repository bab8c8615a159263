// The attempts that wait for a server, in the order that the queue discipline gives them: O(1) for
// each that comes, is taken, or leaves before its turn, without allocation.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/random.hpp>
#include <retrysim/scenario.hpp>

#include "kernel/memory.hpp"
#include "model/request.hpp"

#include <bit>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

namespace retrysim::model {

class WaitingLine {
 public:
  /// `key`: for the draws of the discipline "random".
  WaitingLine(Discipline discipline, const RandomKey& key) : discipline_(discipline), key_(key) {
    if (discipline == Discipline::kPriority) by_priority_.resize(kPriorities);
  }

  bool empty() const { return size_ == 0; }
  std::uint64_t size() const { return size_; }

  void push(Attempt& a) {
    ++size_;
    if (!is_one_list()) [[unlikely]]
      return push_elsewhere(a);
    append(line_, a);
  }

  /// Takes out the attempt whose turn it is; there must be one.
  Attempt& pop() {
    Attempt& a = next();
    if (is_one_list() && a.queue.next != nullptr) kernel::prefetch(*a.queue.next);
    erase(a);
    return a;
  }

  void erase(const Attempt& a) {
    assert(size_ > 0);
    --size_;
    if (!is_one_list()) [[unlikely]]
      return erase_elsewhere(a);
    unlink(line_, a);
  }

  /// Visits all, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    const auto walk = [&](const Ends& ends) {
      for (const Attempt* a = ends.first; a != nullptr; a = a->queue.next) visit(*a);
    };
    walk(line_);
    for (const Ends& ends : by_priority_) walk(ends);
    for (const Attempt* a : anywhere_) visit(*a);
  }

 private:
  static constexpr std::size_t kPriorities = std::size_t{kMostPriority} + 1;
  static_assert(kPriorities <= 64);
  struct Ends {
    Attempt* first = nullptr;
    Attempt* last = nullptr;
  };

  bool is_one_list() const {
    return discipline_ != Discipline::kPriority && discipline_ != Discipline::kRandom;
  }

  static void append(Ends& ends, Attempt& a) {
    a.queue = {nullptr, ends.last};
    (ends.last == nullptr ? ends.first : ends.last->queue.next) = &a;
    ends.last = &a;
  }

  static void unlink(Ends& ends, const Attempt& a) {
    const QueueLinks& links = a.queue;
    (links.previous == nullptr ? ends.first : links.previous->queue.next) = links.next;
    (links.next == nullptr ? ends.last : links.next->queue.previous) = links.previous;
  }

  Attempt& next() {
    if (!is_one_list()) [[unlikely]]
      return next_elsewhere();
    return discipline_ == Discipline::kLifo ? *line_.last : *line_.first;
  }

  // The disciplines that need more than one list; not compiled into the path of the others.

  [[gnu::noinline]] void push_elsewhere(Attempt& a) {
    if (discipline_ == Discipline::kPriority) {
      occupied_ |= std::uint64_t{1} << a.priority;
      return append(by_priority_[a.priority], a);
    }
    a.place = anywhere_.size();
    anywhere_.push_back(&a);
  }

  [[gnu::noinline]] void erase_elsewhere(const Attempt& a) {
    if (discipline_ == Discipline::kPriority) {
      Ends& ends = by_priority_[a.priority];
      unlink(ends, a);
      if (ends.first == nullptr) occupied_ &= ~(std::uint64_t{1} << a.priority);
      return;
    }
    Attempt& last = *anywhere_.back();
    anywhere_[a.place] = &last;
    last.place = a.place;
    anywhere_.pop_back();
  }

  [[gnu::noinline]] Attempt& next_elsewhere() {
    if (discipline_ == Discipline::kPriority) {
      return *by_priority_[static_cast<std::size_t>(std::bit_width(occupied_)) - 1].first;
    }
    Draws draws(key_, {picks_++, 0, 0, Purpose::kQueuePick});
    return *anywhere_[draws.below(static_cast<std::uint32_t>(anywhere_.size()))];
  }

  Discipline discipline_;
  Ends line_;
  std::uint64_t size_ = 0;
  // priority: a list for each, and which of them are not empty.
  std::vector<Ends> by_priority_;
  std::uint64_t occupied_ = 0;
  // random: the attempts in no order, each of which knows its place.
  std::vector<Attempt*> anywhere_;
  std::uint64_t picks_ = 0;
  RandomKey key_;
};

}  // namespace retrysim::model
