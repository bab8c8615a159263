#!/usr/bin/python3
"""Damages logs and configurations, and gives them to `retrysim fit` and `retrysim import`.

Each input is a log with any statuses that is made here, an example of the stories in tests/cli, or
a file or folder that is named, with up to three damages: bits flipped, cut off, pieces moved or
twice, huge and odd numbers, deep nesting, NULs, CRLF, other encodings, half a gzip. The program
has to end with a documented status and without a report of a sanitizer, and what ends with status 0
has to load with `retrysim check`. Inputs that fail are kept in the folder --keep.

Usage: damaged.py --program PROGRAM [--inputs 200] [--seed 1] [--keep FOLDER] [FILE...]
"""
# SPDX-License-Identifier: MIT

import argparse
import gzip
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STORIES = Path(__file__).resolve().parents[1] / "cli"
DOCUMENTED = {0, 1, 2, 3, 4, 5}
LONGEST_S = 120  # of a process, under sanitizers and on a busy machine; the program's own: 20 s
NUMBERS = ["0", "-1", "1e309", "-1e309", "nan", "inf", "9223372036854775808", "1e-320", "0x10",
           "07", "99999999999999999999999999", "1.5", ".5", "5.", "+3", "-0", "600", "9999",
           "1_000", "", "1e5", "NaN", "Infinity", "true", "null", "2147483648", "-2147483649",
           "4294967296"]
KINDS = ["envoy", "istio", "gateway-api", "linkerd", "grpc", "resilience4j", "polly", "aws",
         "finagle", "tower", "tenacity", "urllib3"]


def logs(rng):
    """Short access logs of several formats, made here."""
    at, rows = 1.7e9, []
    statuses = [200] * rng.choice([1, 9]) + [404, 429, 500, 503, 499, 0]
    statuses += [rng.randrange(1, rng.choice([600, 1000, 10_000]))] * rng.choice([0, 2])
    for i in range(rng.choice([5, 30, 60, 300])):
        at += rng.expovariate(20)
        rows.append((at, rng.choice(statuses), rng.lognormvariate(-4, 1),
                     f"c{rng.randrange(20)}", f"r{i // 2}"))
    clock = [f"22:{int(row[0]) % 3600 // 60:02d}:{int(row[0]) % 60:02d}" for row in rows]
    combined = [f'10.0.0.{row[3][1:]} - - [14/Nov/2023:{then} +0000] "GET /x HTTP/1.1" {row[1]} 12 '
                f'"-" "curl" {row[2]:.3f}' for row, then in zip(rows, clock)]
    json_lines = [f'{{"time":{t:.6f},"status":{s},"duration":{d:.6f},"client":"{c}",'
                  f'"request":"{r}"}}' for t, s, d, c, r in rows]
    table = ["timestamp,duration,status,client,request"]
    table += [f"{t:.6f},{d:.6f},{s},{c},{r}" for t, s, d, c, r in rows]
    text = "\n".join(rng.choice([combined, json_lines, table])) + "\n"
    return "log", text.encode()


def configurations():
    """(kind, bytes) of the examples in stories: a here-document, and a command that imports it."""
    found = []
    for story in ("import.txt", "import_examples.txt"):
        text = (STORIES / story).read_text(encoding="utf-8")
        files = {name: re.sub(r"(?m)^> ?", "", body) for name, body in
                 re.findall(r"(?m)^\$ cat > (\S+) <<'END'\n((?:>.*\n)*?)> END\n", text)}
        for kind, name in re.findall(r"retrysim import (\S+) (\S+)", text):
            if name in files and kind in KINDS:
                found.append((kind, files[name].encode()))
    return found


