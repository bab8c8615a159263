// Joining the shards of a sweep into the files that the whole sweep would have written.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace retrysim::report {

/// Folders that do not make a whole sweep. The message names them and says what is wrong.
class MergeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct MergedSweep {
  std::size_t points = 0;
  std::size_t points_that_fail = 0;
  std::size_t points_over_limit = 0;
};

/// Joins the shards in `folders`, in any order, into `target`: byte for byte what an unsharded
/// sweep writes. Rows are copied as they are, one at a time. Throws MergeError, and OutputError as
/// ResultFolder does.
MergedSweep merge_sweep(const std::vector<std::filesystem::path>& folders,
                        const std::filesystem::path& target, bool force);

}  // namespace retrysim::report
