#!/usr/bin/python3
"""The system of tests/benchmarks/b1.toml in SimPy, in its ordinary style: a process for each
client, each request and each attempt. Prints the same figures as run_benchmark.

  simpy_model.py [clients=10000] [secs=100] [rate=1000] [seed=1]

Clients send `rate` requests/s together, each a Poisson process. Each of ten servers takes 9 ms in
the mean, exponentially distributed. An attempt times out after 1 s, and the service goes on with
it; there are up to three attempts, with full jitter on 100 ms and 200 ms. Exit status 77: SimPy is
not installed.

SPDX-License-Identifier: MIT
"""

import random
import sys
import time

if {"-h", "--help"} & set(sys.argv[1:]):
    print(__doc__)
    sys.exit()
try:
    import simpy
except ImportError:
    sys.exit(77)

SERVERS, SERVICE_MEAN_S, TIMEOUT_S = 10, 0.009, 1.0
ATTEMPTS_MAX, BACKOFF_BASE_S, BACKOFF_CAP_S = 3, 0.1, 10.0


class Model:
    def __init__(self, clients, rate, seed):
        self.random = random.Random(seed)
        self.environment = simpy.Environment()
        self.service = simpy.Resource(self.environment, capacity=SERVERS)
        self.events = self.requests = self.successes = 0
        self.latency_s = 0.0
        for _ in range(clients):
            self.environment.process(self.client(clients / rate))

    def client(self, mean_gap_s):
        while True:
            yield self.environment.timeout(self.random.expovariate(1 / mean_gap_s))
            self.environment.process(self.request())

    def request(self):
        self.events += 1  # the arrival
        self.requests += 1
        submitted = self.environment.now
        for number in range(ATTEMPTS_MAX):
            if number > 0:
                longest = min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2 ** (number - 1))
                yield self.environment.timeout(self.random.uniform(0, longest))
                self.events += 1  # the end of the backoff
            answer = self.environment.event()
            self.environment.process(self.attempt(answer))
            yield answer | self.environment.timeout(TIMEOUT_S)
            self.events += 1  # the timeout, cancelled or not
            if answer.triggered:
                self.successes += 1
                self.latency_s += self.environment.now - submitted
                return

    def attempt(self, answer):
        with self.service.request() as server:
            yield server
            yield self.environment.timeout(self.random.expovariate(1 / SERVICE_MEAN_S))
        self.events += 1  # the completion
        answer.succeed()


def main(arguments):
    options = {"clients": 10_000, "secs": 100, "rate": 1000, "seed": 1}
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name not in options or not value.isdigit() or int(value) == 0 and name != "seed":
            sys.exit(f"simpy_model: error: '{argument}' is not NAME=WHOLE_NUMBER with NAME one of "
                     f"{', '.join(options)}")
        options[name] = int(value)
    start_s = time.process_time()
    model = Model(options["clients"], options["rate"], options["seed"])
    model.environment.run(until=options["secs"])
    cpu_s = time.process_time() - start_s
    print(f"events={model.events} requests={model.requests} cpu_s={cpu_s:.6f} "
          f"ns_per_event={cpu_s * 1e9 / max(model.events, 1):.2f} "
          f"mean_ms={model.latency_s / max(model.successes, 1) * 1e3:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
