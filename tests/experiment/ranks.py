#!/usr/bin/python3
"""Commands over the ranks of an MPI job print and write the same bytes as alone, whatever they
simulate, and wherever the other ranks are; a rank with another command ends the job.

    ranks.py --program PROGRAM [--every N]

With --every N only each Nth of the commands, mistakes and ways to be out of step is tried.

Exit status: 0 as it should be, 1 not, 77 skipped: no mpirun, or a program without MPI.

SPDX-License-Identifier: MIT
"""

import shutil

from harness import MPIRUN, OUTAGE, SKIPPED, Checker, Failed, files_of, main, run_job

# What steers a run by its own results: a warm-up that is found, a precision; and all kinds of
# results: two tiers, effects, polls, a profile from a file.
STEADY = """
name = "steady"
duration = "200s"
warmup = "auto"
replications = 10
precision = 0.05
max_replications = 20
[service.api]
servers = 4
service_time = { distribution = "exponential", mean = "20ms" }
queue = { capacity = 50 }
idempotency = { window = "60s" }
errors = { "500" = 0.05 }
[service.api.calls.db]
retry = { mode = "standard" }
[service.db]
servers = 2
service_time = { distribution = "exponential", mean = "5ms" }
[client.web]
calls = "api"
count = 50
arrivals = { process = "poisson", total_rate = 100 }
mutating = 0.5
idempotency_token = true
attempt_timeout = "1s"
retry = { mode = "adaptive" }
[client.poller]
calls = "api"
count = 20
arrivals = { process = "poll", rate = 0.05, job_time = "5s" }
retry = { mode = "legacy" }
"""
TRACED = """
name = "traced"
duration = "10s"
replications = 3
[service.api]
servers = 1
service_time = "100ms"
[client.web]
count = 10
arrivals = { process = "trace", file = "trace.csv" }
retry.mode = "standard"
"""
COMMANDS = {
    "run": ["run", "steady.toml", "outage.toml", "--twin", "--fingerprint"],
    "compare": ["compare", "steady.toml", "--vary", "client.web.retry.mode=adaptive,standard"],
    "choose": ["choose", "outage.toml", "--vary", "client.web.retry.max_attempts=1,2,3",
               "--maximize", "goodput", "--indifference", "200", "--subject-to",
               "success_rate>=0.2+-0.2"],
    "advise": ["advise", "outage.toml"],
    "sweep": ["sweep", "traced.toml", "--vary", "client.web.count=1:4:1"],
    "map": ["map", "outage.toml", "--vary", "client.web.arrivals.total_rate=200:400:200", "--vary",
            "client.web.retry.max_attempts=1,3", "--confirm", "3"],
    "tip": ["tip", "outage.toml", "--trigger", "fault.outage.duration=0.9s:1.5s", "--tolerance",
            "0.2"],
    "curve": ["tip", "outage.toml", "--trigger", "fault.outage.duration=0.9s:1.5s", "--tolerance",
              "0.3", "--vary", "client.web.retry.max_attempts=2,3"],
    "hysteresis": ["tip", "outage.toml", "--hysteresis",
                   "client.web.arrivals.total_rate=200:600:100", "--dwell", "20s"],
}
MISTAKES = {
    "left to chance": (["run", "outage.toml", "--set",
                        'fault.x={ mtbf = "1h", length = "1s", speed = 0.5 }'], 2),
    "no such file": (["run", "none.toml"], 3),
    "no folder can be made": (["run", "outage.toml", "--out", "outage.toml"], 4),
    "too many events": (["run", "outage.toml", "--max-events", "20000"], 5),
    "too long": (["run", "outage.toml", "--replications", "100000", "--timeout", "1"], 5),
    "not a steady state": (["tip", "steady.toml", "--trigger", "client.web.count=1:2"], 2),
}
# What the ranks do, but for rank 1, and what that does instead.
OUT_OF_STEP = (("run outage.toml", "run none.toml"),
               ("run outage.toml", "run outage.toml --replications 7"),
               ("run outage.toml", "compare outage.toml --vary seed=1,2"),
               ("choose outage.toml --vary seed=1,2 --maximize goodput --indifference 50",
                "choose outage.toml --vary seed=1,2 --maximize goodput --indifference 60"))
