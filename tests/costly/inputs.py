"""Scenarios, logs and configurations that are valid and dear, each in a way of its own: for tests
of limits.

`case(number, command)` is the same one for the same number. A kind is a function that writes the
scenario from random sizes; its name is the name of the kind. Without a limit most of these run for
minutes or take all the memory that there is.

SPDX-License-Identifier: MIT
"""

import inspect
import random

NO_RETRY = 'retry = { mode = "none" }'


class Case:
    """A scenario, or what else a command reads, and the files beside it."""

    file, tool = "a.toml", "-"

    def __init__(self, kind, random_numbers, name=None):
        self.kind = name or kind.__name__
        self.lines = []
        self.files = {}
        self.limit_mib = random_numbers.choice([150, 250, 400, 700]) if random_numbers else 1000
        self.duration, self.interval, self.head = "100s", "1s", ""
        kind(self, random_numbers)

    def add(self, text):
        self.lines.append(inspect.cleandoc(text))

    def service(self, name="s", servers='"unlimited"', time="1ms", more=""):
        self.add(f'[service.{name}]\nservers = {servers}\nservice_time = "{time}"\n{more}')

    def client(self, name="c", calls="s", arrivals='process = "poisson", total_rate = 1000',
               retry=NO_RETRY, more=""):
        self.add(f'[client.{name}]\ncalls = "{calls}"\narrivals = {{ {arrivals} }}\n'
                 f"{retry}\n{more}")

    def first_service(self):
        names = (line.split(".")[1].split("]")[0] for line in self.lines
                 if line.startswith("[service."))
        return next(names, "-")

    def text(self):
        head = (f'name = "{self.kind}"\nduration = "{self.duration}"\n'
                f'interval = "{self.interval}"\nreplications = 1\n{self.head}')
        return head + "\n".join(self.lines) + "\n"


def rate(r, low, high):
    return f'process = "poisson", total_rate = {int(10 ** r.uniform(low, high))}'


def custom(attempts, base="1ms", more=""):
    """Retries by rules of one's own; `more`: further keys, each after a comma."""
    return (f'retry = {{ mode = "custom", max_attempts = {attempts}, '
            f'backoff.base = "{base}", backoff.jitter = "none"{more} }}')


# --- Calls ---------------------------------------------------------------------------------------


def fan_out(c, r):
    """Very many requests for one attempt."""
    c.service(more="parallel_calls = true")
    for i in range(r.choice([1, 20, 200, 1000])):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\ncount = {r.choice([100, 500, 1000])}\n'
              f'{NO_RETRY}\n' + r.choice(["", 'attempt_timeout = "500ms"', 'deadline = "caller"']))
    c.service("t", servers=r.choice([2, 100, '"unlimited"']), time=r.choice(["1ms", "1s", "100s"]))
    c.client(arrivals=rate(r, 0, 2), more=r.choice(["", 'attempt_timeout = "1s"']))


def alternatives(c, r):
    """Very many calls of which one is made, in some stages."""
    c.service()
    number, stages = r.choice([(4000, 1), (40000, 1), (2000, 20), (20, 1000), (1, 4000)])
    for stage in range(stages):
        for i in range(number):
            c.add(f'[service.s.calls.k{stage}x{i}]\nservice = "t"\nstage = {stage + 1}\n'
                  f'one_of = "x{stage}"\n{NO_RETRY}')
    c.service("t", servers=r.choice([2, '"unlimited"']))
    c.client(arrivals=rate(r, 1, 4), more=r.choice(["", 'attempt_timeout = "1s"']))


def by_chance(c, r):
    """Calls that are made by chance, in a random number, of which a few must succeed."""
    c.service(more="parallel_calls = true")
    for i in range(r.choice([100, 1000, 10000])):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\nshare = 0.5\nneed = 1\n'
              'on_failure = "ignore"\ncount = { distribution = "uniform", min = 0, max = 20 }\n'
              + NO_RETRY)
    c.service("t", servers=r.choice([2, '"unlimited"']), more="errors.unavailable = 0.5")
    c.client(arrivals=rate(r, 1, 4))


