// SPDX-License-Identifier: MIT
#include "measure/record/recorder.hpp"

#include "kernel/memory.hpp"
#include "measure/record/phase_log.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace retrysim::stats {

// --- Time: integrating the noted levels of a service, two at a time ------------------------------

namespace {

// Two numbers at a time: registers of 128 bits are what every processor of this kind has, and the
// compiler makes single steps of them elsewhere.
using TwoDoubles [[gnu::vector_size(16)]] = double;
using TwoLongs [[gnu::vector_size(16)]] = std::int64_t;

TwoLongs two_at(const std::int64_t* numbers) {
  TwoLongs two;
  std::memcpy(&two, numbers, sizeof two);
  return two;
}

/// Of whole numbers from 0 to 2^52 - 1: the last bits of a double from 2^52 on.
TwoDoubles exactly(TwoLongs numbers) {
  constexpr double kBase = 0x1p52;
  constexpr std::int64_t kBaseBits = std::int64_t{1023 + 52} << 52;
  TwoDoubles doubles;
  numbers |= kBaseBits;
  std::memcpy(&doubles, &numbers, sizeof doubles);
  return doubles - kBase;
}

}  // namespace

void StationLog::integrate() {
  if (!integrate_whole_numbers()) integrate_in_order();
  since_[0] = since_[last_];
  busy_[0] = busy_[last_];
  in_system_[0] = in_system_[last_];
  last_ = 0;
}

// Whole numbers below 2^53 are added without rounding, and since none of them is negative, none was
// larger on the way to a sum that is not.
bool StationLog::integrate_whole_numbers() {
  constexpr std::int64_t kLongest = std::int64_t{1} << 52;  // fifty days
  if (since_[last_] - since_[0] >= kLongest) return false;
  // The time after the last noted levels has no length: an odd one adds nothing.
  since_[last_ + 1] = since_[last_];
  const TwoDoubles servers = {servers_, servers_};
  TwoDoubles busy_sum = {}, sum = {}, squared_sum = {}, all_busy_sum = {};
  for (std::size_t i = 0; i < last_; i += 2) {
    const TwoDoubles dt = exactly(two_at(&since_[i + 1]) - two_at(&since_[i]));
    const TwoDoubles busy = exactly(two_at(&busy_[i]));
    const TwoDoubles in_system = exactly(two_at(&in_system_[i]));
    const TwoDoubles area = in_system * dt;
    busy_sum += busy * dt;
    sum += area;
    squared_sum += in_system * area;
    all_busy_sum += busy >= servers ? dt : TwoDoubles{};
  }
  const auto both = [](TwoDoubles two) { return two[0] + two[1]; };
  const Integrals sums = {sums_.busy + both(busy_sum), sums_.in_system + both(sum),
                          sums_.in_system_squared + both(squared_sum),
                          sums_.all_busy + both(all_busy_sum)};
  if (std::max({sums.busy, sums.in_system, sums.in_system_squared, sums.all_busy}) >= 0x1p53) {
    return false;
  }
  sums_ = sums;
  return true;
}

void StationLog::integrate_in_order() {
  for (std::size_t i = 0; i < last_; ++i) {
    const auto dt = static_cast<double>(since_[i + 1] - since_[i]);
    const auto busy = static_cast<double>(busy_[i]);
    const auto in_system = static_cast<double>(in_system_[i]);
    const double area = in_system * dt;
    sums_.busy += busy * dt;
    sums_.in_system += area;
    sums_.in_system_squared += in_system * area;
    sums_.all_busy += busy >= servers_ ? dt : 0;
  }
}

StationLog::Integrals StationLog::fold(Time end) {
  note(end, now());
  integrate();
  const Integrals sums = sums_;
  sums_ = {};
  return sums;
}

// --- A client group ------------------------------------------------------------------------------

// Where segments, bins, the window and the run end: from running counts to results.

