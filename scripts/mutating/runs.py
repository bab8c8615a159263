#!/usr/bin/python3
"""Do the tests notice faults? The command line of scripts/mutants, which says what it does.

Everything happens in a copy of the project in --out: sources are never changed. A rerun compiles
only what has changed since; the faults stay the same until the code of their file, the seed or the
limit changes.

SPDX-License-Identifier: MIT
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from mutating import equivalents

try:
    from mutating import faults
except ImportError:  # --help needs no libclang
    faults = None

PARTS = ("retry", "measure", "estimate", "model", "prediction", "explain")
# The programs whose tests are run; those of other parts reach the six parts, too.
OTHERS = ("conformance", "execution", "experiment", "validation")
PROGRAMS = (*PARTS, *OTHERS)
COPIED = [path.name for path in sorted(ROOT.iterdir())
          if path.name != "build" and not path.name.startswith(".")]
# Memory of a test, in bytes: a fault may ask for all that there is.
MEMORY = 6 << 30
# A test may take ten times as long with a fault as without, and this much in addition.
PATIENCE = 10
GRACE = 5.0
# Tests this fast run together, in one process.
FAST = 0.3

SWITCH_HEADER = """#pragma once
namespace retrysim_mutants {
bool look(int number);
}
// Is this the fault to make? What the compiler evaluates has none.
constexpr bool retrysim_mutant(int number) {
  if (__builtin_is_constant_evaluated()) return false;
  return retrysim_mutants::look(number);
}
"""
SWITCH_SOURCE = """#include <cstdio>
#include <cstdlib>
namespace retrysim_mutants {
namespace {
const int chosen = [] {
  const char* const text = std::getenv("RETRYSIM_MUTANT");
  return text == nullptr ? 0 : std::atoi(text);
}();
volatile bool reached[10000];
// Writes the numbers of the places that the process has passed.
struct Report {
  ~Report() {
    const char* const name = std::getenv("RETRYSIM_REACHED");
    std::FILE* const file = name == nullptr ? nullptr : std::fopen(name, "w");
    if (file == nullptr) return;
    for (int n = 0; n < 10000; ++n)
      if (reached[n]) std::fprintf(file, "%d\\n", n);
    std::fclose(file);
  }
} report;
}  // namespace
bool look(int number) {
  reached[number] = true;
  return number == chosen;
}
}  // namespace retrysim_mutants
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text):
    sys.exit(f"mutants: error: {text}")


