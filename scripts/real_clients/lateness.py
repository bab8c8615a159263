"""How late real clients in closed loops were, and what the simulation predicts of such clients.

At every moment a client of a closed loop thinks, is served or waits in the queue, or backs off, as
the scenario says; or it does nothing of this, because a timer, a message or a processor is late.
That time, shared among the attempts, is their lateness. Simulated, it is latency of the network.

SPDX-License-Identifier: MIT
"""

import re
import statistics

PARTS = 3  # of the run that are told apart


def overlap(intervals, start, end):
    """What the intervals (from, to) have of the time from start to end, together."""
    return sum(max(0, min(to, end) - max(since, start)) for since, to in intervals)


def per_attempt_ns(run, start_ns, end_ns):
    """The mean lateness of the attempts that arrive in that time; None without any."""
    attempts = sum(start_ns <= t < end_ns for t in run.arrivals)
    if attempts == 0:
        return None
    requests = [(began, ended) for began, ended in run.spans] + [(b, end_ns) for b in run.open]
    late = [(t - late, t) for t, late in zip(run.submitted, run.submitted_late_ns)]
    served = [(t - duration, t) for t, duration, _, _ in run.access_log]
    backoffs = [(t, t + duration) for t, duration in run.backoffs]
    spent = (overlap(requests, start_ns, end_ns) + overlap(late, start_ns, end_ns)
             - overlap(backoffs, start_ns, end_ns) - overlap(served, start_ns, end_ns))
    if run.answered_late_ns:  # of answers that are due at a certain time, the successes
        answers = sum(start_ns <= t < end_ns and status == 200
                      for t, _, status, _ in run.access_log)
        spent += answers * statistics.fmean(run.answered_late_ns)
    return max(0, spent / attempts)


def by_part_ns(run, duration_ns):
    """In each third of the run."""
    edges = [duration_ns * i // PARTS for i in range(PARTS + 1)]
    return [per_attempt_ns(run, a, b) for a, b in zip(edges, edges[1:])]


def can_be_latency(late_ns, timeout_ns):
    """Whether attempts that are later by so much still end before they time out: of late timers and
    processors no attempt times out, of a slow network it does. `timeout_ns`: None or 0: none."""
    return not timeout_ns or late_ns <= timeout_ns / 2


def with_lateness(resolved, late_ns):
    """The resolved scenario, with attempts that take so much longer, half of it each way."""
    changed, found = re.subn(r'(?m)^network\.latency = "0s"',
                             f'network.latency = "{round(late_ns / 2)}ns"', resolved)
    if found != 1:
        raise ValueError("the scenario has a network latency of its own")
    return changed
