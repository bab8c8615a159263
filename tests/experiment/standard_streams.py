#!/usr/bin/python3
"""Commands whose standard streams are closed, full or gone do their work all the same, and say by
their exit status what they could not do; a limit on the size of files and a signal end them in
order.

    standard_streams.py --program PROGRAM

Exit status: 0 as it should be, 1 not.

SPDX-License-Identifier: MIT
"""

import os
import pathlib
import shlex
import signal
import subprocess

from harness import INTERRUPTED, OUTPUT_CLOSED, OUTPUT_FAILED, Checker, Failed, main

SCENARIO = """
name = "small"
description = "A small system"
duration = "{duration}"
replications = 2
[service.api]
servers = 1
service_time = "10ms"
[client.web]
arrivals = {{ process = "poisson", total_rate = 20 }}
retry = {{ mode = "none" }}
"""
TRACE = """
name = "traced"
duration = "10s"
replications = 1
[service.api]
servers = 1
service_time = "10ms"
[client.web]
arrivals = { process = "trace", file = "pipe.csv" }
retry = { mode = "none" }
"""
# Every command, with the exit status that it has on a terminal. All print something.
COMMANDS = {
    "run small.toml": 0,
    "run small.toml --format json": 0,
    "run wrong.toml": 3,
    "run": 2,
    "compare small.toml --vary service.api.servers=1,2": 0,
    "sweep small.toml --vary service.api.servers=1,2": 0,
    "sweep small.toml --vary service.api.servers=1,2 --max-events 5": 5,
    "tip small.toml --trigger client.web.arrivals.total_rate=20:400 --tolerance 0.5": 0,
    "choose small.toml --vary service.api.servers=1,2 --minimize amplification --indifference 1": 0,
    "advise small.toml": 0,
    "map small.toml --vary client.web.arrivals.total_rate=20,30 --vary service.api.servers=1,2 "
    "--confirm 1": 0,
    "predict small.toml": 0,
    "import envoy envoy.json": 0,
    "init --rate 9 --service-time 50ms --client botocore --out -": 0,
    "check small.toml": 0,
    "list keys": 0,
    "list nothing": 2,
    "strategy --mode standard --responses 500,200": 0,
    "strategy --mode standard --responses 200,500": 0,
    "merge": 2,
    "verify nowhere": 3,
    "--help": 0,
    "run --help": 0,
}


