#!/usr/bin/python3
"""Do --timeout and --max-memory end dear runs in time? With a clock, so by hand.

  by_clock.py PROGRAM [--from N] [--count N] [--timeout S] [--only KIND,...] [--busy]
              [--command COMMAND]

Runs each case of inputs.py with both limits, as far as the command has them, and says which of them
took longer than 1.2 times the timeout, had more than 64 MiB beyond their memory, or ended in a way
that they should not. The commands fit and import have inputs of their own. On a machine that has
other things to do use --busy: what counts then is the processor time that the program takes after
its timeout, which may be 0.2 of it.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import inputs  # noqa: E402

ALLOWED_STATUS = (0, 5)
# How each command is called; {service} is the name of a service of the scenario.
CALLS = {
    "run": ["run", "a.toml"],
    "check": ["check", "a.toml"],
    "predict": ["predict", "a.toml"],
    "sweep": ["sweep", "a.toml", "--vary", "seed=1,2,3"],
    "compare": ["compare", "a.toml", "--vary", "seed=1,2"],
    "choose": ["choose", "a.toml", "--vary", "service.{service}.queue.capacity=100,200",
               "--maximize", "goodput", "--replications", "2"],
    "advise": ["advise", "a.toml"],
    "tip": ["tip", "a.toml", "--trigger", "service.{service}.servers=1:2"],
    "map": ["map", "a.toml", "--vary", "service.{service}.servers=1:100:1",
            "--vary", "service.{service}.service_time=1ms,2ms", "--service", "{service}"],
    "fit": ["fit", "a.log", "--out", "o"],
    "import": ["import", "{tool}", "a.yaml"],
}
WITHOUT_MEMORY = ("check", "predict", "map", "fit", "import")
# A wrong question for this scenario, such as the capacity of a queue that has none: the input is
# read all the same, and must be in time. 1: there is no answer.
ALSO_ALLOWED = {"choose": (1, 3), "tip": (1, 2, 3), "map": (2, 3), "advise": (3,), "predict": (2,),
                "fit": (3,), "import": (3,)}
ALLOWED_TIME = 1.2
ALLOWED_MIB = 64
PATIENCE = 40


def cpu_seconds(pid):
    """Of a process that runs or has just ended, in hundredths."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Measured:
    """How a program ended, how long it took and the most memory that it had."""

    def __init__(self, command, folder, timeout_s):
        start = time.monotonic()
        self.cpu_in_time_s = None
        with open(folder / "said", "wb") as said:
            child = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)
            # Not from RUSAGE_CHILDREN, which is the most of all children so far.
            while True:
                done, status, usage = os.wait4(child.pid, os.WNOHANG)
                if done:
                    break
                passed_s = time.monotonic() - start
                if passed_s > timeout_s and self.cpu_in_time_s is None:
                    self.cpu_in_time_s = cpu_seconds(child.pid)
                if passed_s > PATIENCE * timeout_s:
                    child.kill()
                time.sleep(0.005)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - start
        cpu_s = usage.ru_utime + usage.ru_stime
        self.late_cpu_s = 0 if self.cpu_in_time_s is None else cpu_s - self.cpu_in_time_s
        self.mib = usage.ru_maxrss / 1024
        self.status = child.returncode
        self.said = (folder / "said").read_text(errors="replace")


def write(number, command, folder):
    """In a process of its own: a program's largest memory begins with that of the process that
    starts it, which therefore stays small."""
    child = os.fork()
    if child == 0:
        try:
            case = inputs.case(number, command)
            (folder / case.file).write_text(case.text())
            for name, text in case.files.items():
                (folder / name).write_text(text)
            (folder / "about").write_text(
                f"{case.kind} {case.limit_mib} {case.first_service()} {case.tool}")
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError(f"case {number} cannot be written")


def measure(program, command, limit_mib, folder, timeout_s, service="s", tool=""):
    line = [program, *(word.format(service=service, tool=tool) for word in CALLS[command]),
            "--timeout", str(timeout_s)]
    if command not in WITHOUT_MEMORY:
        line += ["--jobs", "1", "--max-memory", f"{limit_mib}MiB", "--out", "o"]
        line += ["--no-reuse"] if command not in ("fit", "import") else []
    return Measured(line, folder, timeout_s)


def faults_of(command, limit_mib, measured, timeout_s, busy):
    if busy and measured.late_cpu_s > (ALLOWED_TIME - 1) * timeout_s:
        yield f"{measured.late_cpu_s:.2f} s of processor time after the timeout"
    if not busy and measured.seconds > ALLOWED_TIME * timeout_s:
        yield f"{measured.seconds:.2f} s"
    if command not in WITHOUT_MEMORY and measured.mib > limit_mib + ALLOWED_MIB:
        yield f"{measured.mib:.0f} MiB with {limit_mib} MiB allowed"
    if measured.status not in (*ALLOWED_STATUS, *ALSO_ALLOWED.get(command, ())):
        yield f"status {measured.status}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program", type=pathlib.Path)
    options.add_argument("--from", dest="first", type=int, default=0)
    options.add_argument("--count", type=int, default=300)
    options.add_argument("--timeout", type=float, default=2)
    options.add_argument("--only")
    options.add_argument("--command", choices=CALLS, default="run")
    options.add_argument("--busy", action="store_true")
    given = options.parse_args()
    bad = count = 0
    ends = {}
    for number in range(given.first, given.first + given.count):
        if given.only and inputs.kind_of(number, given.command) not in given.only.split(","):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write(number, given.command, folder)
            kind, limit, service, tool = (folder / "about").read_text().split()
            limit = int(limit)
            measured = measure(given.program.resolve(), given.command, limit, folder,
                               given.timeout, service, tool)
        count += 1
        wrong = list(faults_of(given.command, limit, measured, given.timeout, given.busy))
        bad += bool(wrong)
        last = next((line for line in reversed(measured.said.splitlines()) if "error" in line), "")
        why = ("done" if measured.status == 0 else
               "time" if "--timeout" in last else "memory" if "--max-memory" in last else "other")
        ends[why] = ends.get(why, 0) + 1
        print(f"{number:3} {kind:18} {measured.seconds:6.2f} s  {measured.late_cpu_s:5.2f} late  "
              f"{measured.mib:6.0f} of {limit:4} MiB  {why:6} "
              + (f"WRONG: {', '.join(wrong)} " if wrong else "")
              + (last[:150] if why == "other" else ""), flush=True)
    print(f"{bad} of {count} beyond a limit; they ended by: "
          + ", ".join(f"{why} {n}" for why, n in sorted(ends.items())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
