// A queue of requests that wait at their client, first come first served.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/pool.hpp"
#include "model/request.hpp"

#include <cstdint>

namespace retrysim::model {

struct Waiters {
  std::uint32_t first = kNone, last = kNone;

  void join(Request& r, kernel::Pool<Request>& requests) {
    r.previous_waiter = last;
    r.next_waiter = kNone;
    (last == kNone ? first : requests[last].next_waiter) = r.id;
    last = r.id;
  }
  void leave(const Request& r, kernel::Pool<Request>& requests) {
    (r.previous_waiter == kNone ? first : requests[r.previous_waiter].next_waiter) = r.next_waiter;
    (r.next_waiter == kNone ? last : requests[r.next_waiter].previous_waiter) = r.previous_waiter;
  }
};

}  // namespace retrysim::model
