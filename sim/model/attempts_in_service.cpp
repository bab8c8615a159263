// SPDX-License-Identifier: MIT
#include "model/attempts_in_service.hpp"

#include "model/trace.hpp"

#include <cassert>

namespace retrysim::model {

void AttemptsInService::start(Attempt& a, Time now) {
  a.stage = Attempt::Stage::kInService;
  a.started = now;
  if (a.is(Attempt::kMutating) && !tokens.begin(a, now)) [[unlikely]] {
    tokens.count_wait(a);
    RETRYSIM_TELL(Step::kHolding, now, a);
    return hold_server(a);
  }
  work_on(a, now);
}

void AttemptsInService::work_on(Attempt& a, Time now) {
  a.work.left_ns = demand.of(a, servers_.in_service());
  RETRYSIM_TELL(Step::kWorking, now, a, static_cast<std::int64_t>(a.work.left_ns),
                servers_.attempts());
  servers_.start(a, now);
}

// It waits for another attempt with its token, but keeps its server.
void AttemptsInService::hold_server(Attempt& a) {
  a.stage = Attempt::Stage::kCalling;
  servers_.take();
}

void AttemptsInService::wake(Attempt& a, Time now) {
  servers_.let_go();
  a.stage = Attempt::Stage::kInService;
  if (!tokens.begin(a, now)) {
    RETRYSIM_TELL(Step::kHolding, now, a);
    return hold_server(a);
  }
  work_on(a, now);
}

Attempt& AttemptsInService::complete(Time now) {
  Attempt& a = (*attempts_)[servers_.complete(now)];
  a.finished = now;
  time_spent_ += time_between(a.started, now);
  if (!a.is(Attempt::kRejection | Attempt::kReplay)) [[likely]]
    a.set(Attempt::kExecuted);
  a.stage = Attempt::Stage::kOnTheWire;
  RETRYSIM_TELL(Step::kServed, now, a, a.is(Attempt::kExecuted));
  return a;
}

void AttemptsInService::hold(Time now) {
  Attempt& a = (*attempts_)[servers_.hold(now)];
  a.stage = Attempt::Stage::kCalling;
  RETRYSIM_TELL(Step::kCalling, now, a);
}

void AttemptsInService::release(Attempt& a, Time now) {
  servers_.let_go();
  a.finished = now;
  time_spent_ += time_between(a.started, now);
  a.set(Attempt::kExecuted);
  a.stage = Attempt::Stage::kOnTheWire;
  RETRYSIM_TELL(Step::kCalled, now, a);
}

void AttemptsInService::abort(Attempt& a, Time now) {
  RETRYSIM_TELL(Step::kAborted, now, a);
  tokens.close_session(a);
  time_spent_ += time_between(a.started, now);
  if (a.stage == Attempt::Stage::kCalling) return servers_.let_go();
  assert(a.stage == Attempt::Stage::kInService);
  servers_.abort(a.id, now);
}

std::vector<std::uint32_t> AttemptsInService::take_all(Time now) {
  std::vector<std::uint32_t> all = servers_.take_all(now);
  for (const std::uint32_t id : all) {
    Attempt& a = (*attempts_)[id];
    RETRYSIM_TELL(Step::kAborted, now, a);
    time_spent_ += time_between(a.started, now);
    tokens.close_session(a);
  }
  return all;
}

Duration AttemptsInService::time_of(const Attempt& a, double speed) const {
  const double work_ns =
      tokens.is_read(a) ? demand.of_read(a) : demand.of(a, servers_.in_service());
  if (work_ns == 0) return Duration::zero();
  return speed > 0 ? Duration::from_nanoseconds(work_ns / speed) : Duration::max();
}

}  // namespace retrysim::model