# Where the other ranks are, who read no files.
ELSEWHERE = ("cd other", "cd /")


class Ranks(Checker):
    """The program alone and started by mpirun."""

    def __init__(self, program, folder, every):
        super().__init__(program, folder, {"steady.toml": STEADY, "outage.toml": OUTAGE})
        self.every = every
        # The same names with other contents, as on a machine whose copies are out of date.
        for place, rate in ((folder, 5), (folder / "other", 6)):
            place.mkdir(exist_ok=True)
            (place / "traced.toml").write_text(TRACED)
            (place / "trace.csv").write_text(
                "\n".join(["time_s", *(f"{i / rate}" for i in range(40))]) + "\n")

    def results(self, *arguments, before=()):
        """What is printed, and the files by their path; `results` is gone then."""
        done = self.run(*arguments, before=before)
        root = self.folder / "results"
        files = {folder.name: files_of(folder) for folder in root.iterdir()
                 if folder.name != ".retrysim-runs"}
        shutil.rmtree(root)
        return done.stdout, done.stderr, files

    def check_same(self, name):
        command = [*COMMANDS[name], "--no-progress"]
        alone = self.results(*command, "--jobs", "2")
        together = self.results(*command, before=MPIRUN)
        for what, one, other in zip(("output", "messages", "files"), alone, together):
            if one != other:
                raise Failed(f"{name}: {what} over ranks differ:\n{one}\n{other}")
        print(f"{name}: the same over three ranks, "
              f"{sum(len(files) for files in alone[2].values())} files")

    def check_mistake(self, name):
        arguments, status = MISTAKES[name]
        done = self.run(*arguments, expected=status, before=MPIRUN)
        if done.stderr.count("error:") != 1:
            raise Failed(f"{name}: one message was expected:\n{done.stderr}")
        print(f"{name}: exit status {status}, told once")

    def check_elsewhere(self, place):
        command = ["run", "traced.toml", "--no-progress"]
        alone = self.results(*command)
        script = (f'if [ "$OMPI_COMM_WORLD_RANK" != 0 ]; then {place}; fi; '
                  f'exec "$0" {" ".join(command)}')
        done = run_job([*MPIRUN, "sh", "-c", script, self.program], self.folder)
        root = self.folder / "results"
        if done.returncode != 0 or files_of(root / "traced") != alone[2]["traced"]:
            raise Failed(f"ranks after '{place}': exit status {done.returncode}:\n{done.stderr}")
        shutil.rmtree(root)
        print(f"other ranks after '{place}': the same")

    def check_out_of_step(self, usual, other):
        script = (f'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exec "$0" {other}; fi; '
                  f'exec "$0" {usual}')
        done = run_job([*MPIRUN, "sh", "-c", script, self.program], self.folder)
        if done.returncode == 0 or "rank 1 was given different work" not in done.stderr:
            raise Failed(f"rank 1 with {other}: exit status {done.returncode}:\n{done.stderr}")
        if list(self.folder.glob("results/*/summary.csv")):
            raise Failed(f"rank 1 with {other}: there are results")
        shutil.rmtree(self.folder / "results", ignore_errors=True)
        print(f"a rank with '{other}' ends the job")

    def all(self):
        if not self.is_possible():
            return SKIPPED
        for name in list(COMMANDS)[::self.every]:
            self.check_same(name)
        for name in list(MISTAKES)[::self.every]:
            self.check_mistake(name)
        for case in OUT_OF_STEP[::self.every]:
            self.check_out_of_step(*case)
        for place in ELSEWHERE[::self.every]:
            self.check_elsewhere(place)
        return 0

    def is_possible(self):
        if shutil.which("mpirun") is None:
            print("skipped: there is no mpirun (Debian package openmpi-bin)")
            return False
        probe = run_job([*MPIRUN, self.program, "run", "none.toml"], self.folder)
        if "built without MPI" in probe.stderr:
            print("skipped: the program was built without MPI (RETRYSIM_MPI=OFF, or not found)")
            return False
        return True


if __name__ == "__main__":
    main(__doc__, lambda program, folder, given: [Ranks(program, folder, given.every).all],
         every=1)
