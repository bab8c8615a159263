"""Plays sequences through `retrysim strategy --calls`.

SPDX-License-Identifier: MIT
"""

import csv
import io
import json
import subprocess

BILLION = 1_000_000_000
COLUMNS = ["call", "pause_s", "takes_s", "response", "draw"]


class StrategyFailed(Exception):
    """The program did not do what it was told; the message is its own."""


def _seconds(nanoseconds):
    return f"{nanoseconds // BILLION}.{nanoseconds % BILLION:09}"


def _suggestion(answer, headers):
    """What `retrysim strategy` is told of the first of these headers; empty if there is none."""
    for header, value in answer["headers"].items():
        if header not in headers:
            continue
        if not value:
            break
        unit = "s" if header == "retry-after" and value.isdigit() else ""
        return f"+retry-after={value}{unit}"
    return ""


def response_text(answer, headers):
    """An answer as `retrysim strategy` reads it; `headers` are those that suggest delays."""
    transport = answer.get("transport")
    if transport is not None:
        return "timeout" if transport.endswith("timeout") else "connect"
    text = str(answer["status"])
    if answer["code"] is not None:
        text += ":" + answer["code"]
    return text + _suggestion(answer, headers)


def command(program, oracle, sequence):
    words = [program, "strategy", "--mode", oracle.mode, "--sdk", oracle.version,
             "--api", sequence["service"], "--calls", "-", "--format", "json"]
    settings = list(oracle.settings)
    if sequence["max_attempts"] is not None:
        settings.append(f"max_attempts={sequence['max_attempts']}")
    if sequence["long_poll"]:
        words.append("--long-poll")
    for setting in settings:
        words += ["--set", setting]
    return words


def calls_file(oracle, sequence):
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for number, call in enumerate(sequence["calls"], 1):
        pause = _seconds(call["pause"])
        for answer in call["answers"]:
            known = oracle.as_known(answer, sequence["service"])
            rows.writerow([number, pause, _seconds(answer["takes"]),
                           response_text(known, oracle.headers), repr(answer["draw"])])
            pause = ""
    return text.getvalue()


def play(program, oracle, sequence):
    """What the strategy decides: for each call a list of rows, one for each attempt."""
    words = command(program, oracle, sequence)
    done = subprocess.run(words, input=calls_file(oracle, sequence), capture_output=True, text=True)
    if done.returncode != 0:
        raise StrategyFailed(f"{' '.join(words)}: {done.stderr}")
    calls = [[] for _ in sequence["calls"]]
    for row in json.loads(done.stdout):
        calls[row["call"] - 1].append(row)
    return calls
