// Lists for narrow and wide terminals.
//
// SPDX-License-Identifier: MIT
#include "report/document/document.hpp"

#include <catch2/catch.hpp>

using namespace retrysim::report;

namespace {

const Listing kMetrics{{"metric", "unit", "of", "meaning"},
                       {{"requests", "requests", "client groups", "Requests in the window"},
                        {"amplification", "1", "", "Attempts for each request, first ones too"}},
                       1,
                       "meaning"};

}  // namespace

TEST_CASE("a listing with room for its last column is a table") {
  CHECK(listing_text(kMetrics, 80) ==
        "metric         unit      of             meaning\n"
        "requests       requests  client groups  Requests in the window\n"
        "amplification  1                        Attempts for each request, first ones\n"
        "                                        too\n");
  CHECK(listing_text(kMetrics, 81) ==
        "metric         unit      of             meaning\n"
        "requests       requests  client groups  Requests in the window\n"
        "amplification  1                        Attempts for each request, first ones too\n");
}

TEST_CASE("without room for its last column a listing is made of blocks") {
  CHECK(listing_text(kMetrics, 60) ==
        "requests\n"
        "  Requests in the window\n"
        "  unit: requests   of: client groups\n"
        "amplification\n"
        "  Attempts for each request, first ones too\n"
        "  unit: 1\n");
}

TEST_CASE("several cells may name a block, and cells without content are left out") {
  const Listing sdks{{"sdk", "mode", "attempts", "backoff", "quota", "source"},
                     {{"rust", "standard", "3", "1 s, x 2, cap 20 s", "-", "a file, or two"}},
                     2};
  CHECK(listing_text(sdks, 36) ==
        "rust  standard\n"
        "  attempts: 3\n"
        "  backoff: 1 s, x 2, cap 20 s\n"
        "  source: a file, or two\n");
}

TEST_CASE("a cell that is wider than the terminal is broken") {
  const Listing defects{{"defect", "meaning", "source"},
                        {{"no-quota", "nothing but the attempts stops retries", "an issue"}}};
  CHECK(listing_text(defects, 24) ==
        "no-quota\n"
        "  meaning: nothing but\n"
        "    the attempts stops\n"
        "    retries\n"
        "  source: an issue\n");
}

TEST_CASE("a last cell that is empty leaves no blanks behind") {
  const Listing list{{"a", "b"}, {{"x", ""}, {"long", "y"}}};
  CHECK(listing_text(list, 80) == "a     b\nx\nlong  y\n");
}
