"""Starts the server and the clients, gives them a common start, and collects their reports.

SPDX-License-Identifier: MIT
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

import case as cases

HERE = pathlib.Path(__file__).resolve().parent
BOTOCORE_PROCESSES = 2
WARM_UP_LIMIT_S = 120
NOTICE_S = 1.0  # between the word to start and the start
END_LIMIT_S = 30  # for the reports, after the duration


class ProcessFailed(Exception):
    """A process ended early, or said nothing in time."""


class Process:
    """Speaks in lines of JSON."""

    def __init__(self, name, command, configuration, priority):
        self.name = name
        self.popen = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "AWS_EC2_METADATA_DISABLED": "true"}, start_new_session=True)
        if priority is not None:
            raise_priority(self.popen.pid, priority)
        self.say(configuration)

    def say(self, what):
        with contextlib.suppress(BrokenPipeError):
            self.popen.stdin.write(json.dumps(what) + "\n")
            self.popen.stdin.flush()

    def hear(self, limit_s):
        watch = threading.Timer(limit_s, self.popen.kill)
        watch.start()
        try:
            line = self.popen.stdout.readline()
        finally:
            watch.cancel()
        if not line:
            raise ProcessFailed(f"the {self.name} ended early, or was silent for {limit_s:g} s")
        return json.loads(line)

    def end(self):
        self.popen.kill()
        self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def raise_priority(pid, priority):
    """Of the process and of the scheduler's group of its session (sched(7), autogroup)."""
    os.setpriority(os.PRIO_PROCESS, pid, priority)
    group = pathlib.Path(f"/proc/{pid}/autogroup")
    if group.exists():
        group.write_text(str(priority), encoding="ascii")


@dataclasses.dataclass
class RealRun:
    """What happened, in ns since the start; lateness is what the machine added to the times that
    the harness wanted."""
    clients: str
    submitted: list
    arrivals: list
    access_log: list  # (ns of the answer, ns since the attempt came, status, request)
    successes: list
    failures: list
    submitted_late_ns: list
    answered_late_ns: list
    loop_delay_max_ns: float | None
    round_trip_ns: float
    cpu_s: float
    others_share: float  # of all processors, used by other programs
    # Of clients of JavaScript: (begin, end) of each request, when those begin that are under way at
    # the end, and (begin, duration) of backoffs as the SDK means them.
    spans: list = dataclasses.field(default_factory=list)
    open: list = dataclasses.field(default_factory=list)
    backoffs: list = dataclasses.field(default_factory=list)


def command_of(sdk, modules):
    if sdk == "botocore":
        return ["/usr/bin/python3", "-B", str(HERE / "botocore_clients.py")]
    node = shutil.which("node")
    if node is None:
        raise ProcessFailed("there is no Node.js: install nodejs 20 or later")
    return [node, "--disable-warning=NodeVersionSupportWarning",
            str(HERE / "js_clients.cjs"), str(modules)]


def configurations(case, arrivals, port, seed):
    """One for each process: its share of the clients."""
    processes = BOTOCORE_PROCESSES if case.clients.sdk == "botocore" else 1
    for p in range(min(processes, case.clients.count)):
        own = range(p, case.clients.count, processes)
        yield {"port": port, "mode": case.clients.mode, "clients": len(own),
               "max_attempts": case.clients.max_attempts, "timeout_ns": case.clients.timeout_ns,
               "duration_ns": case.duration_ns, "concurrency": case.clients.concurrency,
               "think_time": case.clients.think_time, "seed": seed,
               "arrivals": [(t, c // processes) for t, c in arrivals if c % processes == p]}


def busy_jiffies():
    """(of all programs, passed): time of all processors since the machine started."""
    with open("/proc/stat", encoding="ascii") as file:
        words = file.readline().split()
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, words[1:9])
    busy = user + nice + system + irq + softirq + steal
    return busy, busy + idle + iowait


def start_time_ns():
    """A whole second of the system's clock, since SDKs count in half seconds of it, as a time of
    CLOCK_MONOTONIC."""
    offset = time.time_ns() - time.monotonic_ns()
    earliest = time.time_ns() + int(NOTICE_S * cases.SECOND)
    return -(-earliest // cases.SECOND) * cases.SECOND - offset


def run(case, arrivals, modules, seed, priority=None):
    """The scenario with a real server and real clients, which make these requests."""
    with contextlib.ExitStack() as stack:
        def begin(*arguments):
            process = Process(*arguments, priority)
            stack.callback(process.end)
            return process

        server = begin("server", ["/usr/bin/python3", "-B", str(HERE / "server.py")],
                       {"service": dataclasses.asdict(case.service), "seed": f"service {seed}"})
        port = server.hear(WARM_UP_LIMIT_S)["port"]
        command = command_of(case.clients.sdk, modules)
        clients = [begin("client process", command, c)
                   for c in configurations(case, arrivals, port, seed)]
        ready = [c.hear(WARM_UP_LIMIT_S) for c in clients]
        start_ns = start_time_ns()
        for process in (server, *clients):
            process.say({"start_ns": start_ns})
        time.sleep(max(0, start_ns - time.monotonic_ns()) / cases.SECOND)
        before, self_before = busy_jiffies(), own_cpu([server, *clients])
        limit_s = case.duration_ns / cases.SECOND + END_LIMIT_S
        reports = [c.hear(limit_s) for c in clients]
        after, self_after = busy_jiffies(), own_cpu([server, *clients])
        server.say("end")
        return real_run(ready, reports, server.hear(END_LIMIT_S),
                        self_after - self_before, before, after)


def own_cpu(processes):
    """Seconds of processor time of these processes until now."""
    ticks = 0
    for p in processes:
        fields = pathlib.Path(f"/proc/{p.popen.pid}/stat").read_text(encoding="ascii")
        ticks += sum(map(int, fields.rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def real_run(ready, reports, server, cpu_s, before, after):
    def together(key):
        return [value for report in reports for value in report.get(key, [])]

    done = together("done")
    passed = max(1, after[1] - before[1])
    others = after[0] - before[0] - cpu_s * os.sysconf("SC_CLK_TCK")
    delays = [r["loop_delay_ns"]["max"] for r in reports if "loop_delay_ns" in r]
    return RealRun(
        clients=ready[0]["ready"], submitted=together("submitted"), arrivals=server["arrivals"],
        access_log=server["access_log"],
        successes=[ended for ended, ok, *_ in done if ok],
        failures=[ended for ended, ok, *_ in done if not ok],
        spans=[(began[0], ended) for ended, _, *began in done if began],
        open=together("open"), backoffs=together("backoffs"),
        submitted_late_ns=together("late_ns"), answered_late_ns=server["late_ns"],
        loop_delay_max_ns=max(delays, default=None),
        round_trip_ns=statistics.fmean(r["round_trip_ns"] for r in ready), cpu_s=cpu_s,
        others_share=max(0.0, others / passed))


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0