namespace {

template <class Counts, class Word>
auto& count_of(Counts& counts, Word word) {
  return counts[static_cast<std::size_t>(word)];
}

}  // namespace

void ClientRecorder::failed(const RequestEnded& event) {
  const auto& [client, in_cohort, outcome, attempts, submitted, now] = event;
  const bool is_late = in_cohort && submitted < stretch_start_;
  if (in_cohort) {
    attempts_squared_ += std::uint64_t{attempts} * attempts;
    attempts_of_ended_ += attempts;
    unsent_ += attempts == 0;
  }
  if (outcome == Outcome::kUnfinished) {
    if (is_late) ended_late(event, 0);
    return;
  }
  ++tally_.failures;
  ++result_.counts[span_->count_bin_of(submitted)].failed;
  last_end_ = now;
  by_client.failed(client);
  if (is_late) return ended_late(event, DurationBooks::kBin | DurationBooks::kLatency);
  durations_.add(in_cohort
                     ? DurationBooks::kBin | DurationBooks::kLatency | DurationBooks::kSameStretch
                     : DurationBooks::kBin,
                 now - submitted);
}

void ClientRecorder::ended_late(const RequestEnded& event, unsigned headings) {
  const Duration latency = event.now - event.submitted;
  late.ended(event.submitted, event.outcome, event.attempts, latency);
  if (headings != 0) durations_.add(headings, latency);
}

void ClientRecorder::ended_after_due(bool in_cohort, Duration since_due) {
  if (!in_cohort) return;
  result_.latency_intended.add(static_cast<std::uint64_t>(since_due.count()));
  result_.latency_intended_m.add(since_due);
}

void ClientRecorder::side_effects(const RequestEffects& e) {
  ClientResult& r = result_;
  ++r.mutating;
  r.effects += e.effects;
  r.duplicated += e.effects >= 2;
  r.ambiguous += e.failed && e.effects > 0;
  const bool for_nothing = e.succeeded && e.effects == 0;
  r.lost_effects += for_nothing && !e.by_another;
  r.swallowed += for_nothing && e.by_another;
  r.replays += e.replays;
  r.mismatches += e.mismatches;
  r.expired_replays += e.expired_replays;
  r.token_races += e.token_races;
  r.token_waits += e.token_waits;
  r.reconciliations += e.reconciliations;
  r.reconciled += e.reconciled;
}

void ClientRecorder::backoff_goes_on(std::uint32_t number, Time since) {
  rows_.of(number).in_backoff(span_->inside_window_ns(since, span_->window_end));
}

void ClientRecorder::begin_window() {
  in_window_ = true;
  by_client.begin_window(result_.successes_per_client);
  jobs.begin_window();
  rows_.begin_window();
}

// The requests of the cohort that have ended up to now did so in the window.
void ClientRecorder::end_window() {
  in_window_ = false;
  by_client.end_window();
  jobs.end_window();
  rows_.end_window();
  const RequestTally::Outcomes& cohort = tally_.outcomes[1];
  result_.successes_within = count_of(cohort, Outcome::kSuccess);
  result_.ended_within = std::accumulate(cohort.begin(), cohort.end(), std::uint64_t{0}) -
                         count_of(cohort, Outcome::kUnfinished);
}

void ClientRecorder::fold_segment(Time end) {
  const ClientFlow now = told();
  ClientFlow flow = counts_between(edges_.told_at_segment, now);
  edges_.told_at_segment = now;
  flow.limiter_waiting_ns = send_waits.waiting().fold(end);
  flow.connection_waiting_ns = connection_waits.waiting().fold(end);
  flow.in_backoff_ns = in_backoff_.fold(end);
  flow.in_flight_ns = in_flight_.fold(end);
  edges_.row.flow.merge(flow);
  if (in_window_) result_.window.merge(flow);
}

BinTotals& ClientRecorder::close_bin() {
  BinTotals& latency = durations_.bin();
  latency.describe(edges_.row);
  result_.bins.push_back(std::exchange(edges_.row, {}));
  return latency;
}

