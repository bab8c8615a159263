// What `retrysim list` prints, as tables of text.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace retrysim::cli {

struct Listing {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// "modes", "sdks", ...: what there are lists of.
std::vector<std::string_view> listing_topics();

/// The list of one of the topics.
Listing listing_of(std::string_view topic);

}  // namespace retrysim::cli
