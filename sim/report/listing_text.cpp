// SPDX-License-Identifier: MIT
#include "report/listing_text.hpp"

#include "report/display.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace retrysim::report {
namespace {

using Row = std::vector<std::string>;

constexpr std::size_t kGap = 2;
// With less, sentences in the last column become tall and thin.
constexpr std::size_t kNarrowestSentence = 30;

std::vector<std::size_t> widths_of(const Listing& listing) {
  std::vector<std::size_t> widths;
  for (const std::string& column : listing.columns) widths.push_back(columns_of(column));
  for (const Row& row : listing.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
    }
  }
  return widths;
}

std::string table_row(const Row& row, const std::vector<std::size_t>& widths, std::size_t columns) {
  std::string front;
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    front += pad_right(row[i], widths[i] + kGap);
  }
  const std::string below(columns_of(front), ' ');
  std::string text = wrapped(row.back(), {columns, front, below});
  if (row.back().empty()) {
    text.pop_back();
    text.erase(text.find_last_not_of(' ') + 1) += '\n';
  }
  return text;
}

/// Whether a cell says that there is nothing to say.
bool is_blank(const std::string& cell) { return cell.empty() || cell == "-"; }

std::string block(const Listing& listing, const Row& row, std::size_t columns) {
  std::string heading, prose, line, fields;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (is_blank(row[i])) continue;
    if (i < listing.names) {
      heading += (heading.empty() ? "" : "  ") + row[i];
    } else if (listing.columns[i] == listing.prose) {
      prose = wrapped(row[i], {columns, "  ", "  "});
    } else {
      const std::string field = listing.columns[i] + ": " + row[i];
      constexpr std::string_view kBetween = "   ";
      if (!line.empty() && columns_of(line) + kBetween.size() + columns_of(field) > columns) {
        fields += wrapped(line, {columns, "", "    "});
        line.clear();
      }
      line += (line.empty() ? "  " : std::string(kBetween)) + field;
    }
  }
  if (!line.empty()) fields += wrapped(line, {columns, "", "    "});
  return heading + "\n" + prose + fields;
}

}  // namespace

std::string listing_text(const Listing& listing, std::size_t columns) {
  const std::vector<std::size_t> widths = widths_of(listing);
  const std::size_t before_last =
      std::accumulate(widths.begin(), std::prev(widths.end()), kGap * (widths.size() - 1));
  std::string text;
  if (before_last + std::min(widths.back(), kNarrowestSentence) <= columns) {
    text = table_row(listing.columns, widths, columns);
    for (const Row& row : listing.rows) text += table_row(row, widths, columns);
    return text;
  }
  for (const Row& row : listing.rows) text += block(listing, row, columns);
  return text;
}

}  // namespace retrysim::report
