// A queue of requests that wait at their client, first come first served.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/pool.hpp"
#include "model/request.hpp"

#include <cstdint>

namespace retrysim::model {

struct Waiters {
  RequestId first, last;

  void join(Request& r, IndexedBy<RequestId, kernel::Pool<Request>>& requests) {
    r.previous_waiter = last;
    r.next_waiter = {};
    (last.exists() ? requests[last].next_waiter : first) = r.id;
    last = r.id;
  }
  void leave(const Request& r, IndexedBy<RequestId, kernel::Pool<Request>>& requests) {
    (r.previous_waiter.exists() ? requests[r.previous_waiter].next_waiter : first) = r.next_waiter;
    (r.next_waiter.exists() ? requests[r.next_waiter].previous_waiter : last) = r.previous_waiter;
  }
};

}  // namespace retrysim::model
