#!/usr/bin/python3
"""Whatever the machine does to a command that writes, its place holds the old result or the new
one, and the same command then writes what it would have written anyway.

    machine_faults.py --program PROGRAM [--check CHECK]... [--moments N] [--commands N] [--seed N]

The checks are `killed` (SIGKILL), `two_writers` (of one place), `full_disk`, `read_only`, `memory`
(a limit on the address space) and `clock` (set back, files from the future). Each is done `moments`
times for each command that writes, or for as many of them as `commands` says, others for each
check. Moments, limits and free space are random but seeded. Exit status: 0 as it should be, 1 not,
77 skipped: the system does not allow mounts of our own, or has no libfaketime.

SPDX-License-Identifier: MIT
"""

import collections
import contextlib
import hashlib
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from harness import LIMIT_HIT, OUTPUT_FAILED, PATIENCE, SKIPPED, Checker, Failed, files_of, main

# Short, so that it is the writing that is disturbed.
SCENARIO = """
name = "small"
duration = "20s"
replications = 6
interval = "100ms"
drain = false
recovery = { share = 0.8, hold = "3s", window = "2s" }
[service.api]
service_time = { distribution = "exponential", mean = "20ms" }
[fault.outage]
start = "8s"
duration = "1s"
capacity = 0
[client.web]
count = 10
arrivals = { process = "poisson", total_rate = 20 }
attempt_timeout = "1s"
retry = { mode = "custom", max_attempts = 3, backoff.base = "0ms", backoff.cap = "0ms" }
"""
SWEEP = "sweep small.toml --vary service.api.servers=1:4:1"
# The commands that write, each with an old question and a new one. `{is}` is "old" or "new",
# `{place}` the folder that everything is written to.
OF_A_SCENARIO = {
    "run": "run small.toml --out {place}/out",
    "run with files": "run small.toml --out {place}/out --junit {place}/junit.xml "
                      "--access-log {place}/log.csv",
    "compare": "compare small.toml --vary service.api.servers=1,2 --out {place}/out",
    "sweep": SWEEP + " --out {place}/out",
    "tip": "tip small.toml --trigger fault.outage.duration=0.05s:4s --tolerance 0.5 "
           "--out {place}/out",
    "choose": "choose small.toml --vary client.web.retry.max_attempts=2,3 --maximize goodput "
              "--indifference 2 --out {place}/out",
    "map": "map small.toml --vary client.web.arrivals.total_rate=10:60:25 --vary "
           "fault.outage.duration=0.5:3:1 --confirm 2 --out {place}/out",
    "advise": "advise small.toml --out {place}/out",
    "predict": "predict small.toml --out {place}/out",
}
OTHERS = {
    "merge": "merge shard-1-{is} shard-2-{is} --out {place}/out",
    "fit": "fit log-{is}.csv --out {place}/out",
    "report": "report result-{is} --out {place}/page.html",
    "init": "init --rate {rate} --service-time 50ms --client botocore --out {place}/service.toml",
}
QUIET = {"predict", "fit", "report", "init"}  # which do not have --quiet, and need none
NOTES = "notes.txt"
# Of whatever is being written; and where replications that are done are kept.
TEMPORARY = ".retrysim-"
STORE = ".retrysim-runs"
FAKETIME = ("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
            "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1")

