"""Compares the retry decisions of a library with those of `retrysim strategy`.

A comparison plays random calls with many policies, first through the library itself, in whose loop
only clock, sleep, random numbers and transport are replaced, then through the program with the keys
that express the policy. The decision after each answer has to agree: whether there is a retry, and
the delay before it. Seeds are fixed; nothing is left to chance.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import dataclasses
import io
import random
import re
import subprocess

SKIPPED = 77  # the exit status if the library is not installed
POLICIES = 30
CALLS = 50  # with each policy
LEAST_CALLS = 1000
ROUNDING = 1.5e-9  # seconds: the program's delays are whole nanoseconds


@dataclasses.dataclass(frozen=True)
class Answer:
    """What an attempt gets, and the random number that is drawn after it."""

    response: str  # as `retrysim strategy` reads it: "503", "connect"
    draw: float  # in [0, 1)
    suggested: int | None = None  # Retry-After, in seconds

    @property
    def status(self):
        return int(self.response)

    @property
    def text(self):
        return self.response + (f"+retry-after={self.suggested}s" if self.suggested else "")


@dataclasses.dataclass(frozen=True)
class Played:
    """What a library made of the calls with one policy."""

    policy: str  # for people
    words: list  # options of `retrysim strategy` that express it
    calls: list  # for each the pairs (answer, delay in seconds before the next attempt or None)
    within: float = ROUNDING  # seconds: how far a delay may be from the program's


def answers(rng, responses, most, suggesting=(), suggestions=(1,)):
    """The answers to a call of up to `most` attempts: each of `responses` as often as it is there.

    Half of the answers that are in `suggesting` suggest a delay, one of `suggestions`.
    """
    made = []
    for _ in range(most):
        response = rng.choice(responses)
        suggests = response in suggesting and rng.random() < 0.5
        made.append(Answer(response, rng.random(), rng.choice(suggestions) if suggests else None))
    return made


def in_words(keys):
    """The options for a policy of mode custom with these keys."""
    return ["--mode", "custom"] + [word for key, value in keys.items()
                                   for word in ("--set", f"{key}={value}")]


def imported(program, kind, parameters):
    """The same for what `retrysim import` makes of the parameters of this kind."""
    done = subprocess.run([program, "import", kind, "-", "--client", "web"], input=parameters,
                          text=True, capture_output=True, check=True)
    table = done.stdout.partition("[client.web.retry]\n")[2].partition("\n\n")[0]
    keys = dict(re.findall(r"^(\S+) = (.+?)  #", table, re.MULTILINE))
    assert keys.pop("mode") == '"custom"'
    sdk = keys.pop("sdk", None)
    return in_words(keys) + (["--sdk", sdk.strip('"')] if sdk else [])


def _decisions(program, played):
    """{(call, attempt): delay in seconds, or None after the last} of the program."""
    rows = io.StringIO()
    writer = csv.writer(rows)
    writer.writerow(["call", "response", "draw"])
    for number, call in enumerate(played.calls, 1):
        writer.writerows([number, answer.text, repr(answer.draw)] for answer, _ in call)
    done = subprocess.run([program, "strategy", "--calls", "-", "--format", "csv", *played.words],
                          input=rows.getvalue(), text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(played.words)}: {done.stderr}")
    return {(int(row["call"]), int(row["attempt"])):
            float(row["delay_s"]) if row["decision"] == "retry" else None
            for row in csv.DictReader(io.StringIO(done.stdout))}


def _differences(played, decisions):
    """The number of the first attempt and both delays, of each call that differs."""
    for number, call in enumerate(played.calls, 1):
        for attempt, (_, theirs) in enumerate(call, 1):
            ours = decisions.get((number, attempt), "no such attempt")
            if theirs is None and ours is None:
                continue
            if (isinstance(theirs, float) and isinstance(ours, float)
                    and abs(theirs - ours) <= played.within):
                continue
            yield number, attempt, theirs, ours
            break


def compare(program, library, policies):
    """Prints differences and counts of the `Played` policies. The exit status of the comparison."""
    calls = attempts = retries = wrong = 0
    for played in policies:
        for number, attempt, theirs, ours in _differences(played, _decisions(program, played)):
            told = ", ".join(answer.text for answer, _ in played.calls[number - 1][:attempt])
            print(f"{played.policy}: call {number} ({told}), attempt {attempt}: "
                  f"{library} {theirs}, retrysim {ours}")
            wrong += 1
        calls += len(played.calls)
        attempts += sum(len(call) for call in played.calls)
        retries += sum(delay is not None for call in played.calls for _, delay in call)
    print(f"{library}: {calls} calls, {calls - wrong} agree; {attempts} attempts, "
          f"{retries} retries")
    if calls < LEAST_CALLS or retries < calls / 2:
        print(f"too few: expected {LEAST_CALLS} calls, and half as many retries as calls")
        return 1
    return 1 if wrong else 0


def options(text, *names):
    """The options of a comparison: the program, and others by their names."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    for name in ("program", *names):
        parser.add_argument(f"--{name}", required=True)
    return parser.parse_args()


def generator():
    """Random numbers with the fixed seed."""
    return random.Random(1)
