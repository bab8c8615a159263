#!/usr/bin/env python3
"""What `compare` says of random scenarios against its files: every sentence is read again, word by
word, and must agree with compare.csv and summary.csv. Nothing else may be said. The table of
variants in front of them is computed again from summary.csv and replications.csv.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import json
import math
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from figures import mixed
from first_line import Graph, draw

NUMBER = r"[0-9][0-9.]*"
UNITS = {"": 1.0, "%": 1.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "min": 60.0, "h": 3600.0}
MORE = {"more", "higher", "longer"}
LESS = {"fewer", "less", "lower", "shorter"}
NOUNS = {  # where sentences use other words than the label
    "success": "success_rate", "probability of recovery": "recovered",
    "wasted capacity": "wasted_share", "degraded answers": "degraded_share",
    "duplicates": "duplicate_share", "use of the error budget": "error_budget_used",
    "probability of metastable failure": "metastable_probability",
}
# What is varied; each fits the scenarios that have a client "web".
VARIED = ["client.web.retry.mode=legacy,standard,adaptive", "client.web.attempt_timeout=0.3s,1s,3s",
          "service.*.servers=1,2,4,8", "client.*.max_connections=1,2,8",
          "service.*.queue.capacity=5,50,1000", "seed=1,2", "client.*.retry.mode=none,standard"]


HIGHER_IS_BETTER = {"recovered", "success_rate", "success_rate_within_duration"}


def student_p_value(t, freedom):
    """Two-sided, by Simpson's rule over the angle: the density becomes a power of a cosine."""
    end = math.atan(abs(t) / math.sqrt(freedom))
    steps = 2000

    def density(angle):
        return math.cos(angle) ** (freedom - 1)

    def integral(to):
        width = to / steps
        inner = sum((4 if i % 2 else 2) * density(i * width) for i in range(1, steps))
        return width / 3 * (density(0) + density(to) + inner)

    return 1 - integral(end) / integral(math.pi / 2)


def p_value(metric, pairs):
    """Of paired values: McNemar's exact test of recoveries, else Student's."""
    differences = [a - b for a, b in pairs]
    if metric == "recovered":
        up, down = differences.count(1), differences.count(-1)
        n = up + down
        tail = sum(math.comb(n, k) for k in range(min(up, down) + 1)) / 2 ** n
        return min(1.0, 2 * tail)
    n = len(differences)
    mean = sum(differences) / n
    variance = sum((d - mean) ** 2 for d in differences) / (n - 1)
    if variance <= 1e-24 * mean * mean:
        return 0.0 if mean else 1.0
    return student_p_value(mean / math.sqrt(variance / n), n - 1)


def near(said, value, tolerance=0.006):
    """Whether a printed number is a value, to nearly three digits."""
    return abs(said - value) <= tolerance * abs(value) + 1e-9


