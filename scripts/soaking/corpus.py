#!/usr/bin/python3
"""Keeps a corpus of random scenarios and what each of them does; see scripts/corpus.

The scenarios are kept as texts, so that a new key, or another generator, changes none of them. For
each of them checksums are recorded, a column for each kind of result: a change of words does not
look like a change of figures.

SPDX-License-Identifier: MIT
"""

import argparse
import dataclasses
import difflib
import math
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from soaking import checks, commands, scenarios  # noqa: E402
from soaking.coverage import Coverage, preset_name  # noqa: E402
from soaking.program import with_limits  # noqa: E402
from soaking.rules import Scenario  # noqa: E402
from soaking.vocabulary import load as load_vocabulary  # noqa: E402

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "corpus"
PARTS = ("events", "figures", "tables", "words", "predictions")
SIZE = 2000
# A scenario in which hardly anything happens shows little, and a long one takes the time of many.
EVENTS = range(100, 10_000)
# Long ones are taken for what is rare.
MOST_CHARACTERS = 2000
# In how many scenarios whatever the tables have must occur, and in how many metrics and verdicts.
FEWEST_USES = 5
FEWEST_RESULTS = 1
MOST_CPU_S = 1200
BATCH = 100
MOST_BATCHES = 15  # in a row that bring nothing of what is missing
EXPLANATIONS = 5
SHOWN_NUMBERS = 8
SHOWN_LINES = 30


@dataclasses.dataclass
class Entry:
    """A scenario of the corpus, as text."""

    number: int
    environment: dict
    text: str
    files: dict

    def written(self):
        assignments = "".join(f" {k}={v}" for k, v in self.environment.items())
        inputs = "".join(f"--- {name}\n{text}" for name, text in self.files.items())
        return f"=== {self.number}{assignments}\n{self.text}{inputs}"

    def case(self):
        """Its keys, as the generator has them."""
        return scenarios.Case(self.number, flat(tomllib.loads(self.text), ()), self.files,
                              environment=self.environment)


def flat(table, prefix):
    """The keys of a TOML table by their paths; a distribution is a value."""
    keys = {}
    for name, value in table.items():
        if isinstance(value, dict) and "distribution" not in value:
            keys.update(flat(value, (*prefix, name)))
        else:
            keys[(*prefix, name)] = value
    return keys


def read_entries(text):
    entries = []
    for block in text.split("\n=== ")[bool(not text.startswith("=== ")):] if text else []:
        head, _, body = block.removeprefix("=== ").partition("\n")
        number, *assignments = head.split()
        scenario, *inputs = (body if body.endswith("\n") else body + "\n").split("\n--- ")
        files = {}
        for i, part in enumerate(inputs):
            name, _, content = part.partition("\n")
            files[name] = content if i + 1 == len(inputs) else content + "\n"
        scenario += "\n" if inputs else ""
        entries.append(Entry(int(number), dict(a.split("=", 1) for a in assignments), scenario,
                             files))
    return entries


@dataclasses.dataclass
class Recorded:
    metrics: list  # the metrics that the figures consist of
    unshown: list  # metrics and verdicts that were not found in any scenario
    results: dict  # number -> checksums, in the order of PARTS


def read_recorded(text):
    metrics, unshown, *lines = text.splitlines()
    rows = [line.split() for line in lines]
    unshown = [name for name in unshown.removeprefix("unshown: ").split(", ") if name]
    return Recorded(metrics.removeprefix("metrics: ").split(), unshown,
                    {int(row[0]): tuple(row[1:]) for row in rows})


@dataclasses.dataclass
class Results:
    """What a program makes of scenarios."""

    checksums: dict = dataclasses.field(default_factory=dict)  # number -> checksums
    events: dict = dataclasses.field(default_factory=dict)  # number -> how many
    errors: dict = dataclasses.field(default_factory=dict)  # number -> message
    # "metric NAME" or "verdict NAME" -> numbers of the scenarios that show it
    shown: dict = dataclasses.field(default_factory=dict)