void ClientRecorder::add_counts(std::size_t bin) {
  const RequestTally::Counted now = tally_.counted();
  const RequestTally::Counted& then = edges_.counted_at_bin;
  const auto narrow = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
  RequestCounts& counts = result_.counts[bin];
  counts.requests += narrow(now.requests - then.requests);
  counts.successes += narrow(now.successes - then.successes);
  counts.failures += narrow(now.failures - then.failures);
  counts.failed_attempts += narrow(now.failed_attempts - then.failed_attempts);
  edges_.counted_at_bin = now;
  edges_.counted_in_all = now.sum();
}

GroupTotals ClientRecorder::totals(Time now) const {
  const PhaseRequests& others = late.all();
  PhaseRequests ended;
  for (std::size_t i = 0; i < ended.outcomes.size(); ++i) {
    ended.outcomes[i] = tally_.outcomes[1][i] - others.outcomes[i];
  }
  ended.attempts = attempts_of_ended_ - others.attempts;
  ended.unsent = unsent_ - others.unsent;
  return {ended,
          told(),
          passage.all_rejected(),
          {send_waits.waiting().total(now), connection_waits.waiting().total(now),
           in_backoff_.total(now), in_flight_.total(now)}};
}

GroupLevels ClientRecorder::levels() const {
  return {send_waits.waiting().now(), connection_waits.waiting().now(), in_backoff_.now(),
          in_flight_.now(), quota.level()};
}

void ClientRecorder::close_durations() {
  const auto take = [&](DurationBooks::Heading heading, Histogram& histogram,
                        DurationMoments& moments) {
    DurationTotals totals = durations_.totals(heading);
    histogram = std::move(totals.histogram);
    moments = totals.moments;
  };
  ClientResult& r = result_;
  take(DurationBooks::kLatency, r.latency, r.latency_m);
  take(DurationBooks::kLatencyOk, r.latency_ok, r.latency_ok_m);
  take(DurationBooks::kAttemptLatency, r.attempt_latency, r.attempt_latency_m);
  take(DurationBooks::kServiceLatency, r.service_latency, r.service_latency_m);
  r.attempt_total_ns = r.attempt_latency_m.sum_ns;
  r.backoff_total_ns = r.backoff_time_m.sum_ns;
  r.send_wait_ns = send_waits.cohort_ns();
  r.connection_wait_ns = connection_waits.cohort_ns();
}

void ClientRecorder::close_attempts() {
  ClientResult& r = result_;
  r.by_attempt = rows_.counts();
  r.attempts_squared = attempts_squared_;
  for (const AttemptNumberCounts& number : r.by_attempt) {
    r.attempts += number.sent;
    for (std::size_t i = 0; i < r.results.size(); ++i) r.results[i] += number.results[i];
  }
  r.gave_up =
      count_of(r.results, AttemptResult::kTimeout) + count_of(r.results, AttemptResult::kAbandoned);
}

ClientResult ClientRecorder::finish() {
  ClientResult& r = result_;
  r.outcomes = tally_.outcomes[1];
  close_durations();
  close_attempts();
  passage.close(r);
  quota.close(r);
  r.jobs = jobs.counts();
  r.cache = cache_;
  ClientEnds::close(r.successes_per_client, r.ended_per_client);
  r.requests = cohort_calls_;
  // Results of many replications are kept: without the room that vectors take to grow.
  r.bins.shrink_to_fit();
  r.counts.pop_back();
  return std::move(r);
}

// The parts.

void AttemptRow::begin_bin(Time now) {
  constexpr std::int64_t kWidth = 100'000'000;
  if (bin_end_ == Time()) before_bin_ = all_sent();  // the first one in the window
  note_peak();
  bin_end_ = Time::from_nanoseconds((now.count() / kWidth + 1) * kWidth);
}

void AttemptRows::begin_window() {
  in_window_ = true;
  for (AttemptRow& row : few_) row.begin_window();
  for (AttemptRow& row : later_) row.begin_window();
}