def deep(c, r):
    """A chain of very many services."""
    length = r.choice([100, 1000, 4000])
    for i in range(length):
        c.service(f"s{i}", time=r.choice(["0s", "1us", "1ms"]))
        if i + 1 < length:
            c.add(f'[service.s{i}.calls.k]\nservice = "s{i + 1}"\n'
                  + r.choice([NO_RETRY, custom(2), 'deadline = "caller"\n' + NO_RETRY]))
    c.client(calls="s0", arrivals=rate(r, 1, 4), more=r.choice(["", 'attempt_timeout = "1s"']))


def tree(c, r):
    """Each service calls all of the next level."""
    width, depth = r.choice([(3, 12), (10, 5), (30, 3)])
    for level in range(depth):
        for i in range(width):
            c.service(f"s{level}x{i}", more="parallel_calls = true")
            for k in range(width if level + 1 < depth else 0):
                c.add(f'[service.s{level}x{i}.calls.k{k}]\nservice = "s{level + 1}x{k}"\n'
                      + r.choice([NO_RETRY, custom(3)]))
    c.client(calls="s0x0", arrivals=rate(r, 0, 3))


def fallbacks(c, r):
    """Each call has another one instead, which fails, too."""
    c.service()
    length = r.choice([100, 1000])
    for i in range(length):
        last = i + 1 == length
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\ncount = {r.choice([1, 10])}\n'
              + ("" if last else f'on_failure = "fallback"\nfallback = "k{i + 1}"\n') + NO_RETRY)
    c.service("t", more="errors.unavailable = 0.9")
    c.client(arrivals=rate(r, 1, 4))


def callers_operation(c, r):
    """What calls take over from their callers, in very many groups."""
    for service in "st":
        c.service(service, more="parallel_calls = true")
    for i in range(r.choice([50, 500])):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\ncallee_operation = "caller"\n'
              f'callee_key = "caller"\ncount = {r.choice([1, 100])}\n{NO_RETRY}')
    c.client(arrivals=rate(r, 1, 3), more="operation.a.share = 1\noperation.b.share = 2")


def cached(c, r):
    """Caches with very many keys, at many instances, which restart."""
    c.service(more=f"instances = {r.choice([2, 100])}")
    for i in range(r.choice([1, 30])):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\ncache.capacity = 100000\n{NO_RETRY}')
    c.service("t")
    c.client(arrivals=rate(r, 4, 5), more="keys.count = 100000")
    for i in range(r.choice([1, 1000])):
        c.add(f'[fault.f{i}]\nservice = "s"\nstart = "{i * 10}ms"\nduration = "5ms"\n'
              "cold_restart = true")


# --- Instances -----------------------------------------------------------------------------------


def instances(c, r):
    """Balancers that go through very many instances."""
    balancing = r.choice(["least-connections", "round-robin", "random", "two-choices",
                          "peak-ewma"])
    ties = (f'balancing_ties = "{r.choice(["random", "first", "turns"])}"\n'
            if balancing in ("least-connections", "two-choices", "peak-ewma") else "")
    c.service(servers=r.choice([1, 100]), time=r.choice(["10ms", "1s"]),
              more=f'instances = {r.choice([100, 1000])}\nbalancing = "{balancing}"\n{ties}'
              "errors.unavailable = 0.3\n"
              + r.choice(["", 'queue.discipline = "processor-sharing"', "queue.capacity = 10"]))
    avoid = r.choice(["0", "100", '"unlimited"'])
    c.client(arrivals=rate(r, 4, 5),
             retry=custom(r.choice([3, 1000]), more=f", avoid_hosts = {avoid}"),
             more=r.choice(["", 'attempt_timeout = "100ms"']))


def own_balancers(c, r):
    """Very many clients with a balancer each."""
    clients, hosts = r.choice([(1000, 1000), (10000, 100), (100000, 10)])
    subset = r.choice(["", f"balancing_subset = {hosts // 2}\n"])
    c.service(servers=10, more=f'instances = {hosts}\nbalancer = "client"\n{subset}'
              f'balancing = "{r.choice(["least-connections", "round-robin", "random"])}"\n'
              "errors.unavailable = 0.5\n"
              + r.choice(["", 'health_check.interval = "10ms"\nhealth_check.timeout = "1ms"\n'])
              + r.choice(["", 'ejection.interval = "10ms"\nejection.max_ejection_percent = 50\n',
                          'accrual.max_failures = 1\naccrual.min_penalty = "1ms"\n']))
    c.client(arrivals=rate(r, 4, 5), retry=custom(3), more=f"count = {clients}")


