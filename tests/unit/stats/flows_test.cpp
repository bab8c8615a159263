// Flows of several stretches of time, or of several groups, taken together.
//
// SPDX-License-Identifier: MIT
#include <retrysim/run_result.hpp>

#include <catch2/catch.hpp>

using namespace retrysim;

TEST_CASE("flows add up, maxima do not") {
  ServiceFlow a;
  a.arrivals = 3;
  a.queue_ns = 5;
  a.queue_max = 7;
  ServiceFlow b;
  b.arrivals = 4;
  b.queue_ns = 6;
  b.queue_max = 2;
  a.merge(b);
  CHECK(a.arrivals == 7);
  CHECK(a.queue_ns == 11);
  CHECK(a.queue_max == 7);
  ClientFlow f;
  f.requests = 1;
  f.in_backoff_ns = 2;
  ClientFlow g;
  g.requests = 10;
  g.in_backoff_ns = 20;
  f.merge(g);
  CHECK(f.requests == 11);
  CHECK(f.in_backoff_ns == 22);
}
