"""What the tests of this folder share: the program in a folder of its own, commands that are
stopped on their way, and result folders that must be the same.

SPDX-License-Identifier: MIT
"""

import argparse
import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

# Exit statuses of the program, and the one by which CTest knows a test that was skipped.
OUTPUT_FAILED, LIMIT_HIT, START_AGAIN, INTERRUPTED, OUTPUT_CLOSED = 4, 5, 6, 130, 141
SKIPPED = 77
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3"]
# Where Open MPI keeps its files. By default all jobs of a user share a folder, and two that begin
# at once may both want to make it.
MPI_FOLDER = tempfile.TemporaryDirectory(prefix="mpi-")
os.environ["OMPI_MCA_orte_tmpdir_base"] = MPI_FOLDER.name
# Seconds after which a job, which takes a few, will not end any more. A test that hangs is one that
# fails, and leaves nothing behind.
PATIENCE = 300

# A service that an outage of 1.3 s tips over in some of its replications.
OUTAGE = """
name = "outage"
duration = "60s"
warmup = "5s"
interval = "100ms"
drain_limit = "5s"
replications = 8
recovery = { share = 0.95, hold = "10s", window = "1s" }
[service.api]
service_time = { distribution = "exponential", mean = "2ms" }
[fault.outage]
start = "15s"
duration = "1.3s"
capacity = 0
[client.web]
count = 100
arrivals = { process = "poisson", total_rate = 350 }
attempt_timeout = "1s"
retry = { mode = "custom", max_attempts = 3, delays = [0] }
"""


class Failed(Exception):
    """The program did not do what it should."""


class Checker:
    """The program in a folder of its own, with the scenario small.toml, or several by name."""

    def __init__(self, program, folder, scenarios):
        self.program, self.folder = program, folder
        if isinstance(scenarios, str):
            scenarios = {"small.toml": scenarios}
        for name, text in scenarios.items():
            (folder / name).write_text(text)

    def run(self, *arguments, expected=0, before=()):
        """What a command printed that ends with this status. `before`: what starts the program."""
        command = [*before, self.program, *arguments]
        done = run_job(command, self.folder)
        if done.returncode != expected:
            raise Failed(f"{' '.join(map(str, command))}\nexit status {done.returncode}, expected "
                         f"{expected}:\n{done.stderr}")
        return done

    def check_same(self, out, whole="whole"):
        """Both folders hold the same files, to the last byte."""
        expected, found = files_of(self.folder / whole), files_of(self.folder / out)
        for name in sorted({*expected, *found}):
            if found.get(name) != expected.get(name):
                raise Failed(f"{out}/{name} differs from that of the undisturbed command")


def run_job(command, folder=None):
    """What came of a command that may start others. If it takes too long it is ended with them."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, start_new_session=True) as process:
        try:
            out, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired as too_long:
            errors = end_job(process)
            raise Failed(f"{command}\ndoes not end within {PATIENCE} s:\n{errors}") from too_long
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


def end_job(process):
    """Kills a process and all that it has started, which may take no notice of anything but
    SIGKILL. What it had to say."""
    for pid in [process.pid, *descendants(process.pid)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return process.communicate()[1]


def descendants(pid):
    """Process numbers of the children of `pid`, and theirs."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            found += [int(child), *descendants(int(child))]
    return found


def files_of(folder, is_left_out=lambda name: False):
    """Size and digest of each file by its name."""
    files = {}
    for path in folder.iterdir():
        if is_left_out(path.name):
            continue
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        files[path.name] = (path.stat().st_size, digest.digest())
    return files


def main(documentation, checks, **options):
    """Runs the checks that `checks(program, folder, arguments)` gives, one after the other, and
    exits: 0 if all went well, 1 if one has failed, 77 if one was skipped. `options` are the
    further options, with their defaults; that of a list may be given several times."""
    parser = argparse.ArgumentParser(description=documentation.splitlines()[0])
    parser.add_argument("--program", required=True)
    for name, default in options.items():
        how = {"action": "append"} if isinstance(default, list) else {"type": type(default)}
        parser.add_argument(f"--{name}", default=default, **how)
    arguments = parser.parse_args()
    status = 0
    with tempfile.TemporaryDirectory(prefix="retrysim-") as folder:
        try:
            for check in checks(os.path.abspath(arguments.program), pathlib.Path(folder),
                                arguments):
                status = max(status, check() or 0)
        except Failed as failure:
            print(f"failed: {failure}")
            status = 1
    sys.exit(status)
