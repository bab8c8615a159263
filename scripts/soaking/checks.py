"""Runs one random scenario several times and says what is wrong with it.

SPDX-License-Identifier: MIT
"""

import csv
import dataclasses
import math
import re
import shutil
import tempfile
import xml.etree.ElementTree
from pathlib import Path

from soaking import commands, rules, theory
from soaking.program import SANITIZER_STATUS, start

# A run that --max-events does not stop is a hang: this much processor time is some hundred times
# what a scenario takes.
MOST_CPU_S = 20

DONE, EXPECTATION_FAILED, BAD_INPUT, LIMIT, INTERNAL = 0, 1, 3, 5, 70
HANG = "hang: --max-events does not stop it"

MAY_BE_NEGATIVE = {"autocorrelation"}
ROUNDING = 1e-9


@dataclasses.dataclass
class Failure:
    kind: str  # the same for the same defect, as far as a message can tell
    detail: str  # what was printed


@dataclasses.dataclass
class Outcome:
    failure: Failure = None
    status: int = DONE
    runs: int = 0
    attempts: float = 0.0  # simulated, all runs together
    features: tuple = ()  # that a prediction does not model


@dataclasses.dataclass
class Run:
    status: int
    stdout: bytes
    stderr: str
    files: dict  # relative path -> bytes


def run(program, case, scenario, folder, jobs, cpu_s=MOST_CPU_S):
    """Runs the case's command; results go to `folder`, which is removed once read."""
    words = commands.arguments(case, scenario, folder, jobs)
    return execute(program, words, case, folder, cpu_s)


def execute(program, words, case, folder, cpu_s=MOST_CPU_S):
    """Runs a command of the program in the case's environment; `folder` is removed once read."""
    status, stdout, stderr = start(program, words, case.environment, cpu_s)
    files = {str(path.relative_to(folder)): path.read_bytes()
             for path in sorted(folder.rglob("*")) if path.is_file()}
    shutil.rmtree(folder, ignore_errors=True)
    return Run(status, stdout.replace(str(folder).encode(), b"OUT"),
               stderr.decode("utf-8", "replace"), files)


def without_details(text):
    """A message without what differs from scenario to scenario: numbers and names."""
    text = re.sub(r"^(--\S+|\S+:\d+:\d+): ", "", text)
    text = re.sub(r'"[^"]*"', '"..."', text)
    text = re.sub(r"\b(client|service|fault|expect)\.[\w.-]+\.", r"\1.X.", text)
    text = re.sub(r"\b[scdfeo]\d+(like)?\b", "X", text)
    return re.sub(r"-?\d[\d.e+-]*(ns|us|ms|s|min|h|d)?\b", "N", text)[:160]


def crash_kind(run_):
    """What a run died of."""
    report = re.search(r"(?:ERROR: (?:Address|Leak)Sanitizer: ([\w-]+)|runtime error: (.*))",
                       run_.stderr)
    if report:
        # The first function of ours: frames read "#1 0x1234 in retrysim::model::... /path".
        frame = re.search(r"#\d+ 0x\w+ in (?:\w+ )*?(retrysim::[\w:~]+)", run_.stderr)
        name = report.group(1) or without_details(report.group(2))
        deep = name == "stack-overflow"  # any function of the circle may be on top
        return f"sanitizer: {name}" + (f" in {frame.group(1)}" if frame and not deep else "")
    if run_.status is None or run_.status in (-24, -9):  # SIGXCPU, then SIGKILL
        return HANG
    lines = run_.stderr.strip().splitlines() or [""]
    return f"signal {-run_.status}: {without_details(lines[-1])}"


def judge_status(case, run_):
    """Whether a run ended as it may."""
    status = run_.status
    if status is None or status < 0 or status == SANITIZER_STATUS:
        return Failure(crash_kind(run_), run_.stderr)
    if status == EXPECTATION_FAILED and may_disappoint(case):
        return None
    if status == BAD_INPUT and does_not_settle(case, run_):
        return None
    if status in (DONE, LIMIT):
        return None
    lines = run_.stderr.strip().splitlines()
    errors = [line for line in lines if "error: " in line] or lines[:1]
    messages = sorted({without_details(line.replace("error: ", "")) for line in errors})
    message = "; ".join(messages) or "nothing on standard error"
    return Failure(f"exit {status}: {message}", run_.stderr)


# A metric of a client group, or of a service.
SERIES = r"[a-z_]+ of (?:service )?(?P<name>[\w.-]+)(?: in \"[^\"]*\")?"
NEVER_SETTLES = re.compile(
    r'retrysim: error: MSER-5 finds no end of the warm-up of "(?P<scenario>[^"]*)" in the first '
    rf"half of its (?P<length>[\d.e+-]+) s: {SERIES} keeps changing; expected a longer duration, a "
    "system that settles, or an explicit warmup")
