#!/usr/bin/python3
"""What `retrysim import tenacity` makes of Tenacity's parameters decides as Tenacity itself does.

Random `stop` and `wait` strategies and random outcomes, in Tenacity's own loop. Exit status: 77 if
Tenacity is not installed.

SPDX-License-Identifier: MIT
"""

import importlib.metadata
import json
import sys
from unittest import mock

import peers


class Unavailable(Exception):
    """What is retried."""


class Refused(Exception):
    """What is not."""


def play(retrying, answers):
    """The answers that a call takes, and the delay after each; None after the last."""
    import tenacity
    taken = []

    def attempt():
        answer = answers[len(taken)]
        taken.append((answer, None))
        if answer.response == "503":
            raise Unavailable
        if answer.response == "400":
            raise Refused

    def sleep(seconds):
        taken[-1] = (taken[-1][0], float(seconds))

    def uniform(low, high):
        return low + (high - low) * taken[-1][0].draw

    with mock.patch("tenacity.wait.random.uniform", uniform):
        try:
            retrying.copy(sleep=sleep)(attempt)
        except (tenacity.RetryError, Refused):
            pass
    return taken


def random_wait(rng):
    """(name, arguments) of a strategy."""
    first, most = rng.choice([0.05, 0.5, 1, 4]), rng.choice([3, 60])
    base = rng.choice([2, 3])
    return rng.choice([
        ("wait_fixed", first),
        ("wait_exponential", {"multiplier": first, "max": most, "exp_base": base}),
        ("wait_random_exponential", {"multiplier": first, "max": most, "exp_base": base}),
        ("wait_exponential_jitter", {"initial": first, "max": most, "exp_base": base, "jitter": 0}),
    ])


def policies(program):
    import tenacity
    rng = peers.generator()
    for_ever = [[*peers.answers(rng, ["503"], rng.randrange(20)), peers.Answer("200", 0)]
                for _ in range(peers.CALLS)]
    unconfigured = tenacity.Retrying(retry=tenacity.retry_if_exception_type(Unavailable))
    yield peers.Played("defaults", ["--mode", "custom", "--sdk", "tenacity"],
                       [play(unconfigured, call) for call in for_ever])
    for _ in range(peers.POLICIES):
        attempts = rng.randrange(1, 9)
        name, arguments = random_wait(rng)
        make = getattr(tenacity, name)
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(attempts),
            wait=make(**arguments) if isinstance(arguments, dict) else make(arguments),
            retry=tenacity.retry_if_exception_type(Unavailable))
        calls = [play(retrying, peers.answers(rng, ["200", "400", *["503"] * 6], attempts))
                 for _ in range(peers.CALLS)]
        parameters = json.dumps({"stop_after_attempt": attempts, name: arguments})
        yield peers.Played(parameters, peers.imported(program, "tenacity", parameters), calls)


def main():
    program = peers.options(__doc__).program
    try:
        import tenacity  # noqa: F401
    except ImportError:
        print("Tenacity is missing (Debian: python3-tenacity)")
        return peers.SKIPPED
    version = importlib.metadata.version("tenacity")
    return peers.compare(program, f"Tenacity {version}", policies(program))


if __name__ == "__main__":
    sys.exit(main())
