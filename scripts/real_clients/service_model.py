"""The service of a scenario: throttle, queue, servers and faults, without a clock of its own.

Whoever uses it passes the time in: the server that of the machine, a test any other. Services begin
and end at their exact times even if `advance` is called later, so that a late timer delays one
answer but takes no capacity away.

SPDX-License-Identifier: MIT
"""

import collections
import heapq
import math

import case

# Status and error code of each answer, as the simulator has them.
ANSWERS = {
    "success": (200, None),
    "internal": (500, "InternalError"),
    "unavailable": (503, "ServiceUnavailable"),
    "throttled": (400, "ThrottlingException"),
    "invalid": (400, "ValidationException"),
}
FORGIVEN = 1e-9  # of a token, as in the simulator: what adding up may have lost


class _Work:
    """An attempt in service; `left_ns` as of `since_ns`, at speed 1."""

    def __init__(self, ticket, left_ns, since_ns):
        self.ticket, self.left_ns, self.since_ns = ticket, left_ns, since_ns


class ServiceModel:
    """Times are ns since the start of the run. A ticket stands for an attempt, and may be anything.
    """

    def __init__(self, service, random):
        self.service, self.random = service, random
        self.now_ns = 0
        self.tokens, self.filled_ns = service.burst, 0
        self.line = collections.deque()
        self.in_service = []  # heap of (end, number, work)
        self.number = 0
        edges = {t for f in service.faults for t in (f.start_ns, f.end_ns)}
        self.edges = collections.deque(sorted(edges))
        self.speed, self.working, self.errors = 1.0, service.servers, []
        self.impair(0)

    def next_ns(self):
        """When `advance` must be called next, None if nothing is under way."""
        times = [t for t in (self.in_service[0][0] if self.in_service else math.inf,
                             self.edges[0] if self.edges else math.inf) if t < math.inf]
        return min(times, default=None)

    def advance(self, now_ns):
        """Lets the time pass; returns [(time, ticket, answer)] of what has been served."""
        done = []
        while (next_ns := self.next_ns()) is not None and next_ns <= now_ns:
            self.now_ns = next_ns
            if self.edges and self.edges[0] == next_ns:
                self.edges.popleft()
                self.impair(next_ns)
            else:
                _, _, work = heapq.heappop(self.in_service)
                done.append((next_ns, work.ticket, "success"))
            self.serve_line()
        self.now_ns = max(self.now_ns, now_ns)
        return done

    def arrive(self, ticket):
        """An attempt arrives at the time of the last `advance`. Returns its answer if it is turned
        away, None if it waits or is served."""
        for errors in self.errors:
            draw = self.random.random()
            for answer, probability in errors.items():
                if draw < probability:
                    return answer
                draw -= probability
        if not self.take_token():
            return "throttled"
        if len(self.in_service) < self.working and not self.line:
            self.start(ticket)
            return None
        if len(self.line) >= self.service.queue_capacity:
            return self.service.overflow
        self.line.append(ticket)
        return None

    def take_token(self):
        if self.service.rate == case.UNLIMITED:
            return True
        gained = (self.now_ns - self.filled_ns) / case.SECOND * self.service.rate
        self.tokens = min(self.service.burst, self.tokens + gained)
        self.filled_ns = self.now_ns
        if self.tokens < 1 - FORGIVEN:
            return False
        self.tokens = max(0.0, self.tokens - 1)
        return True

    def draw_service_time(self):
        kind, parameters = self.service.service_time
        if kind == "exponential":
            return self.random.expovariate(1 / parameters[0])
        if kind == "uniform":
            return self.random.uniform(*parameters)
        return parameters[0]

    def start(self, ticket):
        self.schedule(_Work(ticket, self.draw_service_time(), self.now_ns))

    def schedule(self, work):
        end = work.since_ns + work.left_ns / self.speed if self.speed > 0 else math.inf
        self.number += 1
        heapq.heappush(self.in_service, (end, self.number, work))

    def serve_line(self):
        while self.line and len(self.in_service) < self.working:
            self.start(self.line.popleft())

    def impair(self, now_ns):
        """Capacity, speed and errors as the faults of this moment want them. What is in service
        goes on, at the new speed."""
        active = [f for f in self.service.faults if f.start_ns <= now_ns < f.end_ns]
        self.errors = [e for e in (self.service.errors, *(f.errors for f in active)) if e]
        capacity = math.prod(f.capacity for f in active)
        if self.service.servers < case.UNLIMITED:
            self.working = math.floor(self.service.servers * capacity + 0.5)
        else:
            self.working = case.UNLIMITED if capacity > 0 else 0
        old_speed, self.speed = self.speed, math.prod(f.speed for f in active)
        if self.speed == old_speed:
            return
        works = [work for _, _, work in self.in_service]
        self.in_service = []
        for work in works:
            work.left_ns = max(0.0, work.left_ns - (now_ns - work.since_ns) * old_speed)
            work.since_ns = now_ns
            self.schedule(work)