def write_if_changed(path, text):
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Copy:
    """The copy of the project that is built with the faults, and its build folder."""

    def __init__(self, out):
        self.source = out / "source"
        self.build = out / "build"
        self.more_options = ()
        self.originals = {  # by the name of the copy
            str(self.source / path.relative_to(ROOT)): path.read_text()
            for part in PARTS for path in sorted((ROOT / "sim" / part).rglob("*.[ch]pp"))}

    def refresh(self):
        """Takes over what has changed, except the files that may have faults."""
        present = set()
        for name in COPIED:
            paths = [ROOT / name] if (ROOT / name).is_file() else sorted((ROOT / name).rglob("*"))
            for path in paths:
                copy = self.source / path.relative_to(ROOT)
                present.add(copy)
                if path.is_dir() or "__pycache__" in path.parts or str(copy) in self.originals:
                    continue
                # They are for the program without faults, and name texts of the sources.
                data = b"" if path.name == "mutants.cmake" else path.read_bytes()
                if not copy.is_file() or copy.read_bytes() != data:
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_bytes(data)
        header, source = self.source / "sim/mutants.hpp", self.source / "sim/retry/mutants.cpp"
        write_if_changed(header, SWITCH_HEADER)
        write_if_changed(source, SWITCH_SOURCE)
        present |= {header, source}
        for name in COPIED:
            for copy in (self.source / name).rglob("*"):
                if copy.is_file() and copy not in present:
                    copy.unlink()
        for name, text in self.originals.items():
            if not pathlib.Path(name).is_file():
                write_if_changed(pathlib.Path(name), text)

    def configure(self):
        # The parts with faults need not be fast.
        options = "-O1 -w -D_GLIBCXX_ASSERTIONS -DRETRYSIM_FLATTEN="
        hook = self.build.parent / "options.cmake"
        write_if_changed(hook, "".join(
            f'cmake_language(EVAL CODE "cmake_language('
            f'DEFER CALL target_compile_options retrysim_{part} PRIVATE {options})")\n'
            for part in PARTS))
        done = subprocess.run(
            ["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja",
             "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PROJECT_INCLUDE={hook}",
             "-DRETRYSIM_LEFT_OUT=report", "-DRETRYSIM_BENCHMARKS=OFF", "-DRETRYSIM_MPI=OFF",
             "-DRETRYSIM_TESTS_TOGETHER=ON", *self.more_options],
            capture_output=True, text=True, check=False)
        if done.returncode:
            fail(f"cmake failed:\n{done.stdout}{done.stderr}")

    def parser_arguments(self, part):
        """The file as which a part is compiled, and the compiler's options for it."""
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            if f"retrysim_{part}.dir/Unity/unity_0" in entry["file"]:
                words = shlex.split(entry["command"])
                kept = [word for word in words
                        if word.startswith(("-I", "-D", "-std="))]
                for option in ("-isystem", "-include"):
                    kept += [item for i, word in enumerate(words)
                             if word == option and "cmake_pch" not in words[i + 1]
                             for item in words[i:i + 2]]
                return entry["file"], kept + ["-w", "-ferror-limit=0"]
        return fail(f"sim/{part} is not compiled as one file")

    def relative(self, name):
        return str(pathlib.Path(name).relative_to(self.source))

    def compile(self, numbered, jobs):
        """Builds the test programs; returns the faults that the compiler accepts."""
        targets = [f"test_{name}" for name in PROGRAMS]
        while True:
            for name, text in faults.with_faults(self.originals, numbered).items():
                write_if_changed(pathlib.Path(name), text)
            done = subprocess.run(
                ["ninja", "-C", self.build, "-k", "0", "-j", str(jobs), *targets],
                capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return numbered
            wrong = set()
            for line in done.stdout.splitlines():
                if found := re.match(r"(\S+?):(\d+):\d+: (?:fatal )?error: ", line):
                    wrong |= set(faults.at_line(numbered, found[1], int(found[2])))
            if not wrong:
                fail(f"the copy does not compile (status {done.returncode}):\n"
                     f"{done.stdout[-4000:]}{done.stderr[-2000:]}")
            say(f"{len(wrong)} faults do not compile")
            numbered = {n: fault for n, fault in numbered.items() if n not in wrong}


def choose_faults(copy, options):
    """{number: fault}: in order of part and text, without those listed as equivalent."""
    listed = equivalents.read(ROOT / "tests/mutants/equivalent.txt")
    key = json.dumps([options.limit, options.seed, sorted(map(str, listed)),
                      [(ROOT / "scripts/mutating/faults.py").read_text(), copy.originals]])
    remembered = options.out / "faults.json"
    if remembered.is_file():
        state = json.loads(remembered.read_text())
        if state["key"] == key:
            return {int(n): faults.Fault(**fault) for n, fault in state["faults"].items()}, \
                state["candidates"]
    parsed, candidates, left_out = {}, [], set()
    for part in PARTS:
        texts = {name: text for name, text in copy.originals.items()
                 if name.startswith(str(copy.source / "sim" / part) + "/")}
        parsed[part] = faults.Part(*copy.parser_arguments(part), texts)
        found = parsed[part].faults()
        say(f"sim/{part}: {len(found)} faults are possible")
        for fault in found:
            entry = equivalents.Entry(copy.relative(fault.file),
                                      *faults.shown(fault, texts[fault.file]))
            if entry in listed:
                left_out.add(entry)
            else:
                candidates.append(fault)
    for entry in sorted(set(listed) - left_out, key=str):
        fail(f"tests/mutants/equivalent.txt has what is no fault of the code (any more): {entry}")
    lines = {name: text.count("\n") for name, text in copy.originals.items()}
    some = faults.chosen(candidates, lines, options.limit, options.seed)
    order = {part: i for i, part in enumerate(PARTS)}
    some.sort(key=lambda fault: (order[part_of(fault)], fault.file, fault.start))
    numbered = dict(enumerate(some, 1))
    kept = {}
    for part in PARTS:
        kept |= parsed[part].without_errors(
            {n: fault for n, fault in numbered.items() if part_of(fault) == part})
    say(f"{len(kept)} of {len(some)} chosen faults compile")
    remembered.write_text(json.dumps({"key": key, "candidates": len(candidates), "faults": {
        n: dataclasses.asdict(fault) for n, fault in kept.items()}}))
    return kept, len(candidates)


def names_of_tests(program):
    """The test cases of a program, but for those that are [slow]. Catch2 3 lists them in another
    way than 2, which ends with their number as its status."""
    def ask(*options):
        return subprocess.run([program, *options], capture_output=True, text=True,
                              check=False).stdout
    is_2 = re.search(r"version: +2\.", ask("--libidentify"))
    options = ["--list-test-names-only"] if is_2 else ["--list-tests", "--verbosity", "quiet"]
    return [name for name in ask("~[slow]", *options).splitlines() if name]


def part_of(fault):
    return re.search(r"/sim/(\w+)/(?!.*/sim/)", fault.file)[1]


@dataclasses.dataclass
class Case:
    """A test case: what it is called, how long it takes, and which faults it reaches."""
    program: str
    name: str
    seconds: float = 0.0
    reached: frozenset = frozenset()


class Tests:
    def __init__(self, copy, jobs):
        self.copy = copy
        self.jobs = jobs
        self.cases = []

    def command(self, program, names):
        spec = ",".join(re.sub(r"([\\,\[\]])", r"\\\1", name) for name in names)
        return ["prlimit", f"--as={MEMORY}",
                str(self.copy.build / "tests" / f"test_{program}"), spec, "--abort"]

    def run(self, program, names, timeout=None, **environment):
        """"passed", "failed" or "hung"."""
        with subprocess.Popen(self.command(program, names), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, **environment}) as process:
            try:
                return "failed" if process.wait(timeout) else "passed"
            except subprocess.TimeoutExpired:
                process.kill()
                return "hung"

    def look(self, programs, longest):
        """Runs every case once without a fault: what it reaches, and how long it takes. Those that
        take `longest` seconds, if that is not None, are left out."""
        # Of the same programs it is known from last time.
        built = [(name, (self.copy.build / "tests" / f"test_{name}").stat().st_mtime_ns)
                 for name in programs]
        key = json.dumps([built, longest])
        remembered = self.copy.build / "look.json"
        if remembered.is_file():
            state = json.loads(remembered.read_text())
            if state["key"] == key:
                self.cases = [Case(program, name, seconds, frozenset(reached))
                              for program, name, seconds, reached in state["cases"]]
                return

        def once(item):
            i, case = item
            notes = self.copy.build / f"reached-{i}"
            started = time.monotonic()
            how = self.run(case.program, [case.name], longest, RETRYSIM_REACHED=str(notes))
            case.seconds = time.monotonic() - started
            if notes.is_file():
                case.reached = frozenset(map(int, notes.read_text().split()))
                notes.unlink()
            if how != "passed":
                say(f"{'fails without a fault' if how == 'failed' else 'left out'}: {case.name}")
            return case if how == "passed" else None

        cases = []
        for program in programs:
            cases += [Case(program, name)
                      for name in names_of_tests(self.copy.build / "tests" / f"test_{program}")]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            self.cases = [case for case in pool.map(once, enumerate(cases)) if case]
        remembered.write_text(json.dumps({"key": key, "cases": [
            [case.program, case.name, case.seconds, sorted(case.reached)] for case in self.cases]}))

    def judge(self, number, part, own):
        """("killed", by which test) or ("survived", how many tests) or ("not reached", "")."""
        cases = [case for case in self.cases if number in case.reached and
                 (not own or case.program in (part, "conformance"))]
        if not cases:
            return "not reached", ""
        fast = collections.defaultdict(list)
        for case in cases:
            if case.seconds < FAST:
                fast[case.program].append(case)
        order = sorted(fast, key=lambda name: (name != part, name in PARTS, PROGRAMS.index(name)))
        groups = [fast[name] for name in order]
        groups += [[case] for case in sorted(cases, key=lambda case: case.seconds)
                   if case.seconds >= FAST]
        for group in groups:
            limit = PATIENCE * sum(case.seconds for case in group) + GRACE
            how = self.run(group[0].program, [case.name for case in group], limit,
                           RETRYSIM_MUTANT=str(number))
            if how != "passed":
                what = group[0].name if len(group) == 1 else f"{len(group)} fast tests"
                hung = " (hung)" if how == "hung" else ""
                return "killed", f"{group[0].program}: {what}{hung}"
        return "survived", f"{len(cases)} tests"


