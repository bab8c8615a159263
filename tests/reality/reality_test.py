#!/usr/bin/python3
"""Tests of scripts/reality: does its service do what the scenario says, are its predictions those
of the simulation, and does it refuse what it cannot do? Clocks are passed in or do not matter.

Usage: reality_test.py --program build/ci/retrysim

SPDX-License-Identifier: MIT
"""

import argparse
import dataclasses
import json
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "scripts" / "real_clients"
sys.dont_write_bytecode = True
sys.path.insert(0, str(CLIENTS))

import case as cases
import lateness
import picture
import prediction
import processes
import reality
import server
from service_model import ServiceModel

PROGRAM = None
MS, SECOND = 1_000_000, 1_000_000_000

SCENARIO = """name = "small"
duration = "10s"
[service.table]
servers = 2
service_time = "10ms"
[client.js]
calls = "table"
count = 4
arrivals = { process = "poisson", total_rate = 5 }
attempt_timeout = "1s"
retry = { mode = "standard", revision = "2.1", sdk = "js-v3", api = "dynamodb" }
"""


def service(**changes):
    made = cases.Service(servers=1, service_time=("constant", (10 * MS,)))
    return dataclasses.replace(made, **changes)


def play(model, arrivals):
    """[(end, ticket, answer)] of attempts that arrive at these times, in the order of answers."""
    answers = []
    for ticket, time_ns in enumerate(arrivals):
        answers += model.advance(time_ns)
        refusal = model.arrive(ticket)
        if refusal:
            answers.append((time_ns, ticket, refusal))
    return answers + model.advance(1000 * SECOND)


