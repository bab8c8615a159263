"""How the program under test is started: within limits, in an environment of its own.

A program is a path. `soak_server` (tests/soak/server.cpp) runs one command after the other, which
under the address sanitizer saves most of the time; any other program is a new process each time.

SPDX-License-Identifier: MIT
"""

import functools
import itertools
import json
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

MOST_WALL_S = 600
MOST_MEMORY_MB = 2048
SANITIZER_STATUS = 86  # otherwise it would look like a failed expectation

SANITIZERS = f"exitcode={SANITIZER_STATUS}:strict_string_checks=1:check_initialization_order=1:" \
             "no_huge_pages_for_shadow=0:allocator_release_to_os_interval_ms=-1"
ENVIRONMENT = {
    "ASAN_OPTIONS": SANITIZERS,
    "UBSAN_OPTIONS": f"exitcode={SANITIZER_STATUS}:print_stacktrace=1",
    "LSAN_OPTIONS": f"exitcode={SANITIZER_STATUS}",
    "AWS_CONFIG_FILE": "/dev/null",
    "LC_ALL": "C",
}
# By turns a command is of one of two processes, so that results differ if they depend on what a
# process did before, or on addresses.
SERVERS = 2
COMMANDS_PER_SERVER = 200
LOOKS_PER_S = 4  # at the time and the memory that a command of a server takes


def start(program, words, environment, cpu_s):
    """Runs a command; returns its exit status or the negative number of a signal, None after too
    long a time, and what it wrote to standard output and to standard error, as bytes."""
    run = serve if Path(program).name == "soak_server" else execute
    return run(program, [str(word) for word in words], environment, cpu_s)


# --- A process each ------------------------------------------------------------------------------

@functools.cache
def has_address_sanitizer(program):
    return b"__asan_init" in Path(program).read_bytes()


def with_limits(command, cpu_s):
    """The command with limits on its processor time and memory."""
    limits = [f"--cpu={cpu_s}:{cpu_s + 5}", "--core=0"]
    # The address sanitizer reserves terabytes, and watches over the memory in use by itself.
    if not has_address_sanitizer(command[0]):
        limits.append(f"--as={MOST_MEMORY_MB << 20}")
    return ["prlimit", *limits, *command]


def clean_environment():
    return {**{k: v for k, v in os.environ.items() if not k.startswith("AWS_")}, **ENVIRONMENT}


def execute(program, words, environment, cpu_s):
    whole = {**clean_environment(),
             "ASAN_OPTIONS": f"{SANITIZERS}:hard_rss_limit_mb={MOST_MEMORY_MB}", **environment}
    try:
        done = subprocess.run(with_limits([str(program), *words], cpu_s), env=whole,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=MOST_WALL_S)
    except subprocess.TimeoutExpired as expired:
        return None, b"", expired.stderr or b""
    return done.returncode, done.stdout, done.stderr


# --- Servers -------------------------------------------------------------------------------------

class Server:
    """A running soak_server; after so many commands, and after one that ends it, another one."""

    def __init__(self, program):
        self.program = program
        self.process = None
        self.commands = 0

    def begin(self):
        self.process = subprocess.Popen([str(self.program)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=clean_environment(), bufsize=0)
        self.commands = 0

    def end(self):
        """Returns the status of the process."""
        self.process.stdin.close()
        self.process.stdout.close()
        status = self.process.wait()
        self.process = None
        return status

    def run(self, words, environment, cpu_s):
        """As `start`."""
        if self.process is None:
            self.begin()
        with tempfile.TemporaryDirectory(prefix="soak-server-") as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            request = {"arguments": words, "environment": environment,
                       "stdout": str(out), "stderr": str(err)}
            used_s = processor_s(self.process.pid)
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            too_much = self.watch(used_s + cpu_s)
            answer = self.process.stdout.readline()
            self.commands += 1
            if not answer:
                status = self.end()
            elif self.commands == COMMANDS_PER_SERVER:
                status = self.end() or int(answer)
            else:
                status = int(answer)
            written = [path.read_bytes() if path.exists() else b"" for path in (out, err)]
        if too_much == "time":
            return None, *written
        if too_much == "processor time":
            status = -signal.SIGXCPU
        if too_much == "memory":
            status = -signal.SIGABRT
            written[1] += f"\nuses more than {MOST_MEMORY_MB} MB\n".encode()
        return status, *written

    def watch(self, most_cpu_s):
        """Waits for the end of a command, and kills the process if it takes too much; returns of
        what."""
        process = self.process.pid
        started = time.monotonic()
        while not select.select([self.process.stdout], [], [], 1 / LOOKS_PER_S)[0]:
            too_much = "time" if time.monotonic() - started > MOST_WALL_S else \
                "processor time" if processor_s(process) > most_cpu_s else \
                "memory" if memory_mb(process) > MOST_MEMORY_MB else None
            if too_much:
                os.kill(process, signal.SIGKILL)
                return too_much
        return None


def processor_s(process):
    """The processor time of a child, which may have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(process):
    """What a child, which may have ended, has in memory."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


mine = threading.local()  # each thread has its own servers


def serve(program, words, environment, cpu_s):
    if not hasattr(mine, "servers"):
        mine.servers = {}
    if program not in mine.servers:
        mine.servers[program] = itertools.cycle([Server(program) for _ in range(SERVERS)])
    return next(mine.servers[program]).run(words, environment, cpu_s)
