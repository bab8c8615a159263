#!/usr/bin/python3
"""What `retrysim import urllib3` makes of urllib3's parameters decides as urllib3 itself does.

1,500 calls, with random parameters of `urllib3.util.Retry` and random answers, go through urllib3
and through `retrysim strategy` with the imported keys: the same number of attempts, and the same
delay before each. Suggested delays (Retry-After) stay below urllib3's longest backoff: it waits for
longer ones, too, where the simulation has the cap.

The seed is fixed; nothing is left to chance. Exit status: 77 if urllib3 is not installed.

SPDX-License-Identifier: MIT
"""

import argparse
import csv
import io
import random
import re
import subprocess
import sys
from unittest import mock

SKIPPED = 77
CONFIGURATIONS = 30
CALLS = 50  # of each
RETRIED = [429, 500, 502, 503, 504]


def random_answers(rng):
    """(status, Retry-After in seconds or None) of one attempt after the other."""
    while True:
        status = rng.choice([200, 500, *RETRIED])
        suggests = status in (429, 503) and rng.random() < 0.5
        yield status, rng.choice([1, 7, 119]) if suggests else None


def urllib3_decides(retry, answers):
    """The answers of a call, and the delay after each; None after the last."""
    from urllib3.exceptions import MaxRetryError
    from urllib3.response import HTTPResponse
    taken = []
    for status, suggested in answers:
        response = HTTPResponse(status=status,
                                headers={"Retry-After": str(suggested)} if suggested else {})
        taken.append([status, suggested, None])
        if not retry.is_retry("GET", status, bool(suggested)):
            break
        try:
            retry = retry.increment("GET", "/", response=response)
        except MaxRetryError:
            break
        with mock.patch("time.sleep") as sleep:
            retry.sleep(response)
        taken[-1][2] = sum(call.args[0] for call in sleep.call_args_list)
    return taken


def imported_keys(program, parameters):
    """KEY=VALUE of each line below [client.web.retry]."""
    done = subprocess.run([program, "import", "urllib3", "-", "--client", "web"], input=parameters,
                          text=True, capture_output=True, check=True)
    table = done.stdout.partition("[client.web.retry]\n")[2].partition("\n\n")[0]
    keys = dict(re.findall(r"^(\S+) = (\S+)", table, re.MULTILINE))
    assert keys.pop("mode") == '"custom"'
    return [f"{key}={value}" for key, value in keys.items()]


def strategy_decides(program, keys, calls):
    """The delay after each answer; None after the last of a call."""
    rows = io.StringIO()
    writer = csv.writer(rows)
    writer.writerow(["call", "response"])
    for number, call in enumerate(calls, 1):
        for status, suggested, _ in call:
            writer.writerow([number, f"{status}+retry-after={suggested}s" if suggested else status])
    settings = [word for key in keys for word in ("--set", key)]
    done = subprocess.run([program, "strategy", "--mode", "custom", "--calls", "-",
                           "--format", "csv", *settings], input=rows.getvalue(), text=True,
                          capture_output=True, check=True)
    return [float(row["delay_s"]) if row["decision"] == "retry" else None
            for row in csv.DictReader(io.StringIO(done.stdout))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    try:
        import urllib3
        from urllib3.util.retry import Retry
    except ImportError:
        print("urllib3 is missing (Debian: python3-urllib3)")
        return SKIPPED
    rng = random.Random(1)
    calls = wrong = 0
    for _ in range(CONFIGURATIONS):
        total, factor = rng.randrange(9), rng.choice([0, 0.1, 0.5, 1, 3])
        retry = Retry(total=total, backoff_factor=factor, status_forcelist=RETRIED)
        played = [urllib3_decides(retry, random_answers(rng)) for _ in range(CALLS)]
        keys = imported_keys(program, f"{{total: {total}, backoff_factor: {factor}, "
                                      f"status_forcelist: {RETRIED}}}")
        expected = [delay for call in played for _, _, delay in call]
        found = strategy_decides(program, keys, played)
        if len(found) != len(expected):
            print(f"total {total}, factor {factor}: {len(found)} decisions, not {len(expected)}")
            wrong += 1
        for theirs, ours in zip(expected, found):
            if (theirs is None) != (ours is None) or abs((theirs or 0) - (ours or 0)) > 1e-9:
                print(f"total {total}, factor {factor}: urllib3 {theirs}, retrysim {ours}")
                wrong += 1
        calls += len(played)
    print(f"urllib3 {urllib3.__version__}: {calls} calls, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