class Told:
    """A result with the rows of its files."""

    def __init__(self, folder):
        self.comparison = json.loads((folder / "result.json").read_text("utf-8"))["comparison"]
        with open(folder / "compare.csv", newline="", encoding="utf-8") as file:
            self.rows = {(r["variant"], r["client"], r["metric"]): r for r in csv.DictReader(file)}
        slos = folder / "slo.csv"
        self.slos = (list(csv.DictReader(slos.read_text("utf-8").splitlines()))
                     if slos.exists() else [])
        with open(folder / "summary.csv", newline="", encoding="utf-8") as file:
            self.means = {(r["variant"], r["client"], r["metric"]): r for r in csv.DictReader(file)}
        self.names = list(dict.fromkeys(v for v, _, _ in self.means))
        self.base = self.comparison["baseline"]
        self.labels = {m["label"]: name for name, m in self.comparison["metrics"].items()}
        self.labels.update(NOUNS)
        self.problems, self.checked = [], 0
        self.values = {}
        with open(folder / "replications.csv", newline="", encoding="utf-8") as file:
            for r in csv.DictReader(file):
                if r["client"] == "all" and r["value"]:
                    key = r["variant"], r["metric"]
                    self.values.setdefault(key, {})[r["replication"]] = float(r["value"])

    def overview(self):
        """The table of variants: its means, and which is said to be the best."""
        table = self.comparison["overview"]
        self.expect("overview", [r["variant"] for r in table["rows"]] == self.names, "variants")
        for at, column in enumerate(table["columns"]):
            metric = column["metric"]
            cells = {r["variant"]: r["cells"][at] for r in table["rows"]}
            where = f"overview, {metric}"
            for name, cell in cells.items():
                row = self.means.get((name, "all", metric))
                mean = float(row["mean"]) if row else None
                if metric != "recovered":
                    self.expect(where, cell["mean"] == mean, f"{cell['mean']} is {mean}")
                self.cell_text(where, metric, cell, row)
            self.standings(where, metric, cells)

    def cell_text(self, where, metric, cell, row):
        if row is None:
            self.expect(where, cell["text"] == "-", cell["text"])
        elif metric == "recovered":
            # Those too short to tell are left out; in the summary they have not recovered.
            runs = int(row["replications"])
            back = round(float(row["mean"]) * runs)
            said = re.fullmatch(r"(\d+) of (\d+)", cell["text"])
            if said is None:
                self.expect(where, cell["text"] == "too short" and cell["mean"] is None and
                            back == 0, cell["text"])
                return
            self.expect(where, back == int(said[1]) and int(said[2]) <= runs, cell["text"])
            self.expect(where, near(cell["mean"], back / int(said[2])), cell["text"])
        else:
            number, _, unit = cell["text"].partition(" ")
            scale = {"%": 0.01, "/s": 1.0}.get(unit, UNITS.get(unit))
            said = scale is not None and near(float(number.replace(",", "")) * scale,
                                              cell["mean"])
            self.expect(where, said, f"{cell['text']} is {cell['mean']}")

    def tell_all(self, cells):
        """Whether all replications of all variants tell whether they recover."""
        return all(cells[n]["text"].endswith(
            f" of {self.means[n, 'all', 'recovered']['replications']}") for n in self.names)

    def standings(self, where, metric, cells):
        """The best mean; as good is what Holm's test over the others does not tell from it."""
        sign = -1 if metric in HIGHER_IS_BETTER else 1
        ranked = [n for n in self.names if cells[n]["mean"] is not None]
        if len(ranked) < 2:
            return
        best = min(ranked, key=lambda n: sign * cells[n]["mean"])
        tests = []
        for name in ranked:
            if name == best:
                continue
            own, other = self.values[name, metric], self.values[best, metric]
            if metric == "recovered" and not self.tell_all(cells):
                return  # which of them tell is not in the files
            pairs = [(own[r], other[r]) for r in own if r in other]
            if len(pairs) < 2:
                return
            tests.append((p_value(metric, pairs), name, pairs))
        tests.sort(key=lambda t: t[0])
        told, holds = set(), True
        for i, (p, name, pairs) in enumerate(tests):
            bound = 0.05 / (len(tests) - i)
            if abs(p - bound) < 1e-3 * bound:
                return  # too close to call
            holds = holds and p <= bound
            mean = sum(a for a, _ in pairs) / len(pairs)
            base = sum(b for _, b in pairs) / len(pairs)
            is_share = ("rate" in metric and "attempt" not in metric) or metric in (
                "recovered", "error_budget_used")
            small = abs(mean - base) < 0.001 if is_share else abs(mean - base) < 0.01 * abs(base)
            if holds and not small:
                told.add(name)
        good = [n for n in ranked if n not in told]
        for name in self.names:
            wanted = "none"
            if name in good and told:
                wanted = "best" if len(good) == 1 else "as_good"
            self.expect(where, cells[name]["standing"] == wanted,
                        f"{name} is {cells[name]['standing']}, not {wanted}")

    def expect(self, sentence, condition, what):
        self.checked += 1
        if not condition:
            self.problems.append((sentence, what))

    def spoken(self, name):
        """As in sentences."""
        parts = re.fullmatch(r"([A-Za-z][\w-]*)=([A-Za-z][\w-]*)", name)
        if not parts or parts[2] in ("true", "false"):
            return name
        if parts[2] == "none":
            return name if parts[1] == "mode" else f"no {parts[1]}"
        return f"{parts[2]} {parts[1]}"

    def row(self, variant, client, noun):
        return self.rows.get((variant, client, self.labels.get(noun, noun)))

    # --- Parts of a sentence ---

    def share(self, sentence, row, direction, said):
        """success rises from A % to B %"""
        mean, before = 100 * float(row["mean"]), 100 * float(row["baseline_mean"])
        self.expect(sentence, row["significant"] == "yes", "is not significant")
        self.expect(sentence, (mean > before) == (direction == "rises"), f"{before} to {mean}")
        for text, value in zip(said, (before, mean)):
            off = abs(float(text) - value)
            self.expect(sentence, off <= 0.06 * min(value, 100 - value) + 1e-3, f"{text}: {value}")
        self.expect(sentence, said[0] != said[1], "both are said to be the same")

    def amount(self, sentence, variant, client, text):
        """One amount: a factor, percent, points, or in the metric's unit."""
        text = re.sub(r" \([^)]*\)$", "", text)
        if text == "recovery at once instead of later":
            row = self.row(variant, client, "recovery_s")
            self.expect(sentence, float(row["mean"]) == 0, "is not at once")
            return
        factor = re.fullmatch(rf"({NUMBER}) times the (.*)", text)
        if factor:
            row = self.row(variant, client, factor[2])
            if row is None:
                self.expect(sentence, False, f"no metric: {factor[2]}")
                return
            ratio = float(row["mean"]) / float(row["baseline_mean"])
            self.expect(sentence, near(float(factor[1]), ratio, 0.06), f"{factor[1]}: {ratio}")
            self.expect(sentence, row["significant"] == "yes", "is not significant")
            return
        said = re.fullmatch(rf"({NUMBER}) ?(percentage points|/s|[a-zµ%]*) (\w+) (.*)", text)
        if not said or said[3] not in MORE | LESS:
            self.expect(sentence, False, f"cannot be read: {text}")
            return
        row = self.row(variant, client, said[4])
        if row is None:
            self.expect(sentence, False, f"no metric: {said[4]}")
            return
        difference = float(row["difference"])
        self.expect(sentence, (difference > 0) == (said[3] in MORE), f"{text}: {difference}")
        self.expect(sentence, row["significant"] == "yes", f"{text}: not significant")
        if said[2] == "percentage points":
            size = abs(100 * difference)
        elif said[2] == "%":
            size = abs(100 * float(row["relative_difference"]))
        else:
            size = abs(difference) / UNITS.get(said[2], 1.0)
        self.expect(sentence, near(float(said[1]), size, 0.06), f"{text}: {size}")

    def nouns(self, sentence, variant, client, text, test, what):
        for noun in re.split(r", | and | or ", text):
            row = self.row(variant, client, noun)
            self.expect(sentence, row is not None and test(row), f"{noun}: {what}")

    def recoveries(self, sentence):
        """Back after the fault: a and b 3.1 s; c not by the end of the run"""
        body = re.fullmatch(r"Back after the (?:fault|surge|disturbance): (.*)\.", sentence)[1]
        key = re.match(r"[^=]*=", self.base)
        for part in body.split("; "):
            said = re.fullmatch(
                rf"(.*?) (not by the end of the run|too short to tell|at once|({NUMBER}) ?(\w+))"
                r"( in (\d+) of (\d+) runs)?(?: \((\d+) too short to tell\))?", part)
            for name in re.split(r", | and ", said[1]):
                full = next((n for n in self.names if name in (n, n[len(key[0]):] if key else n)),
                            None)
                if full is None:
                    self.expect(sentence, False, f"no variant: {name}")
                    continue
                mean = self.means[full, "all", "recovered"]
                # Of the replications those that do not tell count as not recovered.
                told = int(mean["replications"]) - int(said[8] or 0)
                if said[2] == "too short to tell":
                    self.expect(sentence, float(mean["mean"]) == 0, f"{name} recovers")
                    continue
                recovered = float(mean["mean"]) * int(mean["replications"]) / told
                time = self.means.get((full, "all", "recovery_s"))
                if said[2] == "not by the end of the run":
                    self.expect(sentence, recovered == 0, f"{name} recovers")
                    continue
                share = float(said[6]) / float(said[7]) if said[5] else 1.0
                self.expect(sentence, near(share, recovered), f"{name}: {recovered}")
                if time is None:
                    self.expect(sentence, False, f"{name}: no recovery_s")
                    continue
                mean = float(time["mean"])
                if said[2] == "at once":
                    self.expect(sentence, mean == 0, f"{name}: {mean}")
                else:
                    value = float(said[3]) * UNITS[said[4]]
                    self.expect(sentence, near(value, mean, 0.06), f"{name}: {mean}")

    def budgets(self, sentence):
        """deploy uses of the error budget of o: a at least 0.9 % (0.8 % of a year's); b 1.7 %"""
        event, slo, body = re.fullmatch(r"(.*?) uses? of the error budget of (.*?): (.*)\.",
                                        sentence).groups()
        for part in body.split("; "):
            said = re.fullmatch(
                rf"(.*?) (at least )?({NUMBER}) %(?: \(({NUMBER}) % of a year's\))?", part)
            row = next((r for r in self.slos if said and r["slo"] == slo and r["event"] == event
                        and r["variant"] == said[1]), None)
            if row is None:
                self.expect(sentence, False, f"no row of slo.csv: {part}")
                continue
            used = 100 * float(row["budget_used"])
            self.expect(sentence, near(float(said[3]), used), f"{said[1]}: {used}")
            self.expect(sentence, bool(said[2]) == (row["ended"] != row["replications"]),
                        f"{said[1]}: {row['ended']} of {row['replications']} events have ended")
            if said[4]:
                year = 100 * float(row["year_budget_used"])
                self.expect(sentence, near(float(said[4]), year), f"{said[1]}: {year}")

    # --- A sentence ---

    def read(self, sentence):
        if " of the error budget of " in sentence and " use" in sentence.split(": ")[0]:
            self.budgets(sentence)
            return
        if sentence.startswith("Back after the "):
            self.recoveries(sentence)
            return
        rest, client, variant = sentence, "all", None
        for name in sorted({c for _, c, _ in self.means}, key=len, reverse=True):
            if rest.startswith(name + ": "):
                rest, client = rest[len(name) + 2:], name
        for name in sorted(self.names, key=lambda n: len(self.spoken(n)), reverse=True):
            if name != self.base and rest.startswith(self.spoken(name)):
                variant, rest = name, rest[len(self.spoken(name)):]
                break
        if variant is None:
            self.expect(sentence, False, "names no variant")
            return
        base = re.escape(self.spoken(self.base))
        short = re.escape(self.base.split("=", 1)[-1])
        base = f"(?:{base}|{short})"
        if rest.startswith(": "):
            rest = rest[2:]
            for name in sorted({c for _, c, _ in self.means}, key=len, reverse=True):
                if rest.startswith(name + " "):
                    rest, client = rest[len(name) + 1:], name
        row = lambda noun: self.row(variant, client, noun)
        many = r"\(95 % CI [^)]*\)"
        end = r"(?=\.(?: |$)|, with )"
        while rest.strip(" ."):
            rest = rest.lstrip(" ,").removeprefix(". ").lstrip(" ")
            for pattern, act in (
                (rf"([\w ]+?) (rises|falls) from ({NUMBER}) % with {base} to ({NUMBER}) %"
                 rf"(?: {many})?{end}",
                 lambda m: self.share(sentence, row(m[1][0].lower() + m[1][1:]), m[2],
                                      (m[3], m[4]))),
                (rf"never recovers \(0 of (\d+) runs; {base} in (\d+) of \d+\)",
                 lambda m: self.counts(sentence, row("recovered"), 0, m[2], m[1])),
                (rf"recovers in all (\d+) runs \({base} in (\d+) of \d+\)",
                 lambda m: self.counts(sentence, row("recovered"), m[1], m[2], m[1])),
                (rf"recovers in (\d+) of (\d+) runs \({base} in (\d+) of \d+\)",
                 lambda m: self.counts(sentence, row("recovered"), m[1], m[3], m[2])),
                (rf"(?:It has|has) (.*?) (?:than|of) {base}(?: {many})?{end}",
                 lambda m: self.amount(sentence, variant, client, m[1])),
                (r"with (.*?)\.(?: |$)", lambda m: self.amounts(sentence, variant, client, m[1])),
                (rf"does not differ significantly from {base} in (.*?)\.",
                 lambda m: self.nouns(sentence, variant, client, m[1],
                                      lambda r: r["significant"] == "no", "is significant")),
                (r"No significant difference in (.*?)\.",
                 lambda m: self.nouns(sentence, variant, client, m[1],
                                      lambda r: r["significant"] == "no", "is significant")),
                (rf"(?:is practically the same as {base} in|Practically the same:) (.*?)\.",
                 lambda m: self.nouns(sentence, variant, client, m[1], self.is_small, "differs")),
                (r"(?:makes no difference to|Same) (.*?)\.",
                 lambda m: self.nouns(sentence, variant, client, m[1], self.is_same, "differs")),
                (r"Neither recovers in any of \d+ runs\.",
                 lambda m: self.expect(sentence, float(row("recovered")["mean"]) == 0, "recovers")),
                (r"Both recover in (\d+) of (\d+) runs only\.",
                 lambda m: self.counts(sentence, row("recovered"), m[1], m[1], m[2])),
                (rf"Recovers in (\d+) of (\d+) runs, {base} in (\d+): too few runs to tell apart\.",
                 lambda m: self.counts(sentence, row("recovered"), m[1], m[3], m[2])),
                (rf"Whether (they recover|it recovers|{base} recovers) is not known: the runs "
                 r"(?:end before recovery\.hold is over|are too short to tell)\.",
                 lambda m: self.expect(sentence, row("recovered") is None or
                                       not row("recovered")["difference"], "it is known")),
            ):
                found = re.match(pattern, rest)
                if found:
                    act(found)
                    rest = rest[found.end():]
                    break
            else:
                self.expect(sentence, False, f"cannot be read: {rest}")
                return

    @staticmethod
    def is_same(row):
        """But for rounding."""
        return abs(float(row["difference"])) <= 1e-9 * abs(float(row["mean"]))

    def is_small(self, row):
        if row["unit"] == "1" and not row["metric"].endswith(("amplification", "_variance")):
            return abs(float(row["difference"])) < 0.001
        return abs(float(row["relative_difference"])) < 0.01

    def counts(self, sentence, row, own, others, runs):
        self.expect(sentence, near(float(own) / float(runs), float(row["mean"])), "own count")
        self.expect(sentence, near(float(others) / float(runs), float(row["baseline_mean"])),
                    "count of the baseline")

    def amounts(self, sentence, variant, client, text):
        """Parts are split where a number begins."""
        for part in re.split(rf"(?:, | and )(?={NUMBER} |{NUMBER}/s|recovery at once)", text):
            self.amount(sentence, variant, client, part)

    def all_sentences(self):
        for sentence in self.comparison["sentences"]:
            self.read(sentence)
        # Latency is that of successes: how long refusals take is no speed.
        for sentence in self.comparison["sentences"]:
            self.expect(sentence, not re.search(r"mean latency(?! of successes)", sentence),
                        "says the latency of failures, too")


