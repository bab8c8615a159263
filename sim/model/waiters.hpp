// A queue of requests that wait at their client, first come first served.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kernel/memory.hpp"
#include "model/request.hpp"

#include <cstdint>

namespace retrysim::model {

struct Waiters {
  RequestId first, last;

  void join(Request& r, IndexedBy<RequestId, kernel::LinkedPool<Request>>& requests) {
    r.waiting.previous = last;
    r.waiting.next = {};
    (last.exists() ? requests[last].waiting.next : first) = r.id;
    last = r.id;
  }
  void leave(const Request& r, IndexedBy<RequestId, kernel::LinkedPool<Request>>& requests) {
    (r.waiting.previous.exists() ? requests[r.waiting.previous].waiting.next : first) =
        r.waiting.next;
    (r.waiting.next.exists() ? requests[r.waiting.next].waiting.previous : last) =
        r.waiting.previous;
  }
};

}  // namespace retrysim::model
