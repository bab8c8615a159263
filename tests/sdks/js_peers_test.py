#!/usr/bin/python3
"""Keys decide as the library for JavaScript does whose options they express.

Random options and random answers go through cockatiel, p-retry, axios-retry, got or the gRPC client
of grpc-js, by js/peers_driver.js, and through `retrysim strategy`. Exit status: 77 if the libraries
are not installed.

SPDX-License-Identifier: MIT
"""

import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys

import peers

DRIVER = pathlib.Path(__file__).resolve().parent / "js" / "peers_driver.js"
HALF_A_MILLISECOND = 0.5001e-3  # where a library rounds to the nearest millisecond


@dataclasses.dataclass(frozen=True)
class Policy:
    """A library's options, and the options of `retrysim strategy` that express them."""

    options: dict
    words: list
    responses: list
    attempts: int  # at most
    suggesting: tuple = ()  # the responses that may suggest a delay
    within: float = peers.ROUNDING


def backoff(base_ms, **keys):
    base = f"{base_ms!r}ms"
    return {"backoff.base": base, "backoff.throttle_base": base,
            **{f"backoff.{name}": value for name, value in keys.items()}}


def both(jitter):
    return {"jitter": jitter, "throttle_jitter": jitter}


# Options of the libraries are in milliseconds, Retry-After in seconds.
FAILURES = ["200", "400", *["503"] * 6]


def cockatiel(rng, _):
    retries = rng.randrange(8)
    first, cap = rng.choice([1, 64, 100, 128]), rng.choice([500, 30000])
    kind = rng.choice(["constant", "iterable", "noJitter", "fullJitter", "halfJitter",
                       "decorrelatedJitter", "default"])
    keys = {"max_retries": retries}
    if kind == "constant":
        options = {"constant": first}
        keys |= backoff(first, factor=1, cap="none", jitter="none")
    elif kind == "iterable":
        times = [rng.randrange(2000) for _ in range(rng.randrange(1, 5))]
        options = {"iterable": times}
        keys["delays"] = json.dumps([f"{time}ms" for time in times])
    elif kind in ("decorrelatedJitter", "default"):
        options = {}
        if kind == "default":
            first, cap = 128, 30000
        else:
            options = {"generator": kind + "Generator", "initialDelay": first, "maxDelay": cap}
        keys |= backoff(first, cap=f"{cap}ms", **both("decorrelated-v2"))
    else:
        options = {"generator": kind + "Generator", "initialDelay": first, "maxDelay": cap}
        jitter = {"noJitter": "none", "fullJitter": "full", "halfJitter": "equal"}[kind]
        keys |= backoff(first, factor=2, cap=f"{cap}ms", **both(jitter))
        if jitter != "none":
            keys["backoff.quantum"] = "1ms"
    return Policy({"maxAttempts": retries, "backoff": options}, peers.in_words(keys), FAILURES,
                  retries + 1)


def p_retry(rng, _):
    retries, first = rng.randrange(9), rng.choice([1, 100, 1000])
    factor, cap = rng.choice([1, 2, 3]), rng.choice([None, 700, 4000])
    spread = rng.random() < 0.5
    options = {"retries": retries, "minTimeout": first, "factor": factor, "randomize": spread}
    if cap is not None:
        options["maxTimeout"] = cap
    keys = {"max_retries": retries,
            **backoff(first, factor=factor, cap="none" if cap is None else f"{cap}ms",
                      **both("additive" if spread else "none"))}
    if spread:
        keys["backoff.jitter_before_cap"] = "true"
    return Policy(options, peers.in_words(keys), FAILURES, retries + 1,
                  within=HALF_A_MILLISECOND if spread else peers.ROUNDING)


def axios_retry(rng, _):
    retries, unit = rng.randrange(6), rng.choice([20, 100, 700])
    kind = rng.choice(["none", "linear", "exponential"])
    keys = {"max_retries": retries, "status_429": "transient", "retry_after": "minimum"}
    options, suggesting = {"retries": retries}, ("429", "503")
    if kind == "none":
        keys |= backoff(0, jitter="none")
    elif kind == "linear":
        options["linear"] = unit
        keys["delays"] = json.dumps([f"{unit * n}ms" for n in range(1, retries + 2)])
    else:
        # v to 1.2 v is 1.1 v, give or take an eleventh of it. Suggested delays are spread, too.
        options["exponential"], suggesting = unit, ()
        keys |= backoff(unit * 1.1, first_exponent=1, factor=2, cap="none",
                        jitter_share=repr(1 / 11), **both("proportional"))
    return Policy(options, peers.in_words(keys),
                  ["200", "400", "404", "connect", "429", "500", "502", "503", "503", "504"],
                  retries + 1, suggesting)


