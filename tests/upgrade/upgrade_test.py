#!/usr/bin/env python3
"""What an earlier release wrote and read is still read, and `check --since` names every difference.

The folder of a release holds

    scenarios/     the scenarios that it shipped, with their CSV inputs
    changes/       a scenario for each row of the table of changes (sim/scenario/since.cpp), named
                   after the row, and unchanged.toml, which none concerns
    results/       result folders that it wrote, and the scenario that they are of
    defaults.csv   the keys that it knew, with their defaults
    presets.csv    its presets: the constants of each SDK, mode and API
    values.txt     the values of all scenarios above that neither the files nor defaults.csv give
    since.txt      what `check --since` says of the scenarios today

The last five are made by this program: those of a new release by --record with the program of that
release, once and for all; since.txt with --rewrite after every change of the table. A default, a
preset or a value that is not as before, and of which `check --since` says nothing, is a mistake.

Usage: upgrade_test.py --program PROGRAM [--plot SCRIPT] [--record | --rewrite] FOLDER

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOUND = []  # what is wrong


def wrong(text):
    FOUND.append(text)


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = str(pathlib.Path(path).resolve()), folder

    def run(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        environment["COLUMNS"] = "80"
        return subprocess.run([self.path, *map(str, arguments)], cwd=self.folder, text=True,
                              capture_output=True, env=environment, timeout=300)

    def good(self, *arguments):
        done = self.run(*arguments)
        if done.returncode != 0:
            wrong(f"{' '.join(map(str, arguments))}: status {done.returncode}\n{done.stderr}")
        return done.stdout

    def rows(self, what):
        return list(csv.DictReader(self.good("list", what, "--format", "csv").splitlines()))


# --- Values --------------------------------------------------------------------------------------


def values_of(listing):
    """The values that `check` prints, by key; with each whether the file gives it."""
    values, table, above = {}, "", ""
    for line in listing.splitlines():
        if line.startswith("["):
            table = line.strip("[]") + "."
        elif line.startswith("# "):
            above = line[2:]
        elif match := re.fullmatch(r"([^ ]+) = (.*?)(?:\s+# (.*))?", line):
            key, value, origin = match.groups()
            given = re.match(r"[^ ]+\.toml:\d+|--set", origin if origin is not None else above)
            values[table + key] = (value, given is not None)
    return values


def scenarios_of(folder):
    files = sorted((folder / "scenarios").glob("*.toml")) + sorted((folder / "changes").glob("*"))
    return [str(path.relative_to(folder)) for path in files]


def key_today(key):
    """A key of an earlier release under its name of today."""
    return key.replace(".retry.breaker.", ".retry.retry_breaker.")


def pattern_of(key):
    """The key of a table of any name: client.*.count."""
    return re.sub(r"^(client|service|fault|phase|expect)\.[^.]+\.", r"\1.*.",
                  re.sub(r"\.calls\.[^.]+\.", ".calls.*.", key))


# --- What check --since says ---------------------------------------------------------------------


def keys_said(text):
    """The keys that are named, and the lines that keep what was before with their tables."""
    keys, lines, tables = set(), [], []
    for line in text.splitlines():
        if match := re.match(r"  (\S+?)(:| \(|$)", line):
            keys.add(match.group(1))
    words = text.splitlines()
    for i, line in enumerate(words):
        if line.startswith("    As before"):
            tables = re.findall(r"\[([^]]+)\]", line)
        elif match := re.fullmatch(r"      (\S+ = .*)", line):
            lines.append((tables, match.group(1)))
    return keys, lines


def with_line(text, table, line):
    """The file with a line in a table, in place of the one that it has for the key."""
    key = line.split(" = ")[0]
    written, here, done = [], table == "", False
    if here:
        written.append(line)
        done = True
    for old in text.splitlines():
        if old.startswith("["):
            here = old.strip("[]") == table
        if here and old.split(" = ")[0].strip() == key:
            continue
        written.append(old)
        if here and old.startswith("["):
            written.append(line)
            done = True
    if not done:
        wrong(f"no table [{table}] for {line}")
    return "\n".join(written) + "\n"


# --- Tests ---------------------------------------------------------------------------------------


def test_values(program, folder, release, said):
    """Values that a file leaves open are those of before, or `check --since` names their keys. With
    the lines that it prints they are those of before."""
    before, scenario = {}, ""
    for line in (folder / "values.txt").read_text().splitlines():
        if line.startswith("["):
            scenario = line.strip("[]")
            before[scenario] = {}
        else:
            key, value = line.split(" = ", 1)
            before[scenario][key] = value
    defaults = {key_today(key): value for key, value in defaults_of(folder).items()}
    proven = set()
    for scenario in scenarios_of(folder):
        if scenario not in before:
            wrong(f"values.txt: nothing of {scenario}")
            continue
        now = values_of(program.good("check", scenario))
        for key, (_, given) in now.items():
            default = defaults.get(pattern_of(key))
            if default and not given:
                before[scenario].setdefault(key, default)
        keys, lines = said[scenario]
        for key, value in before[scenario].items():
            today = now.get(key_today(key), (None,))[0]
            if today == value:
                proven.add(pattern_of(key))
            elif key_today(key) not in keys and not has_sdk_line(lines, key):
                wrong(f"{scenario}: {key} was {value}, is {today}; check --since {release} "
                      f"does not say so: add a row to sim/scenario/since.cpp")
        if scenario.startswith("changes/") and lines:
            text = (folder / scenario).read_text()
            for tables, line in lines:
                for table in tables or [""]:
                    text = with_line(text, table, line)
            with tempfile.NamedTemporaryFile("w", suffix=".toml", dir=folder / "changes") as copy:
                copy.write(text)
                copy.flush()
                kept = values_of(program.good("check", copy.name))
            for key, value in before[scenario].items():
                today = kept.get(key_today(key), (None,))[0]
                if today != value:
                    wrong(f"{scenario} with the lines of check --since: {key} was {value}, "
                          f"is {today}")
    return proven


def defaults_of(folder):
    """The defaults of before that depend on nothing else, by key."""
    rows = csv.DictReader((folder / "defaults.csv").open())
    return {row["key"]: row["default"] for row in rows
            if row["default"] not in ("", "required", "by preset")}


def has_sdk_line(lines, key):
    """Whether a line names another release of the SDK, which decides all rules of the table."""
    return any(line.startswith("retry.sdk = ") and any(key.startswith(f"{t}.") for t in tables)
               for tables, line in lines)


def test_defaults(program, folder, said, proven):
    """Each key has the same default, or a changed one that a scenario shows."""
    named = {pattern_of(key) for keys, _ in said.values() for key in keys}
    today = {row["key"]: row for row in program.rows("keys")}
    for row in csv.DictReader((folder / "defaults.csv").open()):
        key, pattern = row["key"], row["key"].replace("service.*.calls.*.", "client.*.")
        if key_today(key) not in today:
            wrong(f"{key} is gone: a row for its name in sim/scenario/since.cpp, and key_today")
            continue
        default = today[key_today(key)]["default"]
        # An empty default depends on other keys: a scenario has to show that it is that of before.
        if default != row["default"] and pattern not in named and \
                not (default == "" and key in proven):
            wrong(f"{key}: the default was {row['default']!r}, is {default!r}; no row of "
                  "sim/scenario/since.cpp, with its scenario, says so")
        if key_today(key) != key:
            table = pattern.rsplit(".", 1)[0]
            if table not in named:
                wrong(f"{key} has another name, which no scenario of changes shows")


PRESET_NAMES = ("sdk", "mode", "revision", "api")


def test_presets(program, folder, release):
    """Each preset has the constants of before, or `check --since` says of a client of it that they
    are others."""
    today = {tuple(row[n] for n in PRESET_NAMES): row for row in program.rows("sdks")}
    for row in csv.DictReader((folder / "presets.csv").open()):
        sdk, mode, revision, api = names = tuple(row[n] for n in PRESET_NAMES)
        now = today.get(names)
        if now is not None and all(now[c] == v for c, v in row.items()):
            continue
        client = row["client"] if now is None or now["client"] != row["client"] else "-"
        text = [f'name = "preset"\nduration = "60s"\n[service.api]\nservice_time = "10ms"',
                '[client.web]\narrivals = { process = "poisson", rate = 1 }',
                'attempt_timeout = "1s"', f'retry.mode = "{mode}"']
        text += ['max_connections = "sdk"'] if client != "-" else []
        text += [f'retry.{n} = "{v}"' for n, v in zip(PRESET_NAMES, names)
                 if n != "mode" and v not in ("-", "default")]
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write("\n".join(text) + "\n")
            file.flush()
            keys, _ = keys_said(program.good("check", file.name, "--since", release))
        of_rules = any(key.startswith("client.web.retry.") for key in keys)
        of_client = any(re.match(r"client\.web\.(?!retry\.)", key) for key in keys)
        rules_differ = now is None or any(now[c] != v for c, v in row.items() if c != "client")
        if (rules_differ and not of_rules) or (now and now["client"] != row["client"]
                                               and not of_client):
            wrong(f"preset {names}: other constants, of which check --since says nothing: add a "
                  "row to sim/scenario/since.cpp")


def test_results(program, folder, plot):
    """Results are verified and read; so are the scenarios in them, which have all values."""
    with tempfile.TemporaryDirectory() as scratch:
        for result in sorted(p for p in (folder / "results").iterdir() if p.is_dir()):
            copy = pathlib.Path(scratch) / result.name
            shutil.copytree(result, copy)
            # What `fit` of 0.2.0 wrote was no result for itself, either: its scenario counts.
            is_result = "program" in json.loads((copy / "result.json").read_text())
            if is_result:
                page = copy.with_suffix(".html")
                program.good("verify", copy)
                program.good("report", copy, "--out", page)
                if not page.exists() or '"pictures":[{' not in page.read_text():
                    wrong(f"report of results/{result.name} made no page with pictures")
            scenario = copy / "scenario.toml"
            if scenario.exists():
                text = program.good("check", scenario, "--since", folder.name)
                if "Defaults" in text or "Rules of SDKs" in text:
                    wrong(f"{scenario} leaves values open:\n{text}")
            if plot is None or not is_result:
                continue
            drawn = subprocess.run([sys.executable, "-B", plot, str(copy)], text=True,
                                   capture_output=True, timeout=300)
            # Results of before 0.3 do not say what their pictures are.
            expected = "make a page of it with retrysim report" if folder.name == "0.2" else ""
            missing = "install python3-matplotlib" in drawn.stderr
            refused = expected and expected in drawn.stderr
            if drawn.returncode != 0 and not missing and not refused:
                wrong(f"plot.py of results/{result.name}:\n{drawn.stderr}")


def said_of(program, folder, release):
    """What `check --since` prints of each scenario."""
    return {s: program.good("check", s, "--since", release) for s in scenarios_of(folder)}


def record(program, folder):
    """Writes what is to be kept of the release that `program` is."""
    def write(name, header, rows):
        with (folder / name).open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)

    write("defaults.csv", ["key", "default"], [[r["key"], r["default"]]
                                               for r in program.rows("keys")])
    presets = program.rows("sdks")
    left_out = ("source", "versions", "compared_with")
    names = [n for n in presets[0] if n not in left_out]
    write("presets.csv", names, [[r[n] for n in names] for r in presets])
    defaults = defaults_of(folder)
    with (folder / "values.txt").open("w") as file:
        for scenario in scenarios_of(folder):
            file.write(f"[{scenario}]\n")
            for key, (value, given) in values_of(program.good("check", scenario)).items():
                if not given and defaults.get(pattern_of(key)) != value:
                    file.write(f"{key} = {value}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--plot")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--rewrite", action="store_true")
    parser.add_argument("folder")
    options = parser.parse_args()
    folder = pathlib.Path(options.folder).resolve()
    release = folder.name
    program = Program(options.program, folder)
    if options.record:
        record(program, folder)
    else:
        printed = said_of(program, folder, release)
        expected = folder / "since.txt"
        text = "".join(f"$ retrysim check {s} --since {release}\n{out}\n"
                       for s, out in printed.items())
        if options.rewrite:
            expected.write_text(text)
        elif text != expected.read_text():
            wrong("since.txt: check --since says something else; if it is right: --rewrite")
            for s, out in printed.items():
                if out not in expected.read_text():
                    wrong(f"$ retrysim check {s} --since {release}\n{out}")
        said = {s: keys_said(out) for s, out in printed.items()}
        proven = test_values(program, folder, release, said)
        test_defaults(program, folder, said, proven)
        test_presets(program, folder, release)
        test_results(program, folder, options.plot)
    for text in FOUND:
        print(text)
    sys.exit(1 if FOUND else 0)


if __name__ == "__main__":
    main()
