// A service and its instances where segments, bins, the window and the run end.
//
// SPDX-License-Identifier: MIT
#include "measure/record/service_recorder.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace retrysim::stats {

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
  result_.wasted_after_give_up_ns += wasted_servers_ * span_->inside_window_ns(wasted_since_, now);
  wasted_since_ = now;
  wasted_servers_ = servers;
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

void ServiceRecorder::note_servers(std::int64_t busy, std::uint64_t in_system, std::int64_t working,
                                   Time now) {
  note(busy, in_system, now);
  if (working != working_) {
    set_servers(working, now);
    quiet_busy_ = -1;
  }
  if (busy > quiet_busy_) find_extra(busy, now);
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

// Notes the queue of the bins that were left; nothing happened in all but the first.
void ServiceRecorder::note_queue(std::size_t bin, std::size_t next) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto queued = static_cast<std::uint32_t>(std::min(queued_, kMost));
  for (std::size_t i = bin + 1; i <= next; ++i) result_.queued[i] = queued;
}

// Works on a copy of the log: rounded sums must not depend on when totals are read.
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
  // Work that began before the window counts in full, so the sum is limited to what was done in the
  // window.
  const double busy_ns = result_.window.busy_ns;
  result_.wasted_full_ns = std::min(result_.wasted_full_ns, busy_ns);
  result_.wasted_after_give_up_ns = std::min(result_.wasted_after_give_up_ns, busy_ns);
  result_.bins.shrink_to_fit();
  result_.queued.pop_back();
  return std::move(result_);
}

}  // namespace retrysim::stats
