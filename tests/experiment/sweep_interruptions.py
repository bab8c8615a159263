#!/usr/bin/python3
"""Sweeps that are killed and resumed, over MPI ranks one of which is killed, and in shards end with
the same bytes as one that nothing happened to.

    sweep_interruptions.py --program PROGRAM [--check killed|mpi|shards]... [--points N]
                           [--kills N] [--seed N]

Moments are random but seeded, in shares of the time that the undisturbed sweep takes. Exit status:
0 as it should be, 1 not, 77 skipped: no mpirun, or a program without MPI.

SPDX-License-Identifier: MIT
"""

import argparse
import hashlib
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3"]
# Seconds after which a job, which takes a few, will not end any more. A test that hangs is one that
# fails, and leaves nothing behind.
PATIENCE = 300
# The same after a rank was killed, of which mpirun has nothing to do but to notice it.
PATIENCE_WITH_MPIRUN = 60
ATTEMPTS = 5  # values of the second key
SCENARIO = """
name = "small"
duration = "{duration}s"
replications = 2
[service.api]
servers = 4
service_time = {{ distribution = "exponential", mean = "40ms" }}
queue = {{ capacity = 200 }}
[client.web]
count = 100
arrivals = {{ process = "poisson", total_rate = 80 }}
attempt_timeout = "1s"
retry = {{ mode = "standard" }}
[expect.works]
metric = "success_rate"
at_least = 0.5
"""


class Failed(Exception):
    """The sweep did not do what it should."""