def got(rng, _):
    limit, most = rng.randrange(5), rng.choice([None, 1500, 5000])
    cap = "none" if most is None else f"{most}ms"
    suggests = most is None  # the cap, which got has on its own delays only
    options = {"limit": limit, "noise": 0, **({} if most is None else {"backoffLimit": most})}
    keys = {"max_retries": limit, "status_429": "transient", "retry_after": "replace",
            **backoff(1000, factor=2, cap=cap, jitter="none")}
    return Policy(options, peers.in_words(keys),
                  ["200", "400", "404", "429", "500", "502", "503", "503", "504"], limit + 1,
                  ("429", "503") if suggests else ())


def grpc_js(rng, program):
    attempts, first = rng.randrange(2, 8), rng.choice([0.05, 0.1, 1])
    policy = {"maxAttempts": attempts, "initialBackoff": f"{first}s",
              "maxBackoff": rng.choice(["1s", "5s"]), "backoffMultiplier": rng.choice([1.5, 2, 3]),
              "retryableStatusCodes": ["UNAVAILABLE"]}
    config = {"methodConfig": [{"name": [{"service": "echo.Echo"}], "retryPolicy": policy}]}
    if rng.random() < 0.5:
        config["retryThrottling"] = {"maxTokens": rng.choice([10, 20]),
                                     "tokenRatio": rng.choice([0.5, 1.25])}
    often = ["200", "200"] if "retryThrottling" in config else []
    return Policy(config, peers.imported(program, "grpc", json.dumps(config)), FAILURES + often,
                  attempts)


LIBRARIES = {"cockatiel": cockatiel, "p-retry": p_retry, "axios-retry": axios_retry, "got": got,
             "@grpc/grpc-js": grpc_js}


def read(driver):
    line = driver.stdout.readline()
    if not line:
        raise SystemExit("the driver ended; its message is above")
    return json.loads(line)


# The example of gRFC A6, with which the preset is.
EXAMPLE = {"methodConfig": [{"name": [{"service": "echo.Echo"}], "retryPolicy": {
    "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"]}}],
    "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}}
PRESETS = {"@grpc/grpc-js": Policy(EXAMPLE, ["--mode", "custom", "--sdk", "grpc-js"],
                                   ["200", "200", *FAILURES], 4)}


def policies(program, library, driver):
    rng = peers.generator()
    preset = [PRESETS[library]] if library in PRESETS else []
    for policy in [*preset, *(LIBRARIES[library](rng, program) for _ in range(peers.POLICIES))]:
        calls = [peers.answers(rng, policy.responses, policy.attempts, policy.suggesting, (1, 7))
                 for _ in range(peers.CALLS)]
        driver.stdin.write(json.dumps({
            "library": library, "options": policy.options,
            "calls": [[dataclasses.asdict(answer) for answer in call] for call in calls]}) + "\n")
        driver.stdin.flush()
        played = [[(answer, None if delay is None else delay / 1000)
                   for answer, delay in zip(call, delays)]
                  for call, delays in zip(calls, read(driver)["calls"])]
        yield peers.Played(json.dumps(policy.options), policy.words, played, policy.within)


def main():
    options = peers.options(__doc__, "modules", "library")
    if shutil.which("node") is None or not pathlib.Path(options.modules).is_dir():
        print(f"{options.library} is not installed; scripts/compare_sdks --install does that")
        return peers.SKIPPED
    command = ["env", f"NODE_PATH={options.modules}", "NODE_NO_WARNINGS=1", "node", str(DRIVER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as driver:
        name = f"{options.library} {read(driver)[options.library]}"
        status = peers.compare(options.program, name,
                               policies(options.program, options.library, driver))
        driver.stdin.close()
        return status or driver.wait()


if __name__ == "__main__":
    sys.exit(main())