class Services(unittest.TestCase):
    """ServiceModel, on a clock of our own."""

    def play(self, spec, arrivals_ms):
        model = ServiceModel(spec, random.Random(1))
        return [(end / MS, ticket, answer)
                for end, ticket, answer in play(model, [t * MS for t in arrivals_ms])]

    def test_one_server_serves_in_order(self):
        self.assertEqual(self.play(service(), [0, 1, 2]), [
            (10, 0, "success"), (20, 1, "success"), (30, 2, "success")])

    def test_two_servers_share_the_line(self):
        self.assertEqual([end for end, _, _ in self.play(service(servers=2), [0, 4, 5])],
                         [10, 14, 20])

    def test_a_full_queue_turns_away(self):
        spec = service(queue_capacity=1, overflow="throttled")
        self.assertEqual(self.play(spec, [0, 1, 2, 11]), [
            (2, 2, "throttled"), (10, 0, "success"), (20, 1, "success"), (30, 3, "success")])

    def test_a_token_bucket_starts_full_and_refills(self):
        spec = service(servers=cases.UNLIMITED, rate=10, burst=2)
        refused = [ticket for _, ticket, answer in self.play(spec, [0, 1, 2, 99, 101, 102])
                   if answer == "throttled"]
        self.assertEqual(refused, [2, 3, 5])

    def test_a_fault_slows_what_is_in_service(self):
        # Half is done at 5 ms; the rest takes 4 times as long, and at 15 ms half of that is left.
        fault = cases.Fault(5 * MS, 15 * MS, speed=0.25)
        self.assertEqual(self.play(service(faults=(fault,)), [0, 100])[0], (17.5, 0, "success"))

    def test_at_speed_zero_nothing_ends_until_the_fault_does(self):
        fault = cases.Fault(4 * MS, 50 * MS, speed=0)
        self.assertEqual(self.play(service(faults=(fault,)), [0]), [(56, 0, "success")])

    def test_lost_servers_finish_their_work(self):
        fault = cases.Fault(5 * MS, 35 * MS, capacity=0.5)
        ends = [end for end, _, _ in self.play(service(servers=2, faults=(fault,)), [0] * 5)]
        self.assertEqual(ends, [10, 10, 20, 30, 40])

    def test_no_server_works_at_capacity_zero(self):
        fault = cases.Fault(0, 30 * MS, capacity=0)
        self.assertEqual(self.play(service(faults=(fault,)), [1]), [(40, 0, "success")])
        unlimited = service(servers=cases.UNLIMITED, faults=(fault,))
        self.assertEqual(self.play(unlimited, [1, 2]), [(40, 0, "success"), (40, 1, "success")])

    def test_errors_are_answered_at_once_and_only_during_their_fault(self):
        fault = cases.Fault(5 * MS, 8 * MS, errors={"internal": 1.0})
        self.assertEqual(self.play(service(faults=(fault,)), [0, 6, 8]), [
            (6, 1, "internal"), (10, 0, "success"), (20, 2, "success")])

    def test_errors_have_their_shares(self):
        spec = service(servers=cases.UNLIMITED, errors={"internal": 0.2, "throttled": 0.3})
        model = ServiceModel(spec, random.Random(1))
        answers = [model.arrive(i) for i in range(10000)]
        # 5 standard deviations; by chance one seed in a million fails.
        self.assertAlmostEqual(answers.count("internal") / 10000, 0.2, delta=0.02)
        self.assertAlmostEqual(answers.count("throttled") / 10000, 0.3, delta=0.023)

    def test_a_late_timer_takes_no_capacity_away(self):
        model = ServiceModel(service(), random.Random(1))
        for ticket in range(3):
            model.arrive(ticket)
        self.assertEqual(model.next_ns(), 10 * MS)
        self.assertEqual([end for end, _, _ in model.advance(29 * MS)], [10 * MS, 20 * MS])
        self.assertEqual(model.next_ns(), 30 * MS)

    def test_service_times_have_their_means(self):
        for kind, parameters in (("exponential", (10 * MS,)), ("uniform", (5 * MS, 15 * MS))):
            model = ServiceModel(service(service_time=(kind, parameters)), random.Random(1))
            mean = statistics.fmean(model.draw_service_time() for _ in range(10000))
            # 5 standard deviations of the exponential: one seed in a million fails.
            self.assertAlmostEqual(mean / (10 * MS), 1, delta=0.05)

    def test_it_serves_as_many_as_the_simulator(self):
        """A herd without retries that a fault meets: nothing is random, so the counts are equal."""
        text = SCENARIO.replace('"10ms"', '"70ms"').replace("count = 4", "count = 40")
        text = text.replace('process = "poisson", total_rate = 5', 'process = "once"')
        text = text.replace("retry = {", "retry = { max_attempts = 1,")
        text = text.replace('attempt_timeout = "1s"', 'attempt_timeout = "100s"')
        text = text.replace('duration = "10s"', 'duration = "10s"\ninterval = "100ms"')
        text += ('[fault.a]\nservice="table"\nstart="0.3s"\nduration="1s"\nspeed=0.3\n'
                 '[fault.b]\nservice="table"\nstart="1s"\nduration="1s"\ncapacity=0.5\n')
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "small.toml")
            path.write_text(text, encoding="utf-8")
            subprocess.run([PROGRAM, "run", str(path), "--quiet", "--replications", "1",
                            "--out", f"{folder}/result"], check=True, capture_output=True)
            case = cases.case_of(cases.resolve(PROGRAM, path))
            counts = prediction.read_replications(f"{folder}/result/timeseries.csv", "js", 100)
        ended = [end for end, _, _ in play(ServiceModel(case.service, random.Random(1)), [0] * 40)]
        self.assertEqual(counts["successes"], [prediction.count_bins(ended, 100 * MS, 100)])