def run(runner, entries, metrics=()):
    """Runs scenarios with the program `run_corpus`; the figures are those of `metrics`, or all."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as temporary:
        file, names = Path(temporary) / "scenarios.txt", Path(temporary) / "metrics.txt"
        file.write_text("".join(entry.written() for entry in entries), encoding="utf-8")
        names.write_text(" ".join(metrics), encoding="utf-8")
        command = with_limits([str(runner), str(file), "--metrics", str(names)], MOST_CPU_S)
        done = subprocess.run(command, capture_output=True, text=True)
    results = Results()
    for line in done.stdout.splitlines():
        first, second, *rest = line.split("\t")
        if first == "shown":
            results.shown[second] = []
        elif second == "error":
            results.errors[int(first)] = rest[0]
        else:
            number = int(first)
            results.events[number] = int(second)
            results.checksums[number] = tuple(rest[1:])
            for numbers, is_shown in zip(results.shown.values(), rest[0]):
                if is_shown == "1":
                    numbers.append(number)
    if done.returncode != 0:  # it goes through all scenarios, whatever happens in one
        left = [e.number for e in entries
                if e.number not in results.checksums and e.number not in results.errors]
        raise SystemExit(f"corpus: error: {runner} ended with status {done.returncode} at "
                         f"scenario {left[0] if left else '(none)'}: {done.stderr.strip()}")
    return results


def metrics_of(results):
    return [name.removeprefix("metric ") for name in results.shown if name.startswith("metric ")]


class Corpus:
    """The scenarios and what is recorded of them, in a folder."""

    def __init__(self, folder):
        self.scenarios_path = folder / "scenarios.txt"
        self.recorded_path = folder / "recorded.txt"
        self.entries, self.recorded = [], Recorded([], [], {})
        if self.scenarios_path.exists():
            self.entries = read_entries(self.scenarios_path.read_text("utf-8"))
        if self.recorded_path.exists():
            self.recorded = read_recorded(self.recorded_path.read_text("utf-8"))

    def write_scenarios(self):
        text = "".join(entry.written() for entry in self.entries)
        self.scenarios_path.write_text(text, encoding="utf-8")

    def write(self, results):
        self.write_scenarios()
        lines = [f"metrics: {' '.join(metrics_of(results))}",
                 f"unshown: {', '.join(rare_results(results))}"]
        lines += [" ".join([str(entry.number), *results.checksums[entry.number]])
                  for entry in self.entries]
        self.recorded_path.write_text("\n".join(lines) + "\n", encoding="utf-8")


# --- What has changed ----------------------------------------------------------------------------

def features(case, vocabulary):
    """What a scenario has that may explain why it has changed: keys, words, presets, forms."""
    scenario = Scenario(case.keys, vocabulary)
    found = set()
    for path, value in case.keys.items():
        try:
            key = scenario.key_of(path)
        except (KeyError, StopIteration):  # a key that is gone
            found.add(".".join(path))
            continue
        if key.name in ("name", "description"):
            continue
        found.add(key.pattern)
        words = value if isinstance(value, list) else [value]
        if isinstance(value, bool):
            found.add(f"{key.pattern} = {str(value).lower()}")
        elif key.kind == "word" or value in (key.else_word, key.also_word):
            found.add(f'{key.pattern} = "{value}"')
        found |= {f"distribution {word['distribution']}" for word in words
                  if isinstance(word, dict)}
        if key.name in ("retry.mode", "retry.sdk") and \
                (preset := scenario.preset(scenario.split(path)[0])):
            found.add(f"preset {preset_name(preset)}")
    return found


@dataclasses.dataclass
class Explanation:
    feature: str
    changed: int  # of those that have it
    there: int
    others_changed: int  # of those that do not
    others: int

    def association(self):
        """The phi coefficient: 1 if just those that have it have changed."""
        a, b = self.changed, self.there - self.changed
        c, d = self.others_changed, self.others - self.others_changed
        spread = (a + b) * (c + d) * (a + c) * (b + d)
        return (a * d - b * c) / math.sqrt(spread) if spread else 0.0

    def __str__(self):
        return (f"{self.feature}: {self.changed} of {self.there} with it changed, "
                f"{self.others_changed} of {self.others:,} without")


def explain(changed, features_by_number):
    """What tells the changed scenarios best from the others, best first."""
    counts = {}
    for number, names in features_by_number.items():
        for name in names:
            counts.setdefault(name, []).append(number in changed)
    total = len(features_by_number)
    found = [Explanation(name, sum(hits), len(hits), len(changed) - sum(hits), total - len(hits))
             for name, hits in counts.items()]
    found = [e for e in found if e.association() > 0]
    return sorted(found, key=lambda e: (-e.association(), e.feature))[:EXPLANATIONS]


def kind_of_change(before, after):
    """The first part that differs, as far as one follows from the other: if events differ, so do
    figures, and if figures differ, so do words."""
    for part, old, new in zip(PARTS, before, after):
        if old != new:
            return part
    return None


def report_changes(corpus, results, entries, vocabulary, print_line):
    """Says what has changed; returns the numbers."""
    recorded = corpus.recorded.results
    kinds = {}
    for entry in entries:
        number = entry.number
        if number in results.errors:
            kinds.setdefault("error", []).append(number)
        elif number in recorded:
            kind = kind_of_change(recorded[number], results.checksums[number])
            if kind:
                kinds.setdefault(kind, []).append(number)
    changed = sum(map(len, kinds.values()))
    print_line(f"{changed:,} of {len(entries):,} scenarios changed")
    if not changed:
        return kinds
    known = {entry.number: features(entry.case(), vocabulary) for entry in entries}
    titles = {"error": "no longer run", "events": "have other events",
              "figures": "have the same events and other figures",
              "tables": "have the same figures and other tables over time, attempts or storms",
              "words": "have the same figures and other words",
              "predictions": "have other predictions and nothing else"}
    for kind, title in titles.items():
        numbers = kinds.get(kind, [])
        if not numbers:
            continue
        more = ", ..." if len(numbers) > SHOWN_NUMBERS else ""
        print_line(f"{len(numbers):,} {title}: "
                   f"{', '.join(map(str, numbers[:SHOWN_NUMBERS]))}{more}")
        if kind == "error":
            for message in sorted({results.errors[n] for n in numbers})[:SHOWN_NUMBERS]:
                print_line(f"    {message}")
        for explanation in explain(set(numbers), known):
            print_line(f"  {explanation}")
    return kinds


# --- What is missing -----------------------------------------------------------------------------

def coverage_of(entries, vocabulary):
    coverage = Coverage(vocabulary)
    for entry in entries:
        coverage.add_keys(entry.case())
    return coverage


def rare_uses(coverage):
    """What of the tables too few scenarios have: name -> (key or None, how many have it)."""
    return {name: (key, count) for name, key, count in coverage.uses() if count < FEWEST_USES}


def rare_results(results):
    """Metrics and verdicts that too few scenarios show, and how many do."""
    return {name: len(numbers) for name, numbers in results.shown.items()
            if len(numbers) < FEWEST_RESULTS}


# --- More scenarios ------------------------------------------------------------------------------

class Extension:
    """Adds scenarios until there are enough and they use all that the tables have. Those that there
    are stay as they are."""

    def __init__(self, corpus, runner, vocabulary, size):
        self.corpus = corpus
        self.entries = corpus.entries
        self.runner = runner
        self.vocabulary = vocabulary
        self.size = size
        self.coverage = coverage_of(self.entries, vocabulary)
        results = run(runner, self.entries)
        self.shown = {name: len(numbers) for name, numbers in results.shown.items()}
        self.last = max([entry.number for entry in self.entries], default=0)
        self.find_missing()

    def find_missing(self):
        self.rare = rare_uses(self.coverage)
        self.hidden = {name for name, count in self.shown.items()
                       if count < FEWEST_RESULTS and name not in self.corpus.recorded.unshown}

    def is_done(self):
        return len(self.entries) >= self.size and not self.rare and not self.hidden

    def draw(self, number):
        """A candidate. Two of three have hardly any extreme values."""
        wanted = {key for key, _ in self.rare.values()} if len(self.entries) >= self.size else ()
        case = scenarios.generate(number, self.vocabulary, number % 3 > 0, wanted)
        case.edits = ()
        case.keys[("name",)] = f"corpus{number}"
        named = str(list(case.keys.values()))
        case.files = {name: text for name, text in case.files.items() if name in named}
        return case

    def add_batch(self):
        """Draws some; returns how many were taken."""
        cases = {n: self.draw(n) for n in range(self.last + 1, self.last + BATCH + 1)}
        self.last += BATCH
        entries = {n: Entry(n, case.environment, commands.scenario_text(case), case.files)
                   for n, case in cases.items()}
        results = run(self.runner, list(entries.values()))
        taken = 0
        for number, entry in entries.items():
            if results.events.get(number, 0) not in EVENTS:
                continue
            shown = {name for name, numbers in results.shown.items() if number in numbers}
            own = Coverage(self.vocabulary)
            own.add_keys(cases[number])
            used = {name for name, _, count in own.uses() if count}
            is_wanted = len(self.entries) < self.size and len(entry.text) <= MOST_CHARACTERS
            if not is_wanted and not used & set(self.rare) and not shown & self.hidden:
                continue
            self.entries.append(entry)
            self.coverage.add_keys(cases[number])
            for name in shown:
                self.shown[name] = self.shown.get(name, 0) + 1
            self.find_missing()
            taken += 1
        return taken

    def extend(self, print_line):
        in_vain = 0
        while not self.is_done() and in_vain < MOST_BATCHES:
            in_vain = 0 if self.add_batch() else in_vain + 1
            self.corpus.write_scenarios()  # in case that the rest takes too long
            print_line(f"{len(self.entries):,} scenarios after {self.last:,} draws; still missing: "
                       f"{len(self.rare)} uses, {len(self.hidden)} results")


# --- Commands ------------------------------------------------------------------------------------

def check(options, corpus, vocabulary):
    entries = corpus.entries[::options.every]
    results = run(options.runner, entries, corpus.recorded.metrics)
    if options.record:
        return record(options, corpus, vocabulary, results)
    changes = report_changes(corpus, results, entries, vocabulary, print)
    failed = bool(changes)
    if changes and options.against:
        show_differences(options, entries, changes)
    if options.every == 1:
        failed |= check_coverage(corpus, vocabulary, results)
    if failed:
        print("Show a scenario: --show NUMBER. Take all of this as it is now: scripts/corpus "
              "--record, and say why under \"Changed results\" in CHANGELOG.md.")
    return 1 if failed else 0


def check_coverage(corpus, vocabulary, results):
    gone = [name for name in corpus.recorded.metrics if f"metric {name}" not in results.shown]
    new = [name for name in metrics_of(results) if name not in corpus.recorded.metrics]
    lines = [f"metric {name} is gone" for name in gone]
    lines += [f"metric {name} is new and not recorded" for name in new]
    lines += [f"{name} is in {count} of the scenarios, expected at least {FEWEST_USES}"
              for name, (_, count) in rare_uses(coverage_of(corpus.entries, vocabulary)).items()]
    lines += [f"{name} has {count} scenarios that show it, expected at least {FEWEST_RESULTS}"
              for name, count in rare_results(results).items()
              if name not in corpus.recorded.unshown]
    lines += [f"scenario {entry.number} is not recorded" for entry in corpus.entries
              if entry.number not in corpus.recorded.results]
    if len(corpus.entries) < SIZE:
        lines.append(f"{len(corpus.entries):,} scenarios, expected at least {SIZE:,}")
    for line in lines[:SHOWN_LINES]:
        print(line)
    if lines:
        print("The corpus does not cover the tables: scripts/corpus --record adds scenarios.")
    return bool(lines)


def record(options, corpus, vocabulary, results):
    """Replaces scenarios that no longer run, adds what is missing, and takes what there is."""
    if corpus.recorded.results:
        report_changes(corpus, results, corpus.entries, vocabulary, print)
    corpus.entries = [e for e in corpus.entries if e.number not in results.errors]
    Extension(corpus, options.runner, vocabulary, max(options.extend or SIZE, SIZE)).extend(
        lambda line: print(line, flush=True))
    corpus.write(run(options.runner, corpus.entries))
    print(f"Recorded {len(corpus.entries):,} scenarios in {corpus.scenarios_path.parent}")
    return 0


def show(options, corpus):
    entry = next((e for e in corpus.entries if e.number == options.show), None)
    if entry is None:
        print(f"corpus: error: there is no scenario {options.show}", file=sys.stderr)
        return 2
    print(entry.written(), end="")
    print(full_text(options.runner, entry), end="")
    return 0


def full_text(runner, entry):
    """What the checksums are made of."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as temporary:
        file = Path(temporary) / "scenarios.txt"
        file.write_text(entry.written(), encoding="utf-8")
        return subprocess.run([str(runner), str(file), "--full"], capture_output=True, check=True,
                              text=True).stdout