# Set in the process whose mounts nobody else sees.
OWN_MOUNTS = "RETRYSIM_OWN_MOUNTS"
# Root may write everywhere, unless it has no rights beyond those of the owner.
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def content_of(path):
    """What is at a path but for temporary files and notes; None if nothing is."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).digest()
    if not path.is_dir():
        return None
    return files_of(path, lambda name: name.startswith(TEMPORARY) or name == NOTES)


def contents_of(place):
    """What is at each name in a folder; not what is being written there."""
    return {path.name: content_of(path) for path in place.iterdir()
            if not path.name.startswith(TEMPORARY)}


def names_below(place):
    """Everything below a folder that is no whole part of a result."""
    return sorted(str(path.relative_to(place)) for path in place.rglob("*")
                  if path.name.startswith(TEMPORARY) and path.name != STORE)


def all_names_in(place):
    """The names of all that is in a folder; None if something vanishes meanwhile."""
    try:
        return {path.name for path in place.rglob("*")}
    except FileNotFoundError:
        return None


class Job:
    """A command with its result to an old question and to a new one, and what it takes."""

    def __init__(self, checker, name):
        self.checker, self.name = checker, name
        started = time.monotonic()
        self.status, self.results = None, {}
        for which in ("old", "new"):
            place = checker.folder / f"undisturbed-{which}"
            place.mkdir()
            self.status = checker.run_any(self.command(which, place), (0, 1)).returncode
            self.results[which] = contents_of(place)
            files = [path for path in place.rglob("*")  # without a store the result is whole
                     if path.is_file() and STORE not in path.parts]
            self.files, self.pages = len(files), sum(path.stat().st_size // 4096 + 1
                                                     for path in files)
            shutil.rmtree(place)
        self.seconds = (time.monotonic() - started) / 2
        if self.results["old"] == self.results["new"]:
            raise Failed(f"{name}: the same result to two questions, so nothing can be told")

    def command(self, which, place):
        text = (OF_A_SCENARIO | OTHERS)[self.name]
        words = text.format(place=place, rate={"old": 100, "new": 200}[which], **{"is": which})
        command = [self.checker.program, *words.split(), "--force"]
        if self.name in OF_A_SCENARIO and which == "old":
            command += ["--set", "client.web.attempt_timeout=900ms"]
        if self.name not in QUIET:
            command += ["--quiet"]
        return command

    def prepare(self, place, before):
        """The place with an old result, or an empty one. `before` is one of BEFORE."""
        place.mkdir()
        if before == "nothing":
            return
        self.checker.run_any(self.command("old", place), (0, 1))
        out = place / "out"
        if before == "notes" and out.is_dir():
            (out / NOTES).write_text("mine")

    def fault_of(self, place, before):
        """What is wrong with what a disturbed command has left; empty if nothing is. Where there
        are notes in the folder, files are replaced one by one, and no result.json says that they
        are."""
        found = contents_of(place)
        old, new = self.results["old"], self.results["new"]
        for name in {*old, *new}:
            content = found.pop(name, None)
            earlier = None if before == "nothing" else old[name]
            half = before == "notes" and isinstance(content, dict) and "result.json" not in content
            if content not in (earlier, new[name], earlier or {}) and not half:
                return f"{name} is neither the old one nor the new one"
            if before == "notes" and isinstance(old[name], dict) and not is_mine(place / name):
                return "the user's notes are gone"
        return f"there is {', '.join(found)}" if found else ""

    def check_left(self, place, before, what):
        fault = self.fault_of(place, before)
        if fault:
            raise Failed(f"{self.name}, {what}, with {before} before: {fault}")

    def check_new(self, place, before, what, which=("new",)):
        """At each name is one of these whole results, and nothing else but the user's notes."""
        left = names_below(place)
        if left:
            raise Failed(f"{self.name}, {what}, with {before} before: left behind: {left}")
        found = contents_of(place)
        if set(found) != set(self.results["new"]) or any(
                content not in [self.results[each][name] for each in which]
                for name, content in found.items()):
            raise Failed(f"{self.name}, {what}, with {before} before: not what an undisturbed "
                         "command writes")
        if before == "notes" and (place / "out").is_dir() and not is_mine(place / "out"):
            raise Failed(f"{self.name}, {what}: the user's notes are gone")


BEFORE = ("nothing", "old", "notes")


def is_mine(folder):
    path = folder / NOTES
    return path.is_file() and path.read_text() == "mine"


