"""Small scenarios in which one thing is dear: each is over in some hundred million instructions, of
which the dear thing takes so many at once that nobody could look at a limit in between unless the
program counts the work.

SPDX-License-Identifier: MIT
"""

from inputs import NO_RETRY, Case, custom


def fan_out(c):
    """One attempt makes 20,000 requests."""
    c.service(more="parallel_calls = true")
    for i in range(20):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\ncount = 1000\n{NO_RETRY}')
    c.service("t", servers=2, time="1s")
    c.client(arrivals='process = "once"')


def fan_out_of_slow(c):
    """Its caller gives all of them up at once."""
    c.service(more='parallel_calls = true\nabandoned = "abort"')
    for i in range(20):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\ncount = 1000\ndeadline = "caller"\n'
              + NO_RETRY)
    c.service("t", servers=2, time="1s", more='abandoned = "remove"')
    c.client(arrivals='process = "once"', more='attempt_timeout = "100ms"')


def alternatives(c):
    """One call of 1,000, for each of 300 requests."""
    c.duration, c.head = "2s", 'drain_limit = "2s"\n'
    c.service()
    for i in range(1000):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\nstage = 1\none_of = "x"\n{NO_RETRY}')
    c.service("t")
    c.client(arrivals='process = "once"', more="count = 300")


def stages_of_alternatives(c):
    """500 stages with a choice each."""
    c.duration, c.head = "2s", 'drain_limit = "2s"\n'
    c.service()
    for i in range(1000):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\nstage = {i // 2 + 1}\none_of = "x{i // 2}"\n'
              + NO_RETRY)
    c.service("t")
    c.client(arrivals='process = "once"', more="count = 20")


def relapses(c):
    """A loop that waits for a lost answer: each of eight thousand bins may be its recovery."""
    c.duration = "5s"
    c.head = "recovery.share = 0.1\nnetwork.response_loss = 0.5\n"
    c.service()
    c.add('[fault.f]\nservice = "s"\nstart = "0s"\nduration = "1s"\nspeed = 0.5')
    c.client(arrivals='process = "closed"', more='deadline = "5s"')


def fallbacks(c):
    """A chain of 600 calls that take each other's place."""
    c.duration, c.head = "2s", 'drain_limit = "2s"\n'
    c.service()
    for i in range(600):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\n'
              + (f'on_failure = "fallback"\nfallback = "k{i + 1}"\n' if i < 599 else "") + NO_RETRY)
    c.service("t", more="errors.unavailable = 1")
    c.client(arrivals='process = "once"', more="count = 30")


def crash(c):
    """100,000 attempts wait at a service that restarts."""
    c.service(servers=1000, time="100s")
    c.client(arrivals='process = "once"', more="count = 100000")
    c.add('[fault.f]\nservice = "s"\nstart = "1s"\nduration = "1s"\ncold_restart = true')


def slower(c):
    """100,000 attempts in service become slower."""
    c.service(time="100s")
    c.client(arrivals='process = "once"', more="count = 100000")
    c.add('[fault.f]\nservice = "s"\nstart = "1s"\nduration = "1s"\nspeed = 0.5')


def unfinished(c):
    """100,000 requests are still there at the end, of 40 groups."""
    c.service(servers=1, time="100s")
    for i in range(40):
        c.client(f"c{i}", arrivals='process = "once"', more="count = 2500")
    c.duration = "2s"
    c.head = "drain = false\n"


def held(c):
    """At 100 instances callers wait, which crash together."""
    c.service(more="instances = 100")
    c.add(f'[service.s.calls.k]\nservice = "t"\n{NO_RETRY}')
    c.service("t", time="100s")
    c.client(arrivals='process = "once"', more="count = 20000")
    c.add('[fault.f]\nservice = "s"\nstart = "1s"\nduration = "1s"\ncrash = true')


def hedges(c):
    """A request with 3,000 attempts under way, which fail one by one."""
    c.service(time="1s", more="errors.unavailable = 1\nerrors.at = 1")
    c.client(arrivals='process = "once"',
             retry=custom(3000, more=', hedging.delay = "1us"'))


def expired(c):
    """50,000 attempts are dropped when one has been served."""
    c.service(servers=1, time="10s", more='abandoned = "drop-at-dequeue"')
    c.client(arrivals='process = "once"', more='count = 50000\nattempt_timeout = "1s"')


def growing(c):
    """100,000 servers more begin to work at once."""
    c.service(servers=1, time="100s")
    c.client(arrivals='process = "once"', more="count = 100000")
    c.add('[fault.f]\nservice = "s"\nstart = "1s"\nduration = "9s"\ncapacity = 100000')


def balancers(c):
    """2,000 clients with balancers of 100 instances, one of which is taken out and brought back."""
    c.service(servers=10, more='instances = 100\nbalancer = "client"\n'
              'health_check.interval = "100ms"\nhealth_check.timeout = "10ms"\n'
              "health_check.healthy_threshold = 1")
    c.client(arrivals='process = "poisson", total_rate = 100', more="count = 2000")
    for i in range(3):
        c.add(f'[fault.f{i}]\nservice = "s"\nstart = "{300 * i + 50}ms"\nduration = "200ms"\n'
              "instances = 100\ninstance = 1\nunreachable = true")
    c.duration = "1s"


def least_connections(c):
    """1,000 instances are compared for each of 5,000 attempts, which avoid those they know."""
    c.service(servers=10, more='instances = 1000\nbalancing = "least-connections"\n'
              "errors.unavailable = 1")
    c.client(arrivals='process = "once"', more="count = 300",
             retry=custom(20, more=", avoid_hosts = 100"))


