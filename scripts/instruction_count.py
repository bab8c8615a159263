"""Instructions per event of a benchmark program, counted by callgrind.

The count of a run is that of a longer run less that of a shorter one, so that starting the program
and reading the scenario are not in it. It depends on the compiler only: the C library does not
choose functions by the processor (one that copies with `rep movsb` counts each byte), and a
scenario is named without its folder, since the length of a path decides where later memory lies.

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import re
import shutil
import subprocess

SHORT_S, LONG_S = 40, 100  # simulated time

# The overload of the reference loop; without options both programs run its healthy system.
OVERLOAD = {"reference": ["rate=1200", "qcap=2000"],
            "retrysim": ["client.web.arrivals.total_rate=1200",
                         "service.api.queue.capacity=2000"]}

# What functions of the C library are chosen by, as it names them. A processor without these is the
# least that Debian runs on.
PROCESSOR = ["AVX", "AVX2", "AVX_Fast_Unaligned_Load", "BMI1", "BMI2", "ERMS", "FMA", "FMA4",
             "FSRM", "LZCNT", "MOVBE", "POPCNT", "SSE4_1", "SSE4_2", "SSSE3"]


class CountFailed(Exception):
    """A program could not be run under callgrind, or did not print what was expected."""


def available():
    """Whether callgrind is installed."""
    return shutil.which("valgrind") is not None


def count(command, figure="events", function=None):
    """The events (or another figure) that a benchmark program reports, and the instructions it took
    in all, or in one function and what that calls."""
    program, *arguments = map(str, command)
    folder = None
    if arguments and pathlib.Path(arguments[0]).is_file():
        scenario = pathlib.Path(arguments[0]).resolve()
        folder, arguments[0] = scenario.parent, scenario.name
    only = [f"--toggle-collect={function}"] if function else []
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *only,
                           pathlib.Path(program).resolve(), *arguments],
                          capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "GLIBC_TUNABLES": "glibc.cpu.hwcaps="
                               + ",".join(f"-{name}" for name in PROCESSOR)})
    events = re.search(rf"\b{figure}=(\d+)", done.stdout)
    instructions = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not events or not instructions:
        raise CountFailed(f"{command[0]} under callgrind ended with {done.returncode}: "
                          f"{done.stderr.strip()[-500:]}")
    return int(events[1]), int(instructions[1])


def per_event(command, duration):
    """Instructions per event. `duration`: the option that takes the simulated seconds."""
    (events, instructions), (more_events, more_instructions) = (
        count([*command, duration.format(seconds)]) for seconds in (SHORT_S, LONG_S))
    return (more_instructions - instructions) / (more_events - events)


def per_attempt(program, scenario):
    """Instructions of one replication of a scenario for each of its attempts: for scenarios that
    end by themselves, which a longer run would not prolong."""
    attempts, instructions = count([program, scenario], "attempts", "retrysim::simulate*")
    return instructions / attempts


def of_simulator(program, scenario, overload=False):
    """Instructions per event of run_benchmark."""
    return per_event([program, scenario, *(OVERLOAD["retrysim"] if overload else [])],
                     "duration={}s")


def of_reference(program, overload=False):
    """Instructions per event of the reference loop."""
    return per_event([program, *(OVERLOAD["reference"] if overload else [])], "secs={}")
