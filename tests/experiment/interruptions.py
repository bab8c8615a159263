#!/usr/bin/python3
"""Commands that simulate end with the same bytes however their work came about: in one go, after
having been killed or stopped, from a store that is cut off or damaged, in shards, over ranks, or
two at once; and a second time they simulate nothing.

    interruptions.py --program PROGRAM [--command NAME]... [--every N] [--cuts N] [--seed N]

Of all commands every N-th is tried, or those that are named.

A process that is killed leaves a store whose last file is cut off somewhere, so most interruptions
are made by cutting files off at seeded places: no check depends on how fast the machine is. Exit
status: 0 as it should be, 1 not.

SPDX-License-Identifier: MIT
"""

import random
import re
import shutil
import signal
import subprocess
import time

from harness import (INTERRUPTED, LIMIT_HIT, MPIRUN, OUTAGE, PATIENCE, START_AGAIN, Checker,
                     Failed, main, run_job)

STEADY = """
name = "steady"
duration = "100s"
warmup = "auto"
replications = 10
precision = 0.03
max_replications = 20
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "20ms" }
queue = { capacity = 50 }
[client.web]
count = 50
arrivals = { process = "poisson", total_rate = 150 }
attempt_timeout = "1s"
retry = { mode = "adaptive" }
"""
PLANE = """
name = "plane"
duration = "60s"
replications = 3
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "40ms" }
queue = { capacity = 500 }
[client.web]
count = 100
arrivals = { process = "poisson", total_rate = 70 }
attempt_timeout = "500ms"
retry = { mode = "custom", max_attempts = 3, backoff = { base = "100ms", jitter = "full" } }
"""
FAULTS = PLANE.replace("plane", "faults") + """
[fault.outage]
mtbf = "4h"
length = { distribution = "exponential", mean = "20s" }
unreachable = true
[slo.web]
share = 0.99
"""
TRIGGER = ["--trigger", "fault.outage.duration=0.9s:1.5s"]
COMMANDS = {
    "plain": ["run", "outage.toml"],
    "run": ["run", "outage.toml", "--twin=retries,jitter"],
    "precision": ["run", "steady.toml"],
    "compare": ["compare", "outage.toml", "--vary", "client.web.retry.max_attempts=1,2,3",
                "--twin"],
    "variants": ["compare", "outage.toml", "--vary", "client.web.retry.max_attempts=1,2,3"],
    "advise": ["advise", "outage.toml"],
    "choose": ["choose", "outage.toml", "--vary", "client.web.retry.max_attempts=1,2,3",
               "--minimize", "amplification", "--indifference", "0.02", "--max-replications",
               "60"],
    "tip": ["tip", "outage.toml", *TRIGGER, "--tolerance", "0.1"],
    "curve": ["tip", "outage.toml", *TRIGGER, "--tolerance", "0.3", "--vary",
              "client.web.retry.max_attempts=2,3"],
    "hysteresis": ["tip", "outage.toml", "--hysteresis",
                   "client.web.arrivals.total_rate=200:600:200", "--dwell", "10s"],
    "sweep": ["sweep", "outage.toml", "--vary", "client.web.retry.max_attempts=1,2,3", "--vary",
              "fault.outage.duration=0.5s,1s"],
    "map": ["map", "plane.toml", "--vary", "client.web.arrivals.total_rate=60:120:20", "--vary",
            "client.web.retry.max_attempts=1,3", "--confirm", "4"],
    "size": ["size", "service.api.servers=2:6", "outage.toml"],
    "risk": ["risk", "plane.toml", "--event", "service.api.in_system>=18", "--precision", "1"],
    "budget": ["risk", "faults.toml", "--event", "slo.web.budget>0.002", "--per", "1d",
               "--precision", "2"],
}
# Those that name all replications beforehand: one array of tasks does them.
ONE_ROUND = ("plain", "variants", "advise", "hysteresis", "map")
TASKS = (1, 2, 3)
# Many of a kind would only take longer.
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)


