// Lists of things that have several properties each, as a terminal shows them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// A table of texts: all rows have as many cells as there are columns.
struct Listing {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::size_t names = 1;   ///< so many columns at the front name a row
  std::string prose = {};  ///< the column that is a sentence and needs no name of its own, if any
};

/// The listing for a terminal of that many columns. It is an aligned table if the last column,
/// whose cells are broken into lines, keeps enough room beside the others. Else each row is a
/// block: its names; then, indented, its prose and those of its other cells that say something.
std::string listing_text(const Listing& listing, std::size_t columns);

}  // namespace retrysim::report
