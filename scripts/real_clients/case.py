"""A scenario as the harness needs it: read from what `retrysim check` prints, or refused.

Server and clients must do exactly what the scenario says. A key that they know nothing of may
therefore have its default value only; anything else is an error.

SPDX-License-Identifier: MIT
"""

import dataclasses
import json
import re
import subprocess
import tomllib

SECOND = 1_000_000_000  # ns
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "d": 86400e9}
UNLIMITED = float("inf")

# Keys that may have any value, or those that the functions below accept. Numbers about the output
# do not matter to the real system.
KNOWN_KEYS = [
    r"name|description|duration|drain|drain_limit|seed|replications|interval|recovery\..*",
    r"service\.[^.]+\.(?:servers|service_time|queue\.capacity|overflow|price|rejection_price)",
    r"service\.[^.]+\.(?:throttle\.(?:rate|burst)"
    r"|errors\.(?:internal|unavailable|throttled|invalid))",
    r"fault\.[^.]+\.(?:service|start|duration|capacity|speed"
    r"|errors\.(?:internal|unavailable|throttled|invalid))",
    r"client\.[^.]+\.(?:calls|count|attempt_timeout"
    r"|arrivals\.(?:process|rate|total_rate|phase|start|spread|concurrency|think_time)"
    r"|surge\.[^.]+\.(?:start|duration|factor))",
    r"client\.[^.]+\.retry\.(?:mode|revision|sdk|api|max_attempts)",
    r"expect\..*",
]

# The SDKs that can be run, and the rules that the installed versions follow.
REAL_CLIENTS = {
    "js-v3": {"mode": ("standard", "adaptive"), "revision": ("2.1",), "api": ("dynamodb",)},
    "botocore": {"mode": ("standard",), "revision": ("2.0",), "api": ("default",)},
}