class Command(Checker):
    """One command, done again and again. The folder `whole` has its result."""

    def __init__(self, program, folder, name, given):
        super().__init__(program, folder, {"outage.toml": OUTAGE, "steady.toml": STEADY,
                                           "plane.toml": PLANE, "faults.toml": FAULTS})
        self.name, self.cuts = name, given.cuts
        self.random = random.Random(f"{given.seed} {name}")
        self.status = run_job([program, *self.arguments("whole"), "--no-reuse"],
                              folder).returncode
        if self.status not in (0, 1):
            raise Failed(f"{name}: exit status {self.status}")
        if (folder / ".retrysim-runs").exists():
            raise Failed(f"{name}: --no-reuse has kept something")

    def arguments(self, out):
        return [*COMMANDS[self.name], "--quiet", "--no-progress", "--out", out]

    def again(self, store, *more, before=()):
        """The result must be the same; what was there already, and how much was asked for."""
        errors = self.run(*self.arguments("again"), "--store", store, *more, expected=self.status,
                          before=before).stderr
        self.check_same("again")
        shutil.rmtree(self.folder / "again")
        found = re.search(r"note: (\d+) of (\d+) runs? (was|were) there already", errors)
        return (int(found[1]), int(found[2])) if found else (0, None)

    def check_complete(self, store):
        before = self.files(store)
        found, asked = self.again(store)
        if found != asked:
            raise Failed(f"{self.name}: {found} of {asked} runs were there the second time")
        if self.files(store) != before:
            raise Failed(f"{self.name}: a store in which all was there has changed")
        return asked

    def files(self, store):
        return {path.name: path.read_bytes() for path in (self.folder / store).iterdir()}

    def damaged(self, change):
        """The whole store with its files changed."""
        folder = self.folder / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in self.files("store").items():
            (folder / name).write_bytes(change(content))

    def from_parts(self):
        self.again("store")
        asked = self.check_complete("store")
        least = asked
        for _ in range(self.cuts):
            self.damaged(lambda content: content[:self.random.randrange(len(content))])
            found, _ = self.again("damaged", "--jobs", str(self.random.randint(1, 3)))
            if found >= asked:
                raise Failed(f"{self.name}: more was found than was there")
            least = min(least, found)
            self.check_complete("damaged")

        def flipped(content):
            changed = bytearray(content)
            for _ in range(3):
                changed[self.random.randrange(len(changed))] ^= 1 << self.random.randrange(8)
            return bytes(changed)

        for _ in range(self.cuts):
            self.damaged(flipped)
            self.again("damaged")
        print(f"{self.name}: {asked} runs, cut off down to {least}, and damaged: same files")

    def stopped(self):
        """By signals, once the store has something; however far the command has come then."""
        stopped = 0
        for number in SIGNALS:
            store = self.folder / "stopped"
            before = sum(path.stat().st_size for path in store.glob("*"))
            process = subprocess.Popen([self.program, *self.arguments("gone"), "--store",
                                        "stopped"], cwd=self.folder,
                                       stderr=subprocess.PIPE, text=True)
            while process.poll() is None:
                if sum(path.stat().st_size for path in store.glob("*")) > before + 100:
                    process.send_signal(number)
                    break
                time.sleep(0.001)
            errors = process.communicate(timeout=PATIENCE)[1]
            if process.returncode == self.status:  # it was quicker
                self.check_same("gone")
                shutil.rmtree(self.folder / "gone")
                continue
            if process.returncode not in (-number, INTERRUPTED):
                raise Failed(f"{self.name}: exit status {process.returncode}:\n{errors}")
            if number == signal.SIGTERM and "the same command goes on from there" not in errors:
                raise Failed(f"{self.name}: nothing about what is kept in:\n{errors}")
            if (self.folder / "gone").exists():
                raise Failed(f"{self.name}: a command that was stopped has left a result")
            stopped += 1
        self.run(*self.arguments("gone"), "--store", "stopped", "--seed", "77", "--timeout",
                 "0.001", expected=LIMIT_HIT)
        self.again("stopped")
        self.check_complete("stopped")
        print(f"{self.name}: stopped {stopped} times: same files")

    def without_store(self):
        """Where no store can be, there is a note, and the result."""
        errors = self.run(*self.arguments("again"), "--store", "outage.toml",
                          expected=self.status).stderr
        self.check_same("again")
        if errors.count("is not kept for the next time") != 1:
            raise Failed(f"{self.name}: one note about the store was expected:\n{errors}")
        shutil.rmtree(self.folder / "again")
        both = [subprocess.Popen([self.program, *self.arguments(f"both-{i}"), "--store", "both"],
                                 cwd=self.folder, stderr=subprocess.DEVNULL) for i in (1, 2)]
        for i, process in enumerate(both, 1):
            if process.wait(timeout=PATIENCE) != self.status:
                raise Failed(f"{self.name}: exit status {process.returncode} of two at once")
            self.check_same(f"both-{i}")
        self.check_complete("both")
        print(f"{self.name}: without a store, and two at once: same files")

    def sharded(self):
        """Arrays of three tasks, one after the other, until there is an answer. In the first array
        a task is killed."""
        if self.name == "sweep":
            self.sharded_sweep()
            return
        for store in ("once", "shards"):
            (self.folder / store).mkdir()
        if self.name in ONE_ROUND:
            self.array(1, "once")
            self.check_complete("once")
        most = 40
        for arrays in range(1, most):
            errors = self.array(arrays, "shards")
            if errors is None:
                break
            if arrays == 1:
                if (self.name in ONE_ROUND) == ("start the array again" in errors):
                    raise Failed(f"{self.name}: a task said:\n{errors}")
                new = self.random.choice(sorted((self.folder / "shards").iterdir()))
                new.write_bytes(new.read_bytes()[:self.random.randrange(new.stat().st_size)])
        else:
            raise Failed(f"{self.name}: {most} arrays of tasks do not come to an end")
        if self.name in ONE_ROUND and arrays > 3:
            raise Failed(f"{self.name}: {arrays} arrays of tasks were needed")
        self.check_complete("shards")
        print(f"{self.name}: {arrays} times three tasks: same files")

    def array(self, number, store):
        """Three tasks at once: none sees what the others add to the store. What one of them says;
        None if there is an answer."""
        errors = None
        for task in TASKS:
            own = self.folder / "own"
            shutil.copytree(self.folder / store, own)
            done = run_job([self.program, *self.arguments("part"), "--store", "own", "--shard",
                            f"{task}/{len(TASKS)}"], self.folder)
            if (self.folder / "part").exists():
                self.check_same("part")
                shutil.rmtree(self.folder / "part")
                expected = self.status
            else:
                errors = done.stderr
                expected = START_AGAIN if "start the array again" in errors else 0
                if not re.search(r"note: \d+ of \d+ runs? (is|are) in the store", errors):
                    raise Failed(f"{self.name}: task {task} said:\n{errors}")
            if done.returncode != expected:
                raise Failed(f"{self.name}: exit status {done.returncode} of task {task}, expected "
                             f"{expected}:\n{done.stderr}")
            own.rename(self.folder / f"own-{task}")
        for task in TASKS:
            own = self.folder / f"own-{task}"
            for path in own.iterdir():
                if not (self.folder / store / path.name).exists():
                    path.rename(self.folder / store / f"{number}-{task}-{path.name}")
            shutil.rmtree(own)
        return errors

    def sharded_sweep(self):
        """Each task has a result of its own, and they are merged."""
        parts = []
        for task in TASKS:
            parts.append(f"part-{task}")
            shard = ["--store", f"own-{task}", "--shard", f"{task}/{len(TASKS)}"]
            self.run(*self.arguments(parts[-1]), *shard, expected=self.status)
            for path in (self.folder / f"own-{task}").iterdir():
                path.write_bytes(path.read_bytes()[:self.random.randrange(path.stat().st_size)])
            shutil.rmtree(self.folder / parts[-1])
            self.run(*self.arguments(parts[-1]), *shard, expected=self.status)
        self.run("merge", *parts, "--out", "part", "--quiet")
        self.check_same("part")
        print(f"{self.name}: three tasks: same files")

    def over_ranks(self):
        if shutil.which("mpirun") is None:
            return
        probe = run_job([*MPIRUN, self.program, "run", "none.toml"], self.folder)
        if "built without MPI" in probe.stderr:
            return
        self.damaged(lambda content: content[:len(content) // 2])
        self.again("damaged", before=MPIRUN)
        self.check_complete("damaged")
        print(f"{self.name}: half of it over three ranks: same files")


class Reuse(Checker):
    """What one command has done is there for the next one."""

    def __init__(self, program, folder):
        super().__init__(program, folder, {"outage.toml": OUTAGE})

    def found(self, *arguments):
        errors = self.run(*arguments, "--quiet", "--no-progress").stderr
        match = re.search(r"note: (\d+) of (\d+) runs? (was|were) there already", errors)
        return (int(match[1]), int(match[2])) if match else None

    def all(self):
        steps = [
            (["run", "outage.toml"], None),
            (["advise", "outage.toml"], lambda found, asked: found >= 8),
            (["compare", "outage.toml", "--vary", "client.web.retry.max_attempts=3,2"],
             lambda found, asked: (found, asked) == (8, 16)),
            (["compare", "outage.toml", "--vary", "client.web.retry.max_attempts=3,2",
              "--replications", "12"], lambda found, asked: (found, asked) == (16, 24)),
            # Another name, description and expectation are the same system.
            (["run", "outage.toml", "--set", "name=other", "--set", "description=changed"],
             lambda found, asked: (found, asked) == (8, 8)),
            (["run", "outage.toml", "--set", "seed=2"], None),
            (["run", "outage.toml", "--no-reuse"], None),
        ]
        for arguments, is_right in steps:
            found = self.found(*arguments)
            if (found is None) != (is_right is None) or (is_right and not is_right(*found)):
                raise Failed(f"{' '.join(arguments)}: {found} were there already")
        print("what one command has simulated is there for the others")


def checks(program, folder, given):
    if not given.command:
        yield Reuse(program, folder).all
    for name in given.command or list(COMMANDS)[::given.every]:
        place = folder / name
        place.mkdir()
        command = Command(program, place, name, given)
        for part in ("from_parts", "stopped", "without_store", "sharded", "over_ranks"):
            yield getattr(command, part)


if __name__ == "__main__":
    main(__doc__, checks, command=[], every=1, cuts=2, seed=1)
