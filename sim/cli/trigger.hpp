// What `retrysim tip --trigger PATH=LO:HI` says, and the scenario at one size of the trigger.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario_file.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

/// A key that takes sizes from `first` to `last`.
struct TriggerRange {
  std::string path;
  double first = 0, last = 0;
  bool is_duration = false;    ///< values are seconds
  bool whole_numbers = false;  ///< the key takes whole numbers
  std::string unit = "1";      ///< of the values, as the table of keys has it

  /// `value` as --set takes it.
  std::string edit(double value) const;
};

/// Reads "PATH=LO:HI"; LO and HI are numbers, or durations such as 250ms. Throws UsageError.
TriggerRange parse_trigger(const std::string& option, const std::string& text);

/// Loads `file` with `edits` and the trigger at `value`. Mistakes in the latter are ascribed to
/// `option`.
LoadResult load_at(const std::string& file, std::vector<std::string> edits,
                   const TriggerRange& trigger, double value, const std::string& option);

}  // namespace retrysim::cli