void AttemptRows::end_window() {
  in_window_ = false;
  for (AttemptRow& row : few_) row.end_window();
  for (AttemptRow& row : later_) row.end_window();
}

void AttemptRows::reach(std::size_t later) {
  const std::size_t before = later_.size();
  later_.resize(later + 1);
  if (!in_window_) return;
  for (std::size_t i = before; i < later_.size(); ++i) later_[i].begin_window();
}

std::vector<AttemptNumberCounts> AttemptRows::counts() const {
  std::size_t few = kFew;
  while (later_.empty() && few > 0 && !few_[few - 1].is_used()) --few;
  std::vector<AttemptNumberCounts> all;
  for (std::size_t i = 0; i < few; ++i) all.push_back(few_[i].counts());
  for (const AttemptRow& row : later_) all.push_back(row.counts());
  return all;
}

void PassageCounts::add_noted() {
  add_block({noted_.data(), std::exchange(count_, 0)}, queueing_time_, nullptr);
}

void QuotaRecorder::changed(std::int64_t change, Time now) {
  area_ns_ += level_ * span_->inside_window_ns(since_, now);
  since_ = now;
  level_ += static_cast<double>(change);
}

void QuotaRecorder::close(ClientResult& result) {
  changed(0, span_->window_end);
  result.has_quota = exists_;
  const Duration window = span_->window_end - span_->window_start;
  const auto window_ns = static_cast<double>(window.count());
  if (exists_) result.quota_mean = area_ns_ / (window_ns * buckets_);
}

// --- A service, and its instances ----------------------------------------------------------------

namespace {

// Where each attempt has a server to itself, those beyond the busy servers wait. Where attempts
// share the servers, none ever waits: each is served from the moment it comes
// (SharedServers::has_room), and a limit on concurrency turns attempts away rather than letting
// them queue. The end of every run checks that no attempt has waited there
// (sim/model/run/books.cpp).
void add_integrals(ServiceFlow& flow, const StationLog::Integrals& integrals, bool has_queue) {
  flow.busy_ns = integrals.busy;
  flow.in_system_ns = integrals.in_system;
  flow.in_system_squared_ns = integrals.in_system_squared;
  flow.all_busy_ns = integrals.all_busy;
  flow.queue_ns = has_queue ? integrals.in_system - integrals.busy : 0;
}

}  // namespace

ServiceRecorder::ServiceRecorder(const ServiceSpec& spec, const RunSpan& span)
    : working_(spec.all_servers()),
      span_(&span),
      has_queue_(retrysim::has_queue(spec.queue.discipline)),
      nominal_(spec.all_servers()) {
  result_.unlimited = spec.servers == ServiceSpec::kUnlimited;
  result_.nominal_servers = result_.unlimited ? 0 : spec.all_servers();
  log_.set_servers(working_);
}

void ServiceRecorder::add_wasted_work(Time from, Time to) {
  result_.wasted_after_give_up_ns += span_->inside_window_ns(from, to);
}

void ServiceRecorder::wasting_servers(double servers, Time now) {
  result_.wasted_after_give_up_ns += in_vain_ * span_->inside_window_ns(in_vain_since_, now);
  in_vain_since_ = now;
  in_vain_ = servers;
}

void ServiceRecorder::answer_unused(double server_ns, Time finished, bool executed) {
  if (!span_->in_window(finished)) return;
  result_.wasted_full_ns += server_ns;
  result_.unused += executed;
}

StationLevels ServiceRecorder::levels() const {
  const StationLog::Levels now = log_.now();
  return {now.busy, now.in_system, static_cast<std::int64_t>(queued_), working_};
}

void ServiceRecorder::set_servers(std::int64_t working, Time now) {
  integrate_servers(now);
  working_ = working;
  log_.set_servers(working);
}