class Unsupported(Exception):
    """The scenario says something that the harness cannot do."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """What is wrong with the service from `start_ns` until `end_ns`."""
    start_ns: int
    end_ns: int
    capacity: float = 1.0
    speed: float = 1.0
    errors: dict = dataclasses.field(default_factory=dict)  # answer -> probability


@dataclasses.dataclass(frozen=True)
class Service:
    """Times in ns. `service_time` is (distribution, parameters)."""
    servers: float
    service_time: tuple
    queue_capacity: float = UNLIMITED
    overflow: str = "unavailable"
    rate: float = UNLIMITED
    burst: float = 1.0
    errors: dict = dataclasses.field(default_factory=dict)
    faults: tuple = ()


@dataclasses.dataclass(frozen=True)
class Surge:
    """The arrival rate is `factor` times as high from `start_ns` until `end_ns`."""
    start_ns: int
    end_ns: int
    factor: float


@dataclasses.dataclass(frozen=True)
class Clients:
    """Rates are those of the whole group. `max_attempts` is None where the SDK's default applies,
    `timeout_ns` where there is no timeout. In a closed loop `concurrency` requests of each client
    are thought about or under way; `think_time` is (distribution, parameters in ns)."""
    name: str
    count: int
    sdk: str
    mode: str
    max_attempts: int | None
    timeout_ns: int | None
    process: str
    rate: float = 0.0
    start_ns: int = 0
    spread_ns: int = 0
    surges: tuple = ()
    concurrency: int = 0
    think_time: tuple | None = None


@dataclasses.dataclass(frozen=True)
class Phase:
    """A stretch of the run, from `start_ns` until `end_ns`."""
    name: str
    start_ns: int
    end_ns: int


@dataclasses.dataclass(frozen=True)
class Case:
    """A scenario that can be run both ways."""
    name: str
    duration_ns: int
    interval_ns: int
    service: Service
    clients: Clients
    phases: tuple


def nanoseconds(text):
    """'1.5s' -> 1500000000."""
    found = re.fullmatch(r"([0-9.eE+-]+?)\s*(ns|us|ms|s|min|h|d)", str(text))
    if not found:
        raise Unsupported(f"'{text}' is no plain duration")
    return round(float(found.group(1)) * UNITS[found.group(2)])


def parse_resolved(text):
    """(key -> value, key -> origin) of a resolved scenario; keys are whole paths. An origin stands
    behind the value, or above a line that has no room for it."""
    values, origins, table, above = {}, {}, "", ""
    for line in text.splitlines():
        if found := re.fullmatch(r"\[([^\]]+)\]", line.strip()):
            table = found.group(1) + "."
        elif line.startswith("#"):
            above = line[1:].strip()
        elif line.strip():
            key, value = line.split(" = ", 1)
            parsed = tomllib.loads("value = " + value)["value"]
            alone, _, origin = value.rpartition(" # ")
            try:
                behind = tomllib.loads("value = " + alone)["value"] == parsed
            except tomllib.TOMLDecodeError:  # the mark is in a text
                behind = False
            values[table + key.strip()] = parsed
            origins[table + key.strip()] = origin.strip() if behind else above
    return values, origins


def resolve(program, scenario):
    """What `retrysim check` makes of the scenario file, as text."""
    done = subprocess.run([str(program), "check", str(scenario)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unsupported(done.stderr.strip() or f"retrysim check: status {done.returncode}")
    return done.stdout


def with_arrivals(resolved, clients, trace):
    """The resolved scenario, with the requests of the file `trace` in place of its own."""
    lines, table = [], ""
    for line in resolved.splitlines():
        if found := re.fullmatch(r"\[([^\]]+)\]", line.strip()):
            table = found.group(1)
        if table == f"client.{clients}" and re.match(r"(arrivals|surge)\.", line):
            continue
        lines.append(line)
        if line.strip() == f"[client.{clients}]":
            lines += ['arrivals.process = "trace"', f"arrivals.file = {json.dumps(str(trace))}"]
    return "\n".join(lines) + "\n"


def refuse_unknown_keys(origins):
    for key, origin in origins.items():
        if origin.startswith("release "):
            raise Unsupported(f"{origin} has another {key} than the installed SDK that would run; "
                              "name a later version, or none")
        written = origin != "default" and not origin.startswith("preset ")
        if written and not any(re.fullmatch(known, key) for known in KNOWN_KEYS):
            raise Unsupported(f"{key} is not what the real server and clients can do")


def only_name(values, table):
    names = {key.split(".")[1] for key in values if key.startswith(table + ".")}
    if len(names) != 1:
        raise Unsupported(f"the harness runs one {table}; the scenario has {len(names)}")
    return names.pop()


def below(values, prefix):
    """The keys below a table, without its path."""
    return {key[len(prefix):]: v for key, v in values.items() if key.startswith(prefix)}


def names_below(values, prefix):
    return list(dict.fromkeys(key.split(".")[0] for key in below(values, prefix)))


def limit(value):
    return UNLIMITED if value == "unlimited" else float(value)


def errors_of(keys):
    """Answer -> probability, in the order in which they are drawn."""
    errors = {key.split(".", 1)[1]: value for key, value in keys.items()
              if key.startswith("errors.") and key != "errors.at" and value > 0}
    if errors and keys.get("errors.at", "arrival") != "arrival":
        raise Unsupported("the real server answers errors on arrival: errors.at")
    return errors


def distribution_of(value, who):
    """(distribution, parameters in ns), of those that the harness can draw from."""
    if not isinstance(value, dict):
        return ("constant", (nanoseconds(value),))
    kind = value["distribution"]
    parameters = {"constant": ("mean",), "exponential": ("mean",), "uniform": ("min", "max")}
    if kind not in parameters:
        raise Unsupported(f"the real {who} has no distribution '{kind}'; only "
                          + ", ".join(parameters))
    return (kind, tuple(nanoseconds(value[p]) for p in parameters[kind]))


def service_of(values):
    keys = below(values, f"service.{only_name(values, 'service')}.")
    if keys["overflow"] == "drop":
        raise Unsupported("the real server always answers: overflow = \"drop\"")
    faults = []
    for name in names_below(values, "fault."):
        fault = below(values, f"fault.{name}.")
        start = nanoseconds(fault["start"])
        faults.append(Fault(start, start + nanoseconds(fault["duration"]), fault["capacity"],
                            fault["speed"], errors_of(fault)))
    return Service(limit(keys["servers"]), distribution_of(keys["service_time"], "server"),
                   limit(keys["queue.capacity"]), keys["overflow"],
                   limit(keys["throttle.rate"]), keys.get("throttle.burst", 1.0),
                   errors_of(keys), tuple(faults))


def clients_of(values, origins):
    name = only_name(values, "client")
    keys = below(values, f"client.{name}.")
    sdk = keys.get("retry.sdk", "").partition("@")[0]  # of the version the rules have been read
    if sdk not in REAL_CLIENTS:
        raise Unsupported(f"retry.sdk must be one of {', '.join(REAL_CLIENTS)}, perhaps with a "
                          "version")
    for key, allowed in REAL_CLIENTS[sdk].items():
        if keys[f"retry.{key}"] not in allowed:
            raise Unsupported(f"of {sdk}, retry.{key} must be {' or '.join(allowed)}")
    process = keys["arrivals.process"]
    if process == "constant" and keys["arrivals.phase"] != "aligned":
        raise Unsupported("arrivals.phase must be aligned")
    if process not in ("poisson", "constant", "once", "closed"):
        raise Unsupported(f"arrivals.process = {process}; only poisson, constant, once and closed")
    closed = process == "closed"
    if closed and sdk != "js-v3":
        raise Unsupported("arrivals.process = closed takes clients of js-v3")
    surges = []
    for surge in names_below(keys, "surge."):
        start = nanoseconds(keys[f"surge.{surge}.start"])
        surges.append(Surge(start, start + nanoseconds(keys[f"surge.{surge}.duration"]),
                            keys[f"surge.{surge}.factor"]))
    if surges and process != "poisson":
        raise Unsupported("a surge takes arrivals.process = poisson")
    count = keys["count"]
    written = not origins[f"client.{name}.retry.max_attempts"].startswith("preset ")
    timeout = keys["attempt_timeout"]
    return Clients(name, count, sdk, keys["retry.mode"],
                   keys["retry.max_attempts"] if written else None,
                   None if timeout == "none" else nanoseconds(timeout), process,
                   keys.get("arrivals.total_rate", keys.get("arrivals.rate", 0) * count),
                   nanoseconds(keys.get("arrivals.start", "0s")),
                   nanoseconds(keys.get("arrivals.spread", "0s")), tuple(surges),
                   keys["arrivals.concurrency"] if closed else 0,
                   distribution_of(keys["arrivals.think_time"], "client") if closed else None)


def phases_of(duration_ns, interval_ns, faults, surges, herds):
    """The run, cut where a fault or surge begins or ends and around each herd, whose first two
    intervals are a phase of their own."""
    spans = [(f.start_ns, f.end_ns) for f in (*faults, *surges)]
    spans += [(t, t + 2 * interval_ns) for t in herds]
    cuts = {0, duration_ns}
    cuts |= {t for span in spans for t in span if t < duration_ns}
    cuts = sorted(cuts)
    first = min((start for start, _ in spans), default=duration_ns)
    phases, seen = [], 0
    for start, end in zip(cuts, cuts[1:]):
        if start % interval_ns:
            raise Unsupported("faults, surges and herds must begin and end with an interval")
        if any(a <= start < b for a, b in spans):
            seen += 1
            name = "during"
        else:
            name = "all" if not spans else "before" if start < first else "after"
        phases.append((name, seen, start, end))
    many = seen > 1
    return tuple(Phase(f"{name} {number}" if many and number else name, start, end)
                 for name, number, start, end in phases)


def herds_of(clients, duration_ns):
    """The times at which all clients act at once."""
    if clients.process == "once":
        return [clients.start_ns] if clients.spread_ns == 0 else []
    if clients.process == "constant":
        gap = SECOND * clients.count / clients.rate
        # A period that is written as a rate misses whole nanoseconds by a little.
        times = (round(n * gap) for n in range(int(duration_ns / gap) + 1))
        return [t for t in times if t < duration_ns - 1]
    return []


def case_of(resolved):
    """From the text that `resolve` returns."""
    values, origins = parse_resolved(resolved)
    refuse_unknown_keys(origins)
    duration, interval = nanoseconds(values["duration"]), nanoseconds(values["interval"])
    service, clients = service_of(values), clients_of(values, origins)
    herds = herds_of(clients, duration)
    return Case(values["name"], duration, interval, service, clients,
                phases_of(duration, interval, service.faults, clients.surges, herds))


def arrivals_of(case, random):
    """[(time in ns, client)] in order: when which client makes a request. Empty for a closed loop,
    whose requests depend on the answers."""
    clients = case.clients
    herds = herds_of(clients, case.duration_ns)
    if clients.process == "closed":
        return []
    if clients.process == "once" and not herds:
        return sorted((clients.start_ns + round(random.random() * clients.spread_ns), i)
                      for i in range(clients.count))
    if clients.process != "poisson":
        return [(t, i) for t in herds for i in range(clients.count)]

    def factor(time_ns):
        product = 1.0
        for s in clients.surges:
            product *= s.factor if s.start_ns <= time_ns < s.end_ns else 1.0
        return product

    # Candidates come at the highest rate there is; those above the rate of their time are left out.
    edges = {0, *(s.start_ns for s in clients.surges), *(s.end_ns for s in clients.surges)}
    highest = max(factor(t) for t in edges)
    found, time_ns = [], 0.0
    if clients.rate * highest <= 0:
        return found
    while True:
        time_ns += random.expovariate(clients.rate * highest) * SECOND
        if time_ns >= case.duration_ns:
            return found
        if random.random() * highest < factor(time_ns):
            found.append((int(time_ns), random.randrange(clients.count)))
