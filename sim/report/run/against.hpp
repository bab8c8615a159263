// Is a run worse than one that was kept? Its metrics against those of a result folder, replication
// by replication: with the same seed both met the same demand.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <retrysim/compare.hpp>
#include <retrysim/metrics.hpp>
#include <retrysim/scenario.hpp>

#include "estimate/paired.hpp"
#include "report/document/document.hpp"
#include "report/folder/manifest.hpp"
#include "report/run/evaluation.hpp"
#include "report/run/gate.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim::report {

/// A run as its result folder has it.
struct KeptRun {
  std::string folder;  ///< as given
  std::string version;
  std::uint64_t seed = 0;
  std::size_t replications = 0;
  /// By client group, or "all", and metric: the values by replication.
  std::map<std::string, std::map<std::string, stats::Series, std::less<>>, std::less<>> values;
  ResultIdentity question = "";  ///< its scenario's name and keys

  /// Null if there is none.
  const stats::Series* find(std::string_view client, std::string_view metric) const;
};

/// Reads result.json, which has the keys of the scenario, and replications.csv of a result of
/// `run`. Throws DamagedResult if they are
/// missing, not as they were written, or of another command.
KeptRun read_kept_run(const std::filesystem::path& folder);

/// What the replications say about one metric of one client group.
enum class ChangeVerdict : std::uint8_t {
  kSame,  ///< no difference, none that is significant, or one too small to matter
  kWorse,
  kBetter,
};
std::string_view name(ChangeVerdict verdict);  ///< "worse"

struct Change {
  std::string client;                  ///< name of a group that makes requests, or "all"
  const MetricInfo* metric = nullptr;  ///< never null
  PairedDifference difference;         ///< of the run, from the kept one
  ChangeVerdict verdict = ChangeVerdict::kSame;
};

/// A run beside one that was kept.
struct Against {
  const KeptRun& kept;
  std::size_t pairs = 0;      ///< replications that both have
  bool is_identical = false;  ///< every metric of every group is the same in each of them
  std::vector<Change> changes;
  std::vector<std::string> notes;  ///< groups that only one of them has
  /// The keys in which the scenarios differ, as far as they change a run or its error budget: first
  /// those that the file of the run or its edits give. Of another version's result only keys that
  /// both have, or that the file gives.
  std::vector<KeyDifference> keys;
  /// Tables such as fault.NAME that only one of them has, each with whether it is the run.
  std::map<std::string, bool, std::less<>> tables;
  std::vector<std::string> inputs;  ///< names of CSV inputs with other contents

  ChangeVerdict verdict() const;
  std::vector<std::string> sentences() const;
};

/// The probability that a run which is not worse is said to be: over all metrics and groups, as far
/// as means over the replications are normally distributed.
inline constexpr double kFalseAlarm = 0.01;

/// Compares what users notice: success rate, recovery, p99 latency of successes, and the use of the
/// error budget. A loss is more than `is_negligible`, and the interval of the difference, which is
/// the one that is shown, does not contain zero: a one-sided paired test (McNemar's for recovery,
/// else Student's) with Bonferroni's correction for all metrics and groups. The latency counts only
/// where the success rate of the group is not better: requests that failed before make it longer.
/// `kept` and `e` must have the same seed, and two replications in common.
Against against(const KeptRun& kept, const Evaluation& e);

/// Adds the sentences, the member `against` of result.json and the table `against`.
void add_against(Document& document, const Against& found);

/// A check for each metric and group, for the gate.
std::vector<Check> checks_of(const Against& found);

}  // namespace retrysim::report