class Scenarios(unittest.TestCase):
    """What is read from a resolved scenario, and what is refused."""

    def case(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "small.toml")
            path.write_text(text, encoding="utf-8")
            return cases.case_of(cases.resolve(PROGRAM, path))

    def test_the_shipped_scenarios_can_be_run(self):
        for name in (*reality.SCENARIOS, "throttled-loop"):
            with self.subTest(name):
                case = cases.case_of(cases.resolve(PROGRAM, CLIENTS / f"{name}.toml"))
                self.assertEqual(case.name, name)
                self.assertGreater(len(case.phases), 0)
                self.assertEqual(case.phases[0].start_ns, 0)
                self.assertEqual(case.phases[-1].end_ns, case.duration_ns)

    def test_keys_become_numbers(self):
        case = self.case(SCENARIO + '[fault.f]\nservice="table"\nstart="2s"\nduration="3s"\n'
                         'capacity=0.5\nerrors.internal=0.25\n')
        self.assertEqual(case.service.servers, 2)
        self.assertEqual(case.service.service_time, ("constant", (10 * MS,)))
        self.assertEqual(case.service.faults, (
            cases.Fault(2 * SECOND, 5 * SECOND, 0.5, 1.0, {"internal": 0.25}),))
        self.assertEqual((case.clients.rate, case.clients.timeout_ns), (5, SECOND))
        self.assertEqual([(p.name, p.start_ns / SECOND) for p in case.phases],
                         [("before", 0), ("during", 2), ("after", 5)])

    def test_a_closed_loop_makes_its_own_requests(self):
        closed = SCENARIO.replace(
            'process = "poisson", total_rate = 5',
            'process = "closed", concurrency = 3, think_time = '
            '{ distribution = "uniform", min = "1s", max = "2s" }')
        case = self.case(closed)
        self.assertEqual(case.clients.concurrency, 3)
        self.assertEqual(case.clients.think_time, ("uniform", (SECOND, 2 * SECOND)))
        self.assertEqual(cases.arrivals_of(case, random.Random(1)), [])
        self.assertEqual([(p.name, p.end_ns / SECOND) for p in case.phases], [("all", 10)])
        [configuration] = processes.configurations(case, [], 80, 7)
        self.assertEqual(configuration["concurrency"], 3)
        self.assertEqual(configuration["think_time"], case.clients.think_time)
        self.assertEqual(configuration["arrivals"], [])
        [configuration] = processes.configurations(self.case(SCENARIO), [(5, 0)], 80, 7)
        self.assertEqual((configuration["concurrency"], configuration["think_time"]), (0, None))

    def test_max_attempts_is_passed_on_if_it_is_written(self):
        self.assertIsNone(self.case(SCENARIO).clients.max_attempts)
        written = SCENARIO.replace("retry = {", "retry = { max_attempts = 7,")
        self.assertEqual(self.case(written).clients.max_attempts, 7)

    def test_a_release_stands_for_the_installed_sdk_if_it_has_its_rules(self):
        botocore = SCENARIO.replace('"2.1", sdk = "js-v3", api = "dynamodb"',
                                    '"2.0", sdk = "botocore@1.34.107"')
        self.assertEqual(self.case(botocore).clients.sdk, "botocore")
        js = SCENARIO.replace('mode = "standard", revision = "2.1", sdk = "js-v3"',
                              'sdk = "js-v3@3.1166.0"')
        self.assertEqual(self.case(js).clients, self.case(SCENARIO).clients)

    def test_what_the_real_system_cannot_do_is_refused(self):
        for old, new, word in (
                ("servers = 2", 'servers = 2\nqueue = { discipline = "lifo" }', "discipline"),
                ('"10ms"', '{ distribution = "pareto", mean = "1s", shape = 2 }', "pareto"),
                ("servers = 2", "servers = 2\nerrors = { internal = 0.1, at = 0.5 }", "errors.at"),
                ("count = 4", 'count = 4\ndeadline = "3s"', "deadline"),
                ('process = "poisson", total_rate = 5', 'process = "closed", think_time = '
                 '{ distribution = "weibull", mean = "1s", shape = 2 }', "real client"),
                ('process = "poisson", total_rate = 5 }\nattempt_timeout = "1s"\n'
                 'retry = { mode = "standard", revision = "2.1", sdk = "js-v3", api = "dynamodb" }',
                 'process = "closed" }\nretry = { sdk = "botocore@1.34.107", mode = "standard" }',
                 "takes clients of js-v3"),
                ('sdk = "js-v3"', 'sdk = "java-v2"', "retry.sdk"),
                ('"js-v3"', '"js-v3@3.0.0"', "does not have that revision"),
                ('"2.1", sdk = "js-v3", api = "dynamodb"', '"2.0", sdk = "botocore@1.34.0"',
                 "release botocore@1.34.0 has another client.js.retry.backoff.jitter_before_cap"),
                ('revision = "2.1"', 'revision = "2.0"', "revision"),
                ("retry = {", 'retry = { backoff = { base = "1s" },', "backoff.base"),
                ("[client.js]", '[network]\nlatency = "1ms"\n[client.js]', "network.latency"),
                ("[client.js]", '[service.b]\nservice_time = "1s"\n[client.js]', "one service"),
                ('"1s"', '{ distribution = "exponential", mean = "1s" }', "plain duration"),
                ("[client.js]", '[fault.f]\nservice = "table"\nstart = "2500ms"\n'
                 'duration = "1s"\nspeed = 0.5\n[client.js]', "interval")):
            with self.subTest(word), self.assertRaises(cases.Unsupported) as raised:
                self.case(SCENARIO.replace(old, new))
            self.assertIn(word, str(raised.exception))

    def test_requests_come_at_the_rate_of_the_scenario(self):
        text = SCENARIO.replace("total_rate = 5", "total_rate = 500")
        text += '[client.js.surge.s]\nstart = "4s"\nduration = "2s"\nfactor = 3\n'
        case = self.case(text)
        arrivals = cases.arrivals_of(case, random.Random(1))
        self.assertEqual(arrivals, sorted(arrivals, key=lambda a: a[0]))
        self.assertEqual({client for _, client in arrivals}, {0, 1, 2, 3})
        counts = prediction.count_bins([t for t, _ in arrivals], 2 * SECOND, 5)
        for count, expected in zip(counts, [1000, 1000, 3000, 1000, 1000]):
            # 5 standard deviations of a Poisson count; one seed in 300,000 fails.
            self.assertAlmostEqual(count, expected, delta=5 * expected ** 0.5)

    def test_the_simulation_gets_the_arrivals_of_the_real_run(self):
        text = SCENARIO + '[client.js.surge.s]\nstart = "4s"\nduration = "2s"\nfactor = 3\n'
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "small.toml")
            path.write_text(text, encoding="utf-8")
            resolved = cases.resolve(PROGRAM, path)
            case = cases.case_of(resolved)
            arrivals = cases.arrivals_of(case, random.Random(1))
            options = argparse.Namespace(program=PROGRAM, replications=2)
            counts = reality.simulate(options, resolved, case, arrivals)
        real = prediction.count_bins([t for t, _ in arrivals], SECOND, 10)
        self.assertEqual(counts["requests"], [real, real])
        self.assertGreaterEqual(sum(map(sum, counts["successes"])), 2 * sum(real) - 2)

    def test_a_herd_comes_at_once_and_again(self):
        text = SCENARIO.replace('process = "poisson", total_rate = 5',
                                'process = "constant", rate = 0.25, phase = "aligned"')
        case = self.case(text)
        self.assertEqual(cases.arrivals_of(case, random.Random(1)),
                         [(t * SECOND, i) for t in (0, 4, 8) for i in range(4)])
        self.assertEqual([(p.name, p.start_ns / SECOND) for p in case.phases],
                         [("during 1", 0), ("after 1", 2), ("during 2", 4), ("after 2", 6),
                          ("during 3", 8)])


