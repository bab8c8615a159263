// What happens to services from outside: when faults begin and end, and what is wrong with each
// service or instance then. (The autoscaler is part of the instance.)
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "model/run/request.hpp"
#include "model/service/instance.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

namespace retrysim::model {

/// The calendar of fault windows and capacity profiles: when something changes, and what is wrong
/// then with each service.
class FaultTimeline {
 public:
  /// `answer_of(error)` gives the number of an error answer.
  template <class AnswerOf>
  FaultTimeline(const Scenario& scenario, AnswerOf answer_of)
      : scenario_(&scenario), order_(name_order(scenario.faults)) {
    for (const std::size_t i : order_) {
      const FaultSpec& f = scenario.faults[i];
      changes_.push_back({f.start, f.service, &f, true});
      changes_.push_back({f.start + f.duration, f.service, &f});
      fault_errors_.push_back(
          number(f.errors, point_at(scenario.services[f.service], f.errors_at), answer_of));
    }
    faults_of_.resize(scenario.services.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      faults_of_[scenario.faults[order_[i]].service].by_start.push_back(i);
    }
    for (FaultsOfService& of : faults_of_) {
      std::ranges::stable_sort(
          of.by_start, {}, [this](std::size_t i) { return scenario_->faults[order_[i]].start; });
    }
    for (std::size_t i = 0; i < scenario.services.size(); ++i) {
      const ServiceSpec& s = scenario.services[i];
      service_errors_.push_back(number(s.errors, point_at(s, s.errors_at), answer_of));
      if (!s.profile) continue;
      for (const Time t : s.profile->times) {
        if (t > Time::zero()) changes_.push_back({t, i});
      }
    }
    sort();
  }

  struct Change {
    Time time;
    std::size_t service = 0;
    const FaultSpec* fault = nullptr;  ///< null: the service's own profile
    bool begins = false;               ///< the fault does; else it ends

    bool cold_restart() const { return begins && fault->cold_restart; }
    bool crash() const { return begins && fault->crash; }
    /// Whether it concerns the instance of the service with this index.
    bool concerns(std::uint32_t index) const { return fault == nullptr || fault->concerns(index); }
  };

  std::size_t size() const { return changes_.size(); }
  Time next() const { return at_ == changes_.size() ? Time::max() : changes_[at_].time; }
  /// The next change; moves on to the one after it.
  Change pop() { return changes_[at_++]; }

  /// Everything that is wrong at `now` with `service`, or with the instance of it with this index.
  /// `now` is never earlier than in the call before.
  Impairment at(std::size_t service, std::uint32_t instance, Time now) const;
  /// How many faults that has just looked at.
  std::size_t at_once(std::size_t service) const { return faults_of_[service].on.size(); }

 private:
  struct NumberedError {
    double probability;
    std::uint16_t answer;
  };
  struct Errors {  // of one source
    std::vector<NumberedError> all;
    ErrorPoint at;
  };
  /// The faults of a service, by their places in `order_`.
  struct FaultsOfService {
    std::vector<std::size_t> by_start;
    std::size_t begun = 0;     ///< how many of these have begun
    std::set<std::size_t> on;  ///< the ones that have begun, less some that are over
  };

  template <class AnswerOf>
  static Errors number(const std::vector<RandomError>& errors, ErrorPoint at, AnswerOf answer_of) {
    std::vector<RandomError> in_order = errors;
    std::ranges::stable_sort(in_order, {}, [](const RandomError& e) {
      return std::tie(e.answer.status, e.answer.code);
    });
    Errors numbered{{}, at};
    for (const RandomError& e : in_order) {
      numbered.all.push_back({e.probability, answer_of(e.answer)});
    }
    return numbered;
  }
  static ErrorPoint point_at(const ServiceSpec& service, ErrorPoint at) {
    return service.model == ServiceModelKind::kQueue ? at : ErrorPoint();
  }
  void sort();

  const Scenario* scenario_;
  std::vector<std::size_t> order_;                  // the faults by name
  mutable std::vector<FaultsOfService> faults_of_;  // they follow the time that is asked about
  std::vector<Change> changes_;
  std::size_t at_ = 0;
  std::vector<Errors> fault_errors_, service_errors_;  // faults: in that order
};

}  // namespace retrysim::model
