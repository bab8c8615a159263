// What `retrysim list` prints, as tables of text.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "report/listing_text.hpp"

#include <string_view>
#include <vector>

namespace retrysim::cli {

using report::Listing;

/// "modes", "sdks", ...: what there are lists of.
std::vector<std::string_view> listing_topics();

/// The list of one of the topics.
Listing listing_of(std::string_view topic);

}  // namespace retrysim::cli