def many_services(c, r):
    """Very many services with instances each."""
    number, hosts = r.choice([(60, 1000), (1000, 60), (5000, 1)])
    for i in range(number):
        c.service(f"s{i}", servers=r.choice([1, 30]),
                  more=f"instances = {hosts}" if hosts > 1 else "")
    names = ", ".join(f'"s{i}"' for i in range(number))
    c.add(f'[client.c]\ncalls = [{names}]\narrivals = {{ {rate(r, 4, 5)} }}\n{NO_RETRY}')


def scaled(c, r):
    """An autoscaler that looks very often, at very many servers."""
    c.service(servers=r.choice([1, 1000]), time=r.choice(["1s", "100s"]), more=(
        f"autoscaling.target = 0.5\nautoscaling.max = {r.choice([1000, 1000000000])}\n"
        f'autoscaling.interval = "{r.choice(["1us", "1ms"])}"\nautoscaling.delay = "10s"\n'
        'autoscaling.cooldown = "0s"'))
    c.client(arrivals=rate(r, 4, 6))


def shared_servers(c, r):
    """Very many attempts share servers."""
    c.service(servers=r.choice([1, 100]), time=r.choice(["1ms", "1s"]), more=(
        'queue.discipline = "processor-sharing"\n'
        + r.choice(["", f"instances = {r.choice([10, 1000])}\n"])
        + f'abandoned = "{r.choice(["serve", "abort"])}"'))
    c.client(arrivals=rate(r, 4, 6), retry=custom(3), more='attempt_timeout = "100ms"')


# --- Clients -------------------------------------------------------------------------------------


def loops(c, r):
    """Ten million clients that ask again and again."""
    c.limit_mib = r.choice([400, 700, 1200])
    c.service(servers=r.choice([10, '"unlimited"']))
    think = r.choice(['"1s"', '"1000s"', '{ distribution = "exponential", mean = "10s" }'])
    c.client(arrivals=f'process = "closed", think_time = {think}, '
             f'think_from = "{r.choice(["start", "end"])}"',
             more=f"count = {r.choice([1000000, 3000000, 10000000])}")


def herd(c, r):
    """All clients ask once, at one moment."""
    c.limit_mib = r.choice([400, 700, 1200])
    c.service(servers=r.choice([10, 100000]), time="1s",
              more=f'abandoned = "{r.choice(["serve", "drop-at-dequeue", "remove", "abort"])}"')
    c.client(arrivals='process = "once", start = "1s"', retry=custom(r.choice([1, 10])),
             more=f'count = {r.choice([100000, 1000000, 10000000])}\n'
             f'attempt_timeout = "{r.choice(["2s", "10s"])}"')


def listed(c, r):
    """A trace of very many requests."""
    number = r.choice([100000, 1000000])
    c.service(servers=10)
    c.files["trace.csv"] = "time_s\n" + "\n".join(
        f"{i * 100 / number:.6f}" for i in range(number)) + "\n"
    c.client(arrivals='process = "trace", file = "trace.csv"')


def profiled(c, r):
    """A rate, a capacity and a slowdown with very many points."""
    number = r.choice([100000, 1000000])
    c.files["rate.csv"] = "time_s,rate\n" + "\n".join(
        f"{i * 100 / number:.6f},{1000 + i % 7}" for i in range(number)) + "\n"
    c.files["capacity.csv"] = "time_s,capacity\n" + "\n".join(
        f"{i * 100 / number:.6f},{1 + i % 3}" for i in range(number)) + "\n"
    c.files["slow.csv"] = "in_service,factor\n" + "\n".join(
        f"{i},{1 + i * 1e-6:.6f}" for i in range(number)) + "\n"
    c.service(servers=r.choice([10, 1000]), more='profile = "capacity.csv"\n'
              'slowdown_curve = "table"\nslowdown_table = "slow.csv"')
    c.client(arrivals='process = "poisson", profile = "rate.csv"')


def bursts(c, r):
    """Bursts and pauses of a nanosecond."""
    c.duration = "100000s"
    c.interval = "1000s"
    c.service()
    c.client(arrivals=f'process = "on-off", total_rate = {r.choice([1e-6, 1, 100])}, on = "1ns", '
             f'off = "{r.choice(["1ns", "1us"])}"', more=f"count = {r.choice([1, 10000])}")