double ServiceRecorder::servers_ns_until(Time now) const {
  return static_cast<double>(working_) * static_cast<double>((now - servers_since_).count());
}

void ServiceRecorder::integrate_servers(Time now) {
  servers_ns_ += servers_ns_until(now);
  servers_since_ = now;
}

double ServiceRecorder::extra_ns_until(Time now) const {
  return static_cast<double>(extra_) * static_cast<double>((now - extra_since_).count());
}

void ServiceRecorder::note_extra(std::int64_t servers, Time now) {
  extra_ns_ += extra_ns_until(now);
  extra_since_ = now;
  extra_ = servers;
}

void ServiceRecorder::find_extra(std::int64_t busy, Time now) {
  const std::int64_t extra = std::max<std::int64_t>(std::max(busy, working_) - nominal_, 0);
  if (extra != extra_) note_extra(extra, now);
  quiet_busy_ = extra == 0 ? nominal_ : -1;
}

void ServiceRecorder::fold_segment(Time end) {
  integrate_servers(end);
  note_extra(extra_, end);
  add_integrals(flow_, log_.fold(end), has_queue_);
  flow_.servers_ns = std::exchange(servers_ns_, 0);
  flow_.extra_servers_ns = std::exchange(extra_ns_, 0);
  flow_.queue_max = std::exchange(queue_max_, queued_);
  row_.merge(flow_);
  if (in_window_) result_.window.merge(flow_);
  before_.merge(flow_);
  flow_ = ServiceFlow{};
}

void ServiceRecorder::close_bin() { result_.bins.push_back(std::exchange(row_, {})); }

// Nothing happens in all but the first of the bins.
void ServiceRecorder::note_queue(std::size_t bin, std::size_t next) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto queued = static_cast<std::uint32_t>(std::min(queued_, kMost));
  for (std::size_t i = bin + 1; i <= next; ++i) result_.queued[i] = queued;
}

// The levels stay as they are: what is added up elsewhere must not depend on who asks.
ServiceFlow ServiceRecorder::totals(Time now) const {
  StationLog log = log_;
  ServiceFlow flow = flow_;
  add_integrals(flow, log.fold(now), has_queue_);
  flow.servers_ns = servers_ns_ + servers_ns_until(now);
  flow.extra_servers_ns = extra_ns_ + extra_ns_until(now);
  flow.merge(before_);
  return flow;
}

ServiceResult ServiceRecorder::finish() {
  // Work that began before the window counts whole, and then may be more than was done in it.
  const double busy_ns = result_.window.busy_ns;
  result_.wasted_full_ns = std::min(result_.wasted_full_ns, busy_ns);
  result_.wasted_after_give_up_ns = std::min(result_.wasted_after_give_up_ns, busy_ns);
  result_.bins.shrink_to_fit();
  result_.queued.pop_back();
  return std::move(result_);
}

// --- The run: cut into segments, and the results of all recorders --------------------------------

namespace {

std::vector<ClientRecorder> client_recorders(const Scenario& scenario, const RunSpan& span) {
  std::vector<ClientRecorder> all;
  all.reserve(scenario.clients.size());
  while (all.size() < scenario.clients.size()) all.emplace_back(span);
  return all;
}

std::vector<ServiceRecorder> service_recorders(const Scenario& scenario, const RunSpan& span) {
  std::vector<ServiceRecorder> all;
  all.reserve(scenario.services.size());
  for (const ServiceSpec& spec : scenario.services) all.emplace_back(spec, span);
  return all;
}

/// Whether a group asks a service that may succeed although one of its calls has failed.
std::vector<bool> groups_that_may_be_degraded(const Scenario& scenario) {
  std::vector<bool> services(scenario.services.size()), groups(scenario.clients.size());
  for (const CallSpec& call : scenario.calls) {
    if (call.on_failure != CallFailure::kFail) services[call.caller] = true;
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const ServiceShare& called : service_shares(scenario.clients[g])) {
      if (services[called.service]) groups[g] = true;
    }
  }
  return groups;
}

}  // namespace

