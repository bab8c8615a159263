#!/usr/bin/python3
"""Result files are the same to the last byte, whatever simulates them and wherever.

    determinism_matrix.py --program PROGRAM --root FOLDER [--scenarios NAME,...]

Each scenario (all shipped ones, unless some are named) is run by one thread, and then by 2, 3 and
4, over the ranks of an MPI job, with the decimal comma and another time zone, and by each other
build of these sources that there is in `build`: GCC and Clang, debug and release, sanitizers. What
one build has kept in a store the others find. A sweep is run as a whole and in shards, a build
each, which are merged. The engine for browsers is
held against this machine's by its own test. What cannot be compared here is named as skipped.

Exit status: 0 if all files are the same, 1 if not.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "experiment"))

from compare_result_files import RunFailed, differences, files_below, run
from harness import MPIRUN

PRESETS = {"release": "GCC, release", "ci": "GCC, release", "debug": "GCC, debug",
           "clang-debug": "Clang, debug", "asan": "Clang, sanitizers"}
REPLICATIONS = 4
SHARDS = 3


class Matrix:
    def __init__(self, arguments, folder):
        self.program, self.root, self.folder = arguments.program.resolve(), arguments.root, folder
        self.skipped, self.builds = [], [self.program]
        self.ways = {f"{jobs} jobs": {"jobs": jobs} for jobs in (2, 3, 4)}
        self.add_builds()
        self.add_ranks()
        self.add_locale()
        self.runs = self.count = 0

    def add_builds(self):
        for preset, what in PRESETS.items():
            program = self.root / "build" / preset / "retrysim"
            if not program.exists():
                self.skipped.append(f"{what} (build/{preset} has no program)")
            elif program.stat().st_mtime < self.newest_source():
                self.skipped.append(f"{what} (build/{preset} is older than the sources)")
            elif not program.samefile(self.program):
                self.builds.append(program)
                self.ways[f"{what} (build/{preset})"] = {"program": program}

    def newest_source(self):
        return max(path.stat().st_mtime for part in ("sim", "include")
                   for path in (self.root / part).rglob("*.[ch]pp"))

    def add_ranks(self):
        command = [*MPIRUN, str(self.program), "run", "no such file"]
        if shutil.which("mpirun") is None:
            self.skipped.append("MPI (there is no mpirun)")
        elif b"built without MPI" in subprocess.run(command, capture_output=True).stderr:
            self.skipped.append("MPI (the program was built without)")
        else:
            self.ways["3 ranks"] = {"before": MPIRUN}

    def add_locale(self):
        """A locale with the decimal comma, which is made if there is none."""
        name = "de_DE.UTF-8"
        made = subprocess.run(["localedef", "--inputfile=de_DE", "--charmap=UTF-8",
                               str(self.folder / name)], capture_output=True)
        if made.returncode != 0:
            self.skipped.append(f"locale {name} (Debian package locales)")
            return
        environment = {**os.environ, "LOCPATH": str(self.folder), "LC_ALL": name,
                       "TZ": "Asia/Kolkata"}
        comma = subprocess.run(["locale", "decimal_point"], env=environment, capture_output=True)
        if comma.stdout.strip() != b",":
            raise RunFailed(f"{name} was made and does not work: {comma.stdout}")
        self.ways[f"locale {name}"] = {"environment": environment}

    def check(self, scenario):
        reference = self.leave(scenario)
        for what, how in self.ways.items():
            self.compare(f"{scenario.stem}, {what}", reference, self.leave(scenario, **how))
        self.join(scenario)
        whole = self.sweep(self.program, scenario)
        shards = []
        for i in range(1, SHARDS + 1):
            out = self.place()
            self.sweep(self.builds[i % len(self.builds)], scenario, "--shard", f"{i}/{SHARDS}",
                       "--jobs", str(i), out=out)
            shards.append(str(out))
        out = self.place()
        self.call(self.program, "merge", *shards, "--quiet", "--out", str(out))
        self.compare(f"{scenario.stem}, {SHARDS} shards", whole, files_below(out))

    def join(self, scenario):
        """What one build has kept the others find, so that they simulate nothing; and the other way
        round."""
        for keeps, finds in ((first, second) for first in self.builds for second in self.builds
                             if first != second and self.program in (first, second)):
            store, outs = self.place().parent / "store", []
            for program in (keeps, finds):
                outs.append(self.place())
                self.runs += 1
                done = subprocess.run([program, "run", str(scenario), "--replications", "2",
                                       "--quiet", "--no-progress", "--store", store, "--out",
                                       outs[-1]], capture_output=True, text=True)
                if done.returncode not in (0, 1) or "Sanitizer" in done.stderr:
                    raise RunFailed(f"{program} run {scenario}: exit status {done.returncode}: "
                                    f"{done.stderr}")
            if not re.search(r"note: (\d+) of \1 runs were there already", done.stderr):
                self.count += 1
                print(f"{scenario.stem}: error: {finds} does not find what {keeps} has kept: "
                      f"{done.stderr}")
            self.compare(f"{scenario.stem}, {finds} from the store of {keeps}",
                         *map(files_below, outs))

    def leave(self, scenario, program=None, jobs=1, **how):
        """What a run leaves, but for the name of its folder."""
        out = self.place()
        self.runs += 1
        return run(program or self.program, scenario, REPLICATIONS, jobs, out, **how)

    def sweep(self, program, scenario, *more, out=None):
        out = out or self.place()
        self.call(program, "sweep", str(scenario), "--vary", "seed=1:4:1", "--replications", "2",
                  "--quiet", "--no-progress", "--out", str(out), *more)
        return files_below(out)

    def call(self, *command):
        self.runs += 1
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1) or "Sanitizer" in done.stderr:
            raise RunFailed(f"{command}: exit status {done.returncode}: {done.stderr}")

    def place(self):
        return self.folder / f"place-{self.runs}" / "results"

    def compare(self, what, reference, other):
        for sentence in differences(reference, other):
            self.count += 1
            print(f"{what}: error: {sentence}")

    def check_engine(self):
        engine = self.root / "build" / "page" / "retrysim.wasm"
        native = self.program.parent / "tests" / "ask_engine"
        if not engine.exists() or not native.exists():
            self.skipped.append("WebAssembly (scripts/page has not built it)")
            return
        test = self.root / "tests" / "browser" / "engine_test.py"
        status = subprocess.run([sys.executable, "-B", test, "--native", native, "--engine", engine,
                                 "--source", self.root]).returncode
        if status == 77:
            self.skipped.append("WebAssembly (as its test says)")
        elif status != 0:
            self.count += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--scenarios", default="")
    arguments = parser.parse_args()
    names = filter(None, arguments.scenarios.split(","))
    scenarios = [arguments.root / "scenarios" / f"{name}.toml" for name in names]
    scenarios = scenarios or sorted((arguments.root / "scenarios").glob("*.toml"))
    with tempfile.TemporaryDirectory(prefix="determinism-") as folder:
        try:
            matrix = Matrix(arguments, pathlib.Path(folder))
            for scenario in scenarios:
                before = matrix.count
                matrix.check(scenario)
                print(f"{scenario.stem}: {'the same' if matrix.count == before else 'DIFFERENT'}",
                      flush=True)
                for place in matrix.folder.glob("place-*"):
                    shutil.rmtree(place)
            matrix.check_engine()
        except RunFailed as error:
            print(f"error: {error}")
            return 1
    print(f"{len(scenarios)} scenarios, {matrix.runs} runs; compared with one job: "
          f"{', '.join(matrix.ways)}, {SHARDS} shards")
    for what in matrix.skipped:
        print(f"skipped: {what}")
    return 1 if matrix.count else 0


if __name__ == "__main__":
    sys.exit(main())