def jobs(c, r):
    """Very many jobs, which are looked at very often; several groups of them."""
    c.service(servers=r.choice([10, '"unlimited"']))
    for i in range(r.choice([1, 50])):
        c.client(f"c{i}", arrivals=f'process = "poll", total_rate = {r.choice([1000, 10000])}, '
                 f'job_time = "{r.choice(["1s", "100s"])}", base = "{r.choice(["1ms", "1s"])}", '
                 "factor = 1")


def groups(c, r):
    """Very many groups."""
    c.service(servers=100)
    for i in range(r.choice([500, 3000])):
        c.client(f"c{i}", arrivals=rate(r, 0, 2), retry=r.choice(
            [NO_RETRY, 'retry = { mode = "standard" }', 'retry = { mode = "adaptive" }']),
            more=r.choice(["", 'attempt_timeout = "10ms"', 'deadline = "1s"']))


def surges(c, r):
    """A rate that changes very often."""
    c.service(servers=10)
    c.client()
    for i in range(r.choice([1000, 5000])):
        c.add(f'[client.c.surge.x{i}]\nstart = "{i}ms"\nduration = "10s"\nfactor = 1.001')


def operations(c, r):
    """Very many kinds of requests, with limits of their own."""
    number = r.choice([1000, 20000])
    c.service(servers=10, more='throttle = { rate = 100000, burst = 100, scope = "operation" }')
    c.client(arrivals=rate(r, 4, 6))
    for i in range(number):
        c.add(f"[client.c.operation.o{i}]\nshare = 1\nwork = {1 + i % 3}")


def keyed(c, r):
    """A state of the retry strategy for each of very many keys."""
    clients, keys = r.choice([(1, 1000000), (100, 10000), (1000, 1000)])
    c.service(servers=10, more="errors.throttled = 0.5")
    mode = r.choice(["standard", "adaptive"])
    scope = "quota" if mode == "standard" else "rate_limit"
    c.client(arrivals=rate(r, 4, 5), retry=f'retry = {{ mode = "{mode}", {scope}.scope = "key" }}',
             more=f"count = {clients}\nkeys = {{ count = {keys}, popularity = \"zipf\" }}")


# --- Retries -------------------------------------------------------------------------------------


def retries(c, r):
    """Requests that are tried a million times."""
    c.service(servers=r.choice([10, '"unlimited"']), time=r.choice(["0s", "1us", "1ms"]),
              more="errors.unavailable = 1")
    c.client(arrivals=rate(r, 1, 4),
             retry=custom(r.choice([1000, 1000000, '"unlimited"']), r.choice(["1us", "1ms"])))


def delays(c, r):
    """A list of very many delays."""
    c.service(more="errors.unavailable = 1")
    number = r.choice([100, 3000])
    listed_ones = ", ".join(['{ distribution = "exponential", mean = "1ms" }'] * number)
    c.client(retry=f'retry = {{ mode = "custom", max_attempts = {number}, '
             f"delays = [{listed_ones}] }}")


def hedges(c, r):
    """Requests with very many attempts under way."""
    c.service(servers=r.choice([1, '"unlimited"']), time=r.choice(["1s", "100s"]),
              more=f'abandoned = "{r.choice(["serve", "remove", "abort"])}"\n'
              + r.choice(["", "instances = 1000\n", "errors.unavailable = 0.5\n"]))
    c.client(arrivals=rate(r, 0, 3), retry=custom(
        r.choice([100, 10000, 1000000]), more=f', hedging.delay = "{r.choice(["1us", "1ms"])}"'),
        more='deadline = "2s"')


def breakers(c, r):
    """Windows of very many attempts, for each of many clients."""
    c.service(servers=10, more="errors.unavailable = 0.5")
    clients, calls = r.choice([(1, 10000000), (100, 100000), (100000, 10)])
    kind = r.choice([f", client_throttle = {{ k = 2, window_calls = {calls} }}",
                     ', client_throttle = { k = 2, window = "1000s" }',
                     ', breaker = { failure_share = 0.9, window = "1000s" }',
                     ', budget = { kind = "window", share = 0.5, window = "1000s", slices = 1000 }',
                     ', guard = { failure_share = 0.9, sample = "1us", samples = 1000000 }'])
    c.client(arrivals=rate(r, 4, 6), retry=custom(5, more=kind), more=f"count = {clients}")


