// SPDX-License-Identifier: MIT
#include "model/run/watch.hpp"

#include "model/run/state.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace retrysim::model {
namespace {

constexpr std::uint64_t kLeastEnds = 10;  // before which a share says nothing
constexpr double kScale = 256;            // of each of the two parts of a score

// How long the clients of a service wait for an answer: the shortest constant timeout.
Duration patience_at(const Scenario& scenario, std::size_t service, Duration otherwise) {
  Duration patience = Duration::max();
  for (const ClientSpec& client : scenario.clients) {
    const TimeoutSpec& timeouts = client.timeouts;
    if (share_of_calls(client, service) <= 0) continue;
    if (timeouts.has_attempt && timeouts.attempt.mean_seconds() > 0) {
      patience = std::min(patience, Duration::from_seconds(timeouts.attempt.mean_seconds()));
    }
    if (timeouts.deadline > Duration::zero()) patience = std::min(patience, timeouts.deadline);
  }
  return patience == Duration::max() ? otherwise : patience;
}

}  // namespace

Watch::Watch(const RareEvent& event, const RunState& state)
    : event_(event),
      state_(state),
      between_looks_(Duration::nanoseconds(event.window.count() / std::int64_t{kLooks})) {
  const Scenario& scenario = state.scenario;
  if (event.kind == RareEvent::Kind::kInSystem) {
    if (event.service >= scenario.services.size() || event.count < 1) {
      throw std::invalid_argument(
          "a rare event is about one of the scenario's services, and of "
          "one attempt or more");
    }
    return;
  }
  if (between_looks_ <= Duration::zero() || !(event.below > 0 && event.below <= 1)) {
    throw std::invalid_argument(
        "a rare event has a window of 50 ns or more, and a share of "
        "successes above 0 and up to 1");
  }
  for (const GroupId g : Ids<GroupId>(scenario.clients.size())) {
    const bool is_asked = event.client ? *event.client == g : !scenario.clients[g].makes_calls();
    if (is_asked) groups_.push_back(g);
  }
  if (groups_.empty()) {
    throw std::invalid_argument("a rare event is about one of the scenario's client groups");
  }
  next_look_ = Time::zero() + between_looks_;
  for (const ServiceId s : Ids<ServiceId>(scenario.services.size())) {
    const ServiceSpec& spec = scenario.services[s];
    const double work_s = spec.service_time.mean_seconds();
    if (spec.servers == ServiceSpec::kUnlimited || work_s <= 0) continue;
    const double servers =
        static_cast<double>(spec.servers) * static_cast<double>(spec.instances.count);
    const Duration patience = patience_at(scenario, s, event.window);
    backlogs_.push_back({s, work_s / servers / patience.in_seconds()});
  }
}

NearnessScore Watch::look() {
  if (event_.kind == RareEvent::Kind::kSuccessRate) return look_at_success();
  const std::int64_t count = attempts_at(ServiceId(event_.service));
  if (count >= event_.count) return kHappened;
  return static_cast<NearnessScore>(std::min<std::int64_t>(count, kHappened - 1));
}

std::int64_t Watch::attempts_at(ServiceId service) const {
  std::uint64_t count = 0;
  for (const InstanceId i : state_.instances.of(service)) count += state_.instances[i].in_system();
  return static_cast<std::int64_t>(count);
}

Watch::Ends Watch::ends() const {
  Ends ends;
  for (const GroupId g : groups_) {
    const stats::RequestTally& tally = state_.recorder.client(g).tally();
    ends.failed += tally.failures;
    ends.all += tally.failures + tally.successes();
  }
  return ends;
}

// The share of failures among what has ended within the last window.
double Watch::failures_since_window(const Ends& now) const {
  const Ends before = looks_ < kLooks ? Ends() : at_looks_[looks_ % kLooks];
  const std::uint64_t all = now.all - before.all;
  if (all < kLeastEnds) return 0;
  return static_cast<double>(now.failed - before.failed) / static_cast<double>(all);
}

// The largest of the backlogs, with the retries that are going to come, up to 1.
double Watch::backlog() const {
  std::int64_t in_backoff = 0;
  for (const GroupId g : groups_) in_backoff += state_.recorder.client(g).levels().in_backoff;
  double most = 0;
  for (const Backlog& b : backlogs_) {
    const auto waiting = static_cast<double>(attempts_at(b.service) + in_backoff);
    most = std::max(most, waiting * b.seconds_each);
  }
  return std::min(1.0, most);
}

NearnessScore Watch::look_at_success() {
  const Ends now = ends();
  const double fatal = 1 - event_.below;
  for (; state_.now >= next_look_; next_look_ = next_look_ + between_looks_) {
    // At this look the counts were still those of the event before.
    const bool is_over = looks_ + 1 >= kLooks && failures_since_window(last_) > fatal;
    at_looks_[looks_ % kLooks] = last_;
    ++looks_;
    if (is_over) return kHappened;
  }
  last_ = now;
  const double failing = fatal > 0 ? std::min(1.0, failures_since_window(now) / fatal) : 0;
  return static_cast<NearnessScore>(std::floor(kScale * (backlog() + failing)));
}

}  // namespace retrysim::model
