#!/usr/bin/python3
"""What botocore's own rate limiter does under a virtual clock: the values of case P130/botocore.

Usage: botocore_limiter.py. Needs the Python package botocore; the values in theory_cases.csv are
those of version 1.43.11. N clients keep one attempt going each, without backoff, against a token
bucket of X tokens a second; the round trip is `rtt` seconds, and the seconds from `warm` to
`horizon` count. Everything that decides a rate is botocore's code; only its blocking wait for a
token, which sleeps on a condition variable, is an event at the time at which it would wake up.

SPDX-License-Identifier: MIT
"""

import argparse
import heapq
import itertools

from botocore.retries import adaptive, bucket, throttling


class Clock:
    now = 0.0

    def current_time(self):
        return self.now


class Detector:
    def is_throttling_error(self, throttled):
        return throttled


class Client:
    def __init__(self, clock):
        self.tokens = bucket.TokenBucket(max_rate=1, clock=clock)
        self.limiter = adaptive.ClientRateLimiter(
            rate_adjustor=throttling.CubicCalculator(0, clock.current_time()),
            rate_clocker=adaptive.RateClocker(clock),
            token_bucket=self.tokens,
            throttling_detector=Detector(),
            clock=clock,
        )

    def time_to_token(self):
        """Takes a token and returns 0, or returns how long to sleep before asking again."""
        if not self.limiter._enabled:
            return 0
        self.tokens._refill()
        sleep = self.tokens._sleep_amount(1)
        if sleep > 1e-9:
            return sleep
        self.tokens._current_capacity -= 1
        return 0


def simulate(clients, limit, burst, rtt, horizon, warm):
    clock = Clock()
    order = itertools.count()
    members = [Client(clock) for _ in range(clients)]
    events = [(0.0, next(order), "ask", member, None) for member in members]
    tokens, refilled = burst, 0.0
    attempts = granted = throttled = 0
    while events[0][0] < horizon:
        clock.now, _, what, client, passed = heapq.heappop(events)
        if what == "ask":
            delay, following = client.time_to_token(), "ask"
            if delay == 0:
                delay, following = rtt / 2, "arrive"
                attempts += clock.now >= warm
        elif what == "arrive":
            tokens, refilled = min(burst, tokens + (clock.now - refilled) * limit), clock.now
            passed = tokens >= 1 - 1e-9
            tokens -= passed
            delay, following = rtt / 2, "answer"
        else:
            client.limiter.on_receiving_response(throttled=not passed)
            granted += passed and clock.now >= warm
            throttled += not passed and clock.now >= warm
            delay, following = 0, "ask"
        heapq.heappush(events, (clock.now + delay, next(order), following, client, passed))
    seconds = horizon - warm
    print(f"N={clients} X={limit} burst={burst} rtt={rtt}:"
          f" goodput_over_X={granted / seconds / limit:.12g}"
          f" throttle_fraction={throttled / (granted + throttled):.12g}"
          f" attempts_over_X={attempts / seconds / limit:.12g}")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    simulate(1, 100, 1, 0.001, 400, 100)
    simulate(1, 100, 10, 0.001, 400, 100)
    simulate(50, 100, 10, 0.01, 400, 100)