def pooled(c, r):
    """Connections for which very many requests wait."""
    c.add('[network]\nlatency = "1ms"\nconnect = "10ms"')
    c.service(servers=r.choice([10, 1000]))
    c.client(arrivals=rate(r, 4, 6), retry=custom(3), more=(
        f'max_connections = {r.choice([1, 1000])}\nattempt_timeout = "100ms"\n'
        + r.choice(["", 'deadline = "10s"\n']) + f"count = {r.choice([1, 10000])}"))


# --- Services ------------------------------------------------------------------------------------


def queued(c, r):
    """Queues that grow without end, in every order."""
    discipline = r.choice(["fifo", "lifo", "adaptive-lifo", "random", "priority", "codel"])
    c.service(servers=r.choice([1, 1000]), time=r.choice(["1ms", "1s"]), more=(
        f'queue.discipline = "{discipline}"\n'
        f'abandoned = "{r.choice(["serve", "drop-at-dequeue", "remove"])}"\n'
        + r.choice(["", 'queue.max_age = "5s"\n', 'timeout = "20s"\n',
                    "queue.drop_expired = true\n",
                    'reject_cost = "1ms"\nqueue.capacity = 1000\n'])))
    c.client(arrivals=rate(r, 4, 6), more=r.choice(
        ["", 'attempt_timeout = "10s"', 'deadline = "10s"',
         'attempt_timeout = { distribution = "exponential", mean = "10s" }']))


def far_away(c, r):
    """Messages that take minutes."""
    latency = r.choice(['"100s"', '{ distribution = "exponential", mean = "100s" }'])
    c.add(f"[network]\nlatency = {latency}")
    c.service()
    c.client(arrivals=rate(r, 4, 6))


def crashes(c, r):
    """Crashes of a service at which very many attempts wait, or hold a server."""
    hosts = r.choice([1, 1, 50, 1000])
    c.service(servers=r.choice([1000, '"unlimited"']), time=r.choice(["1s", "100s"]),
              more=f"instances = {hosts}" if hosts > 1 else "")
    if r.random() < 0.5:
        c.add(f'[service.s.calls.k]\nservice = "t"\n{NO_RETRY}')
    c.service("t", time="100s")
    c.client(arrivals=rate(r, 4, 6), retry=custom(r.choice([1, 3])))
    number = r.choice([10, 1000])
    for i in range(number):
        kind = r.choice(["crash", "cold_restart"])
        c.add(f'[fault.f{i}]\nservice = "s"\nstart = "{i * 50 / number + 1:.3f}s"\n'
              f'duration = "1s"\n{kind} = true\n' + r.choice(["", "speed = 0.5\n"]))


def held(c, r):
    """Instances with callers that wait, which time out and are aborted."""
    c.service(time="1ms", more=f'instances = {r.choice([100, 1000])}\nabandoned = "abort"')
    c.add(f'[service.s.calls.k]\nservice = "t"\n{NO_RETRY}')
    c.service("t", time="100s")
    c.client(arrivals=rate(r, 4, 5), more=r.choice(["", 'attempt_timeout = "1s"']))
    for i in range(r.choice([1, 100])):
        c.add(f'[fault.f{i}]\nservice = "s"\nstart = "{i + 1}s"\nduration = "500ms"\ncrash = true')


def faults(c, r):
    """Very many faults at once, with errors."""
    hosts = r.choice([1, 1, 10, 1000])
    number = r.choice([100, 1000, 5000])
    c.service(servers=10, more=f"instances = {hosts}" if hosts > 1 else "")
    c.client(arrivals=rate(r, 3, 5))
    for i in range(number):
        c.add(f'[fault.f{i}]\nservice = "s"\nstart = "{i}us"\nduration = "90s"\n'
              f'errors.unavailable = {0.1 / number}\nerrors.internal = {0.1 / number}')


def errors(c, r):
    """Very many kinds of errors."""
    number = r.choice([1000, 30000])
    at = r.choice(["", "errors.at = 0.5\n"])
    c.service(servers=10, more=at + "\n".join(
        f'errors."503:E{i}" = {0.5 / number}' for i in range(number)))
    c.client(arrivals=rate(r, 4, 5), retry=custom(3))