def report(rows, copy, candidates):
    """Prints the survivors and the table; returns the share of reached faults that were killed."""
    def show(number, fault, note):
        before, after = faults.shown(fault, copy.originals[fault.file])
        print(f"{number} {copy.relative(fault.file)}:{fault.line} ({fault.kind}; {note})")
        print(f"  - {before}\n  + {after}")

    for wanted in ("survived", "not reached"):
        some = [row for row in rows if row[2] == wanted]
        if some:
            print(f"{wanted.capitalize()}:")
            for number, fault, _, note in some:
                show(number, fault, note or "no test passes here")
            print()
    print("| part | faults | killed | survived | not reached |\n|---|---|---|---|---|")
    total = collections.Counter()
    for part in (*PARTS, "all"):
        count = collections.Counter(how for _, fault, how, _ in rows if part_of(fault) == part)
        total += count
        count = total if part == "all" else count
        if count:
            print(f"| {part} | {count.total()} | {count['killed']} | {count['survived']} | "
                  f"{count['not reached']} |")
    reached = total["killed"] + total["survived"]
    share = 100 * total["killed"] / reached if reached else 0.0
    print(f"\n{share:.1f} % of those that a test reaches were killed; "
          f"{candidates} faults are possible in all.")
    return share


def parse_options():
    parser = argparse.ArgumentParser(
        prog="mutants", description="Puts faults into copies of the sources of sim/retry, measure, "
        "estimate, model, prediction and explain, behind a switch, runs for each the tests that "
        "reach it, and reports those that no test notices.",
        epilog="Exit status: 0 if enough were killed, 1 if not.")
    parser.add_argument("--only", metavar="PART,...", help="run only faults of these parts: " +
                        ", ".join(PARTS))
    parser.add_argument("--limit", type=int, default=250, metavar="N",
                        help="how many faults in all parts together (default: 250)")
    parser.add_argument("--seed", type=int, default=1, metavar="S",
                        help="chooses among all possible faults (default: 1)")
    parser.add_argument("--mutant", metavar="N,...", help="run only the faults with these numbers")
    parser.add_argument("--least", type=float, default=90.0, metavar="PERCENT",
                        help="of those that a test reaches must be killed (default: 90)")
    parser.add_argument("--own", action="store_true",
                        help="run only the tests of a fault's own part, and conformance")
    parser.add_argument("--longest", type=float, metavar="S",
                        help="leave out tests that take S seconds or more: for a first look")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="tests at a time (default: as many as processors)")
    parser.add_argument("--list", action="store_true", help="print the faults and run nothing")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/mutants", metavar="DIR",
                        help="where the copy is built, and results.json (default: build/mutants)")
    options = parser.parse_args()
    options.only = options.only.split(",") if options.only else list(PARTS)
    if unknown := set(options.only) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    try:
        options.mutant = [int(n) for n in options.mutant.split(",")] if options.mutant else None
    except ValueError:
        parser.error(f"'{options.mutant}' is no list of numbers")
    if options.limit < 1 or options.limit >= 10000 or options.jobs < 1:
        parser.error("--limit is from 1 to 9999, --jobs at least 1")
    return options


