#!/usr/bin/python3
"""Does an import take a time in proportion to the file's length, whatever is in it?

  import_test.py PROGRAM [NAME...]

Callgrind counts the instructions for a file, and for one with four times as many of everything.
Nothing here depends on a clock.

SPDX-License-Identifier: MIT
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SMALL = 60
MOST = 5  # times as many instructions for four times as much; a square has 16
SKIPPED = 77  # for CTest


def lines(n, text):
    return "".join(text.replace("@", str(i)) + "\n" for i in range(n))


def routes_and_clusters(n):
    return "envoy", ("routes:\n" + lines(n, "- {cluster: c@, retry_policy: {retry_on: 5xx}}") +
                     "clusters:\n" + lines(n, "- {name: c@, circuit_breakers: {}}"))


def routes_to_one_cluster(n):
    return "envoy", ("routes:\n" + lines(n, "- {cluster: c, retry_policy: {retry_on: 5xx}}") +
                     "clusters:\n" + lines(n, "- {name: d@, circuit_breakers: {}}"))


def unknown_fields(n):
    return "envoy", "retry_policy: {retry_on: 5xx}\n" + lines(n, "field@: {retry: [1, {a: @}]}")


def hosts(n):
    return "istio", lines(n, "---\nkind: VirtualService\nmetadata: {namespace: s}\nspec: {http: ["
                          "{retries: {attempts: 2}, route: [{destination: {host: h@}}]}]}") + lines(
        n, "---\nkind: DestinationRule\nspec: {host: h@.s.svc.cluster.local, trafficPolicy: "
           "{connectionPool: {http: {maxRetries: 5}}}}")


def wildcards(n):
    return "istio", lines(n, "---\nkind: VirtualService\nspec: {http: [{retries: {attempts: 2}, "
                          "route: [{destination: {host: a.b.h@.example.com}}]}]}") + lines(
        n, "---\nkind: DestinationRule\nspec: {host: '*.h@.example.com', trafficPolicy: "
           "{connectionPool: {http: {maxRetries: 5}}}}")


def subsets(n):
    return "istio", ("kind: DestinationRule\nspec:\n  host: h\n  subsets:\n" +
                     lines(n, "  - {name: v@, trafficPolicy: {connectionPool: {http: "
                              "{maxRetries: 5}}}}") +
                     "---\nkind: VirtualService\nspec:\n  http:\n" +
                     lines(n, "  - {retries: {attempts: 1}, route: [{destination: {host: h, "
                              "subset: v@}}]}"))


def policies(n):
    return "gateway-api", lines(n, "---\nkind: HTTPRoute\nmetadata: {name: r@}\nspec: {rules: "
                                "[{backendRefs: [{name: b@}]}]}") + lines(
        n, "---\nkind: BackendTrafficPolicy\nspec: {targetRefs: [{kind: HTTPRoute, name: r@}], "
           "retry: {numRetries: 3}}")


def methods(n):
    return "grpc", "methodConfig:\n" + lines(
        n, "- {name: [{service: a.S@}], retryPolicy: {maxAttempts: 2, initialBackoff: 1s, "
           "maxBackoff: 2s, backoffMultiplier: 2}}")


def instances(n):
    return "resilience4j", "".join(
        f"resilience4j.retry.configs.c{i}.max-attempts=3\n"
        f"resilience4j.retry.instances.i{i}.base-config=c{i}\n" for i in range(n))


def placeholders(n):
    return "resilience4j", ("resilience4j.retry.instances.a.max-attempts: 3\n" +
                            "".join(f"p{i}: \"${{p{i - 1}:x}}\"\n" if i % 10 else f"p{i}: y\n"
                                    for i in range(n)))


def routes_with_filters(n):
    return "spring-cloud", "spring.cloud.gateway.routes:\n" + lines(
        n, "- {id: r@, filters: ['Retry=3']}")


def profiles(n):
    return "aws", lines(n, "[profile p@]\nretry_mode = standard\nregion = r")


def variables(n):
    return "aws", "AWS_RETRY_MODE=standard\n" + lines(n, "export AWS_X@=1 # a")


def merged(n):
    return "envoy", ("base: &base {num_retries: 4, retry_on: 5xx}\nroutes:\n" +
                     lines(n, "- {cluster: a@, retry_policy: {<<: *base, num_retries: 1}}"))


SHAPES = [routes_and_clusters, routes_to_one_cluster, unknown_fields, hosts, wildcards, subsets,
          policies, methods, instances, placeholders, routes_with_filters, profiles, variables,
          merged]


def instructions(shape, n):
    kind, text = shape(n)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "configuration"
        path.write_text(text)
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, "import",
             kind, str(path)], capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not counted:
        raise RuntimeError(f"status {done.returncode}: {done.stderr[-2000:]}")
    return int(counted[1])


def growth(shape):
    least, small, large = (instructions(shape, n) for n in (1, SMALL, 4 * SMALL))
    return (large - least) / (small - least), small


class Import(unittest.TestCase):
    def test_time_is_in_proportion_to_length(self):
        shapes = [s for s in SHAPES if not NAMES or s.__name__ in NAMES]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for shape, (ratio, small) in zip(shapes, pool.map(growth, shapes)):
                print(f"{shape.__name__:24} {small / 1e6:8.1f} million, times {ratio:.2f}",
                      flush=True)
                with self.subTest(shape.__name__):
                    self.assertLess(ratio, MOST)


if __name__ == "__main__":
    PROGRAM, NAMES = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    if shutil.which("valgrind") is None:
        in_ci = bool(os.environ.get("CI"))
        print("valgrind is not installed, so instructions cannot be counted "
              f"({'an error' if in_ci else 'skipped'}); scripts/install_dependencies test")
        sys.exit(1 if in_ci else SKIPPED)
    unittest.main(argv=sys.argv[:1])