def faults(c):
    """Each of 300 faults at once changes all of 100 instances."""
    c.service(servers=10, more="instances = 100")
    c.client(arrivals='process = "poisson", total_rate = 10')
    for i in range(300):
        c.add(f'[fault.f{i}]\nservice = "s"\nstart = "{i}ns"\nduration = "1s"\n'
              "errors.unavailable = 0.001")
    c.duration = "1s"


def loops(c):
    """200,000 clients begin to think."""
    c.service()
    c.client(arrivals='process = "closed", think_time = "1000s"', more="count = 200000")


def tokens(c):
    """2,000 attempts wait for each other, and time out one by one."""
    c.service(time="1s", more='idempotency = { window = "1000s", in_progress = "wait" }\n'
              'abandoned = "abort"')
    c.client(arrivals='process = "poisson", total_rate = 2000', more='mutating = 1\n'
             'token_reuse = 1\ntoken_from = "content"\nattempt_timeout = "500ms"')
    c.duration = "1s"


def operations(c):
    """1,000 kinds of requests, with limits of their own."""
    limits = "\n".join(f"throttle.operation.o{i}.rate = 10" for i in range(1000))
    c.service(servers=10, more=f'throttle.rate = 1000\nthrottle.scope = "operation"\n{limits}')
    c.client(arrivals='process = "once"', more="count = 30000")
    for i in range(1000):
        c.add(f"[client.c.operation.o{i}]\nshare = 1")


def errors(c):
    """1,000 kinds of errors."""
    c.service(more="\n".join(f'errors."503:E{i}" = 0.0005' for i in range(1000)))
    c.client(arrivals='process = "once"', more="count = 30000")


def bins(c):
    """20,000 bins of 50 groups, in which nothing happens."""
    c.duration, c.interval = "200s", "10ms"
    c.head = "drain = false\n"
    c.service()
    for i in range(50):
        c.client(f"c{i}", arrivals='process = "once", start = "199s"')


KINDS = [fan_out, fan_out_of_slow, alternatives, stages_of_alternatives, relapses, fallbacks, crash,
         slower, unfinished, held, hedges, expired, growing, balancers, least_connections, faults,
         loops, tokens, operations, errors, bins]


# --- Memory --------------------------------------------------------------------------------------

# What piles up at a service that stands still for most of the run, which nobody knows beforehand.


def stuck(c, how="speed", service="s", rate=50000, **client):
    c.limit_mib = 150
    c.add(f'[fault.cut]\nservice = "{service}"\nstart = "1s"\nduration = "90s"\n{how} = 0')
    c.client(arrivals=f'process = "poisson", total_rate = {rate}', **client)


def in_service(c):
    c.service()
    stuck(c)


def in_service_at_many(c):
    c.service(servers=1000, more="instances = 300")
    stuck(c)


def sharing(c):
    c.service(servers=1000, more='instances = 100\nqueue.discipline = "processor-sharing"')
    stuck(c)


def waiting_at_random(c):
    c.service(servers=100, more='queue.discipline = "random"')
    stuck(c, "capacity")


def with_deadlines(c):
    c.service(servers=100, more='timeout = "1000s"')
    stuck(c, "capacity", more='deadline = "1000s"')


def with_drawn_timeouts(c):
    c.service(servers=100)
    stuck(c, "capacity",
          more='attempt_timeout = { distribution = "exponential", mean = "1000s" }')


def counted_in(c):
    c.service(more='concurrency = { control = "aimd", initial = 1000000000, max = 1000000000 }')
    stuck(c)


def with_tokens(c):
    c.service(more='idempotency = { window = "1000s", in_progress = "wait" }')
    stuck(c, more="mutating = 1\nattempt_timeout = \"500ms\"", retry=custom(3))


def remembered(c):
    """The requests are over; their tokens stay."""
    c.limit_mib = 150
    c.service(more='idempotency.window = "1000s"')
    c.client(arrivals='process = "poisson", total_rate = 100000', more="mutating = 1")


def calling(c):
    c.service(more="parallel_calls = true")
    for i in range(3):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\ncount = 2\nneed = 1\n{NO_RETRY}')
    c.service("t")
    stuck(c, service="t", rate=10000)


def taking_over(c):
    c.service(more="parallel_calls = true")
    for i in range(20):
        c.add(f'[service.s.calls.k{i}]\nservice = "t"\ncallee_key = "caller"\n{NO_RETRY}')
    c.service("t")
    stuck(c, service="t", rate=2000)


def hedged(c):
    c.service()
    stuck(c, rate=10, retry=custom(100000, more=', hedging.delay = "1ms"'))


def pooled(c):
    c.service(servers=1000)
    stuck(c, more="max_connections = 100\ncount = 10")


def avoiding(c):
    c.service(servers=100, more="instances = 20")
    stuck(c, retry=custom(3, more=", avoid_hosts = 3"))


def far_away(c):
    """Messages become slow."""
    c.limit_mib = 150
    c.add('[network]\nlatency = "1ms"')
    c.service()
    c.add('[fault.f]\nservice = "s"\nstart = "1s"\nduration = "90s"\nlatency = "80s"')
    c.client(arrivals='process = "poisson", total_rate = 50000')


def asking(c):
    """Jobs whose checks are not answered."""
    c.service()
    c.limit_mib = 150
    c.add('[fault.cut]\nservice = "s"\nstart = "1s"\nduration = "90s"\nspeed = 0')
    c.client(arrivals='process = "poll", total_rate = 50000, job_time = "1ms", base = "1ms"')


MEMORY = [in_service, in_service_at_many, sharing, waiting_at_random, with_deadlines,
          with_drawn_timeouts, counted_in, with_tokens, remembered, calling, taking_over, hedged,
          pooled, avoiding, far_away, asking]


def case(kind):
    return Case(lambda c, _: kind(c), None, kind.__name__)
