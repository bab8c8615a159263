#!/usr/bin/python3
"""Sweeps that are killed and resumed, over MPI ranks one of which is killed, and in shards end with
the same bytes as one that nothing happened to.

    sweep_interruptions.py --program PROGRAM [--check killed|mpi|shards]... [--points N]
                           [--kills N] [--seed N]

Moments are random but seeded, in shares of the time that the undisturbed sweep takes. Exit status:
0 as it should be, 1 not, 77 skipped: no mpirun, or a program without MPI.

SPDX-License-Identifier: MIT
"""

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time

from harness import (MPIRUN, PATIENCE, SKIPPED, Checker, Failed, descendants, end_job, main,
                     run_job)

# How long to wait after a rank was killed, which mpirun only has to notice: in all, and once no
# rank is left.
PATIENCE_WITH_MPIRUN = 60
PATIENCE_WITHOUT_RANKS = 10
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


class Sweep(Checker):
    """One sweep, done again and again."""

    def __init__(self, program, folder, arguments):
        # Points of about 1 ms if there are thousands, of some 10 ms if there are few.
        duration = 30 if arguments.points >= 2000 else 300
        super().__init__(program, folder, SCENARIO.format(duration=duration))
        self.kills, self.random = arguments.kills, random.Random(arguments.seed)
        rates = max(1, arguments.points // ATTEMPTS)
        self.points = rates * ATTEMPTS
        step = 0.01
        self.arguments = [
            "sweep", "small.toml", "--quiet", "--vary",
            f"client.web.arrivals.total_rate=60:{60 + (rates - 1) * step:.2f}:{step}", "--vary",
            "client.*.retry.max_attempts=1,2,3,4,5"]
        self.seconds = 0

    def sweep(self, out, *more, before=()):
        return self.run(*self.arguments, "--out", out, "--store", f"of-{out}", *more,
                        before=before)

    def start(self, out, *more, before=()):
        return subprocess.Popen([*before, self.program, *self.arguments, "--out", out, "--store",
                                 f"of-{out}", *more], cwd=self.folder, stderr=subprocess.PIPE,
                                text=True, start_new_session=bool(before))

    def undisturbed(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        self.sweep("whole", "--jobs", "2")
        self.seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        size = sum(path.stat().st_size for path in (self.folder / "whole").iterdir())
        print(f"{self.points} points undisturbed: {self.seconds:.1f} s, CPU {cpu:.1f} s, "
              f"{size / 1e6:.0f} MB")

    def killed(self):
        """SIGKILL at random moments, resume, compare."""
        kills, rounds, kept = 0, 0, 0
        while kills < self.kills:
            out = f"killed-{rounds}"
            process = self.start(out, "--jobs", "2")
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
        last = self.sweep(out)
        self.check_progress(last.stderr, kept)
        self.check_same(out)
        self.check_complete(out)
        print(f"killed {kills} times, the last time with at least {kept} runs finished: same files")

    def check_complete(self, out):
        again = self.sweep(out)
        found = re.search(r"note: (\d+) of (\d+) runs were there already", again.stderr)
        if found is None or found[1] != found[2]:
            raise Failed(f"a finished sweep was not found to be so:\n{again.stderr}")

    @staticmethod
    def check_progress(errors, kept):
        """What was finished before must be there still. Returns what is."""
        found = re.search(r"note: (\d+) of \d+ runs were there already", errors)
        if found is None:
            return kept  # killed before it could say so, or nothing there yet
        now = int(found.group(1))
        if now < kept:
            raise Failed(f"{kept} runs were finished, {now} are left of them")
        return now

    def mpi(self):
        """One of three ranks killed at random moments, the rest resumed."""
        if shutil.which("mpirun") is None:
            print("skipped: there is no mpirun (Debian package openmpi-bin)")
            return SKIPPED
        probe = run_job([*MPIRUN, self.program, *self.arguments, "--out", "probe",
                         "--no-reuse"], self.folder)
        if "built without MPI" in probe.stderr:
            print("skipped: the program was built without MPI (RETRYSIM_MPI=OFF, or not found)")
            return SKIPPED
        if probe.returncode != 0:
            raise Failed(f"exit status {probe.returncode}:\n{probe.stderr}")
        self.check_same("probe")
        kills, rounds, kept, stuck = 0, 0, 0, 0
        while kills < max(1, self.kills // 2):
            out = f"mpi-{rounds}"
            process = self.start(out, before=MPIRUN)
            ranks = self.wait_for_ranks(process)
            time.sleep(self.random.uniform(0.02, 0.25) * self.seconds)
            victim = self.random.choice(ranks) if ranks else None
            try:
                if victim is not None:
                    os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                victim = None
            try:
                errors = self.errors_of(process, ranks if victim else [])
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
        self.sweep(out, before=MPIRUN)
        self.check_same(out)
        print(f"one of three ranks killed {kills} times: same files"
              + (f"; mpirun got stuck {stuck} times" if stuck else ""))
        return 0

    def errors_of(self, mpirun, ranks):
        """What it prints to standard error; `ranks`: its ranks, if one of them was killed."""
        if ranks:
            end = time.monotonic() + PATIENCE_WITH_MPIRUN
            while time.monotonic() < end:
                alive = any(is_program(pid, self.program) for pid in ranks)
                try:
                    return mpirun.communicate(timeout=PATIENCE_WITHOUT_RANKS)[1]
                except subprocess.TimeoutExpired:
                    if not alive:
                        break
        return mpirun.communicate(timeout=0 if ranks else PATIENCE)[1]

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
            self.sweep(f"shard-{i}", "--shard", f"{i}/5", "--jobs", str(1 + i % 2))
        folders = [f"shard-{i}" for i in (3, 1, 5, 2, 4)]
        self.run("merge", *folders, "--out", "merged", "--quiet")
        self.check_same("merged")
        print("five shards merged: same files")


def is_program(pid, program):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def checks(program, folder, arguments):
    sweep = Sweep(program, folder, arguments)
    return [sweep.undisturbed] + [getattr(sweep, check) for check in
                                  arguments.check or ("killed", "mpi", "shards")]


if __name__ == "__main__":
    main(__doc__, checks, check=[], points=200, kills=10, seed=1)
