// SPDX-License-Identifier: MIT
#include "experiment/twins.hpp"

#include <retrysim/run.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace retrysim::experiment {
namespace {

using stats::Storm;
using stats::StormVerdict;

/// A twin to be run: for a storm, or for the whole run.
struct Question {
  std::size_t run;
  std::optional<std::size_t> storm;
  stats::Aftermath aftermath;
};

std::vector<RunResult> answer(const Scenario& scenario, const std::vector<RunResult>& runs,
                              const std::vector<Question>& questions,
                              const ReplicationOptions& options) {
  std::vector<RunSpec> twins;
  for (const Question& q : questions) {
    twins.push_back({&scenario, runs[q.run].replication, q.aftermath.trigger.end});
  }
  ReplicationOptions twin_options = options;
  twin_options.kept_memory += runs.size() * total_bytes(needs_of(scenario).result);
  return simulate_all(twins, twin_options);
}

/// The verdicts on one run: on its storms and on the whole run, which may concern different
/// disturbances.
class Judgement {
 public:
  void add(StormVerdict verdict) {
    metastable_ = metastable_ || verdict == StormVerdict::kMetastable;
    open_ = open_ || verdict == StormVerdict::kCensored;
  }
  /// Whether the run is metastable; empty if nothing is metastable, but a verdict is open.
  std::optional<bool> metastable() const {
    if (!metastable_ && open_) return std::nullopt;
    return metastable_;
  }

 private:
  bool metastable_ = false, open_ = false;
};

/// The groups that are down after the last disturbance and would be back without retries.
std::vector<std::uint32_t> metastable_groups(const Scenario& scenario, const RunResult& run,
                                             const RunResult& twin,
                                             const stats::Aftermath& aftermath) {
  std::vector<std::uint32_t> groups;
  for (std::uint32_t g = 0; g < run.clients.size(); ++g) {
    const auto down = stats::final_recovery(scenario, run, g);
    if (!down || down->seconds || down->seems_back() || down->too_few()) continue;
    const auto recovery = stats::twin_recovery(scenario, run, twin, aftermath, g);
    const StormVerdict verdict = stats::with_twin(StormVerdict::kSustained, aftermath, recovery);
    if (verdict == StormVerdict::kMetastable) groups.push_back(g);
  }
  return groups;
}

bool remove_quota(Scenario& s) {
  bool any = false;
  for (ClientSpec& client : s.clients) any |= std::exchange(client.retry.quota.enabled, false);
  return any;
}

bool remove_limiter(Scenario& s) {
  bool any = false;
  for (ClientSpec& client : s.clients) any |= std::exchange(client.retry.rate_limit.enabled, false);
  return any;
}

bool remove_jitter(Scenario& s) {
  bool any = false;
  for (ClientSpec& client : s.clients) {
    BackoffRules& b = client.retry.backoff;
    any |= std::exchange(b.jitter, Jitter::kNone) != Jitter::kNone;
    any |= std::exchange(b.throttle_jitter, Jitter::kNone) != Jitter::kNone;
  }
  return any;
}

bool remove_queue_bound(Scenario& s) {
  bool any = false;
  for (ServiceSpec& service : s.services) {
    any |=
        std::exchange(service.queue.capacity, ServiceSpec::kUnlimited) != ServiceSpec::kUnlimited;
  }
  return any;
}

constexpr std::array kTwinParts = {
    TwinPart{"quota", "the retry quota", remove_quota},
    TwinPart{"limiter", "adaptive mode's send limiter", remove_limiter},
    TwinPart{"jitter", "jitter", remove_jitter},
    TwinPart{"queue-bound", "a bound on the queue", remove_queue_bound},
};

}  // namespace

std::span<const TwinPart> twin_parts() { return kTwinParts; }

std::vector<RunResult> simulate_twin(const Scenario& twin, std::span<const RunResult> runs,
                                     const ReplicationOptions& options) {
  std::vector<RunSpec> specs;
  for (const RunResult& run : runs) specs.push_back({&twin, run.replication});
  ReplicationOptions twin_options = options;
  twin_options.kept_memory += runs.size() * total_bytes(needs_of(twin).result);
  return simulate_all(specs, twin_options);
}

std::vector<std::vector<Storm>> storms_with_twins(const Scenario& scenario,
                                                  std::vector<RunResult>& runs,
                                                  const ReplicationOptions& options) {
  std::vector<std::vector<Storm>> storms;
  std::vector<Judgement> judgements(runs.size());
  std::vector<Question> questions;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    storms.push_back(stats::detect_storms(scenario, runs[r]));
    const stats::Fate fate = stats::fate_of(scenario, runs[r]);
    // A service may stay down without a storm, by the retries of another service, say.
    bool asked = fate.verdict != StormVerdict::kSustained;
    for (std::size_t s = 0; s < storms[r].size(); ++s) {
      const Storm& storm = storms[r][s];
      if (storm.verdict != StormVerdict::kSustained) {
        judgements[r].add(storm.verdict);
        continue;
      }
      questions.push_back({r, s, storm.aftermath});
      asked = asked || storm.aftermath.trigger.end == fate.aftermath->trigger.end;
    }
    if (!asked) questions.push_back({r, std::nullopt, *fate.aftermath});
    if (fate.verdict == StormVerdict::kCensored) judgements[r].add(fate.verdict);
  }
  const std::vector<RunResult> twins = answer(scenario, runs, questions, options);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Question& q = questions[i];
    const auto recovery = stats::twin_recovery(scenario, twins[i], q.aftermath);
    const StormVerdict verdict = stats::with_twin(StormVerdict::kSustained, q.aftermath, recovery);
    judgements[q.run].add(verdict);
    const auto last = stats::final_aftermath(scenario, runs[q.run]);
    if (last && last->trigger.end == q.aftermath.trigger.end) {
      runs[q.run].metastable_groups =
          metastable_groups(scenario, runs[q.run], twins[i], q.aftermath);
    }
    if (!q.storm) continue;
    storms[q.run][*q.storm].twin_recovery_s = recovery;
    storms[q.run][*q.storm].verdict = verdict;
  }
  for (std::size_t r = 0; r < runs.size(); ++r) runs[r].metastable = judgements[r].metastable();
  return storms;
}

}  // namespace retrysim::experiment