class Machine(Checker):
    """All commands that write, in a folder of their own."""

    def __init__(self, program, folder, arguments):
        super().__init__(program, folder, SCENARIO)
        self.moments, self.random = arguments.moments, random.Random(arguments.seed)
        self.arguments = arguments
        self.places = 0
        for which, servers in (("old", "1:2:1"), ("new", "1:4:1")):
            self.run("run", "small.toml", "--quiet", "--out", f"result-{which}", "--access-log",
                     f"log-{which}.csv", "--seed", {"old": "1", "new": "2"}[which])
            for shard in (1, 2):
                self.run("sweep", "small.toml", "--vary", f"service.api.servers={servers}",
                         "--quiet", "--shard", f"{shard}/2", "--out", f"shard-{shard}-{which}")
        names = [*OF_A_SCENARIO, *OTHERS]
        first = arguments.commands * CHECKS.index((arguments.check or CHECKS)[0])
        self.jobs = [Job(self, names[(first + i) % len(names)])
                     for i in range(min(arguments.commands, len(names)))]

    def run_any(self, command, statuses, **how):
        """What came of a command that ends with one of these statuses."""
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False,
                              timeout=PATIENCE, **how)
        if done.returncode not in statuses:
            raise Failed(f"{' '.join(map(str, command))}\nexit status {done.returncode}, expected "
                         f"one of {statuses}:\n{done.stderr}")
        return done

    def rounds(self, folder=None):
        """Each job as often as it is to be disturbed, with a place and what is in it before."""
        for job in self.jobs:
            for _ in range(self.moments):
                self.places += 1
                place = (folder or self.folder) / f"place-{self.places}"
                before = self.random.choice(BEFORE)
                job.prepare(place, before)
                yield job, place, before
                shutil.rmtree(place)

    def finish(self, job, place, before, what):
        """The command once more, undisturbed."""
        self.run_any(job.command("new", place), (job.status,))
        job.check_new(place, before, what)

    def killed(self):
        """SIGKILL at any moment; half of them just after something has appeared in the place."""
        kills, kept = collections.Counter(), collections.Counter()
        for job, place, before in self.rounds():
            for patience in (1, 0.5, 0.2, 0):  # a command that was too quick is killed earlier
                process = subprocess.Popen(job.command("new", place), cwd=self.folder,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.wait_for_moment(job, place, process, patience)
                process.kill()
                status = process.wait()
                job.check_left(place, before, "killed")
                if status == -signal.SIGKILL:
                    kills[job.name] += 1
                    kept["with something left"] += bool(names_below(place))
                    break
                if status != job.status:
                    raise Failed(f"{job.name}: exit status {status}")
            self.finish(job, place, before, "killed")
        for job in self.jobs:
            if not kills[job.name]:
                raise Failed(f"{job.name} was never killed")
        print(f"killed {sum(kills.values())} times, {kept['with something left']} of them with "
              f"something left to clear: the old result or the new one, and nothing left after "
              f"the next command: {dict(kills)}")

    def wait_for_moment(self, job, place, process, patience):
        """None at all without patience, so that the command cannot have ended."""
        if self.random.random() < 0.5 or patience == 0:
            time.sleep(self.random.uniform(0, job.seconds) * patience)
            return
        before = all_names_in(place)
        while process.poll() is None and all_names_in(place) == before:
            pass
        time.sleep(self.random.uniform(0, 0.01))

    def two_writers(self):
        """Two commands at once with an old and a new question: one whole result."""
        rounds = 0
        for job, place, before in self.rounds():
            writers = []
            for which in self.random.sample(("old", "new"), 2):
                writers.append((which, subprocess.Popen(
                    job.command(which, place), cwd=self.folder, stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE, text=True)))
                time.sleep(self.random.choice((0, self.random.uniform(0, job.seconds))))
            done = []
            for which, process in writers:
                errors = process.communicate(timeout=PATIENCE)[1]
                if process.returncode not in (0, 1):
                    raise Failed(f"{job.name}, one of two: exit status {process.returncode}:\n"
                                 f"{errors}")
                done.append(which)
            job.check_new(place, before, "two writers", done)
            rounds += 1
        print(f"{rounds} times two writers: one whole result")

    def refused(self, job, place, before, how, reason, allowed=(OUTPUT_FAILED,), command=None):
        """Whether a disturbed command was refused, with this reason, and has left nothing."""
        done = self.run_any(command or job.command("new", place), (job.status, *allowed), **how)
        if done.returncode == job.status:
            return False
        if reason not in done.stderr:
            raise Failed(f"{job.name}: exit status {done.returncode} without '{reason}':\n"
                         f"{done.stderr}")
        job.check_left(place, before, reason)
        left = names_below(place)
        if left:
            raise Failed(f"{job.name}, {reason}: left behind: {left}")
        return True

    def full_disk(self):
        """A disk with room for a part of the result, or for some of its files."""
        refused = rounds = 0
        with self.mount("size=32m,nr_inodes=600") as disk:
            for job, place, before in self.rounds(disk):
                ballast = self.fill(disk, job)
                refused += self.refused(job, place, before, {}, "No space left on device")
                shutil.rmtree(ballast)
                self.finish(job, place, before, "full disk")
                rounds += 1
            self.write_to_full(disk / "full")
        self.fill_stores()
        if not refused:
            raise Failed("the disk was never full")
        print(f"{rounds} times a disk that is nearly full: {refused} times refused, nothing left")

    def fill_stores(self):
        """A store on a disk that becomes full: the same result and a note; status 4 for a task of
        an array, whose work would be lost."""
        jobs = [job for job in self.jobs if job.name in OF_A_SCENARIO and job.name not in QUIET]
        with self.mount("size=32k") as disk:
            store, ballast = disk / "store", disk / "ballast"
            for job in jobs:
                place = self.folder / "filled"
                job.prepare(place, "nothing")
                ballast.write_bytes(bytes(4096 * self.random.randrange(8)))
                done = self.run_any([*job.command("new", place), "--store", store], (job.status,))
                job.check_new(place, "nothing", "full store")
                if done.stderr.count("is not kept for the next time") > 1:
                    raise Failed(f"{job.name}: the full store is told several times")
                shutil.rmtree(place)
                shutil.rmtree(store, ignore_errors=True)
            store.mkdir()
            ballast.write_bytes(bytes(shutil.disk_usage(disk).free))
            self.run("run", "small.toml", "--store", store, "--shard", "1/2", "--quiet",
                     expected=OUTPUT_FAILED)
        print(f"a store on a full disk: same files for {len(jobs)} commands, status 4 for a task")

    def write_to_full(self, device):
        """A device that takes nothing: status 4, and it stays where it is."""
        try:
            os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 7))
        except PermissionError:
            print("devices cannot be made here")
            return
        for command in ("report result-new --out", "init --rate 9 --service-time 50ms --client "
                        "botocore --out", "run small.toml --out out-full --force --junit",
                        "run small.toml --out out-full --force --access-log"):
            self.run(*command.split(), str(device), expected=OUTPUT_FAILED)
            if not stat.S_ISCHR(device.lstat().st_mode):
                raise Failed(f"{command}: has replaced the device")

    def fill(self, disk, job):
        """A folder that takes all but a random part of what the job needs."""
        ballast = disk / "ballast"
        ballast.mkdir()
        free = os.statvfs(disk)
        if self.random.random() < 0.5:
            for i in range(free.f_favail - self.random.randint(1, job.files + 3)):
                (ballast / str(i)).touch()
        else:
            taken = free.f_bavail - self.random.randint(1, job.pages)
            (ballast / "all").write_bytes(bytes(taken * free.f_bsize))
        return ballast

    def read_only(self):
        """A file system, or a folder, that must not be written to: everything stays as it was."""
        counts = collections.Counter()
        with self.mount("size=32m") as disk:
            for job, place, before in self.rounds(disk):
                kind = self.random.choice(("file system", "folder"))
                command, reason = job.command("new", place), "Read-only file system"
                if kind == "folder":
                    command, reason = [*WITHOUT_RIGHTS, *command], "Permission denied"
                self.protect(disk, place, kind, True)
                refused = self.refused(job, place, before, {}, reason, command=command)
                self.protect(disk, place, kind, False)
                if not refused:
                    raise Failed(f"{job.name}: has written where nothing can be written")
                self.finish(job, place, before, f"read-only {kind}")
                counts[kind] += 1
        print(f"read-only: everything as it was: {dict(counts)}")

    def protect(self, disk, place, kind, is_protected):
        if kind == "file system":
            how = "ro" if is_protected else "rw"
            subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)
            return
        for folder in (place, *(path for path in place.iterdir() if path.is_dir())):
            folder.chmod(0o555 if is_protected else 0o755)

    @contextlib.contextmanager
    def mount(self, options):
        """A file system of our own, which goes with this process."""
        disk = self.folder / "disk"
        disk.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", disk], check=True)
        try:
            yield disk
        finally:
            subprocess.run(["umount", "--lazy", disk], check=True)

    def memory(self):
        """A limit on the address space, from what it takes to start: done, or status 5."""
        too_little, least = 1000, 1000000
        while least - too_little > 250:
            middle = (too_little + least) // 2
            too_little, least = ((too_little, middle) if self.can_start(middle) else
                                 (middle, least))
        refused = rounds = 0
        for job, place, before in self.rounds():
            kib = least + int(self.random.uniform(0, 1) ** 3 * 150000)
            refused += self.refused(job, place, before, {"preexec_fn": limit(kib)}, "memory",
                                    allowed=(LIMIT_HIT,))
            self.finish(job, place, before, f"{kib} KiB of address space")
            rounds += 1
        print(f"{rounds} times little memory, from {least // 1000} MB on: {refused} times refused")

    def can_start(self, kib):
        return subprocess.run([self.program, "--version"], capture_output=True, check=False,
                              preexec_fn=limit(kib)).returncode == 0

    def clock(self):
        """Files from the future, and a clock that is set back while the command runs."""
        library = next((path for path in FAKETIME if os.path.exists(path)), None)
        if library is None:
            print("skipped: there is no libfaketime (Debian package faketime)")
            return SKIPPED
        setting = self.folder / "clock"
        environment = {**os.environ, "LD_PRELOAD": library, "FAKETIME_NO_CACHE": "1",
                       "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_TIMESTAMP_FILE": str(setting)}
        setting.write_text("-9000d")
        year = subprocess.run(["date", "+%Y"], env=environment, capture_output=True, text=True,
                              check=True).stdout
        if int(year) > time.gmtime().tm_year - 20:
            raise Failed(f"the clock cannot be set: {year}")
        rounds = 0
        future = time.time() + 400 * 86400
        for job, place, before in self.rounds():
            for path in (*self.folder.glob("*.toml"), *self.folder.glob("*/*"), *place.glob("*/*")):
                os.utime(path, (future, future))
            setting.write_text("+0d")
            process = subprocess.Popen(job.command("new", place), cwd=self.folder, env=environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(self.random.uniform(0, job.seconds))
            setting.write_text("-9000d")
            errors = process.communicate(timeout=PATIENCE)[1]
            if process.returncode != job.status:
                raise Failed(f"{job.name}: exit status {process.returncode}:\n{errors}")
            job.check_new(place, before, "the clock set back")
            rounds += 1
        setting.write_text("+0d")
        process = subprocess.Popen([self.program, "run", "small.toml", "--replications", "100000",
                                    "--timeout", "1", "--quiet", "--out", "endless"],
                                   cwd=self.folder, env=environment, stderr=subprocess.PIPE)
        time.sleep(0.3)
        setting.write_text("-9000d")
        process.communicate(timeout=PATIENCE)
        if process.returncode != LIMIT_HIT:
            raise Failed(f"--timeout with the clock set back: exit status {process.returncode}")
        print(f"{rounds} times the clock set back: same files; --timeout ends a run all the same")
        return 0


def limit(kib):
    """What limits a process that is about to start to an address space."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (kib << 10, kib << 10))


def in_own_mounts(check, arguments):
    """The check as a process of its own whose mounts nobody else sees; 77 if there can be none."""
    for unshare in (["unshare", "--mount"], ["unshare", "--mount", "--user", "--map-root-user"]):
        with tempfile.TemporaryDirectory() as folder:
            probe = subprocess.run([*unshare, "mount", "-t", "tmpfs", "none", folder],
                                   capture_output=True, check=False)
        if probe.returncode == 0:
            command = [*unshare, sys.executable, "-B", __file__, "--program", arguments.program,
                       "--check", check, "--moments", str(arguments.moments), "--commands",
                       str(arguments.commands), "--seed", str(arguments.seed)]
            return subprocess.run(command, env={**os.environ, OWN_MOUNTS: "yes"},
                                  check=False).returncode
    print(f"skipped: mounts of our own are not allowed here: {probe.stderr.decode().strip()}")
    return SKIPPED


def checks(program, folder, arguments):
    wanted = arguments.check or CHECKS
    if OWN_MOUNTS not in os.environ and all(check in MOUNTING for check in wanted):
        return [lambda check=check: in_own_mounts(check, arguments) for check in wanted]
    machine = Machine(program, folder, arguments)
    return [getattr(machine, check) if check not in MOUNTING or OWN_MOUNTS in os.environ else
            lambda check=check: in_own_mounts(check, arguments) for check in wanted]


MOUNTING = ("full_disk", "read_only")
CHECKS = ("killed", "two_writers", *MOUNTING, "memory", "clock")

if __name__ == "__main__":
    main(__doc__, checks, check=[], moments=4, commands=100, seed=1)