def tokens(c, r):
    """Very many tokens to remember, and attempts that wait for each other."""
    c.service(servers=r.choice([100, '"unlimited"']), time="1s", more=(
        f'idempotency = {{ window = "1000s", in_progress = '
        f'"{r.choice(["wait", "error", "execute"])}" }}'))
    c.client(arrivals=rate(r, 4, 6), retry=custom(10), more=(
        f'mutating = 1\nattempt_timeout = "{r.choice(["100ms", "2s"])}"\n'
        f"token_reuse = {r.choice([0, 0.9])}\ntoken_from = \"content\"\ncount = 10"))


def rows(c, r):
    """Clients that overtake each other at one row."""
    c.add('[network]\nlatency = { distribution = "exponential", mean = "10ms" }')
    c.service(servers='"unlimited"', more='model = "occ"')
    c.client(arrivals='process = "once"', retry=custom('"unlimited"', "0s"),
             more=f"count = {r.choice([1000, 100000, 1000000])}")


# --- Results -------------------------------------------------------------------------------------


def bins(c, r):
    """Very many bins."""
    c.limit_mib = r.choice([400, 1200, 4000])
    c.duration = r.choice(["1000s", "9000s"])
    c.interval = "1ms"
    for i in range(r.choice([1, 5])):
        c.service(f"s{i}")
        c.client(f"c{i}", calls=f"s{i}", arrivals='process = "poisson", total_rate = 1')


def phases(c, r):
    """Very many phases."""
    c.service(servers=2)
    for i in range(r.choice([1, 100])):
        c.client(f"c{i}")
    for i in range(r.choice([100, 2000])):
        c.add(f'[phase.p{i}]\nstart = "{i}ms"\nduration = "{r.choice(["1ms", "50s"])}"')


KINDS = [fan_out, alternatives, by_chance, deep, tree, fallbacks, callers_operation, cached,
         instances, own_balancers, many_services, scaled, shared_servers, loops, herd, listed,
         profiled, bursts, jobs, groups, surges, operations, keyed, retries, delays, hedges,
         breakers, pooled, queued, far_away, crashes, held, faults, errors, tokens, rows, bins,
         phases]



# --- Logs and configurations ---------------------------------------------------------------------


class Plain(Case):
    """Its lines as they are."""

    def text(self):
        return "\n".join(self.lines) + "\n"


class Log(Plain):
    file = "a.log"


class Configuration(Plain):
    file = "a.yaml"


def lines_of_log(c, r, number, served, status=lambda i: 200, request=lambda i: i, rate=1000):
    c.lines = ["time,duration,status,request"]
    c.lines += [f"{1700000000 + i / rate:.6f},{served(i):.6f},{status(i)},{request(i)}"
                for i in range(number)]


def of_many(c, r):
    """Very many lines."""
    lines_of_log(c, r, r.choice([100000, 500000]), lambda i: r.expovariate(100),
                 lambda i: 503 if r.random() < 0.1 else 200)


def of_one_moment(c, r):
    """All lines have one time."""
    lines_of_log(c, r, 100000, lambda i: r.choice([0, 0.01]), rate=1e12)


def of_ties(c, r):
    """All durations are zero, or the same."""
    duration = r.choice([0, 0.001, 1000])
    lines_of_log(c, r, 200000, lambda i: duration)


def of_seconds(c, r):
    """Whole seconds, each with very many lines."""
    lines_of_log(c, r, 200000, lambda i: r.expovariate(100), rate=r.choice([100, 50000]))
    c.lines[1:] = [line.replace(line[10:17], "", 1) for line in c.lines[1:]]