def check(program, scenarios, seed):
    rng = random.Random(seed)
    wrong = sentences = checked = results = tries = 0
    while results < scenarios and tries < 20 * scenarios:
        tries += 1
        text = rng.choice([lambda: draw(rng)[0], lambda: Graph(rng).text(), lambda: mixed(rng)])()
        varied = rng.choice(VARIED)
        with tempfile.TemporaryDirectory() as folder:
            path, out = Path(folder) / "drawn.toml", Path(folder) / "out"
            path.write_text(text, encoding="utf-8")
            done = subprocess.run([program, "compare", path, "--vary", varied, "--replications",
                                   str(rng.choice([3, 6])), "--quiet", "--out", out],
                                  capture_output=True, text=True, check=False)
            if done.returncode == 3:
                continue  # what is varied does not fit
            if done.returncode != 0:
                sys.exit(f"{text}\n{varied}\n{done.stderr}")
            told = Told(out)
            told.all_sentences()
            told.overview()
        results += 1
        sentences += len(told.comparison["sentences"])
        checked += told.checked
        for sentence, problem in told.problems:
            wrong += 1
            print(f"{varied}: {sentence}\n    {problem}")
        if told.problems:
            print(text)
    print(f"{results} comparisons, {sentences} sentences, {checked} checks: {wrong} disagree")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--scenarios", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sys.exit(1 if check(arguments.program, arguments.scenarios, arguments.seed) else 0)


if __name__ == "__main__":
    main()
