"""The SDKs that decisions are compared with: how each is run, and whose preset it stands for.

SPDX-License-Identifier: MIT
"""

import dataclasses
import pathlib
import shutil
import subprocess

from wire import Service

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"

# The services whose clients are used, by the names that the presets give them.
BOTOCORE_SERVICES = {
    "kinesis": Service(6), "dynamodb": Service(6), "organizations": Service(2),
    "dynamodb-streams": Service(1), "glacier": Service(1, "rest-json"),
    "sqs": Service(3, "query", "ListQueues"), "sts": Service(2, "query", "GetCallerIdentity"),
    "cloudsearch": Service(1, "query", "ListDomainNames"),
    "s3": Service(2, "s3", "ListAllMyBucketsResult"),
    "route53": Service(2, "rest-xml", "ListHostedZonesResponse"),
    "ec2": Service(1, "ec2", "DescribeRegionsResponse")}


@dataclasses.dataclass(frozen=True)
class Oracle:
    """One mode of one SDK."""

    name: str
    title: str  # of the SDK, for the table
    driver: str
    sdk: str  # of the preset
    mode: str
    services: dict
    revision: str = ""
    headers: tuple = ()  # those whose delay the SDK takes; of several the first in the answer
    long_poll: dict = dataclasses.field(default_factory=dict)  # share of sequences, by service
    settings: tuple = ()  # keys of [client.X.retry] in which this version differs
    draws: int = 2**53  # draws are multiples of 1/draws, which its random numbers can be
    clock_skew: bool = False  # answers that complain about the clock bring another time
    unknown: tuple = ()  # (service, status, code): errors that this version does not know

    def as_known(self, answer, service):
        """An answer as this version takes it: a code that it does not know says nothing."""
        if (service, answer.get("status"), answer.get("code")) in self.unknown:
            return answer | {"code": None}
        return answer


def botocore(mode, **differences):
    return Oracle(f"botocore-{mode}", "botocore", "botocore", "botocore", mode, BOTOCORE_SERVICES,
                  **differences)


JS_V3_SERVICES = {
    "kinesis": Service(4), "dynamodb": Service(4), "dynamodb-streams": Service(2),
    "sqs": Service(3), "sts": Service(2, "query", "AssumeRoleWithWebIdentity")}
JS_V2_SERVICES = {
    "kinesis": Service(5), "dynamodb": Service(5), "sqs": Service(2),
    "route53": Service(2, "rest-xml", "ListHostedZonesResponse"),
    "s3": Service(2, "s3", "ListAllMyBucketsResult"),
    "sts": Service(1, "query", "GetCallerIdentity")}
GO_SERVICES = {
    "kinesis": Service(4), "dynamodb": Service(4), "sqs": Service(2, "query", "ListQueues"),
    "sts": Service(1, "query", "GetCallerIdentity")}
BOTH_HEADERS = ("retry-after", "x-amz-retry-after")


def js_v3(mode, revision, **differences):
    return Oracle(f"js-v3-{mode}-{revision}", "AWS SDK for JavaScript v3", "js-v3", "js-v3", mode,
                  JS_V3_SERVICES, revision=revision, headers=BOTH_HEADERS, long_poll={"sqs": 0.7},
                  **differences)


def go_v2(mode):
    return Oracle(f"go-v2-{mode}", "AWS SDK for Go v2", "go-v2", "go-v2", mode, GO_SERVICES)


def ruby(mode):
    return Oracle(f"ruby-{mode}", "AWS SDK for Ruby", "ruby", "ruby", mode, {"kms": Service(1)},
                  clock_skew=True)


ORACLES = [
    # 1.29.27 does not know a code that later versions retry in legacy mode, and takes the jitter
    # before the cap in the other modes.
    botocore("legacy", unknown=(("dynamodb", 409, "ReplicatedWriteConflictException"),)),
    botocore("standard", settings=("backoff.jitter_before_cap=true",)),
    botocore("adaptive", settings=("backoff.jitter_before_cap=true",)),
    Oracle("js-v2", "AWS SDK for JavaScript v2", "js-v2", "js-v2", "legacy", JS_V2_SERVICES),
    js_v3("standard", "2.0"),
    js_v3("adaptive", "2.0"),
    js_v3("standard", "2.1"),
    js_v3("adaptive", "2.1"),
    Oracle("go-v1", "AWS SDK for Go v1", "go-v1", "go-v1", "legacy", GO_SERVICES,
           headers=("retry-after",), draws=10**7),
    go_v2("standard"),
    go_v2("adaptive"),
    ruby("legacy"),
    ruby("standard"),
    ruby("adaptive"),
]


def named(names):
    """The oracles of these names, or whose names begin with one of them; None if one fits none."""
    if not names:
        return ORACLES
    fits = {name: [o for o in ORACLES if o.name == name or o.name.startswith(name + "-")]
            for name in names}
    if not all(fits.values()):
        return None
    return [o for o in ORACLES if any(o in chosen for chosen in fits.values())]


def _has_module(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def driver_command(oracle, build):
    """(command, None), or (None, why the SDK cannot be used). `build`: where --install puts SDKs."""
    if oracle.driver == "js-v2":
        if shutil.which("node") is None or not (build / "js" / "node_modules").is_dir():
            return None, f"{build}/js/node_modules is not there"
        return ["env", f"NODE_PATH={build / 'js' / 'node_modules'}", "node",
                str(HERE / "js" / "js_v2_driver.js")], None
    if oracle.driver == "ruby":
        return ["ruby", str(HERE / "ruby" / "ruby_driver.rb")], None
    if oracle.driver.startswith("go-"):
        return [str(build / (oracle.driver.replace("-", "_") + "_driver"))], None
    if oracle.driver == "botocore":
        if shutil.which(PYTHON) is None or not _has_module(PYTHON, "botocore"):
            return None, "the package python3-botocore is not installed"
        return [PYTHON, "-B", str(HERE / "botocore_driver.py")], None
    if oracle.driver == "js-v3":
        folder = build / ("js" if oracle.revision == "2.1" else "js-2.0")
        if shutil.which("node") is None or not (folder / "node_modules").is_dir():
            return None, f"{folder}/node_modules is not there"
        return ["env", f"NODE_PATH={folder / 'node_modules'}", "node",
                str(HERE / "js" / "js_v3_driver.js")], None
    raise ValueError(oracle.driver)
