#!/usr/bin/python3
"""Are result files the same to the last byte, whatever made them?

Runs every scenario of a folder twice: two replications by one thread, and by two. (More threads
than replications would have nothing to do.) All files and all of standard output must be the same.

If RETRYSIM_OTHER_PROGRAM is set, that program, of another compiler or build type, must write the
same, too: one replication, because sanitizers make it eight times slower, but two of the scenarios
in STATISTICS, so that standard deviations and intervals are compared as well. With --every N only
each Nth scenario, beside these, is compared with it, with 0 no other. A report of a sanitizer is an
error.

The fingerprints of the first run are those that the story fingerprints.txt shows: its commands need
not be run again for that.

SPDX-License-Identifier: MIT
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Short scenarios whose statistics over replications are compared between programs: rates, several
# groups and services, and a trigger with a recovery.
STATISTICS = ("steady-load", "deploy", "fifo-zombie", "shared-retryer")


# The sequence of events of two replications of every scenario, as a hash.
FINGERPRINTS = pathlib.Path(__file__).with_name("fingerprints.txt")


class RunFailed(Exception):
    pass


def known_fingerprints(story):
    """What the story shows: file of a scenario -> "fingerprint NAME HASH"."""
    shown = re.findall(r"^\$ retrysim run scenarios/(\S+) --replications 2 .*\n(fingerprint .*)$",
                       story, re.MULTILINE)
    if len(shown) != len(re.findall("^fingerprint ", story, re.MULTILINE)):
        raise RunFailed(f"{FINGERPRINTS.name} has other commands than one run a scenario")
    return dict(shown)


def run(program, scenario, replications, jobs, out, before=(), environment=None):
    """Everything that a run leaves: relative path -> bytes, standard output under "(stdout)", the
    fingerprints, which go to standard error, under "(fingerprints)". `before` starts it."""
    command = [*before, str(program), "run", str(scenario), "--replications",
               str(replications), "--jobs", str(jobs), "--out", str(out), "--fingerprint",
               "--format", "csv", "--no-progress"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment)
    # 1: an expectation of the scenario failed, as it may with few replications. It is a sanitizer's
    # status, too.
    report = b"Sanitizer" in done.stderr or b"runtime error:" in done.stderr
    if report or done.returncode not in (0, 1):
        raise RunFailed(f"{' '.join(command)}: exit status {done.returncode}: "
                        f"{done.stderr.decode('utf-8', 'replace').strip()}")
    files = files_below(out)
    if "summary.csv" not in files:
        raise RunFailed(f"{' '.join(command)}: no summary.csv in {out}")
    files["(stdout)"] = done.stdout.replace(str(out).encode(), b"OUT")
    files["(fingerprints)"] = b"\n".join(line for line in done.stderr.splitlines()
                                         if line.startswith(b"fingerprint "))
    return files


def files_below(out):
    return {str(path.relative_to(out)): path.read_bytes()
            for path in sorted(out.rglob("*")) if path.is_file()}


def first_difference(a, b):
    """Where two texts part: "line N: ... / ..."."""
    lines_a, lines_b = a.splitlines(), b.splitlines()
    for number, (x, y) in enumerate(zip(lines_a, lines_b), 1):
        if x != y:
            return f"line {number}:\n    {x.decode()}\n    {y.decode()}"
    return f"{len(lines_a)} and {len(lines_b)} lines"


def differences(reference, other):
    """What is not the same, one sentence each."""
    found = [f"{name} is missing in one" for name in sorted(set(reference) ^ set(other))]
    for name in sorted(set(reference) & set(other)):
        if reference[name] != other[name]:
            found.append(f"{name} differs in {first_difference(reference[name], other[name])}")
    return found


def runs_to_compare(scenario, program, other, with_other):
    """Lists of runs (program, replications, jobs); all runs of a list must leave the same."""
    with_threads = [(program, 2, 1), (program, 2, 2)]
    if other is None:
        return [with_threads]
    if scenario.stem in STATISTICS:
        return [[*with_threads, (other, 2, 1)]]
    return [with_threads] + [[(program, 1, 1), (other, 1, 1)]] * with_other


def check(scenario, program, other, with_other, folder, fingerprints):
    """Runs the scenario in all ways; returns the number of differences."""
    outputs = runs = count = 0
    for compared in runs_to_compare(scenario, program, other, with_other):
        reference = None
        for each, replications, jobs in compared:
            runs += 1
            out = folder / f"{scenario.stem}-{runs}" / "results"
            files = run(each, scenario, replications, jobs, out)
            if reference is None:
                reference = files
                outputs += len(files)
                expected = fingerprints.get(scenario.name) if replications == 2 else None
                found = files["(fingerprints)"].decode()
                if expected not in (None, found):
                    count += 1
                    print(f"{scenario}: error: '{found}', but {FINGERPRINTS.name} has "
                          f"'{expected}'. If the change is meant, see 'A changed golden result' in "
                          "CONTRIBUTING.md")
                continue
            for sentence in differences(reference, files):
                count += 1
                print(f"{scenario}: error: {each} --replications {replications} --jobs {jobs}: "
                      f"{sentence}")
    print(f"{scenario.name}: {outputs} outputs, {runs} runs, "
          f"{'the same' if count == 0 else 'DIFFERENT'}", flush=True)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", type=pathlib.Path, help="folder of scenarios, or one")
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--every", type=int, default=1, metavar="N")
    options = parser.parse_args()
    folder = options.scenarios
    scenarios = sorted(folder.glob("*.toml")) if folder.is_dir() else [folder]
    if not scenarios:
        print(f"{folder}: error: no scenarios")
        return 1
    other = os.environ.get("RETRYSIM_OTHER_PROGRAM")
    other = pathlib.Path(other) if other else None
    if other is None:
        print("RETRYSIM_OTHER_PROGRAM is not set: one program only")
    try:
        with tempfile.TemporaryDirectory(prefix="determinism-") as temporary:
            fingerprints = known_fingerprints(FINGERPRINTS.read_text(encoding="utf-8"))
            count = sum(check(s, options.program, other,
                              options.every > 0 and i % options.every == 0,
                              pathlib.Path(temporary), fingerprints)
                        for i, s in enumerate(scenarios))
            for name in fingerprints if folder.is_dir() else ():
                if not (folder / name).exists():
                    count += 1
                    print(f"{FINGERPRINTS.name}: error: there is no {folder / name}")
    except RunFailed as error:
        print(f"error: {error}")
        return 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
