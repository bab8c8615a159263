// SPDX-License-Identifier: MIT
#include "model/service.hpp"

#include <cassert>
#include <cmath>
#include <utility>

namespace retrysim::model {

using kernel::EventKey;

Service::Service(const ServiceSpec& spec, const RandomKey& key, kernel::Pool<Attempt>* attempts,
                 std::uint64_t* sequence)
    : spec_(&spec),
      key_(key),
      attempts_(attempts),
      sequence_(sequence),
      in_service_(spec.servers),
      queue_capacity_(static_cast<std::uint64_t>(spec.queue_capacity)),
      working_(spec.servers),
      throttle_(spec.throttle.rate, spec.throttle.burst) {}

bool Service::pass_throttle(std::uint16_t group, std::uint32_t client, Time now) {
  const ThrottleSpec& t = spec_->throttle;
  if (t.rate <= 0) return true;
  if (t.scope == ThrottleScope::kService) return throttle_.take(now);
  if (group >= client_throttles_.size()) client_throttles_.resize(group + std::size_t{1});
  std::vector<TokenBucket>& buckets = client_throttles_[group];
  if (client >= buckets.size())
    buckets.resize(client + std::size_t{1}, TokenBucket(t.rate, t.burst));
  return buckets[client].take(now);
}

Service::Admission Service::admit(std::uint32_t attempt, Time now) {
  Attempt& a = (*attempts_)[attempt];
  if (busy() < working_ && queued_ == 0) {
    start(attempt, now);
    return Admission::kStarted;
  }
  if (queued_ >= queue_capacity_) return Admission::kFull;
  a.stage = Attempt::Stage::kQueued;
  a.previous_in_queue = last_queued_;
  a.next_in_queue = kNone;
  (last_queued_ == kNone ? first_queued_ : (*attempts_)[last_queued_].next_in_queue) = attempt;
  last_queued_ = attempt;
  ++queued_;
  return Admission::kQueued;
}

void Service::start(std::uint32_t attempt, Time now) {
  Attempt& a = (*attempts_)[attempt];
  Draws draws(key_, {a.entity, a.number, a.group, Purpose::kServiceTime});
  a.stage = Attempt::Stage::kInService;
  a.started = now;
  a.work_left_ns = static_cast<double>(spec_->service_time.sample(draws).count());
  ++busy_;
  schedule(attempt, now);
}

void Service::schedule(std::uint32_t attempt, Time now) {
  Attempt& a = (*attempts_)[attempt];
  a.work_since = now;
  const double speed = impairment_.speed;
  Duration left = Duration::max();  // a server that stands still never finishes
  if (a.work_left_ns == 0) {
    left = Duration::zero();
  } else if (speed > 0) {
    left = Duration::from_nanoseconds(a.work_left_ns / speed);
  }
  in_service_.insert(attempt, EventKey{now + left, (*sequence_)++});
}

std::uint32_t Service::complete(Time now) {
  const std::uint32_t attempt = in_service_.pop();
  --busy_;
  Attempt& a = (*attempts_)[attempt];
  a.finished = now;
  a.executed = true;
  a.stage = Attempt::Stage::kOnTheWire;
  return attempt;
}

std::uint32_t Service::take_from_queue() {
  if (queued_ == 0 || busy() >= working_) return kNone;
  const std::uint32_t attempt = first_queued_;
  remove_from_queue(attempt);
  return attempt;
}

void Service::remove_from_queue(std::uint32_t attempt) {
  Attempt& a = (*attempts_)[attempt];
  assert(a.stage == Attempt::Stage::kQueued && queued_ > 0);
  (a.previous_in_queue == kNone ? first_queued_ : (*attempts_)[a.previous_in_queue].next_in_queue) =
      a.next_in_queue;
  (a.next_in_queue == kNone ? last_queued_ : (*attempts_)[a.next_in_queue].previous_in_queue) =
      a.previous_in_queue;
  --queued_;
}

void Service::abort(std::uint32_t attempt) {
  assert((*attempts_)[attempt].stage == Attempt::Stage::kInService);
  in_service_.erase(attempt);
  --busy_;
}

void Service::impair(Impairment impairment, Time now) {
  const double old_speed = impairment_.speed;
  impairment_ = std::move(impairment);
  if (spec_->servers == ServiceSpec::kUnlimited) {
    working_ = impairment_.capacity > 0 ? ServiceSpec::kUnlimited : 0;
  } else {
    constexpr double kMost = 1e18;  // still counts as an integer
    working_ =
        std::llround(std::min(kMost, static_cast<double>(spec_->servers) * impairment_.capacity));
  }
  if (impairment_.speed == old_speed) return;
  for (const std::uint32_t attempt : in_service_.take_all()) {
    Attempt& a = (*attempts_)[attempt];
    const auto elapsed = static_cast<double>((now - a.work_since).count());
    a.work_left_ns = std::max(0.0, std::round(a.work_left_ns - elapsed * old_speed));
    schedule(attempt, now);
  }
}

}  // namespace retrysim::model
