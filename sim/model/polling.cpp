// SPDX-License-Identifier: MIT
#include "model/polling.hpp"

#include <algorithm>

namespace retrysim::model {

std::uint32_t Polling::begin(ClientId client, std::uint64_t entity, bool in_cohort, Time now) {
  const std::uint32_t id = jobs_.allocate();
  Job& j = jobs_[id];
  Draws draws(key_, {entity, 0, 0, Purpose::kTimeout});
  j.entity = entity;
  j.done = now + spec_->job_time.sample(draws);
  j.pause_ns = static_cast<double>(spec_->poll.base.count());
  j.client = client;
  j.checks = 0;
  j.in_cohort = in_cohort;
  j.open = true;
  return id;
}

// Jobs are numbered from 0; their checks have names of their own, 2^24 a job before any is used
// twice.
std::uint64_t Polling::check_entity(const Job& j) const { return j.entity << 24 | j.checks; }

// min(cap, base * factor^checks), spread by the jitter. There is a pause before the first check,
// too.
Duration Polling::next_pause(std::uint32_t job) {
  const PollSpec& p = spec_->poll;
  Job& j = jobs_[job];
  const double cap = static_cast<double>(p.cap.count());
  const double pause = std::min(j.pause_ns, cap);
  Draws draws(key_, {check_entity(j), 0, 0, Purpose::kThinkTime});
  if (p.jitter == Jitter::kDecorrelated) {
    const double base = static_cast<double>(p.base.count());
    j.pause_ns = std::min(cap, base + draws.uniform() * std::max(0.0, 3 * pause - base));
    return Duration::from_nanoseconds(j.pause_ns);
  }
  j.pause_ns = std::min(pause * p.factor, cap);
  if (p.jitter == Jitter::kFull) return Duration::from_nanoseconds(pause * draws.uniform());
  if (p.jitter == Jitter::kEqual) {
    return Duration::from_nanoseconds(pause * (0.5 + 0.5 * draws.uniform()));
  }
  return Duration::from_nanoseconds(pause);
}

std::uint64_t Polling::begin_check(std::uint32_t job) {
  Job& j = jobs_[job];
  checking_ = job;
  const std::uint64_t entity = check_entity(j);
  ++j.checks;
  return entity;
}

void Polling::attach(RequestId request) {
  if (request >= checks_.size()) checks_.resize(request + std::size_t{1});
  checks_[request] = {Time::zero(), checking_, ResponseClass::kNotRetryable};
}

// Not ready and throttled mean to ask again; anything else ends the loop.
std::optional<JobEnd> Polling::after_check(RequestId request, Outcome outcome) const {
  const Check& c = checks_[request];
  const Job& j = jobs_[c.job];
  if (outcome == Outcome::kSuccess) {
    if (c.read >= j.done) return JobEnd::kSucceeded;
  } else if (outcome == Outcome::kDeadlineExceeded || outcome == Outcome::kNoSendToken ||
             c.last_failure != ResponseClass::kThrottling) {
    return JobEnd::kFailed;
  }
  if (j.checks >= spec_->poll.max_checks) return JobEnd::kGivenUp;
  return std::nullopt;
}

}  // namespace retrysim::model