def show_differences(options, entries, changes):
    """How the first scenario of each kind differs between two programs."""
    by_number = {entry.number: entry for entry in entries}
    for kind, numbers in changes.items():
        entry = by_number[numbers[0]]
        print(f"Scenario {entry.number} ({kind}):")
        before, after = (full_text(program, entry).splitlines()
                         for program in (options.against, options.runner))
        lines = list(difflib.unified_diff(before, after, "before", "now", lineterm="", n=0))
        print("\n".join(f"    {line}" for line in lines[:SHOWN_LINES]))


def read_options(arguments):
    parser = argparse.ArgumentParser(
        prog="corpus", description="Says which of two thousand random scenarios behave differently "
        "from what is recorded, and which keys tell them from the others.")
    parser.add_argument("--record", action="store_true",
                        help="take what there is: replace scenarios that are no longer valid, add "
                        "some for new keys, words, presets, distributions and metrics")
    parser.add_argument("--extend", type=int, metavar="N",
                        help="with --record: add scenarios until there are N")
    parser.add_argument("--every", type=int, default=1, metavar="K",
                        help="only every K-th scenario")
    parser.add_argument("--show", type=int, metavar="NUMBER",
                        help="print a scenario and what it does")
    parser.add_argument("--against", type=Path, metavar="RUNNER",
                        help="run_corpus of an earlier build: show what is different in the first "
                        "scenario of each kind of change")
    parser.add_argument("--runner", type=Path, required=True, help="the program run_corpus")
    parser.add_argument("--program", type=Path, required=True, help="the program retrysim")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.extend and not options.record:
        parser.error("--extend needs --record")
    if options.record and options.every != 1:
        parser.error("--record takes all scenarios, not every K-th")
    return options


def main():
    options = read_options(sys.argv[1:])
    corpus = Corpus(options.folder)
    if options.show is not None:
        return show(options, corpus)
    return check(options, corpus, load_vocabulary(options.program))


if __name__ == "__main__":
    sys.exit(main())
