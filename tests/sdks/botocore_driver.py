#!/usr/bin/python3
"""Plays sequences through the AWS SDK for Python (botocore) and says what it did.

README.md describes what is read and written. What is replaced: the HTTP session, the clock and
sleeping, and random.random. Everything else is botocore's own.

SPDX-License-Identifier: MIT
"""

import copy
import json
import math
import os
import random
import sys
import threading
import time

# Whoever takes a reference to these while botocore is imported gets the replacements.
START_S = 1_000
BILLION = 1_000_000_000


class World:
    """What the SDK is told about time and chance."""

    def __init__(self):
        self.now = 0  # nanoseconds
        self.draw = 0.0
        self.slept = []  # the sleeps between attempts, in seconds
        self.waited = 0  # for send tokens, in nanoseconds

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += round(seconds * BILLION)

    def time(self):
        return START_S + self.now / BILLION

    def random(self):
        return self.draw


world = World()
time.sleep = world.sleep
time.time = world.time
random.random = world.random

import botocore  # noqa: E402
import botocore.awsrequest  # noqa: E402
import botocore.config  # noqa: E402
import botocore.exceptions  # noqa: E402
import botocore.retries.adaptive  # noqa: E402
import botocore.retries.bucket  # noqa: E402
import botocore.retries.quota  # noqa: E402
import botocore.session  # noqa: E402

# Service of the sequence: botocore's name and an operation that needs no input.
SERVICES = {
    "cloudsearch": ("cloudsearch", "list_domain_names"),
    "dynamodb": ("dynamodb", "list_tables"),
    "dynamodb-streams": ("dynamodbstreams", "list_streams"),
    "ec2": ("ec2", "describe_regions"),
    "glacier": ("glacier", "list_vaults"),
    "kinesis": ("kinesis", "list_streams"),
    "organizations": ("organizations", "describe_organization"),
    "route53": ("route53", "list_hosted_zones"),
    "s3": ("s3", "list_buckets"),
    "sqs": ("sqs", "list_queues"),
    "sts": ("sts", "get_caller_identity"),
}


class WaitingCondition(threading.Condition):
    """A condition whose wait lets the virtual time pass, by at least a nanosecond."""

    def wait(self, timeout=None):
        step = max(1, math.ceil(timeout * BILLION))
        world.waited += step
        world.now += step
        return True


botocore.retries.bucket.threading = type(sys)("threading")
botocore.retries.bucket.threading.Lock = threading.Lock
botocore.retries.bucket.threading.Condition = WaitingCondition


def remember(cls, made):
    """Lets the instances of a class be read after botocore has made them."""
    original = cls.__init__

    def init(self, *args, **kwargs):
        original(self, *args, **kwargs)
        made[cls.__name__] = self

    cls.__init__ = init


made = {}
remember(botocore.retries.quota.RetryQuota, made)
remember(botocore.retries.bucket.TokenBucket, made)
remember(botocore.retries.adaptive.RateClocker, made)


class Body:
    """The rest of a response, as urllib3 would give it."""

    def __init__(self, text):
        self.text = text.encode()

    def stream(self, *_args, **_kwargs):
        if self.text:
            yield self.text
        self.text = b""

    def read(self, *_args, **_kwargs):
        text, self.text = self.text, b""
        return text


class Player:
    """The HTTP session of one client: answers what the sequence says."""

    def __init__(self):
        self.answers = []
        self.attempts = []

    def begin(self, answers):
        self.answers = iter(answers)
        self.attempts = []
        world.slept.clear()
        world.waited = 0

    def describe_last(self):
        """Adds to the last attempt what the SDK has made of it by now."""
        if not self.attempts:
            return
        last = self.attempts[-1]
        last["delay"] = world.slept.pop() if world.slept else None
        assert not world.slept, "more than one sleep between two attempts"
        if "RetryQuota" in made:
            last["quota"] = made["RetryQuota"].available_capacity
        if "TokenBucket" in made:
            last["measured_rate"] = made["RateClocker"].measured_rate
            last["fill_rate"] = made["TokenBucket"].max_rate

    def send(self, request):
        self.describe_last()
        self.attempts.append({"sent": world.now, "waited": world.waited / BILLION})
        world.waited = 0
        answer = next(self.answers)
        world.now += answer["takes"]
        world.draw = answer["draw"]
        url = request.url
        transport = answer.get("transport")
        if transport == "refused":
            raise botocore.exceptions.EndpointConnectionError(endpoint_url=url, error="refused")
        if transport == "reset":
            raise botocore.exceptions.ConnectionClosedError(
                endpoint_url=url, error="reset", request=request)
        if transport == "connect-timeout":
            raise botocore.exceptions.ConnectTimeoutError(endpoint_url=url, error="timeout")
        if transport == "timeout":
            raise botocore.exceptions.ReadTimeoutError(endpoint_url=url, error="timeout")
        response = botocore.awsrequest.AWSResponse(
            url, answer["status"], answer["headers"], Body(answer["body"]))
        response.content  # botocore's session reads it, too
        return response


def keep_retry_tables_apart(session):
    """In legacy mode a client of Organizations writes its own meaning of 429 into the table that
    later clients of the session share. Here each client gets a table as in a new session."""
    loader = session.get_component("data_loader")
    load = loader.load_data
    loader.load_data = lambda name: copy.deepcopy(load(name)) if name == "_retry" else load(name)


def play(session, sequence):
    service, operation = SERVICES[sequence["service"]]
    retries = {"mode": sequence["mode"]}
    if sequence["max_attempts"] is not None:
        retries["total_max_attempts"] = sequence["max_attempts"]
    world.now = 0
    made.clear()
    client = session.create_client(
        service, region_name="us-east-1", aws_access_key_id="id", aws_secret_access_key="key",
        config=botocore.config.Config(retries=retries))
    player = Player()
    client._endpoint.http_session = player
    calls = []
    for call in sequence["calls"]:
        world.now += call["pause"]
        player.begin(call["answers"])
        try:
            getattr(client, operation)()
            succeeded = True
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError):
            succeeded = False
        player.describe_last()
        calls.append({"succeeded": succeeded, "ended": world.now, "attempts": player.attempts})
    return {"calls": calls}


def main():
    for name in [n for n in os.environ if n.startswith(("AWS_", "BOTO"))]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    print(json.dumps({"sdk": "botocore", "version": botocore.__version__}), flush=True)
    session = botocore.session.Session()
    keep_retry_tables_apart(session)
    for line in sys.stdin:
        print(json.dumps(play(session, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