def of_retries(c, r):
    """Requests with very many lines each, which fail."""
    lines_of_log(c, r, 200000, lambda i: 0.001, lambda i: 503,
                 lambda i: i // r.choice([10, 100000]) if r else i)


def of_waiting(c, r):
    """All wait for all before them."""
    lines_of_log(c, r, r.choice([3000, 200000]), lambda i: i * r.choice([0.001, 0.01]))


def of_incidents(c, r):
    """Each other second is an incident of its own."""
    lines_of_log(c, r, 300000, lambda i: r.expovariate(100) * (1 + 9 * (i // 1000 % 2)),
                 lambda i: 503 if i // 1000 % r.choice([2, 20]) == 0 else 200)


def of_years(c, r):
    """Few lines in a very long time."""
    lines_of_log(c, r, r.choice([1000, 30000]), lambda i: 0.01, rate=r.choice([1e-6, 1e-3]))


def of_statuses(c, r):
    """All the statuses that there are."""
    lines_of_log(c, r, 200000, lambda i: r.lognormvariate(-5, 3), lambda i: i % 1000)


LOGS = [of_many, of_one_moment, of_ties, of_seconds, of_retries, of_waiting, of_incidents, of_years,
        of_statuses]


def envoy_pairs(c, r):
    """Each route with each cluster."""
    c.tool = "envoy"
    routes, clusters = r.choice([(400, 400), (1, 20000), (20000, 1), (5000, 5000)])
    c.lines = ["routes:"]
    c.lines += ["- {cluster: c, retry_policy: {retry_on: 5xx}}"] * routes
    c.lines += ["clusters:"]
    c.lines += [f"- {{name: d{i}, circuit_breakers: {{}}}}" for i in range(clusters)]


def envoy_named(c, r):
    """Each route has a cluster of its own."""
    c.tool = "envoy"
    number = r.choice([1000, 10000])
    c.lines = ["routes:"]
    c.lines += [f"- {{cluster: c{i}, retry_policy: {{retry_on: 5xx}}}}" for i in range(number)]
    c.lines += ["clusters:"]
    c.lines += [f"- {{name: c{i}, outlier_detection: {{}}}}" for i in range(number)]


def istio(c, r):
    """Very many hosts with rules each."""
    c.tool = "istio"
    for i in range(r.choice([500, 5000])):
        c.lines += [
            "---", "apiVersion: networking.istio.io/v1", "kind: VirtualService",
            f"metadata: {{name: s{i}}}",
            f"spec: {{hosts: [h{i}], http: [{{route: [{{destination: {{host: h{i}}}}}], "
            "retries: {attempts: 3}}]}",
            "---", "apiVersion: networking.istio.io/v1", "kind: DestinationRule",
            f"metadata: {{name: d{i}}}",
            f"spec: {{host: h{i}, trafficPolicy: "
            "{outlierDetection: {consecutive5xxErrors: 3}}}"]


def linkerd(c, r):
    """Very many profiles, or routes of one."""
    c.tool = "linkerd"
    profiles, routes = r.choice([(5000, 1), (1, 5000), (70, 70)])
    listed_ones = ", ".join(["{name: a, isRetryable: true, condition: {method: GET}}"] * routes)
    for i in range(profiles):
        c.lines += [
            "---", "apiVersion: linkerd.io/v1alpha2", "kind: ServiceProfile",
            f"metadata: {{name: s{i}}}",
            "spec: {retryBudget: {retryRatio: 0.2, minRetriesPerSecond: 10, ttl: 10s}, "
            f"routes: [{listed_ones}]}}"]


def resilience4j(c, r):
    """Very many retries and breakers."""
    c.tool = "resilience4j"
    number = r.choice([1000, 10000])
    c.lines = ["resilience4j: {retry: {instances: {"]
    c.lines += [f"a{i}: {{maxAttempts: 3}}," for i in range(number)]
    c.lines += ["}}, circuitbreaker: {instances: {"]
    c.lines += [f"a{i}: {{slidingWindowSize: 3}}," for i in range(number)]
    c.lines += ["}}}"]


def many_members(c, r):
    """A table of very many members that mean nothing."""
    c.tool = r.choice(["envoy", "polly", "urllib3", "tenacity"])
    c.lines = ["retry_policy: {retry_on: 5xx", *(f", x{i}: 1" for i in range(100000)), "}"]


def many_anchors(c, r):
    """Tables that are merged again and again."""
    c.tool = "envoy"
    c.lines = ["a0: &a0 {num_retries: 1}"]
    c.lines += [f"a{i}: &a{i} {{<<: *a{i - 1}, x{i}: 1}}" for i in range(1, r.choice([100, 600]))]
    c.lines += ["retry_policy: {retry_on: 5xx}"]


CONFIGURATIONS = [envoy_pairs, envoy_named, istio, linkerd, resilience4j, many_members,
                  many_anchors]
OF_COMMAND = {"fit": (LOGS, Log), "import": (CONFIGURATIONS, Configuration)}


def kind_of(number, command="run"):
    kinds, _ = OF_COMMAND.get(command, (KINDS, Case))
    return kinds[number % len(kinds)].__name__


def case(number, command="run"):
    kinds, made = OF_COMMAND.get(command, (KINDS, Case))
    return made(kinds[number % len(kinds)], random.Random(f"costly {number}"))
