#!/usr/bin/python3
"""What `retrysim import urllib3` makes of urllib3's parameters decides as urllib3 itself does.

Random parameters of `urllib3.util.Retry` and random answers. Releases before 2.6.3 have no limit on
suggested delays (Retry-After), and their suggestions stay below that of the later ones.
Exit status: 77 if urllib3 is not installed.

SPDX-License-Identifier: MIT
"""

import inspect
import sys
from unittest import mock

import peers

RETRIED = [429, 500, 502, 503, 504]


def play(retry, answers):
    """The answers that a call takes, and the delay after each; None after the last."""
    from urllib3.exceptions import MaxRetryError
    from urllib3.response import HTTPResponse
    taken = []
    for answer in answers:
        headers = {"Retry-After": str(answer.suggested)} if answer.suggested else {}
        response = HTTPResponse(status=answer.status, headers=headers)
        if not retry.is_retry("GET", answer.status, bool(answer.suggested)):
            return [*taken, (answer, None)]
        try:
            retry = retry.increment("GET", "/", response=response)
        except MaxRetryError:
            return [*taken, (answer, None)]
        with mock.patch("time.sleep") as sleep:
            retry.sleep(response)
        taken.append((answer, float(sum(call.args[0] for call in sleep.call_args_list))))
    raise AssertionError("more attempts than answers")


def policies(program):
    import urllib3
    from urllib3.util.retry import Retry
    rng = peers.generator()
    # Without a status_forcelist it retries a 413, 429 or 503 that suggests a delay.
    suggesting = [[peers.Answer(rng.choice(["200", "400", "500", *["413", "429", "503"] * 6]), 0,
                                rng.choice([0, *[1, 7, 30000] * 5]))
                   for _ in range(11)] for _ in range(peers.CALLS)]
    yield peers.Played("defaults", ["--mode", "custom", "--sdk", f"urllib3@{urllib3.__version__}"],
                       [play(Retry(), call) for call in suggesting])
    limited = "retry_after_max" in inspect.signature(Retry).parameters
    suggestions = (1, 7, 119, 121, 700, *((30000,) if limited else ()))
    for _ in range(peers.POLICIES):
        parameters = {"total": rng.randrange(9), "backoff_factor": rng.choice([0, 0.1, 0.5, 1, 3])}
        responses, suggesting = ["200", "500", *map(str, RETRIED)], ("429", "503")
        if rng.random() < 0.7:
            parameters["status_forcelist"] = RETRIED
        else:
            suggesting = ("413", "429", "503")
            responses = ["200", "500", *suggesting * 6]
        if limited and rng.random() < 0.6:
            parameters["retry_after_max"] = rng.choice([0, 5, 120, 600, 50000])
        retry = Retry(**parameters)
        calls = [play(retry, peers.answers(rng, responses, parameters["total"] + 1, suggesting,
                                           suggestions))
                 for _ in range(peers.CALLS)]
        written = ", ".join(f"{name}: {value}" for name, value in parameters.items())
        yield peers.Played(written, peers.imported(program, "urllib3", f"{{{written}}}"), calls)


def main():
    program = peers.options(__doc__).program
    try:
        import urllib3
    except ImportError:
        print("urllib3 is missing (Debian: python3-urllib3)")
        return peers.SKIPPED
    return peers.compare(program, f"urllib3 {urllib3.__version__}", policies(program))


if __name__ == "__main__":
    sys.exit(main())
