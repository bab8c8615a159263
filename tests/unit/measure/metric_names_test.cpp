// The table of metrics: that it is complete, and names each once.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>

#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace retrysim {
namespace {

TEST_CASE("the table names every metric once, with unit and meaning") {
  std::set<std::string_view> names;
  for (const MetricInfo& metric : metric_table()) {
    CAPTURE(std::string(metric.name));
    CHECK(names.insert(metric.name).second);
    CHECK(!metric.unit.empty());
    CHECK(!metric.meaning.empty());
    CHECK(find_metric(metric.name) == &metric);
  }
  CHECK(metric_names().size() == names.size());
  CHECK(find_metric("no_such_metric") == nullptr);
}

TEST_CASE("each list of metrics has its places taken once, without gaps") {
  for (std::size_t i = 0; i < kMetricListCount; ++i) {
    const auto list = static_cast<MetricList>(i);
    CAPTURE(i);
    const std::vector<const MetricInfo*> metrics = metrics_of(list);
    CHECK(!metrics.empty());
    for (std::size_t place = 1; place <= metrics.size(); ++place) {
      CAPTURE(std::string(metrics[place - 1]->name));
      CHECK(metrics[place - 1]->display.place(list) == place);
      CHECK((list < MetricList::kLoad || !metrics[place - 1]->display.line_label.empty()));
    }
  }
  for (const MetricInfo* metric : metrics_of(MetricList::kSweptTable)) {
    CAPTURE(std::string(metric->name));
    CHECK(metric->display.place(MetricList::kSwept) > 0);
  }
  for (const MetricInfo* metric : metrics_of(MetricList::kWarmup)) {
    CHECK(metric->series.of_clients != nullptr);
  }
}

TEST_CASE("the parts of a row agree with each other") {
  for (const MetricInfo& metric : metric_table()) {
    CAPTURE(std::string(metric.name));
    const bool is_ratio = metric.kind == MetricKind::kShare || metric.kind == MetricKind::kRatio;
    CHECK(is_ratio == (metric.per != nullptr));
    CHECK((metric.sum == nullptr) == (metric.formula != nullptr));
    CHECK((metric.kind == MetricKind::kProbability) ==
          (metric.summary == MetricSummary::kProportion));
    if (metric.kind == MetricKind::kShare) CHECK(metric.range == MetricRange::kShare);
    if (metric.kind == MetricKind::kRate) CHECK(metric.unit == "1/s");
    // The unit of a percentage is 1.
    if (metric.display.percentage) CHECK(metric.unit == "1");
    // A series is of client groups or of services, and divided where the metric is.
    const MetricSeries& series = metric.series;
    CHECK((series.of_clients == nullptr || series.of_service == nullptr));
    if (series.of_clients != nullptr) CHECK((series.per != nullptr) == is_ratio);
    if (series.of_service != nullptr) CHECK(metric.scope == MetricScope::kServices);
    // Sentences have words for both less and more, or for neither.
    const MetricWords& words = metric.display.words;
    CHECK(words.less.empty() == words.more.empty());
    if (!words.less.empty()) CHECK(metric.display.place(MetricList::kSpoken) > 0);
  }
}

TEST_CASE("every documented metric name exists") {
  std::vector<std::string> names = {"requests",
                                    "attempts",
                                    "retries",
                                    "successes",
                                    "failures",
                                    "unfinished",
                                    "success_rate",
                                    "success_rate_within_duration",
                                    "finished_in_drain",
                                    "finished_in_drain_share",
                                    "attempt_success_rate",
                                    "amplification",
                                    "offered_load",
                                    "attempt_rate",
                                    "throughput",
                                    "goodput",
                                    "utilization",
                                    "rejected_share",
                                    "evicted_share",
                                    "throttled_share",
                                    "timeout_share",
                                    "error_share",
                                    "dropped_share",
                                    "abandoned_share",
                                    "late_share",
                                    "quota_denied_share",
                                    "no_send_token_share",
                                    "deadline_exceeded_share",
                                    "breaker_denied_share",
                                    "breaker_refusals",
                                    "breaker_first_refusals",
                                    "breaker_openings",
                                    "breaker_open_share",
                                    "quota_mean",
                                    "queue_mean",
                                    "queue_max",
                                    "in_system_mean",
                                    "in_system_variance",
                                    "in_backoff_mean",
                                    "all_busy_share",
                                    "backoff_time_mean",
                                    "backoff_time_sd",
                                    "send_wait_mean",
                                    "connection_wait_mean",
                                    "unconnected_per_request",
                                    "unpermitted_per_request",
                                    "backoff_wait_mean",
                                    "answer_wait_mean",
                                    "wait_probability",
                                    "service_level",
                                    "wait_within_share",
                                    "cache_hit_share",
                                    "ejections",
                                    "ejected_mean",
                                    "executed",
                                    "executions_per_request",
                                    "effects_per_request",
                                    "duplicate_share",
                                    "degraded_share",
                                    "lost_share",
                                    "swallowed_share",
                                    "ambiguous_share",
                                    "replays_per_request",
                                    "expired_replays_per_request",
                                    "token_races_per_request",
                                    "token_waits_per_request",
                                    "reconciliations_per_request",
                                    "reconciled_per_request",
                                    "mismatches_per_request",
                                    "wasted_share",
                                    "wasted_after_give_up_share",
                                    "wasted_s",
                                    "peak_attempt_rate",
                                    "peak_amplification",
                                    "recovery_s",
                                    "disturbed_success_rate",
                                    "recovered",
                                    "recovery_censored_s",
                                    "recovery_median_s",
                                    "metastable_probability",
                                    "error_budget_used",
                                    "jain_index",
                                    "jain_index_success_rate",
                                    "latency_intended_mean",
                                    "latency_intended_sd",
                                    "latency_intended_p50",
                                    "latency_intended_p90",
                                    "latency_intended_p99",
                                    "latency_intended_p999",
                                    "completion_time_s",
                                    "attempts_variance",
                                    "retry_share",
                                    "attempts_per_success",
                                    "cost",
                                    "cost_per_success",
                                    "send_rate",
                                    "badput",
                                    "work_load",
                                    "peak_to_mean",
                                    "dispersion_index",
                                    "autocorrelation",
                                    "autocorrelation_lag_s",
                                    "spectral_peak_ratio",
                                    "spectral_peak_frequency",
                                    "spectral_p_value",
                                    "jobs",
                                    "job_success_rate",
                                    "checks_per_job",
                                    "detection_delay_mean"};
  for (const char* family :
       {"queueing_time", "service_latency", "attempt_latency", "latency", "latency_ok"}) {
    for (const char* what : {"mean", "sd", "p50", "p90", "p99", "p999"}) {
      names.push_back(std::string(family) + "_" + what);
    }
  }
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(find_metric(name) != nullptr);
  }
  CHECK(names.size() == metric_table().size());
}

}  // namespace
}  // namespace retrysim