class Streams(Checker):
    def __init__(self, program, folder):
        super().__init__(program, folder, SCENARIO.format(duration="10s"))
        (folder / "wrong.toml").write_text(SCENARIO.format(duration="soon"))
        (folder / "piped.toml").write_text(TRACE)
        (folder / "envoy.json").write_text('{"retry_policy": {"num_retries": 2}}')

    def shell(self, line):
        """Runs a line of bash in which $PROGRAM is the program."""
        environment = {**os.environ, "PROGRAM": self.program}
        return subprocess.run(["bash", "-c", line], cwd=self.folder, env=environment,
                              capture_output=True, text=True, check=False)

    def expect(self, line, status, message=""):
        done = self.shell(line)
        if done.returncode != status or message not in done.stderr:
            raise Failed(f"{line}\nexit status {done.returncode}, expected {status}; standard "
                         f"error, expected to hold {message!r}:\n{done.stderr}")
        return done

    def errors(self):
        """Nobody listens to standard error: the same exit status, the same output."""
        for command, status in COMMANDS.items():
            options = "--no-progress --force --out a" if simulates(command) else ""
            expected = self.expect(f"$PROGRAM {command} {options}", status)
            for end in ("2>&-", "2>/dev/full", "2> >(exec true)"):
                line = f"$PROGRAM {command} {options} {end}"
                done = self.expect(line, status)
                if done.stdout != expected.stdout:
                    raise Failed(f"{line}\nprinted something else than with standard error")
        print(f"{len(COMMANDS)} commands without standard error: same status, same output")

    def output(self):
        """Nobody takes standard output: exit status 4 with a message; the files are written. Who
        has stopped reading hears nothing."""
        printing = [c for c, status in COMMANDS.items() if status == 0]
        for command in printing:
            options = "--no-progress --out b --force" if simulates(command) else ""
            # The last one: a pipe whose only reader has gone.
            ends = (("", ">&-", OUTPUT_FAILED), ("", ">/dev/full", OUTPUT_FAILED),
                    ("rm -f gone; mkfifo gone; exec 5<>gone 6>gone 5<&-;", ">&6",
                     0 if simulates(command) else OUTPUT_CLOSED))
            for before, end, status in ends:
                line = f"{before} rm -rf b; $PROGRAM {command} {options} {end}"
                failed = status == OUTPUT_FAILED
                done = self.expect(line, status, "cannot write standard output" if failed else "")
                if not failed and "output" in done.stderr:
                    raise Failed(f"{line}: complains\n{done.stderr}")
                if simulates(command) and not (self.folder / "b" / "result.json").is_file():
                    raise Failed(f"{line}: no result files")
        # Who asks for no output does not miss it.
        self.expect("$PROGRAM run small.toml --quiet --no-progress --out b >&- 2>&- <&-", 0)
        print(f"{len(printing)} commands without standard output: status 4 or 141, files written")

    def descriptors(self):
        """Files never take the place of a closed stream: nothing but their content is in them."""
        self.expect("$PROGRAM run small.toml --no-progress --out whole", 0)
        self.expect("$PROGRAM run small.toml --no-progress --out closed <&- >&- 2>&-",
                    OUTPUT_FAILED)
        self.expect("$PROGRAM verify closed", 0)
        for file in (self.folder / "whole").iterdir():
            if file.read_bytes() != (self.folder / "closed" / file.name).read_bytes():
                raise Failed(f"{file.name} is another one with the standard streams closed")
        self.expect("$PROGRAM sweep small.toml --vary service.api.servers=1,2 --no-progress "
                    "--out closed-sweep <&- >&- 2>&-", OUTPUT_FAILED)
        self.expect("$PROGRAM verify closed-sweep", 0)
        print("closed streams: same files")

    def file_size(self):
        """A limit on the size of files is a failure to write like others; nothing stays behind."""
        for command in ("run small.toml", "sweep small.toml --vary service.api.servers=1,2",
                        "compare small.toml --vary service.api.servers=1,2"):
            self.expect(f"ulimit -f 1; $PROGRAM {command} --no-progress --quiet --out limited/x",
                        OUTPUT_FAILED, "File too large")
            left = [path for path in (self.folder / "limited").iterdir()
                    if path.name != ".retrysim-runs"]
            if left:
                raise Failed(f"{command}: left behind: {left}")
            self.expect("rm -rf limited", 0)
        print("ulimit -f: status 4, nothing left behind")

    def pipes(self):
        """The first signal ends the wait for a pipe that nobody writes to; a pipe works."""
        for name in ("pipe.toml", "pipe.csv"):
            os.mkfifo(self.folder / name)
        for command in ("run pipe.toml", "check pipe.toml", "run piped.toml",
                        "sweep pipe.toml --vary service.api.servers=1,2",
                        "tip pipe.toml --trigger service.api.servers=1:2"):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                process = subprocess.Popen([self.program, *shlex.split(command)], cwd=self.folder,
                                           stderr=subprocess.PIPE, text=True)
                self.wait_for_open_pipe(process)
                process.send_signal(number)
                errors = process.communicate(timeout=60)[1]
                if process.returncode != INTERRUPTED or "interrupted" not in errors:
                    raise Failed(f"{command}: {number.name}: exit status {process.returncode}:\n"
                                 f"{errors}")
        self.expect("$PROGRAM run pipe.toml --timeout 0.3 --no-progress", 5, "--timeout")
        self.expect("cat small.toml > pipe.toml & $PROGRAM run pipe.toml --no-progress --out piped",
                    0)
        self.expect("cat small.toml | $PROGRAM run /dev/stdin --no-progress --out piped", 0)
        print("pipes: read, and left at the first signal")

    def wait_for_open_pipe(self, process):
        """Until the program has its pipe open."""
        folder = pathlib.Path(f"/proc/{process.pid}/fd")
        while process.poll() is None:
            try:
                names = [os.readlink(fd) for fd in folder.iterdir()]
            except OSError:
                continue
            if any(name.startswith(str(self.folder.resolve() / "pipe.")) for name in names):
                return
        raise Failed(f"the program ended before it read its pipe: {process.communicate()[1]}")


def simulates(command):
    commands = ("run", "compare", "sweep", "tip", "choose", "advise", "map")
    return command.split()[0] in commands and "--help" not in command


def checks(program, folder, _):
    checker = Streams(program, folder)
    return [checker.errors, checker.output, checker.descriptors, checker.file_size, checker.pipes]


if __name__ == "__main__":
    main(__doc__, checks)