Recorder::Recorder(const Scenario& scenario, std::uint32_t replication)
    : scenario_(scenario),
      span_(scenario),
      clients_(client_recorders(scenario, span_)),
      services_(service_recorders(scenario, span_)),
      phases_(scenario),
      bin_end_(Time::zero() + scenario.interval),
      count_bin_end_(Time::zero() + span_.count_width),
      replication_(replication) {
  const kernel::Claim claim;
  take_memory(scenario, clients_, services_, all_bins_, claim, claim);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    users_ += !is_inner(i);
    clients_[i].late.set_cuts(phases_.cuts());
  }
  if (span_.window_start == Time::zero()) begin_window();
  if (phases_.next() == Time::zero()) cut_phases(Time::zero());
  choose_boundary();
}

// There will be no fewer bins than those of the duration; the drain may add some.
template <class Take>
void Recorder::take_memory(const Scenario& scenario, std::vector<ClientRecorder>& clients,
                           std::vector<ServiceRecorder>& services, std::vector<ClientBin>& all_bins,
                           Take& of_bins, Take& of_clients) {
  const std::int64_t width = std::max<std::int64_t>(scenario.interval.count(), 1);
  const auto bins = static_cast<std::size_t>(scenario.duration.count() / width + 1);
  const auto drain = static_cast<std::size_t>(
      scenario.drain ? std::min(scenario.drain_limit, kLongestDuration).count() / width + 1 : 0);
  of_bins.room(all_bins, bins, bins + drain);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    clients[i].take_memory(scenario.clients[i], bins, bins + drain, of_bins, of_clients);
  }
  for (ServiceRecorder& service : services) service.take_memory(bins, bins + drain, of_bins);
}

Recorder::Memory Recorder::memory(const Scenario& scenario) {
  const RunSpan span(scenario);
  std::vector<ClientRecorder> clients = client_recorders(scenario, span);
  std::vector<ServiceRecorder> services = service_recorders(scenario, span);
  std::vector<ClientBin> all_bins;
  kernel::Tally of_bins, of_clients;
  take_memory(scenario, clients, services, all_bins, of_bins, of_clients);
  return {of_bins.bytes(), of_clients.bytes()};
}

void Recorder::choose_boundary() {
  next_edge_ = std::min(bin_end_, phases_.next());
  for (const Time edge : {span_.window_start, span_.window_end}) {
    if (edge > segment_start_) next_edge_ = std::min(next_edge_, edge);
  }
  next_boundary_ = std::min(next_edge_, count_bin_end_);
}

// Nearly always a count bin ends, and often nothing was counted in it.
void Recorder::cross_boundaries(Time now) {
  if (now >= next_edge_ || has_counts()) return close_bins(now);
  enter_count_bin(now);
  next_boundary_ = std::min(next_edge_, count_bin_end_);
}

void Recorder::close_bins(Time now) {
  if (now >= count_bin_end_) {
    const std::size_t ended = count_bin_;
    enter_count_bin(now);
    // Nothing happens in all but the first of the bins that have ended by `now`.
    for (ClientRecorder& client : clients_) client.close_count_bin(ended);
    for (ServiceRecorder& service : services_) service.close_count_bins(ended, count_bin_);
    next_boundary_ = std::min(next_edge_, count_bin_end_);
  }
  if (now >= next_boundary_) cross_edges(now);
}

void Recorder::cross_edges(Time now) {
  while (now >= next_boundary_) {
    const Time boundary = next_boundary_;
    const bool ends_bin = boundary == bin_end_;
    const bool begins_window = boundary == span_.window_start;
    const bool ends_window = boundary == span_.window_end;
    // Count bins cut no segment: sums of levels are the same whatever the width of these bins.
    if (ends_bin || begins_window || ends_window) fold_segment(boundary);
    if (ends_bin) close_bin();
    if (begins_window) begin_window();
    if (ends_window) end_window();
    if (boundary == phases_.next()) cut_phases(boundary);
    choose_boundary();
  }
}

