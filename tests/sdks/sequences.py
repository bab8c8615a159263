"""Random sequences of calls, answers and pauses, the same for the same seed.

A sequence is what one client lives through: calls one after the other, each with more answers than
it can have attempts. Its episodes (calm, outage, throttling, timeouts, anything) last for many
calls, so that a retry quota runs empty and fills again, and a send-rate limiter works for long.

SPDX-License-Identifier: MIT
"""

import random

import wire

MILLISECOND = 1_000_000
SECOND = 1_000 * MILLISECOND
MOST_ATTEMPTS = 12  # of any SDK's default, and of what a sequence sets
ANOTHER_TIME = "Mon, 01 Jan 2001 00:00:00 GMT"

THROTTLING_CODES = [
    "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException",
    "TooManyRequestsException", "ProvisionedThroughputExceededException",
    "TransactionInProgressException", "RequestLimitExceeded", "BandwidthLimitExceeded",
    "LimitExceededException", "RequestThrottled", "SlowDown", "PriorRequestNotComplete",
    "EC2ThrottledException"]
TRANSIENT_CODES = [
    "RequestTimeout", "RequestTimeoutException", "InternalError", "InternalFailure",
    "InternalServerError", "ServiceUnavailable", "ServiceUnavailableException",
    "IDPCommunicationError", "TimeoutError"]
CREDENTIAL_CODES = [
    "ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId",
    "UnrecognizedClientException", "InvalidAccessKeyId", "InvalidIdentityToken"]
SKEW_CODES = [
    "AuthFailure", "RequestTimeTooSkewed", "InvalidSignatureException", "SignatureDoesNotMatch",
    "RequestInTheFuture"]
OTHER_CODES = [
    "ValidationException", "ResourceNotFoundException", "AccessDeniedException",
    "ConditionalCheckFailedException", "ReplicatedWriteConflictException", "BadDigest",
    "SlowDownException", "HostThrottlesThis", "NothingThatAnyoneKnows"]
CODES = (2 * THROTTLING_CODES + 2 * TRANSIENT_CODES + CREDENTIAL_CODES + SKEW_CODES + OTHER_CODES)
STATUSES = [400, 400, 400, 400, 403, 404, 408, 409, 413, 419, 429, 440,
            500, 501, 502, 503, 504, 505, 509, 520, 598, 599]
TRANSPORTS = ["refused", "reset", "timeout", "connect-timeout"]

# What an attempt meets in an episode: weights of success, throttling, 5xx, no answer, any status
# with any code, a plain client error.
EPISODES = {
    "calm": (90, 3, 3, 2, 2, 0),
    "flaky": (50, 10, 20, 10, 8, 2),
    "outage": (2, 3, 60, 25, 10, 0),
    "throttled": (30, 60, 2, 2, 5, 1),
    "rejected": (3, 85, 5, 2, 5, 0),
    "timeouts": (10, 5, 10, 70, 5, 0),
    "anything": (25, 15, 15, 15, 25, 5),
}


def _header_values(rng):
    """Suggested delays as services write them, and some that no client can read."""
    headers = {}
    if rng.random() < 0.2:
        headers["x-amz-retry-after"] = rng.choice(
            [str(rng.randrange(0, 300)), str(rng.randrange(300, 3000)),
             str(rng.randrange(3000, 60_000)), "0", "-5", "soon", ""])
    if rng.random() < 0.2:
        headers["retry-after"] = rng.choice(
            [str(rng.randrange(0, 4)), str(rng.randrange(4, 60)), "0", "later"])
    names = list(headers)
    rng.shuffle(names)
    return {name: headers[name] for name in names}


def _error(rng, service, status, code):
    headers, body = wire.error(service, code, rng)
    return {"status": status, "code": code, "headers": headers | _header_values(rng), "body": body}


def _draw(rng, draws):
    """A multiple of 1/draws, now and then the smallest or the largest."""
    whole = rng.choices([rng.randrange(draws), 0, draws - 1], [18, 1, 1])[0]
    return whole / draws


def _answer(rng, oracle, service, weights):
    kind = rng.choices(range(6), weights)[0]
    if kind == 0:
        headers, body = wire.success(service)
        answer = {"status": 200, "code": None, "headers": headers, "body": body}
    elif kind == 1:
        status = rng.choice([400, 400, 400, 503, 429, 403])
        answer = _error(rng, service, status, rng.choice(THROTTLING_CODES))
    elif kind == 2:
        code = rng.choice(
            [None, None, "InternalError", "InternalServerError", "ServiceUnavailable"])
        answer = _error(rng, service, rng.choice([500, 500, 502, 503, 503, 504]), code)
    elif kind == 3:
        answer = {"transport": rng.choice(TRANSPORTS)}
    elif kind == 4:
        answer = _error(rng, service, rng.choice(STATUSES), rng.choice(CODES + 10 * [None]))
    else:
        answer = _error(rng, service, 400, rng.choice(OTHER_CODES))
    slow = answer.get("transport") in ("timeout", "connect-timeout") or rng.random() < 0.03
    answer["takes"] = round(rng.expovariate(1) * (3 * SECOND if slow else 20 * MILLISECOND)) + 1
    answer["draw"] = _draw(rng, oracle.draws)
    if oracle.clock_skew and answer.get("code") in SKEW_CODES:
        answer["headers"]["date"] = ANOTHER_TIME
    return answer


def make(seed, oracle):
    """The sequence of this seed for an SDK (see oracles.py)."""
    rng = random.Random(f"{oracle.name} {seed}")
    names = list(oracle.services)
    name = rng.choices(names, [oracle.services[n].weight for n in names])[0]
    service = oracle.services[name]
    max_attempts = rng.choice([None, None, None, 1, 2, 3, 4, 6, 9, MOST_ATTEMPTS])
    pauses = rng.choice([0, 5 * MILLISECOND, 100 * MILLISECOND, SECOND])
    calls = []
    for _ in range(rng.randint(1, 4)):
        weights = EPISODES[rng.choice(list(EPISODES))]
        for _ in range(rng.choice([10, 20, 60, 90])):
            pause = rng.expovariate(1) * (60 * SECOND if rng.random() < 0.01 else pauses)
            answers = [_answer(rng, oracle, service, weights)
                       for _ in range((max_attempts or MOST_ATTEMPTS) + 1)]
            calls.append({"pause": round(pause), "answers": answers})
    return {"seed": seed, "mode": oracle.mode, "service": name, "max_attempts": max_attempts,
            "long_poll": rng.random() < oracle.long_poll.get(name, 0), "calls": calls}