SETTLES_LATE = re.compile(
    rf"retrysim: error: the warm-up of (?P<length>[\d.e+-]+) s that {SERIES} needs is half of the "
    "shortest duration, or more; expected a longer duration")


def does_not_settle(case, run_):
    """Whether all that is wrong is that the system does not settle: only the pilot runs of an
    automatic warm-up show that."""
    errors = [line for line in run_.stderr.splitlines() if "error: " in line]
    if case.keys.get(("warmup",)) != "auto" or \
            case.command[0] not in ("run", "compare", "advise") or \
            len(errors) != 1 or run_.stdout or run_.files:
        return False
    duration = rules.seconds(case.keys[("duration",)])
    if found := NEVER_SETTLES.fullmatch(errors[0]):
        is_own = found["scenario"] == case.keys.get(("name",)) and \
            float(found["length"]) == duration
    elif found := SETTLES_LATE.fullmatch(errors[0]):
        is_own = duration / 2 <= float(found["length"]) < duration
    return bool(found) and is_own and found["name"] in names_of(case)


def names_of(case):
    """The services and client groups of a scenario; "s0.s1" are the calls of s0 to s1."""
    calls = {f"{path[1]}.{path[3]}" for path in case.keys
             if path[0] == "service" and path[2:3] == ("calls",)}
    return calls | {path[1] for path in case.keys if path[0] in ("service", "client")}


def may_disappoint(case):
    """Status 1 is for expectations, and for what is not found: tipping points, a best policy."""
    return case.command[0] in ("choose", "tip") or any(path[0] == "expect" for path in case.keys)


def first_difference(a, b):
    lines_a = a.decode("utf-8", "replace").splitlines()
    lines_b = b.decode("utf-8", "replace").splitlines()
    for number, (x, y) in enumerate(zip(lines_a, lines_b), 1):
        if x != y:
            return f"line {number}:\n    {x}\n    {y}"
    return f"{len(lines_a)} and {len(lines_b)} lines"


def compare(reference, other, how, ignored=()):
    """The first difference between two runs that must be the same."""
    if reference.status != other.status:
        return Failure(f"difference: exit status, {how}",
                       f"{reference.status} and {other.status}\n{other.stderr}")
    if reference.status == LIMIT:
        return None  # how much was done before the limit is not promised
    first = {**reference.files, "standard output": reference.stdout}
    second = {**other.files, "standard output": other.stdout}
    for name in sorted(set(first) | set(second)):
        if name in ignored:
            continue
        if name not in first or name not in second:
            return Failure(f"difference: {name} is missing, {how}", "")
        if first[name] != second[name]:
            return Failure(f"difference: {name}, {how}",
                           f"{name}: {first_difference(first[name], second[name])}")
    return None


def rows_of(run_, name):
    if name not in run_.files:
        return []
    return csv.DictReader(run_.files[name].decode("utf-8").splitlines())


def implausible(run_):
    """A figure that no run can have: no number, negative, a share above 1, a mean that is not
    between minimum and maximum."""
    for row in rows_of(run_, "replications.csv"):
        metric, value = row["metric"], float(row["value"])
        share = metric.endswith(("_share", "success_rate", "_probability", "utilization"))
        if not math.isfinite(value) or value < -ROUNDING and metric not in MAY_BE_NEGATIVE or \
                share and value > 1 + ROUNDING:
            return Failure(f"implausible: {metric}", f"{metric} of {row['client']} = {value}")
    for row in rows_of(run_, "summary.csv"):
        if row["mean"] and row["min"] and row["max"]:
            mean, low, high = (float(row[name]) for name in ("mean", "min", "max"))
            slack = ROUNDING * max(abs(low), abs(high))
            if not low - slack <= mean <= high + slack:
                return Failure(f"implausible: mean of {row['metric']} outside of its range",
                               f"{row['metric']} of {row['client']}: {mean} in [{low}, {high}]")
    for name, content in run_.files.items():
        if name.endswith(".csv") and (found := re.search(rb"(?m)(^|,)-?(nan|inf)\b.*$", content)):
            return Failure(f"implausible: no number in {name}", found.group().decode())
    return None


def contradicted_by_junit(run_):
    """A JUnit file that is none, or that does not fail exactly when the run does."""
    if commands.JUNIT not in run_.files:
        return None
    try:
        suites = xml.etree.ElementTree.fromstring(run_.files[commands.JUNIT])
    except xml.etree.ElementTree.ParseError as error:
        return Failure("junit: no XML", str(error))
    failures = len(suites.findall("testsuite/testcase/failure"))
    if failures != int(suites.get("failures")) or \
            (failures > 0) != (run_.status == EXPECTATION_FAILED):
        return Failure("junit: another number of failures", f"{failures}, status {run_.status}")
    return None