def damage(rng, data):
    """One damage."""
    cut = rng.randrange(len(data) + 1)
    other = rng.randrange(len(data) + 1)
    low, high = min(cut, other), min(max(cut, other), min(cut, other) + 2000)
    how = rng.randrange(16)
    if how == 0:
        flipped = bytearray(data)
        for _ in range(rng.choice([1, 1, 10, 100])):
            if flipped:
                flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        return bytes(flipped)
    if how == 1:
        return data[:cut]
    if how == 2:
        return data[:low] + data[high:]
    if how == 3:
        return data[:high] + data[low:high] * rng.choice([1, 2, 50]) + data[high:]
    if how in (4, 5, 6):
        places = list(re.finditer(rb"[0-9]+(\.[0-9]+)?", data))
        if not places:
            return data
        number = rng.choice(NUMBERS).encode()
        for place in reversed(rng.sample(places, min(len(places), rng.choice([1, 1, 3, 1000])))):
            data = data[:place.start()] + number + data[place.end():]
        return data
    if how == 7:
        return data.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\n", b"\n \n", b"\0\n"]))
    if how == 8:
        return data[:cut] + rng.choice([b"\0", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\t", b'"',
                                        b"&a ", b"*a", b"<<: *a\n", b"!!binary ", b"%", b"\x1b[2J",
                                        b"{", b"}", b"]", b"---\n", b"...\n", b"? ", b"|\n",
                                        "\u202e".encode(), "\u00a0".encode()]) + data[cut:]
    if how == 9:
        text = data.decode("utf-8", "replace")
        return text.encode(rng.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig",
                                       "utf-7", "cp037"]), "replace")
    if how == 10:
        whole = gzip.compress(data)
        return whole[:rng.choice([len(whole), len(whole) // 2, len(whole) - 4, 3, 12])]
    if how == 11:
        lines = data.split(b"\n")
        rng.shuffle(lines)
        return b"\n".join(lines)
    if how == 12:
        deep = rng.choice([10, 200, 20000])
        opening, closing = rng.choice([(b"[", b"]"), (b'{"a":', b"}"), (b"{a: ", b"}"),
                                       (b"- ", b"")])
        return data[:cut] + opening * deep + closing * deep + data[cut:]
    if how == 13:
        lines = data.split(b"\n")
        line = rng.choice(lines)
        return data + rng.choice([b"\n", b""]) + (line + b"\n") * rng.choice([1, 5])
    if how == 14:
        words = re.findall(rb"[A-Za-z_][A-Za-z_0-9.-]*", data)
        if not words:
            return data
        return data.replace(rng.choice(words), rng.choice(
            [rng.choice(words), b"", b" ", b"*", b'"', b"x" * 5000, b"__proto__", b"a.b", b"=1+1"]),
            rng.choice([1, -1]))
    return data[:low] + rng.randbytes(rng.choice([1, 20, 500])) + data[high:]


def run(command, folder):
    limits = ["prlimit", f"--cpu={LONGEST_S}"]
    try:
        return subprocess.run([*limits, *command], cwd=folder, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=10 * LONGEST_S)
    except subprocess.TimeoutExpired:
        return None


class Trial:
    """One damaged input."""

    def __init__(self, program, kind, data, rng):
        self.program, self.kind, self.data = str(program), kind, data
        self.name = rng.choice([[], [], ["--name", rng.choice(
            [" ", "a b", "ü", 'it is "x"', "\n", "a/b", "=1", "x" * 100, "x" * 101, "#", "'"])]])
        self.status = None

    def problem(self, folder):
        """What is wrong, or nothing."""
        (folder / "input").write_bytes(self.data)
        if self.kind == "log":
            command = ["fit", "input", "--out", "made", "--quiet", "--timeout", "20s", *self.name]
        else:
            command = ["import", self.kind, "input", "--timeout", "20s"]
        done = run([self.program, *command], folder)
        found = self.problem_of(done)
        if found or self.status != 0:
            return found
        if self.kind == "log":
            check = ["check", "made/scenario.toml"]
        else:
            head = 'name = "imported"\nduration = "10s"\n'
            service = '[service.api]\nservice_time = "10ms"\n'
            if "\n[service." in done.stdout.decode():
                service = ""
            (folder / "made.toml").write_bytes(head.encode() + service.encode() + done.stdout)
            if "[client." not in done.stdout.decode():
                return ""  # it says that there is nothing
            check = ["check", "made.toml", "--set",
                     'client.*.arrivals={process="poisson", rate=1}']
        checked = run([self.program, *check], folder)
        if checked is None or checked.returncode != 0:
            return "it does not load: " + (checked.stderr.decode(errors="replace")[:600]
                                           if checked else "takes too long")
        return ""

    def problem_of(self, done):
        if done is None:
            return "takes too long"
        self.status = done.returncode
        errors = done.stderr.decode(errors="replace")
        if self.status not in DOCUMENTED:
            return f"ends with status {self.status}: {errors[-600:]}"
        if "Sanitizer" in errors or "runtime error" in errors:
            return "report of a sanitizer: " + errors[:1500]
        if self.status != 0 and not errors.strip():
            return f"ends with status {self.status} and says nothing"
        return ""


def examples_of(paths):
    """The kind of a file is the first word of its name, as in envoy-hedge.yaml, or it is a log."""
    names = {kind.split("-")[0]: kind for kind in KINDS} | {"r4j": "resilience4j"}
    found = []
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            kind = names.get(re.split(r"[-.]", file.name)[0], "log")
            if file.suffix in (".log", ".csv", ".json") and "json-" in file.name:
                kind = "log"
            if file.is_file():
                found.append((kind, file.read_bytes()))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--inputs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    configured = configurations()
    more = examples_of(options.files)
    statuses, problems = {}, 0
    for number in range(options.inputs):
        rng = random.Random(f"{options.seed} {number}")
        source = rng.choice(["log", "configuration"] + ["file"] * bool(more))
        kind, data = (logs(rng) if source == "log" else
                      rng.choice(configured if source == "configuration" else more))
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
            data = damage(rng, data)
        trial = Trial(options.program.resolve(), kind, data[:2_000_000], rng)
        folder = Path(tempfile.mkdtemp(prefix="damaged-"))
        try:
            problem = trial.problem(folder)
        finally:
            shutil.rmtree(folder)
        key = (("fit" if kind == "log" else "import"), trial.status)
        statuses[key] = statuses.get(key, 0) + 1
        if not problem:
            continue
        problems += 1
        print(f"input {number} of seed {options.seed} ({kind}) {problem}", flush=True)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{options.seed}-{number}-{kind}").write_bytes(data)
    print(f"{options.inputs} inputs, {problems} with a problem; ended with: " + ", ".join(
        f"{command} {status}: {count}" for (command, status), count in sorted(
            statuses.items(), key=str)))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
