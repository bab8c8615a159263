// Where the keys of a table put their values: the struct that the table describes, and what is
// needed only until the whole table has been read.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include "scenario/values.hpp"

#include <cassert>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace retrysim::scenario {

/// How requests arrive, as written; `resolve_arrivals` turns it into an ArrivalSpec.
struct ArrivalInputs {
  std::optional<Value> rate, total_rate, file, profile, bucket;
  Value speed_up, scale;
  bool step = false;           ///< interpolate = "step"
  bool has_on = false;         ///< bursts are given, and could be read
  bool rate_is_wrong = false;  ///< a rate or profile is given, but could not be read
};

/// What a client group says about its retry preset.
struct PresetChoice {
  std::string mode, revision, sdk, api = "default", defect = "none";
  bool from_environment = false;
};

/// The service that a fault or an operation names.
struct ServiceName {
  std::string name;
};

/// When a phase ends, if that is what is written.
struct PhaseEnd {
  std::optional<Time> time;
};

/// The services that a client group calls.
struct ServiceNames {
  std::vector<std::string> names;
};

/// The structs that the keys of one table fill in, at most one of each type. They must outlive it.
class Slots {
 public:
  template <class... Part>
  explicit Slots(Part*... parts) {
    ((std::get<Part*>(parts_) = parts), ...);
  }

  /// The struct of a type; null if the table has none.
  template <class Part>
  Part* find() const {
    return std::get<Part*>(parts_);
  }
  /// The same where the table has one.
  template <class Part>
  Part& to() const {
    assert(find<Part>() != nullptr);
    return *find<Part>();
  }

 private:
  std::tuple<Scenario*, ServiceSpec*, std::vector<RandomError>*, FaultSpec*, ServiceName*,
             ServiceNames*, ClientSpec*, ArrivalInputs*, PresetChoice*, RetryRules*, SurgeSpec*,
             OperationSpec*, ThrottleLimit*, PhaseSpec*, PhaseEnd*, Expectation*>
      parts_{};
};

}  // namespace retrysim::scenario