def contradicted_by_list(program, run_):
    """A prediction that does not keep to the list of what theory models."""
    if said := theory.contradiction(str(program), run_):
        return Failure("predict: against `list theory`", said)
    return None


def attempts_of(run_):
    """Attempts that the clients sent, all replications together."""
    return sum(float(row["value"]) for row in rows_of(run_, "replications.csv")
               if row["metric"] == "attempts" and row["client"] == "all")


def merge_shards(program, case, scenario, folder):
    """What `retrysim merge` makes of the two halves of a sweep."""
    halves = [folder / "half1", folder / "half2"]
    for number, half in enumerate(halves, 1):
        options = ("--shard", f"{number}/2")
        sweep = dataclasses.replace(case, command=case.command + options)
        words = commands.arguments(sweep, scenario, half, 1)
        result = execute(program, words, case, folder / "none")
        if result.status not in (DONE, EXPECTATION_FAILED):
            return result
    words = ["merge", *halves, "--out", folder / "merged"]
    return execute(program, words, case, folder / "merged")


def verify(program, case, run_, folder):
    """Whether `retrysim verify` finds the files of a result whole."""
    for name, content in run_.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    verified = execute(program, ["verify", folder], case, folder)
    if verified.status == DONE:
        return None
    return Failure(f"verify: exit {verified.status}",
                   verified.stdout.decode("utf-8", "replace") + verified.stderr)


def finds_its_warmup(run_):
    """Whether the run looked for its warm-up, and says so. The scenario that it leaves has the
    length that was found, so that a run of it has nothing to say."""
    return b'# "auto": ' in run_.files["scenario.toml"]


def examine(program, case, cpu_s=MOST_CPU_S):
    """Runs a case with one job, with three jobs, and in parts or from the scenario that a run
    leaves."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        folder = Path(temporary)
        scenario = write(case, folder)

        def once(name, jobs, run_case=case, path=scenario):
            result = run(program, run_case, path, folder / name, jobs, cpu_s)
            outcome.runs += 1
            outcome.attempts += attempts_of(result)
            outcome.failure = judge_status(run_case, result)
            return result

        reference = once("out", 1)
        outcome.status = reference.status
        outcome.failure = outcome.failure or implausible(reference) or \
            contradicted_by_junit(reference)
        if case.command[0] == "predict" and not outcome.failure:
            outcome.failure = contradicted_by_list(program, reference)
            outcome.features = tuple(found["feature"] for found in theory.features(reference))
        if outcome.failure:
            return outcome
        other = once("out", 3)
        if not outcome.failure and (difference := compare(reference, other, "one job and three")):
            again = once("out", 1)
            outcome.failure = compare(reference, again, "twice the same") or difference
        if reference.files and not outcome.failure:
            outcome.failure = verify(program, case, reference, folder / "kept")
        if case.command[0] == "sweep" and reference.status == DONE and not outcome.failure:
            merged = merge_shards(program, case, scenario, folder)
            outcome.runs += 3
            outcome.failure = judge_status(case, merged) or compare(
                reference, merged, "whole and merged", ("standard output",))
        # The scenario that a run leaves gives its results once more.
        if case.command[0] == "run" and case.seed % 4 == 0 and "scenario.toml" in reference.files \
                and not outcome.failure:
            resolved = folder / "resolved"
            for name, content in reference.files.items():
                if name == "scenario.toml" or name.endswith(".csv"):
                    resolved.mkdir(exist_ok=True)
                    (resolved / name).write_bytes(content)
            plain = dataclasses.replace(case, edits=(), environment={})
            other = once("out", 1, plain, resolved / "scenario.toml")
            # The settings and where they came from; the JUnit file names lines.
            ignored = {"scenario.toml", "result.json", commands.JUNIT}
            if "json" in case.command or finds_its_warmup(reference):
                ignored.add("standard output")
            # The heading of the first says what edits changed.
            first, second = (
                dataclasses.replace(run_, stdout=run_.stdout.partition(b"\n\n")[2])
                if case.edits else run_
                for run_ in (reference, other))
            outcome.failure = outcome.failure or compare(
                first, second, "from the resolved scenario", ignored)
    return outcome


def write(case, folder):
    """Writes the scenario and its inputs; returns the path of the scenario."""
    for name, text in case.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    path = folder / "scenario.toml"
    path.write_text(commands.scenario_text(case), encoding="utf-8")
    return path