def main():
    options = parse_options()
    if faults is None:
        fail("libclang's module for Python is missing: scripts/install_dependencies mutants")
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    copy = Copy(options.out)
    copy.refresh()
    copy.configure()
    numbered, candidates = choose_faults(copy, options)

    def wanted(number):
        return (part_of(numbered[number]) in options.only and
                (not options.mutant or number in options.mutant))

    if options.list:
        for number in filter(wanted, numbered):
            fault = numbered[number]
            before, after = faults.shown(fault, copy.originals[fault.file])
            print(f"{number} {copy.relative(fault.file)}:{fault.line} ({fault.kind})\n"
                  f"  - {before}\n  + {after}")
        return 0
    numbered = copy.compile(numbered, options.jobs)
    say(f"Built with {len(numbered)} faults after {time.monotonic() - started:.0f} s")
    tests = Tests(copy, options.jobs)
    tests.look([*options.only, "conformance"] if options.own else PROGRAMS, options.longest)
    say(f"{len(tests.cases)} tests take {sum(case.seconds for case in tests.cases):.0f} s")

    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pending = {
            pool.submit(tests.judge, number, part_of(fault), options.own): (number, fault)
            for number, fault in numbered.items() if wanted(number)}
        for done in concurrent.futures.as_completed(pending):
            number, fault = pending[done]
            how, note = done.result()
            rows.append((number, fault, how, note))
            say(f"{len(rows)}/{len(pending)} {number} {copy.relative(fault.file)}:{fault.line} "
                f"{fault.kind}: {how} ({note})")
    rows.sort(key=lambda row: row[0])
    (options.out / "results.json").write_text(json.dumps(
        [{"number": number, "file": copy.relative(fault.file), "line": fault.line,
          "kind": fault.kind, "after": fault.after, "result": how, "note": note}
         for number, fault, how, note in rows], indent=1) + "\n")
    share = report(rows, copy, candidates)
    print(f"{time.monotonic() - started:.0f} s with {options.jobs} jobs")
    return 0 if share >= options.least else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        fail(error)
