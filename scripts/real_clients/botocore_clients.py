#!/usr/bin/python3
"""Clients of botocore, some of all: reality.py starts a few of these processes.

Speaks as js_clients.cjs does: configuration in, "ready" out, start time in, report out.

SPDX-License-Identifier: MIT
"""

import concurrent.futures
import json
import os
import platform
import statistics
import sys
import threading
import time

import botocore
import botocore.config
import botocore.exceptions
import botocore.session

THREADS = 150
CONNECTIONS = 100  # of each client; they are opened when they are needed
SWITCH_INTERVAL_S = 0.0005  # a thread that computes gives way to one that is due
WARM_UP_ROUNDS = 3
WARM_UP_CALLS = 3  # of a client at once


def make_clients(configuration):
    session = botocore.session.Session()
    retries = {"mode": configuration["mode"]}
    if configuration["max_attempts"]:
        retries["total_max_attempts"] = configuration["max_attempts"]
    timeout_ns = configuration["timeout_ns"]
    settings = botocore.config.Config(
        retries=retries, max_pool_connections=CONNECTIONS, parameter_validation=False,
        read_timeout=timeout_ns / 1e9 if timeout_ns else None)
    return [session.create_client(
        "dynamodb", region_name="us-east-1", config=settings, aws_access_key_id="none",
        aws_secret_access_key="none", endpoint_url=f"http://127.0.0.1:{configuration['port']}")
        for _ in range(configuration["clients"])]


def warm_up(clients, pool):
    """Opens connections. Successes leave the full retry quota of standard mode as it is."""
    for _ in range(WARM_UP_ROUNDS):
        for client in clients:
            calls = [pool.submit(client.list_tables) for _ in range(WARM_UP_CALLS)]
            for call in calls:
                call.result()
    times = []
    for client in clients:
        began = time.monotonic_ns()
        client.list_tables()
        times.append(time.monotonic_ns() - began)
    return statistics.median(times)


class Requests:
    """What the requests were, by time."""

    def __init__(self, start_ns):
        self.start_ns = start_ns
        self.submitted, self.late_ns, self.done = [], [], []

    def now_ns(self):
        return time.monotonic_ns() - self.start_ns

    def make(self, client, due_ns):
        """In a thread of the pool."""
        submitted = self.now_ns()
        self.submitted.append(submitted)
        self.late_ns.append(submitted - due_ns)
        ok = True
        try:
            client.list_tables()
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError):
            ok = False
        self.done.append((self.now_ns(), ok))


def main():
    configuration = json.loads(sys.stdin.readline())
    pool = concurrent.futures.ThreadPoolExecutor(THREADS)
    barrier = threading.Barrier(THREADS)
    for thread in [pool.submit(barrier.wait) for _ in range(THREADS)]:
        thread.result()
    clients = make_clients(configuration)
    round_trip_ns = warm_up(clients, pool)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    print(json.dumps({"ready": f"botocore {botocore.__version__}, "
                               f"Python {platform.python_version()}",
                      "round_trip_ns": round_trip_ns}), flush=True)
    requests = Requests(json.loads(sys.stdin.readline())["start_ns"])
    for due_ns, client in configuration["arrivals"]:
        time.sleep(max(0, due_ns - requests.now_ns()) / 1e9)
        pool.submit(requests.make, clients[client], due_ns)
    time.sleep(max(0, configuration["duration_ns"] - requests.now_ns()) / 1e9)
    print(json.dumps({"submitted": list(requests.submitted), "late_ns": list(requests.late_ns),
                      "done": list(requests.done), "cpu_s": time.process_time()}), flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # requests that are still under way would hold up any other exit
