// The releases that scripts/compare_sdks has compared with the presets. Where a release differs in
// a rule, README.md says in which.
//
// SPDX-License-Identifier: MIT
#include "retry/sdk_comparisons.hpp"

namespace retrysim {
namespace {

struct ComparedRelease {
  std::string_view sdk;
  std::string_view revision;  // empty: of a mode without revisions
  std::string_view api;       // empty: every row
  std::string_view release;
};

constexpr ComparedRelease kComparedReleases[] = {
    {"botocore", "", "", "1.29.27"},
    {"botocore", "2.0", "", "1.29.27"},
    {"js-v2", "", "default", "2.1693.0"},
    {"js-v2", "", "dynamodb", "2.1693.0"},
    {"go-v1", "", "", "1.44.133"},
    {"ruby", "", "default", "core 3.168.1"},
    {"ruby", "2.0", "default", "core 3.168.1"},
    {"js-v3", "2.0", "", "3.1143.0, core 3.39.0"},
    {"js-v3", "2.1", "", "3.1143.0, core 3.41.0"},
    {"go-v2", "2.0", "", "1.17.1"},
};

}  // namespace

std::string_view compared_release(const Preset& preset) {
  for (const ComparedRelease& c : kComparedReleases) {
    if (c.sdk == preset.sdk && c.revision == preset.revision &&
        (c.api.empty() || c.api == preset.api)) {
      return c.release;
    }
  }
  return {};
}

}  // namespace retrysim
