// The mistakes of many variants of a scenario.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/scenario.hpp>

#include <fmt/format.h>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace retrysim::experiment {

/// The mistakes of all points, each kept once, in the order in which they were met.
class PointErrors {
 public:
  void add(const std::string& point, const std::vector<Diagnostic>& errors) {
    for (const Diagnostic& d : errors) {
      const std::string text = to_string(d);
      const auto known = places_.find(text);
      if (known != places_.end()) {
        ++found_[known->second].points;
      } else if (found_.size() < kMost) {
        places_.emplace(text, found_.size());
        found_.push_back({d, point, 1});
      }
    }
  }

  /// The mistakes as diagnostics, each of which says which points it concerns.
  std::vector<Diagnostic> diagnostics() const {
    std::vector<Diagnostic> result;
    for (const Found& f : found_) {
      result.push_back(f.diagnostic);
      std::string& message = result.back().message;
      message += fmt::format(" (at point {}", f.first_point);
      if (f.points > 1) message += fmt::format(" and {} more", f.points - 1);
      message += ")";
    }
    return result;
  }

 private:
  static constexpr std::size_t kMost = 20;
  struct Found {
    Diagnostic diagnostic;
    std::string first_point;
    std::size_t points;
  };
  std::map<std::string, std::size_t> places_;
  std::vector<Found> found_;
};

}  // namespace retrysim::experiment
