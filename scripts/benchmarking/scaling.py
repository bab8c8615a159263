"""What an event costs, and how much memory a run takes, with 10^3 to 10^8 clients.

Four systems: open-loop clients, closed-loop clients with a timer each, clients of the adaptive
retry mode, and a herd whose clients all begin at one instant. The first three have 1000 requests/s
in all, whatever the number of clients, so that growth is the price of the clients and not of their
load.

SPDX-License-Identifier: MIT
"""

import dataclasses
import statistics

FEWEST, MOST = 10**3, 10**8
# A size that would need more is left out, with all larger ones.
MEMORY_SHARE = 0.7  # of what is free
RUN_CPU_S_MAX = 100.0

# By system: its scenario in tests/benchmarks, and what else to set for a number of clients.
SYSTEMS = {
    "open": ("b1.toml", lambda clients: ["duration=300s"]),
    "closed": ("closed.toml",
               lambda clients: [f"client.web.arrivals.think_time.mean={clients // 1000}s"]),
    "adaptive": ("b1.toml", lambda clients: ["duration=300s", "client.web.retry.mode=adaptive"]),
    "herd": ("herd.toml", lambda clients: []),
}


@dataclasses.dataclass
class Point:
    system: str
    clients: int
    events: int
    ns_per_event: float
    growth: float            # of ns_per_event, relative to the fewest clients
    peak_mib: float
    bytes_per_client: float  # beyond the smallest run


def sizes(most):
    size = FEWEST
    while size <= most:
        yield size
        size *= 10


def fits(points, free, cpu_s):
    """Whether ten times the clients of the last point fit in `free` MiB and in the time that a run
    may take. `cpu_s`: what the last point's run took."""
    if not points:
        return True
    first, last = points[0], points[-1]
    needed = first.peak_mib + 10 * (last.peak_mib - first.peak_mib)
    return needed <= MEMORY_SHARE * free and cpu_s <= RUN_CPU_S_MAX / 10


def free_mib():
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) / 1024
    return float("inf")


def measure(system, folder, run, most=MOST, rounds=3):
    """The points of one system. `folder` has the scenarios; `run(arguments)` runs the benchmark
    program and returns its figures."""
    scenario, settings = SYSTEMS[system]
    points, cpu_s = [], 0.0
    for clients in sizes(most):
        if not fits(points, free_mib(), cpu_s):
            break
        arguments = [folder / scenario, f"client.web.count={clients}", *settings(clients)]
        runs = [run(arguments) for _ in range(rounds)]
        cpu_s = statistics.median(r["cpu_s"] for r in runs)
        ns = statistics.median(r["cpu_s"] * 1e9 / r["events"] for r in runs)
        peak = statistics.median(r["peak_mib"] for r in runs)
        first = points[0] if points else None
        points.append(Point(
            system, clients, int(runs[0]["events"]), ns, ns / first.ns_per_event if first else 1.0,
            peak, (peak - first.peak_mib) * 2**20 / (clients - first.clients) if first else 0.0))
    return points


def print_table(points):
    print(f"{'system':10}{'clients':>12}{'events':>12}{'ns/event':>10}{'growth':>8}"
          f"{'peak MiB':>10}{'bytes/client':>14}")
    for p in points:
        print(f"{p.system:10}{p.clients:12}{p.events:12}{p.ns_per_event:10.1f}{p.growth:8.2f}"
              f"{p.peak_mib:10.1f}{p.bytes_per_client:14.1f}")
