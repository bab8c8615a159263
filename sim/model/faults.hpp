// The calendar of fault windows: when something changes, and what is wrong then with each service.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/service.hpp"

#include <cstdint>
#include <vector>

namespace retrysim::model {

class FaultTimeline {
 public:
  /// `answer_of(error)` gives the number of an error answer.
  template <class AnswerOf>
  FaultTimeline(const Scenario& scenario, AnswerOf answer_of) : scenario_(&scenario) {
    for (const FaultSpec& f : scenario.faults) {
      changes_.push_back({f.start, f.service});
      changes_.push_back({f.start + f.duration, f.service});
      fault_errors_.push_back(number(f.errors, answer_of));
    }
    for (const ServiceSpec& s : scenario.services) {
      service_errors_.push_back(number(s.errors, answer_of));
    }
    sort();
  }

  Time next() const { return at_ == changes_.size() ? Time::max() : changes_[at_].time; }
  /// The service that changes next; moves on to the change after it.
  std::size_t pop() { return changes_[at_++].service; }

  /// Everything that is wrong with `service` at `now`.
  Impairment at(std::size_t service, Time now) const;

 private:
  struct NumberedError {
    double probability;
    std::uint16_t answer;
  };
  using Errors = std::vector<NumberedError>;
  struct Change {
    Time time;
    std::size_t service;
  };

  template <class AnswerOf>
  static Errors number(const std::vector<RandomError>& errors, AnswerOf answer_of) {
    Errors numbered;
    for (const RandomError& e : errors) numbered.push_back({e.probability, answer_of(e.answer)});
    return numbered;
  }
  void sort();

  const Scenario* scenario_;
  std::vector<Change> changes_;
  std::size_t at_ = 0;
  std::vector<Errors> fault_errors_, service_errors_;
};

}  // namespace retrysim::model
