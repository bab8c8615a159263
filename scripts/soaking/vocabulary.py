"""What the program under test lists: keys, presets, distributions and metrics.

SPDX-License-Identifier: MIT
"""

import dataclasses
import json
import re
import subprocess
import tempfile
import tomllib
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Key:
    """One row of `retrysim list keys`."""

    scope: str  # the tables it stands in: "client.*"; "" is the top level
    name: str  # within the scope: "retry.mode"
    kind: str  # duration, number, count, boolean, word, text, file, distribution or distributions
    words: tuple  # what a word may be
    else_word: str  # allowed beside a number or duration: "unlimited"; "" if nothing is
    also_word: str  # a second one: "sdk", as the SDK of the preset has it by default; "" if none is
    low: float
    high: float
    above_low: bool
    default: str  # as TOML; "" if there is none, or if the preset decides
    required: bool
    when: str  # "throttle.rate != unlimited"; "" if it always applies

    @property
    def pattern(self):
        return f"{self.scope}.{self.name}" if self.scope else self.name


@dataclasses.dataclass(frozen=True)
class Preset:
    mode: str
    revision: str
    sdk: str
    api: str
    defaults: dict  # full name of a retry key -> its value: "retry.quota.capacity" -> 500


@dataclasses.dataclass(frozen=True)
class Release:
    """One row of `retrysim list releases`."""

    sdk: str  # with its version: "boto3@1.44.0"
    mode: str  # in which it starts, if none is given
    revision: str
    presets: tuple  # what it can be configured to, with its own defaults; `sdk` has the version


class Vocabulary:
    """Everything that the generator may choose from."""

    def __init__(self, keys, presets, distributions, metrics, sdks_with_defaults=(), releases=()):
        self.keys = keys
        self.presets = presets
        self.distributions = distributions  # (name, tuple of its parameters)
        self.metrics = metrics
        self.sdks_with_defaults = sdks_with_defaults  # for which a key may be "sdk"
        self.releases = {release.sdk: release for release in releases}
        self.places = {}  # path -> where it belongs, as found by rules.Scenario
        self.by_scope = {}
        for key in keys:
            self.by_scope.setdefault(key.scope, {})[key.name] = key


KINDS = {"duration": "duration", "number": "number", "count": "count", "true or false": "boolean",
         "text": "text", "text or list of texts": "names", "CSV file": "file",
         "duration or distribution": "distribution",
         "whole number or distribution": "counts",
         "list of distributions": "distributions"}
# SDKs that have the retries of another one, and versions of their own.
BUILT_ON = {"boto3": "botocore", "aws-cli": "botocore", "powershell": "dotnet",
            "smithy-core": "js-v3", "smithy-kotlin": "kotlin"}
RANGES = [(r"from (\S+) to (\S+)", False), (r"above (\S+), at most (\S+)", True),
          (r"above (\S+) and below (\S+)", True),
          (r">= (\S+)()", False), (r"> (\S+)()", True), (r"()<= (\S+)", False)]


def read_range(text):
    """"from 0 to 1" as (0, 1, False): lowest, highest, whether the lowest itself is too low."""
    if not text:
        return float("-inf"), float("inf"), False
    for pattern, above in RANGES:
        if found := re.fullmatch(pattern, text):
            low, high = found.groups()
            return float(low or "-inf"), float(high or "inf"), above
    raise ValueError(f"a range of `retrysim list keys` reads \"{text}\"; teach read_range")


def read_key(row):
    scope, _, name = row["key"].rpartition(".*.")
    scope += ".*" if scope else ""
    found = re.fullmatch(r'(.*?)(?: or "([^"]+)")?(?: or "([^"]+)")?', row["type"])
    kind, else_word, also_word = found.group(1), found.group(2) or "", found.group(3) or ""
    words = ()
    if kind not in KINDS:
        words = tuple(kind.split(", "))
        if len(words) < 2:
            raise ValueError(f"the type of {row['key']} reads \"{kind}\"; teach read_key")
    low, high, above = read_range(row["range"])
    default = row["default"]
    required = default == "required"
    return Key(scope, name, "word" if words else KINDS[kind], words, else_word, also_word, low,
               high, above, "" if required or default == "by preset" else default, required,
               row["applies if"])


def rows_of(program, what):
    done = subprocess.run([str(program), "list", what, "--format", "json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def preset_table(row):
    """The table [client.X.retry] that chooses a row of `retrysim list modes`."""
    return {key: row[key] for key in ("mode", "revision", "sdk", "api")
            if row[key] and (key, row[key]) != ("api", "default")}


def flat(table, prefix):
    """{"quota": {"cost": 5}} as {"retry.quota.cost": 5}."""
    result = {}
    for name, value in table.items():
        if isinstance(value, dict):
            result.update(flat(value, f"{prefix}.{name}"))
        else:
            result[f"{prefix}.{name}"] = value
    return result


def base_sdk(sdk):
    """The SDK of the presets that one has, with or without a version."""
    name = sdk.partition("@")[0]
    return BUILT_ON.get(name, name)


def read_presets(program, rows):
    """Rows as those of `list modes`, with what each says for every retry key: `retrysim check`
    fills in the defaults of a scenario with one client group for each."""
    lines = ['name = "presets"', "duration = 1", "[service.s]", "service_time = 1"]
    for number, row in enumerate(rows):
        table = ", ".join(f'{key} = "{value}"' for key, value in preset_table(row).items())
        lines += [f"[client.p{number}]", 'arrivals = { process = "once" }',
                  f"retry = {{ {table} }}"]
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        path = Path(folder) / "presets.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        done = subprocess.run([str(program), "check", str(path)], check=True, capture_output=True,
                              text=True)
    clients = tomllib.loads(done.stdout)["client"]
    return [Preset(row["mode"], row["revision"], row["sdk"], row["api"],
                   flat(clients[f"p{number}"]["retry"], "retry"))
            for number, row in enumerate(rows)]


def read_releases(program, rows, modes):
    """The rows of `list releases` with the presets that each offers, and its defaults of them."""
    offered = []
    for row in rows:
        sdk, revisions = f"{row['sdk']}@{row['version']}", row["revisions"].split(", ")
        own = [{**mode, "sdk": sdk} for mode in modes if mode["sdk"] == base_sdk(sdk) and
               (mode["revision"] == "" or mode["revision"] in revisions)]
        if not own:
            raise ValueError(f"no preset is that of {sdk}; teach BUILT_ON what it is built on")
        offered += own
    presets = read_presets(program, offered)
    return [Release(f"{row['sdk']}@{row['version']}", row["mode"], row["revision"],
                    tuple(p for p in presets if p.sdk == f"{row['sdk']}@{row['version']}"))
            for row in rows]


def load(program):
    """The vocabulary of a program."""
    # What is uncertain changes no run but those of --uncertain (tests/validation/uncertain.py).
    keys = [read_key(row) for row in rows_of(program, "keys")
            if not row["key"].startswith("uncertain.")]
    # Percentiles are those of the lognormal law, unless another is named. A histogram is read from
    # a file that somebody has measured.
    forms = [(row["distribution"].replace("percentiles", "lognormal"),
              tuple(row["parameters"].split())) for row in rows_of(program, "distributions")
             if row["distribution"] != "buckets"]
    metrics = [row["metric"] for row in rows_of(program, "metrics")]
    sdks = {row["sdk"] for row in rows_of(program, "sdks") if row["client"] != "-"}
    modes = rows_of(program, "modes")
    return Vocabulary(keys, read_presets(program, modes), forms, metrics, sdks,
                      read_releases(program, rows_of(program, "releases"), modes))