class Predictions(unittest.TestCase):
    """Intervals, figures and tables."""

    def test_the_interval_lies_between_order_statistics(self):
        values = list(range(1, 1000))
        random.Random(1).shuffle(values)
        self.assertEqual(prediction.interval(values), (25, 975))
        self.assertEqual(prediction.interval(list(range(1, 40))), (1, 39))
        with self.assertRaises(ValueError):
            prediction.interval(list(range(38)))

    def test_one_more_value_is_outside_in_one_case_of_twenty(self):
        draws = random.Random(1)
        outside = 0
        for _ in range(2000):
            low, high = prediction.interval([draws.expovariate(1) for _ in range(199)])
            outside += not low <= draws.expovariate(1) <= high
        # 100 of 2000 are expected, with a standard deviation of 9.7; one seed in 10,000 fails.
        self.assertAlmostEqual(outside, 100, delta=39)

    def test_figures_agree_inside_or_close(self):
        def made(real):
            return prediction.Figure("a", "attempts", real, 1000, 995, 1004)
        self.assertTrue(made(1004).inside)
        self.assertFalse(made(1005).inside)
        self.assertTrue(made(1005).agrees)
        self.assertTrue(made(980).agrees)
        self.assertFalse(made(979).agrees)

    def test_bins_leave_out_what_lies_outside(self):
        self.assertEqual(prediction.count_bins([-1, 0, 9, 10, 29, 30], 10, 3), [2, 1, 1])

    def test_phases_are_sums_of_bins(self):
        case = dataclasses.replace(example_case(), phases=(
            cases.Phase("before", 0, SECOND), cases.Phase("during", SECOND, 3 * SECOND)))
        replications = {metric: [[n, 10, n] for n in range(39)] for metric in prediction.METRICS}
        real = {metric: [50, 10, 20] for metric in prediction.METRICS}
        figures = prediction.by_phase(case, real, replications)
        self.assertEqual(len(figures), 8)
        before, during = figures[0], figures[4]
        self.assertEqual((before.real, before.low, before.high, before.mean), (50, 0, 38, 19))
        self.assertEqual((during.real, during.low, during.high, during.mean), (30, 10, 48, 29))
        self.assertEqual(prediction.share(figures, "inside"), 0.5)
        table = prediction.table(case, figures)
        self.assertIn("| before, 0 to 1 s | 50 in 0..38 **outside** |", table)
        self.assertIn("| during, 1 to 3 s | 30 in 10..48 |", table)

    def test_the_drain_is_no_part_of_the_replications(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "timeseries.csv")
            path.write_text(
                "replication,client,time_s,requests,attempts,successes,failures\n" + "".join(
                    f"{r},{c},{t},{r},{t},2,3\n" for r in (0, 1) for c in ("js", "all")
                    for t in (0, 1, 2)), encoding="utf-8")
            counts = prediction.read_replications(path, "js", 2)
        self.assertEqual(counts["requests"], [[0, 0], [1, 1]])
        self.assertEqual(counts["attempts"], [[0, 1], [0, 1]])

    def test_files_and_picture_are_written(self):
        figures = [prediction.Figure(str(i), metric, 5 * i, 5, 4, 6)
                   for i in range(3) for metric in prediction.METRICS]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "seconds.csv")
            prediction.write(path, [("small", f) for f in figures])
            rows = path.read_text(encoding="utf-8").splitlines()
            self.assertEqual(len(rows), 13)
            self.assertEqual(rows[5], "small,1,requests,5,5,4,6,1,1")
            pictures = [pathlib.Path(folder, f"{n}.png") for n in (1, 2)]
            for drawn in pictures:
                picture.draw(drawn, [(example_case(), figures)])
            self.assertEqual(*(p.read_bytes() for p in pictures))


