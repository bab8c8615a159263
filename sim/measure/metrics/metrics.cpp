// The table of metrics, one row per metric: its meaning, how it is counted, and how it is shown.
// Result files list metrics in this order. Below the table: finding metrics by name, and computing
// them for a run.
//
// SPDX-License-Identifier: MIT
#include <retrysim/metrics.hpp>

#include "kernel/stop.hpp"
#include "measure/metrics/formulas.hpp"
#include "measure/metrics/rows.hpp"

#include <algorithm>

namespace retrysim {

namespace {

using namespace stats;
using namespace stats::formula;
using enum MetricKind;
using enum MetricScope;
using enum MetricList;
using enum MetricHide;
using C = ClientResult;
using F = ClientFlow;
using M = PhaseRequests;
using S = ServiceFlow;
using D = DurationRows;

// clang-format off
constexpr auto kOfRequests = std::to_array<MetricInfo>({
    count("requests", "requests", "Requests submitted in the window", requests)
        .in_phases(made<&M::requests>)
        .shown(Display().line(kLoad, 1, "requests")),
    count("attempts", "attempts", "Attempts sent for them", attempts)
        .in_phases(made<&M::attempts>),
    count("retries", "attempts", "Attempts after the first of a request", retries)
        .in_phases(made<&M::retries>),
    count("successes", "requests", "Requests that ended with success", successes)
        .in_phases(made<&M::successes>),
    count("failures", "requests", "Requests that ended without success", failures)
        .in_phases(made<&M::failures>),
    count("unfinished", "requests", "Requests still open when the run ended",
          outcome<Outcome::kUnfinished>)
        .shown(Display().line(kRequests, 7, "unfinished", kZero)),
    share("success_rate", "Successes per request", successes, requests)
        .bins(in_bin<&F::successes>, ended_in_bin)
        .in_phases(made<&M::successes>, made<&M::requests>)
        .shown(label("success rate").higher_is_better()
            .spoken(2, {"lower success rate", "higher success rate"})
            .line(kRequests, 1, "success rate")
            .in(kCompared, 1).in(kSwept, 4).in(kSweptTable, 2).in(kOfModes, 2)),
    share("success_rate_within_duration", "Requests that ended with success before the end of "
          "`duration`, per request; success_rate counts those of the drain as well",
          cohort<&C::successes_within>, requests)
        .shown(label("success within the duration").higher_is_better()
            .spoken(3, {"lower success within the duration", "higher success within the duration"})
            .line(kRequests, 2, "success rate within duration", kShortDrain)),
    count("finished_in_drain", "requests", "Requests that ended after `duration`, in the drain",
          finished_in_drain)
        .shown(Display().line(kRequests, 3, "finished in the drain", kShortDrain)),
    share("finished_in_drain_share", "Requests that ended after `duration`, per request",
          finished_in_drain, requests),
    share("degraded_share", "Successes although a call of the service to another one had failed "
          "(on_failure = ignore or fallback), per success; only of groups that call such a service",
          cohort<&C::degraded>, cohort<&C::degradable>)
        .shown(label("share of degraded answers").lower_is_better()
            .spoken(4, {"fewer degraded answers", "more degraded answers"})
            .line(kRequests, 9, "degraded", kZero)),
    share("attempt_success_rate", "Successful attempts per attempt",
          result<AttemptResult::kSuccess>, attempts)
        .shown(Display().higher_is_better().line(kAttempts, 1, "success")),
    ratio("amplification", "Attempts per request", attempts, requests)
        .bins(in_bin<&F::attempts>, in_bin<&F::requests>)
        .in_phases(made<&M::attempts>, made<&M::requests>)
        .shown(label("attempts per request").lower_is_better()
            .spoken(9, {"fewer attempts per request", "more attempts per request"})
            .line(kLoad, 6, "amplification")
            .in(kCompared, 2).in(kSwept, 5).in(kSweptTable, 3).in(kOfModes, 3)),
    own(kDeviation, "attempts_variance", "1", "Variance of the number of attempts of a request",
        attempts_variance),
    share("retry_share", "Retries per attempt", retries, attempts)
        .bins(in_bin<&F::retries>, in_bin<&F::attempts>)
        .in_phases(made<&M::retries>, made<&M::attempts>),
    ratio("attempts_per_success", "Attempts per successful request", attempts, successes)
        .bins(in_bin<&F::attempts>, in_bin<&F::successes>)
        .in_phases(made<&M::attempts>, made<&M::successes>)
        .shown(Display().lower_is_better()),
    count("cost", "1", "Price of all attempts; those that the service refuses or answers with a "
          "throttling error have the rejection price", price_of_attempts)
        .shown(Display().lower_is_better()),
    ratio("cost_per_success", "That price per successful request", price_of_attempts, successes)
        .shown(Display().lower_is_better().line(kRequests, 8, "cost per success", kUnpriced)),

    rate<&F::requests>("offered_load", "Requests submitted per second")
        .shown(label("offered load").line(kLoad, 2, "offered load").in(kSwept, 1)),
    rate<&F::attempts>("send_rate", "Attempts that clients send per second"),
    rate<&F::arrivals>("attempt_rate", "Attempts that arrive at the service per second")
        .shown(label("attempt rate").lower_is_better()
            .line(kLoad, 3, "attempt rate").in(kSwept, 2).in(kWarmup, 2)),
    service_rate("throughput", "Executions that services finish per second, useful or not",
                 at_services<&S::completions>)
        .service_bins(at_service<&S::completions>)
        .shown(Display().line(kLoad, 4, "throughput")),
    rate<&F::successes>("goodput", "Requests that end with success per second")
        .shown(label("goodput").higher_is_better().spoken(13)
            .line(kLoad, 5, "goodput")
            .in(kCompared, 3).in(kSwept, 3).in(kSweptTable, 1).in(kOfModes, 1).in(kWarmup, 1)),
    service_rate("badput", "Executions per second that brought no client a success: no client "
                 "was still waiting for the answer, or it was a failure", bad_executions)
        .shown(Display().lower_is_better()),
    capacity("work_load", "Mean service time of all attempts that arrive (model occ: read and "
             "write), rejected ones included and random errors that take no server left out, per "
             "capacity; may exceed 1", work_ns)
        .shown(Display().lower_is_better()),
    capacity("utilization", "Busy share of the capacity", at_services<&S::busy_ns>)
        .within(MetricRange::kShare)
        .service_bins(at_service<&S::busy_ns>)
        .in_percent()
        .shown(label("utilization").line(kService, 1, "utilization").in(kSwept, 6)),

    share("rejected_share", "Attempts turned away, by a full queue, a limit or because of their "
          "wait, with an error other than throttling, per attempt", cohort<&C::rejected>, attempts)
        .in_phases(rejected_in_phase, in_phase<&F::attempts>)
        .shown(Display().lower_is_better().line(kAttempts, 3, "rejected, over a limit", kZero)),
    share("evicted_share", "Attempts that left a full queue for one of higher priority, per "
          "attempt", cohort<&C::evicted>, attempts)
        .shown(Display().lower_is_better().line(kAttempts, 8, "evicted from the queue", kZero)),
    share("throttled_share", "Attempts answered with a throttling error, per attempt",
          result<AttemptResult::kThrottled>, attempts)
        .bins(in_bin<&F::throttled>, in_bin<&F::attempts>)
        .shown(Display().lower_is_better().line(kAttempts, 2, "throttled", kZero)),
    share("timeout_share", "Attempts without an answer in time, per attempt",
          result<AttemptResult::kTimeout>, attempts)
        .bins(in_bin<&F::timeouts>, in_bin<&F::attempts>)
        .shown(Display().lower_is_better().line(kAttempts, 5, "timeouts", kZero)),
    share("error_share", "Attempts answered with another error (rejections included) or refused, "
          "per attempt", result<AttemptResult::kError>, attempts)
        .bins(in_bin<&F::errors>, in_bin<&F::attempts>)
        .shown(Display().lower_is_better().line(kAttempts, 4, "errors", kZero)),
    share("dropped_share", "Attempts discarded without service or answer, per attempt",
          cohort<&C::dropped>, attempts)
        .shown(Display().lower_is_better().line(kAttempts, 6, "dropped", kZero)),
    share("abandoned_share", "Attempts whose client gave up before it had an answer (timeout, "
          "deadline, or another attempt decided the request), per attempt",
          cohort<&C::gave_up>, attempts)
        .shown(Display().lower_is_better()),
    share("late_share", "Attempts served to the end after their client had given up, per attempt",
          cohort<&C::late>, attempts)
        .shown(Display().lower_is_better().line(kAttempts, 7, "served too late", kZero)),

    share("quota_denied_share", "Requests that ended because a retry was refused, by the quota or "
          "another limit (budget, breaker, guard), per request",
          outcome<Outcome::kQuotaExceeded>, requests)
        .bins(in_bin<&F::quota_denied>, in_bin<&F::requests>)
        .in_phases(made_that_ended<Outcome::kQuotaExceeded>, made<&M::requests>)
        .shown(Display().line(kRequests, 4, "retry refused", kZero)),
    share("no_send_token_share", "Requests that ended because their client refused to send an "
          "attempt (client throttle, or no send token where clients do not wait for one), per "
          "request",
          outcome<Outcome::kNoSendToken>, requests)
        .shown(Display().line(kRequests, 5, "not let through by the client", kZero)),
    share("deadline_exceeded_share", "Requests that ended because their deadline passed, or would "
          "have before the next attempt, per request",
          outcome<Outcome::kDeadlineExceeded>, requests)
        .shown(Display().lower_is_better().line(kRequests, 6, "past their deadline", kZero)),
    share("breaker_denied_share", "Requests that ended because a circuit breaker did not let their "
          "call go, per request",
          outcome<Outcome::kBreakerOpen>, requests_with_breaker)
        .shown(Display().lower_is_better().line(kRequests, 10, "refused by the breaker", kZero)),
    own(kCount, "breaker_refusals", "calls", "Calls that a circuit breaker refused; they are no "
        "attempts", of_breakers<&C::breaker_refusals>),
    own(kCount, "breaker_first_refusals", "requests", "Requests whose first call a circuit breaker "
        "refused", of_breakers<&C::breaker_first_refusals>),
    own(kCount, "breaker_openings", "1", "Times that a circuit breaker opened",
        of_breakers<&C::breaker_openings>),
    share("breaker_open_share", "Time in which a circuit breaker was open, from its opening to the "
          "next call that it let through; on average over the breakers",
          in_window<&F::breaker_open_ns>, breaker_time_ns)
        .shown(Display().line(kRetries, 8, "breaker open", kZero)),
    own(kLevel, "quota_mean", "tokens", "Mean level of a retry quota over time and buckets",
        quota_mean)
        .shown(Display().line(kRetries, 3, "retry quota, mean")),

    service_level<&S::queue_ns>("queue_mean", "attempts", "Mean number of waiting attempts")
        .shown(label("mean queue").lower_is_better().spoken(14)
            .line(kService, 2, "queue, mean").in(kCompared, 4)),
    own(kPeak, "queue_max", "attempts", "Largest number of waiting attempts (of any one service)",
        queue_max).of(kServices)
        .shown(Display().lower_is_better().line(kService, 3, "queue, largest")),
    service_level<&S::in_system_ns>("in_system_mean", "attempts",
                                    "Mean number of attempts waiting or in service"),
    own(kDeviation, "in_system_variance", "1",
        "Variance over time of that number (a single service)", in_system_variance)
        .of(kServices).only_if(single),
    count("ejections", "1", "Times that a balancer took an instance out of rotation because of its "
          "answers", ejections)
        .of(kServices).only_if(some_listens),
    of_sum(MetricKind::kLevel, "ejected_mean", "instances", "Mean number of instances out of "
           "rotation because of their answers; of balancers of single clients, on average over "
           "them",
           ejected_ns)
        .of(kServices).only_if(some_listens),
    level<&F::in_backoff_ns>("in_backoff_mean", "requests",
                             "Mean number of requests in backoff")
        .shown(Display().line(kRetries, 2, "requests in backoff", kZero)),
    service_level<&S::all_busy_ns>("all_busy_share", "1",
                                   "Share of time with no free server (a single service)")
        .only_if(single_limited).within(MetricRange::kShare).in_percent(),
    share("wait_probability", "Admitted attempts that found no free server, per admitted attempt",
          cohort<&C::waited>, cohort<&C::admitted>)
        .in_percent(false),
    share("service_level", "Attempts that a server began to serve after a wait of at most "
          "wait_within, per attempt that arrived: refused and dropped ones count against it",
          waits<&WaitCounts::within>, waits<&WaitCounts::arrivals>)
        .shown(Display().higher_is_better().line(kService, 5, "service level")),
    share("wait_within_share", "Attempts that a server began to serve after a wait of at most "
          "wait_within, per attempt that a server began to serve",
          waits<&WaitCounts::within>, waits<&WaitCounts::started>)
        .shown(Display().higher_is_better()),
    share("cache_hit_share", "Calls that were not made because of a cache, per call that was to be "
          "made and had one before it",
          cached<&CacheCounts::hits>, cached<&CacheCounts::lookups>)
        .shown(Display().higher_is_better()),
});

constexpr auto kOfDurations = all_of(
    durations<"queueing_time", "Waiting in the queue", &C::queueing_time_m, &C::queueing_time>()
        .mean_means("Waiting in the queue of an attempt: mean")
        .rows(),
    durations<"service_latency", "Queue and service", &C::service_latency_m,
              &C::service_latency>()
        .mean_means("Queue and service of an attempt: mean")
        .rows(),
    durations<"attempt_latency", "Send to result of an attempt", &C::attempt_latency_m,
              &C::attempt_latency>()
        .mean_means("Send to result of an attempt, as its client sees it: mean")
        .rows(),
    durations<"latency", "Submission to end of a request", &C::latency_m, &C::latency>()
        .mean_means("Submission to end of a request, waiting and backoff included: mean")
        .mean_bins(latency_s_in_bin, latencies_in_bin)
        .in_phases<&PhaseResult::latency>()
        .shown(&D::mean, label("mean latency").lower_is_better()
            .spoken(15).line(kLatency, 1, "mean")
            .in(kCompared, 5).in(kSwept, 7).in(kSweptTable, 4).in(kOfModes, 4).in(kWarmup, 3))
        .shown(&D::p50, label("median latency").lower_is_better().spoken(16)
            .line(kLatency, 2, "median").in(kCompared, 7).in(kSwept, 8))
        .shown(&D::p90, label("p90 latency").lower_is_better().line(kLatency, 3, "p90"))
        .shown(&D::p99, label("p99 latency").lower_is_better().spoken(17)
            .line(kLatency, 4, "p99").in(kCompared, 8).in(kSwept, 9).in(kSweptTable, 5))
        .shown(&D::p999, label("p99.9 latency").lower_is_better().line(kLatency, 5, "p99.9"))
        .rows(),
    durations<"latency_ok", "Submission to end of successful requests", &C::latency_ok_m,
              &C::latency_ok>()
        .in_phases<&PhaseResult::latency_ok>()
        .shown(&D::mean, label("mean latency of successes").lower_is_better()
            .spoken(8, {"lower mean latency of successes", "higher mean latency of successes"})
            .in(kCompared, 6))
        .shown(&D::p50, label("median latency of successes").lower_is_better()
            .line(kLatency, 6, "median of successes"))
        .shown(&D::p99, label("p99 latency of successes").lower_is_better()
            .line(kLatency, 7, "p99 of successes"))
        .rows(),
    durations<"latency_intended", "From when a request was due to its end",
              &C::latency_intended_m, &C::latency_intended>()
        .mean_means("From when a request was due to its end: mean (closed loops with think_from "
                    "= start, one request at a time: think time after the start of the previous "
                    "one)")
        .rows());

constexpr auto kOfWorkAndRecovery = std::to_array<MetricInfo>({
    duration_mean<"backoff_time", "Length of one backoff", &C::backoff_time_m>()
        .shown(Display().line(kRetries, 1, "one backoff, mean")),
    duration_deviation<"backoff_time", "Length of one backoff", &C::backoff_time_m>(),
    mean("send_wait_mean", "Waiting for send tokens of a request: mean",
         seconds<&C::send_wait_ns>, requests)
        .shown(Display().lower_is_better().line(kRetries, 4, "wait for send token", kZero)),
    mean("connection_wait_mean", "Waiting for a pooled connection, or for a place in the "
         "bulkhead, of a request: mean",
         seconds<&C::connection_wait_ns>, requests)
        .shown(Display().lower_is_better().line(kRetries, 5, "wait for connection", kZero)),
    ratio("unconnected_per_request", "Attempts that their client did not send because it had no "
          "connection, or no place in its bulkhead, in time, per request",
          cohort<&C::unconnected>, requests)
        .shown(Display().lower_is_better().line(kRetries, 9, "unsent: no connection or place, per "
               "request", kZero)),
    ratio("unpermitted_per_request", "Attempts that their client did not send because of its limit "
          "on the send rate, per request",
          cohort<&C::unpermitted>, requests)
        .shown(Display().lower_is_better().line(kRetries, 10, "unsent for the send rate, per "
               "request", kZero)),
    mean("backoff_wait_mean", "All backoffs of a request: mean", seconds<&C::backoff_total_ns>,
         requests),
    mean("answer_wait_mean", "Waiting for the answers to the attempts of a request: mean; if every "
         "request ended and none was hedged, these four add up to latency_mean",
         seconds<&C::attempt_total_ns>, requests),

    count("executed", "attempts", "Attempts served to the end", cohort<&C::executed>),
    ratio("executions_per_request", "Attempts served to the end, per request",
          cohort<&C::executed>, requests),
    ratio("effects_per_request", "Executions that succeeded, per request with side effects",
          cohort<&C::effects>, mutating),
    share("duplicate_share", "Requests with side effects that took effect more than once, per "
          "such request", cohort<&C::duplicated>, mutating)
        .shown(label("share of duplicates").lower_is_better()
            .spoken(5, {"fewer duplicates", "more duplicates"})),
    share("lost_share", "Requests with side effects that succeeded for their client although "
          "nothing took effect (idempotency.stored = before-effect), per such request",
          cohort<&C::lost_effects>, mutating)
        .shown(Display().lower_is_better()),
    share("swallowed_share", "Requests with side effects that succeeded without an effect of their "
          "own, because the service took them for another request that says the same (token_from = "
          "content), per such request", cohort<&C::swallowed>, mutating)
        .shown(Display().lower_is_better()),
    share("ambiguous_share", "Requests with side effects that failed for their client but took "
          "effect, per such request", cohort<&C::ambiguous>, mutating)
        .shown(Display().lower_is_better()),
    ratio("replays_per_request", "Attempts answered without execution because their token showed "
          "that the effect had happened, per request with side effects",
          cohort<&C::replays>, mutating),
    ratio("expired_replays_per_request", "Attempts executed again because the token of an earlier "
          "effect had expired, per request with side effects",
          cohort<&C::expired_replays>, mutating),
    ratio("token_races_per_request", "Attempts executed because another one with their token had "
          "been checked but the token was not stored yet (idempotency.write_delay), per request "
          "with side effects", cohort<&C::token_races>, mutating)
        .shown(Display().lower_is_better()),
    ratio("token_waits_per_request", "Attempts that waited at their server for another one with "
          "their token (idempotency.in_progress = wait), per request with side effects",
          cohort<&C::token_waits>, mutating),
    ratio("reconciliations_per_request", "Reads before a retry that a server answered "
          "(reconcile_read), per request with side effects", cohort<&C::reconciliations>, mutating),
    ratio("reconciled_per_request", "Of those reads, the ones that found the effect, so that "
          "nothing was sent again; per request with side effects",
          cohort<&C::reconciled>, mutating),
    ratio("mismatches_per_request", "Attempts refused because their token belonged to another "
          "request, per request with side effects", cohort<&C::mismatches>, mutating),
    capacity("wasted_share", "Share of capacity spent on answers that were lost or that no "
             "client was still waiting for, counting whole service times; failures that reached "
             "their client do not count", wasted_ns)
        .within(MetricRange::kShare)
        .in_percent()
        .shown(label("wasted capacity").lower_is_better()
            .spoken(12, {"less wasted capacity", "more wasted capacity"})
            .line(kService, 4, "wasted capacity", kZero).in(kCompared, 9)),
    capacity("wasted_after_give_up_share", "Share of capacity spent on attempts after their client "
             "had given up", wasted_after_give_up_ns)
        .within(MetricRange::kShare)
        .in_percent().shown(Display().lower_is_better()),
    count("wasted_s", "s", "Service time of those answers", wasted_s)
        .of(kServices).shown(Display().lower_is_better()),

    own(kPeak, "peak_attempt_rate", "1/s", "Largest attempt rate of a time-series bin in the "
        "window", peak_rate)
        .shown(label("peak attempt rate").lower_is_better()
            .spoken(11, {"lower peak attempt rate", "higher peak attempt rate"})
            .line(kLoad, 7, "peak attempt rate").in(kCompared, 12).in(kSwept, 11)),
    own(kOther, "peak_to_mean", "1", "That rate divided by the mean attempt rate", peak_to_mean),
    own(kOther, "dispersion_index", "1", "Variance divided by mean of the number of attempts that "
        "arrive in a time-series bin: 1 for Poisson arrivals, more for bursts; burstiness.csv has "
        "wider windows", arrival_dispersion),
    own(kOther, "autocorrelation", "1", "Largest correlation of the attempts that arrive in a bin "
        "with those some bins earlier, up to a quarter of the window", echo<&Echo::correlation>)
        .within(MetricRange::kCorrelation),
    own(kOther, "autocorrelation_lag_s", "s", "Lag of that correlation", echo<&Echo::lag_s>),
    own(kOther, "spectral_peak_ratio", "1", "Largest ordinate of the periodogram of the attempts "
        "that arrive, divided by the median ordinate", spectrum<&SpectralPeak::ratio>),
    own(kOther, "spectral_peak_frequency", "1/s", "Frequency of that ordinate",
        spectrum<&SpectralPeak::frequency>),
    own(kOther, "spectral_p_value", "1", "Probability of such a peak without any rhythm (Fisher's "
        "test)", spectrum<&SpectralPeak::p_value>)
        .within(MetricRange::kShare),
    own(kPeak, "peak_amplification", "1", "Largest attempts per request over a rolling window of "
        "attempt timeout + longest backoff, at least 10 bins", peak_amplification_of)
        .shown(label("peak amplification").lower_is_better()
            .line(kLoad, 8, "peak amplification").in(kSwept, 12)),
    own(kOther, "recovery_s", "s", "From the end of the last fault or surge that may reach the "
        "group until goodput has recovered for good; absent if it did not during the run", recovery)
        .shown(label("recovery time").lower_is_better()
            .spoken(7, {"shorter recovery time", "longer recovery time"})
            .line(kRetries, 6, "recovery").in(kCompared, 10).in(kSwept, 13)),
    own(kOther, "disturbed_success_rate", "1", "Share of the requests submitted during a fault "
        "or surge that did not fail; recovery_s leaves that time out", disturbed_success_rate)
        .in_percent()
        .shown(Display().higher_is_better().line(kRetries, 7, "success while disturbed")),
    probability("recovered", "Whether goodput recovered for good during the run: 1 or 0", recovered)
        .shown(label("recovery").higher_is_better()
            .spoken(1, {"lower probability of recovery", "higher probability of recovery"})
            .in(kCompared, 11)),
    own(kOther, "recovery_censored_s", "s", "In a run without recovery: how long after the end "
        "of the last fault or surge goodput had still not recovered", recovery_censored),
    own(kOther, "recovery_median_s", "s", "Median of recovery_s over all replications, including "
        "those that did not recover (Kaplan and Meier); summary only", nothing)
        .summarized_as(MetricSummary::kMedianRecovery).shown(Display().lower_is_better()),
    probability("metastable_probability", "Probability that retries keep the service down: it does "
                "not recover, but its twin without them does; Wilson's interval",
                metastable)
        .of(kAllOnly)
        .shown(label("metastable failures").lower_is_better()
            .spoken(6, {"lower probability of metastable failure",
                        "higher probability of metastable failure"})),
    own(kOther, "error_budget_used", "1", "Share of an error budget ([slo.NAME]) that the faults "
        "and surges of the run use, or the run if there are none; of several the largest. slo.csv "
        "has each", error_budget_used_by)
        .of(kAllOnly)
        .in_percent()
        .shown(label("error budget used").lower_is_better()
            .spoken(18, {"lower use of the error budget", "higher use of the error budget"})
            .line(kRetries, 11, "error budget used").in(kCompared, 14)),
    own(kCount, "jobs", "jobs", "Jobs begun in the window that clients poll for", jobs_if_any),
    share("job_success_rate", "Jobs that their client saw done, per job; the others had too many "
          "checks, had a check that failed other than by throttling, or did not end during the run",
          jobs_done, jobs_begun)
        .shown(Display().higher_is_better()),
    ratio("checks_per_job", "Checks until a job was seen to be done: mean", checks, jobs_done),
    mean("detection_delay_mean", "From the end of a job until its client knows of it: mean",
         detection_delays_s, detections)
        .shown(Display().lower_is_better()),
    own(kOther, "jain_index", "1", "Jain's fairness of goodput among clients: 1: all equal, 1/n: "
        "one client has it all", jain_index)
        .within(MetricRange::kShare).shown(Display().higher_is_better()),
    own(kOther, "jain_index_success_rate", "1", "Jain's fairness of the success rate among clients "
        "whose requests ended: 1: all equal, 1/n: one client has it all", jain_index_of_success)
        .within(MetricRange::kShare).in_percent().shown(Display().higher_is_better()),
    own(kOther, "completion_time_s", "s", "When the last request ended, from the start of the run",
        completion_time)
        .of(kAllOnly)
        .shown(label("time to completion").lower_is_better()
            .spoken(10, {"shorter time to completion", "longer time to completion"})
            .in(kCompared, 13).in(kSwept, 10)),
});
// clang-format on

constexpr auto kTable = all_of(kOfRequests, kOfDurations, kOfWorkAndRecovery);

}  // namespace

std::span<const MetricInfo> metric_table() { return kTable; }

// --- Finding metrics -----------------------------------------------------------------------------

std::vector<std::string_view> metric_names() {
  std::vector<std::string_view> names;
  for (const MetricInfo& metric : metric_table()) names.push_back(metric.name);
  return names;
}

const MetricInfo* find_metric(std::string_view name) {
  const std::span<const MetricInfo> table = metric_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const MetricInfo& m) { return m.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::size_t index_of(const MetricInfo& metric) {
  return static_cast<std::size_t>(&metric - metric_table().data());
}

std::vector<const MetricInfo*> metrics_of(MetricList list) {
  std::vector<const MetricInfo*> metrics;
  for (const MetricInfo& metric : metric_table()) {
    if (metric.display.place(list) > 0) metrics.push_back(&metric);
  }
  std::sort(metrics.begin(), metrics.end(), [&](const MetricInfo* a, const MetricInfo* b) {
    return a->display.place(list) < b->display.place(list);
  });
  return metrics;
}

std::optional<std::size_t> own_service(const Scenario& scenario, std::size_t client) {
  if (!calls_one_service(scenario.clients[client])) return std::nullopt;
  stop_point();  // there may be many groups
  const std::size_t service = scenario.clients[client].service;
  for (std::size_t other = 0; other < scenario.clients.size(); ++other) {
    if (other != client && share_of_calls(scenario.clients[other], service) > 0) {
      return std::nullopt;
    }
  }
  return service;
}

bool quantile_exists(std::uint64_t count, double p) {
  // The tolerance lets 10 values have a p90 although 1 - 0.9 is a little less than 0.1.
  return static_cast<double>(count) * std::min(p, 1 - p) >= 1 - 1e-9;
}

std::optional<double> quantile_seconds(const Histogram& histogram, double p) {
  if (!quantile_exists(histogram.count(), p)) return std::nullopt;
  return histogram.quantile(p) / 1e9;
}

bool quantile_is_well_supported(const Histogram& histogram, double p) {
  return static_cast<double>(histogram.count()) * std::min(p, 1 - p) >= 100 - 1e-9;
}

// --- Computing them ------------------------------------------------------------------------------

namespace {

/// The divisor of a metric's sum; zero if there is nothing to divide by.
double divisor(const MetricInfo& metric, const MetricInput& in) {
  switch (metric.kind) {
    case MetricKind::kShare:
    case MetricKind::kRatio:
      return metric.per(in);
    case MetricKind::kRate:
      return in.window_s();
    case MetricKind::kLevel:
      return in.window_s() * 1e9;
    case MetricKind::kCapacity: {
      double capacity = 0;
      for (const ServiceResult& s : in.services) {
        capacity += s.capacity_ns(s.window, in.window_s() * 1e9);
      }
      return capacity;
    }
    default:
      return 1;
  }
}

std::optional<double> apply(const MetricInfo& metric, const MetricInput& in) {
  if (in.group && metric.scope == MetricScope::kAllOnly) return std::nullopt;
  if (in.group && metric.scope == MetricScope::kServices && in.services.empty())
    return std::nullopt;
  if (metric.services != nullptr && !metric.services(in.services)) return std::nullopt;
  if (metric.formula != nullptr) return metric.formula(in);
  const double below = divisor(metric, in);
  if (below <= 0) return std::nullopt;
  return metric.sum(in) / below;
}

MetricInput input_of(const Scenario& scenario, const RunResult& run, const ClientResult& client,
                     std::optional<std::size_t> group) {
  std::span<const ServiceResult> services(run.services);
  if (group) {
    const auto own = own_service(scenario, *group);
    services = own ? services.subspan(*own, 1) : std::span<const ServiceResult>();
  }
  return {scenario, run, client, group, services};
}

}  // namespace

std::optional<double> metric_value(const MetricInfo& metric, const Scenario& scenario,
                                   const RunResult& run, std::optional<std::size_t> client) {
  if (client) return apply(metric, input_of(scenario, run, run.clients[*client], client));
  const ClientResult all = stats::merge_groups(scenario, run);
  return apply(metric, input_of(scenario, run, all, client));
}

MeasuredMetrics measure_metrics(const Scenario& scenario, const RunResult& run,
                                std::optional<std::size_t> client) {
  const ClientResult all = client ? ClientResult() : stats::merge_groups(scenario, run);
  const MetricInput in = input_of(scenario, run, client ? run.clients[*client] : all, client);
  MeasuredMetrics measured;
  for (const MetricInfo& metric : metric_table()) {
    stop_point();  // some metrics go through all bins
    measured.values.push_back(apply(metric, in));
    measured.per.push_back(metric.per != nullptr ? metric.per(in) : 0);
  }
  return measured;
}

std::vector<std::optional<double>> metric_values(const Scenario& scenario, const RunResult& run,
                                                 std::optional<std::size_t> client) {
  return measure_metrics(scenario, run, client).values;
}

}  // namespace retrysim