void Recorder::cut_phases(Time now) {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    stop_point();
    phases_.note_group(i, clients_[i].totals(now), clients_[i].take_latencies());
    clients_[i].begin_stretch(now);
  }
  for (std::size_t i = 0; i < services_.size(); ++i) {
    stop_point();
    phases_.note_service(i, services_[i].totals(now));
  }
  phases_.cut();
}

void Recorder::begin_window() {
  for (ClientRecorder& client : clients_) client.begin_window();
  for (ServiceRecorder& service : services_) service.begin_window();
}

void Recorder::end_window() {
  for (ClientRecorder& client : clients_) client.end_window();
  for (ServiceRecorder& service : services_) service.end_window();
}

void Recorder::fold_segment(Time end) {
  for (ClientRecorder& client : clients_) client.fold_segment(end);
  for (ServiceRecorder& service : services_) service.fold_segment(end);
  segment_start_ = end;
}

void Recorder::close_bin() {
  ClientBin all;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    stop_.count();
    BinTotals& latency = clients_[i].close_bin();
    if (users_ == 1 && !is_inner(i)) {
      all = clients_[i].last_bin();
    } else if (!is_inner(i)) {
      all.flow.merge(clients_[i].last_bin().flow);
      all_latency_.merge(latency);
    }
    latency.clear();
  }
  if (users_ > 1) {
    all_latency_.describe(all);
    all_latency_.clear();
  }
  all_bins_.push_back(all);
  for (ServiceRecorder& service : services_) {
    stop_.count();
    service.close_bin();
  }
  bin_end_ = bin_end_ + span_.interval;
}

// Whether there is something to be noted for the running count bin.
inline bool Recorder::has_counts() const {
  for (const ClientRecorder& client : clients_) {
    if (client.has_counts()) return true;
  }
  for (const ServiceRecorder& service : services_) {
    if (service.somebody_queues()) return true;
  }
  return false;
}

inline void Recorder::enter_count_bin(Time now) {
  // Where events are dense it is the next one, and there is nothing to divide.
  const std::int64_t width = span_.count_width.count();
  std::size_t next = count_bin_ + 1;
  std::int64_t end = count_bin_end_.count() + width;
  if (now.count() >= end) [[unlikely]] {
    next = span_.count_bin_of(now);
    end = static_cast<std::int64_t>(next + 1) * width;
  }
  count_bin_ = next;
  count_bin_end_ = next < span_.count_bins ? Time::from_nanoseconds(end) : Time::max();
}

RunResult Recorder::finish(Time end) {
  // The last bin is completed: nothing happens in the rest of it.
  const std::int64_t width = span_.interval.count();
  const std::int64_t bins =
      std::max((span_.window_end.count() + width - 1) / width, end.count() / width + 1);
  cross_boundaries(Time::from_nanoseconds(bins * width));
  RunResult result;
  result.seed = scenario_.seed;
  result.replication = replication_;
  result.window_start = span_.window_start;
  result.window_end = span_.window_end;
  result.interval = span_.interval;
  result.count_width = span_.count_width;
  result.ended = end;
  const std::vector<bool> may_be_degraded = groups_that_may_be_degraded(scenario_);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    result.last_request_end = std::max(result.last_request_end, clients_[i].last_end());
    phases_.note_late(i, clients_[i].late.take());
    stop_point();
    ClientResult& client = result.clients.emplace_back(clients_[i].finish());
    if (!is_inner(i)) client.requests = client.window.requests;
    if (may_be_degraded[i]) client.degradable = count_of(client.outcomes, Outcome::kSuccess);
  }
  for (ServiceRecorder& service : services_) result.services.push_back(service.finish());
  all_bins_.shrink_to_fit();
  result.all_bins = std::move(all_bins_);
  phases_.divide(scenario_, result);
  return result;
}

}  // namespace retrysim::stats