def example_case():
    clients = cases.Clients("js", 1, "js-v3", "standard", None, SECOND, "poisson", 1.0)
    return cases.Case("small", 3 * SECOND, SECOND, service(), clients,
                      cases.phases_of(3 * SECOND, SECOND, [], [], []))


class Lateness(unittest.TestCase):
    """What late timers and messages take from closed loops."""

    LATE = 40 * MS

    def loops(self, clients, duration_ns, late_ns, rng):
        """A run of clients that think 200 ms on average; every second attempt is refused and made
        again after 100 ms, the others take 10 ms; and each comes to its end so much later."""
        run = processes.RealRun("SDK", [], [], [], [], [], [], [], None, 0, 0, 0)
        for _ in range(clients):
            now = 0
            while (now := now + rng.expovariate(1 / (200 * MS))) < duration_ns:
                began = now
                run.submitted.append(began)
                run.submitted_late_ns.append(0)
                for status in ((400, 200) if rng.random() < 0.5 else (200,)):
                    took = 10 * MS if status == 200 else 0
                    run.arrivals.append(now)
                    run.access_log.append((now + took, took, status, ""))
                    now += took + late_ns
                    if status == 400:
                        run.backoffs.append((now, 100 * MS))
                        now += 100 * MS
                (run.spans if now < duration_ns else run.open).append(
                    (began, now) if now < duration_ns else began)
        run.arrivals = [t for t in run.arrivals if t < duration_ns]
        return run

    def test_it_is_the_time_that_the_scenario_does_not_mention(self):
        duration = 90 * SECOND
        run = self.loops(50, duration, self.LATE, random.Random(1))
        for late_ns in [lateness.per_attempt_ns(run, 0, duration),
                        *lateness.by_part_ns(run, duration)]:
            self.assertAlmostEqual(late_ns / self.LATE, 1, delta=0.01)
        punctual = self.loops(50, duration, 0, random.Random(1))
        self.assertLess(lateness.per_attempt_ns(punctual, 0, duration), 0.1 * MS)
        self.assertIsNone(lateness.per_attempt_ns(run, 2 * duration, 3 * duration))

    def test_late_timers_and_answers_count(self):
        run = processes.RealRun("SDK", [5 * MS], [5 * MS], [(17 * MS, 12 * MS, 200, "")], [], [],
                                [3 * MS], [2 * MS], None, 0, 0, 0, spans=[(5 * MS, 18 * MS)])
        # 3 ms before it was made, 2 ms at the server, 1 ms on the way back.
        self.assertEqual(lateness.per_attempt_ns(run, 0, SECOND), 6 * MS)

    def test_simulated_it_gives_the_attempts_of_the_late_clients(self):
        text = SCENARIO.replace('process = "poisson", total_rate = 5',
                                'process = "closed", think_time = { distribution = "exponential", '
                                'mean = "200ms" }')
        text = text.replace("servers = 2", 'servers = "unlimited"\nerrors = { throttled = 0.5 }')
        text = text.replace("count = 4", "count = 50").replace('"10s"', '"90s"')
        text = text.replace('retry = { mode = "standard", revision = "2.1", sdk = "js-v3", '
                            'api = "dynamodb" }',
                            'retry = { mode = "custom", max_attempts = 20, '
                            'backoff = { base = "100ms", factor = 1, jitter = "none" } }')
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "loop.toml")

            def attempts(late_ns, seed):
                path.write_text(text, encoding="utf-8")
                resolved = cases.resolve(PROGRAM, path)
                path.write_text(lateness.with_lateness(resolved, late_ns), encoding="utf-8")
                subprocess.run([PROGRAM, "run", str(path), "--quiet", "--replications", "1",
                                "--seed", str(seed), "--out", f"{folder}/{late_ns}-{seed}"],
                               check=True, capture_output=True)
                counts = prediction.read_replications(f"{folder}/{late_ns}-{seed}/timeseries.csv",
                                                      "js", 90)
                return sum(counts["attempts"][0])

            def half_refused(seed):
                """As `loops`, but any attempt may be refused."""
                rng, made = random.Random(seed), 0
                for _ in range(50):
                    now = 0
                    while (now := now + rng.expovariate(1 / (200 * MS))) < 90 * SECOND:
                        while now < 90 * SECOND:
                            made += 1
                            refused = rng.random() < 0.5
                            now += self.LATE + (100 * MS if refused else 10 * MS)
                            if not refused:
                                break
                return made

            late = statistics.fmean(half_refused(seed) for seed in range(4))
            # About 23,000 attempts, with a deviation of some 200 in each run: 2 % are six of the
            # deviations of a mean of four, and 40 ms of 390 ms are 17 %.
            simulated = statistics.fmean(attempts(self.LATE, seed) for seed in range(4))
            self.assertAlmostEqual(simulated / late, 1, delta=0.02)
            self.assertGreater(attempts(0, 1) / late, 1.1)

    def test_more_than_an_attempt_may_take_is_no_latency(self):
        self.assertTrue(lateness.can_be_latency(499 * MS, SECOND))
        self.assertFalse(lateness.can_be_latency(501 * MS, SECOND))
        self.assertTrue(lateness.can_be_latency(5 * SECOND, None))

    def test_a_latency_of_the_scenario_is_not_overwritten(self):
        with self.assertRaises(ValueError):
            lateness.with_lateness('network.latency = "1ms"\n', MS)