class Checker:
    """One sweep, done again and again in a folder of its own."""

    def __init__(self, program, points, kills, seed, folder):
        self.program, self.kills, self.folder = program, kills, folder
        self.random = random.Random(seed)
        self.scenario = folder / "small.toml"
        # Points of about 1 ms if there are thousands, of some 10 ms if there are few.
        self.scenario.write_text(SCENARIO.format(duration=30 if points >= 2000 else 300))
        rates = max(1, points // ATTEMPTS)
        self.points = rates * ATTEMPTS
        step = 0.01
        self.arguments = [
            str(self.scenario), "--quiet", "--vary",
            f"client.web.arrivals.total_rate=60:{60 + (rates - 1) * step:.2f}:{step}", "--vary",
            "client.*.retry.max_attempts=1,2,3,4,5"]
        self.seconds = 0
        self.whole = None

    def command(self, out, *more):
        return [self.program, "sweep", *self.arguments, "--out", str(self.folder / out), *more]

    def run(self, command, expected=0):
        done = run_job(command)
        if done.returncode != expected:
            raise Failed(f"{' '.join(command)}\nexit status {done.returncode}, expected {expected}:"
                         f"\n{done.stderr}")
        return done

    def run_undisturbed(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        self.run(self.command("whole", "--jobs", "2"))
        self.seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        self.whole = files_of(self.folder / "whole")
        print(f"{self.points} points undisturbed: {self.seconds:.1f} s, CPU {cpu:.1f} s, "
              f"{sum(size for size, _ in self.whole.values()) / 1e6:.0f} MB")

    def check_same(self, out):
        files = files_of(self.folder / out)
        if files.keys() != self.whole.keys():
            raise Failed(f"{out} has the files {sorted(files)}, expected {sorted(self.whole)}")
        for name, content in files.items():
            if content != self.whole[name]:
                raise Failed(f"{out}/{name} differs from that of the undisturbed sweep")

    def killed(self):
        """SIGKILL at random moments, resume, compare."""
        kills, rounds, kept = 0, 0, 0
        while kills < self.kills:
            out = f"killed-{rounds}"
            command = self.command(out, "--jobs", "2", "--resume")
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            time.sleep(self.random.uniform(0.02, 0.2) * self.seconds)
            process.kill()
            errors = process.communicate()[1]
            if process.returncode == -signal.SIGKILL:
                kills += 1
                kept = self.check_progress(errors, kept)
                continue
            if process.returncode != 0:
                raise Failed(f"exit status {process.returncode}:\n{errors}")
            self.check_same(out)
            shutil.rmtree(self.folder / out)
            rounds, kept = rounds + 1, 0
        out = f"killed-{rounds}"
        last = self.run(self.command(out, "--resume"))
        self.check_progress(last.stderr, kept)
        self.check_same(out)
        self.check_complete(out)
        print(f"killed {kills} times, the last time with at least {kept} points finished: "
              "same files")

    def check_complete(self, out):
        again = self.run(self.command(out, "--resume"))
        if "already complete" not in again.stderr:
            raise Failed(f"a finished sweep was not found to be so:\n{again.stderr}")

    @staticmethod
    def check_progress(errors, kept):
        """What was finished before must be there still. Returns what is."""
        found = re.search(r"going on with (\d+) of", errors)
        if found is None:
            return kept  # killed before it could say so, or nothing there yet
        now = int(found.group(1))
        if now < kept:
            raise Failed(f"{kept} points were finished, {now} are left of them")
        return now

    def mpi(self):
        """One of three ranks killed at random moments, the rest resumed."""
        if shutil.which("mpirun") is None:
            print("skipped: there is no mpirun (Debian package openmpi-bin)")
            return SKIPPED
        probe = run_job(MPIRUN + self.command("probe"))
        if "built without MPI" in probe.stderr:
            print("skipped: the program was built without MPI (RETRYSIM_MPI=OFF, or not found)")
            return SKIPPED
        if probe.returncode != 0:
            raise Failed(f"exit status {probe.returncode}:\n{probe.stderr}")
        self.check_same("probe")
        kills, rounds, kept, stuck = 0, 0, 0, 0
        while kills < max(1, self.kills // 2):
            out = f"mpi-{rounds}"
            process = subprocess.Popen(MPIRUN + self.command(out, "--resume"),
                                       stderr=subprocess.PIPE, text=True, start_new_session=True)
            ranks = self.wait_for_ranks(process)
            time.sleep(self.random.uniform(0.02, 0.25) * self.seconds)
            victim = self.random.choice(ranks) if ranks else None
            try:
                if victim is not None:
                    os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                victim = None
            patience = PATIENCE_WITH_MPIRUN if victim else PATIENCE
            try:
                errors = process.communicate(timeout=patience)[1]
            except subprocess.TimeoutExpired:
                alive = [pid for pid in ranks if is_program(pid, self.program)]
                errors = end_job(process)
                if victim is None or alive:
                    raise Failed(f"the job does not end; its ranks {alive} are alive:\n{errors}")
                # Open MPI's mpirun (4.1) now and then waits for itself when a rank is killed: its
                # ranks are gone, and so is the job.
                stuck += 1
            if process.returncode != 0:
                if victim is None:
                    raise Failed(f"exit status {process.returncode}:\n{errors}")
                kills += 1
                kept = self.check_progress(errors, kept)
                continue
            self.check_same(out)
            rounds, kept = rounds + 1, 0
        out = f"mpi-{rounds}"
        self.run(MPIRUN + self.command(out, "--resume"))
        self.check_same(out)
        print(f"one of three ranks killed {kills} times: same files"
              + (f"; mpirun got stuck {stuck} times" if stuck else ""))
        return 0

    def wait_for_ranks(self, mpirun):
        """Process numbers of the three ranks; none if the job ends, or never has three."""
        end = time.monotonic() + PATIENCE
        while mpirun.poll() is None and time.monotonic() < end:
            ranks = [pid for pid in descendants(mpirun.pid) if is_program(pid, self.program)]
            if len(ranks) == 3:
                return ranks
            time.sleep(0.005)
        return []

    def shards(self):
        """Five shards, one of them over one thread, merged."""
        for i in range(1, 6):
            self.run(self.command(f"shard-{i}", "--shard", f"{i}/5", "--jobs", str(1 + i % 2)))
        folders = [str(self.folder / f"shard-{i}") for i in (3, 1, 5, 2, 4)]
        self.run([self.program, "merge", *folders, "--out", str(self.folder / "merged"), "--quiet"])
        self.check_same("merged")
        print("five shards merged: same files")


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


def files_of(folder):
    """Size and digest of each file by its name."""
    files = {}
    for path in folder.iterdir():
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        files[path.name] = (path.stat().st_size, digest.digest())
    return files


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


def is_program(pid, program):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--check", action="append", choices=["killed", "mpi", "shards"])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    status = 0
    with tempfile.TemporaryDirectory(prefix="retrysim-sweep-") as folder:
        checker = Checker(os.path.abspath(arguments.program), arguments.points, arguments.kills,
                          arguments.seed, pathlib.Path(folder))
        try:
            checker.run_undisturbed()
            for check in arguments.check or ["killed", "mpi", "shards"]:
                status = max(status, getattr(checker, check)() or 0)
        except Failed as failure:
            print(f"failed: {failure}")
            return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