class Harness(unittest.TestCase):
    """The server as a process, the shares of client processes, what is said of the machine."""

    def test_requests_are_cut_out_of_the_stream(self):
        request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
        data = bytearray(request + request[:-1])
        self.assertEqual(server.requests_in(data), [""])
        self.assertEqual(server.requests_in(data), [])
        data += b"}" + b"GET / HTTP/1.1\r\nAmz-Sdk-Invocation-Id: 7F\r\n\r\n"
        self.assertEqual(server.requests_in(data), ["", "7f"])
        self.assertEqual(data, b"")

    def test_its_access_log_can_be_fitted(self):
        entries = [((50 + 100 * i) * MS, 5 * MS, 200 if i % 5 else 503, f"r{i}")
                   for i in range(250)]
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "access.csv")
            reality.write_access_log(log, entries)
            self.assertEqual(log.read_text(encoding="utf-8").splitlines()[:2],
                             ["time,duration,status,request",
                              "0.050000000,0.005000000,503,r0"])
            subprocess.run([PROGRAM, "fit", str(log), "--out", f"{folder}/fit", "--quiet"],
                           check=True)
            found = json.loads(pathlib.Path(folder, "fit", "result.json").read_text("utf-8"))
        self.assertEqual((found["log"]["lines"], found["log"]["bad_lines"]), (250, 0))
        figures = {f["figure"]: f.get("value") for f in found["figures"]}
        self.assertAlmostEqual(figures["service_time_mean"], 0.005)
        self.assertAlmostEqual(figures["error_share"], 0.2)
        self.assertEqual(figures["attempts_per_request"], 1)

    def ask(self, port):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
            return connection.recv(65536)

    def test_the_server_answers_success_until_the_start_and_counts_from_then_on(self):
        spec = service(errors={"throttled": 1.0})
        process = processes.Process(
            "server", ["/usr/bin/python3", "-B", str(CLIENTS / "server.py")],
            {"service": dataclasses.asdict(spec), "seed": "1"}, None)
        self.addCleanup(process.end)
        port = process.hear(60)["port"]
        self.assertIn(b" 200 ", self.ask(port))
        process.say({"start_ns": time.monotonic_ns()})
        while b" 200 " in (answer := self.ask(port)):  # until it has read that line
            pass
        self.assertIn(b" 400 ", answer)
        self.assertIn(b"ThrottlingException", answer)
        process.say("end")
        report = process.hear(60)
        self.assertEqual(report["answers"]["throttled"], len(report["arrivals"]))

    def test_a_silent_process_is_an_error(self):
        process = processes.Process("sleeper", ["sleep", "60"], {}, None)
        self.addCleanup(process.end)
        with self.assertRaisesRegex(processes.ProcessFailed, "sleeper"):
            process.hear(0.1)

    def test_processes_share_the_clients(self):
        case = example_case()
        case = dataclasses.replace(case, clients=dataclasses.replace(
            case.clients, sdk="botocore", count=5))
        arrivals = [(10 * i, i % 5) for i in range(10)]
        shares = list(processes.configurations(case, arrivals, 80, 1))
        self.assertEqual([s["clients"] for s in shares], [3, 2])
        self.assertEqual(sum(len(s["arrivals"]) for s in shares), 10)
        for s in shares:
            self.assertTrue(all(0 <= client < s["clients"] for _, client in s["arrivals"]))
        self.assertEqual(shares[1]["arrivals"], [(10, 0), (30, 1), (60, 0), (80, 1)])

    def test_a_busy_machine_is_seen(self):
        def report(late_ms):
            run = processes.RealRun("SDK", [], [], [], [], [], [1 * MS] * 100, [late_ms * MS] * 100,
                                    None, 1 * MS, 2.0, 0.5)
            return reality.machine_report(run)
        self.assertFalse(report(1)[1])
        self.assertTrue(report(100)[1])
        self.assertIn("100.0 ms", report(100)[0])


class CommandLine(unittest.TestCase):
    """Wrong arguments end with status 2, wrong scenarios with 3."""

    def run_script(self, *words):
        return subprocess.run(["/usr/bin/python3", "-B", str(CLIENTS / "reality.py"), *words],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)

    def test_wrong_arguments(self):
        for words, said in ((("--replications", "38"), "at least 39"),
                            (("--nice", "20"), "from -20 to 19"),
                            (("--program", "/nowhere/retrysim"), "/nowhere/retrysim"),
                            (("--seed", "x"), "--seed")):
            with self.subTest(said):
                done = self.run_script("--program", PROGRAM, *words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(said, done.stderr)

    def test_a_missing_scenario(self):
        done = self.run_script("--program", PROGRAM, "nowhere.toml")
        self.assertEqual(done.returncode, 3)
        self.assertIn("nowhere.toml", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM = options.program
    unittest.main(argv=[sys.argv[0], *rest])
