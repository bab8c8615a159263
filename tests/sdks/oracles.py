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
INSTALL = "scripts/compare_sdks --install does that"

# The services whose clients are used, by the names that the presets give them.
BOTOCORE_SERVICES = {
    "kinesis": Service(6), "dynamodb": Service(6), "organizations": Service(2),
    "dynamodb-streams": Service(1), "glacier": Service(1, "rest-json"),
    "sqs": Service(3, "query", "ListQueues"), "sts": Service(2, "query", "GetCallerIdentity"),
    "cloudsearch": Service(1, "query", "ListDomainNames"),
    "s3": Service(2, "s3", "ListAllMyBucketsResult"),
    "route53": Service(2, "rest-xml", "ListHostedZonesResponse"),
    "ec2": Service(1, "ec2", "DescribeRegionsResponse")}
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


@dataclasses.dataclass(frozen=True)
class Oracle:
    """One mode of one SDK."""

    name: str
    title: str  # of the SDK, for the table
    release: str  # that `retrysim list sdks` names
    sdk: str  # of the preset, and of the driver
    mode: str
    services: dict
    revision: str = ""
    version: str = ""  # what the program is told: "botocore@1.29.27", which chooses the revision
    headers: tuple = ()  # those whose delay the SDK takes; of several the first in the answer
    long_poll: dict = dataclasses.field(default_factory=dict)  # share of sequences, by service
    settings: tuple = ()  # keys of [client.X.retry] in which this release differs
    unknown: tuple = ()  # (service, status or None for any, code) that say nothing to this release
    final_transports: tuple = ()  # transport errors that it does not retry
    draws: int = 2**53  # draws are multiples of 1/draws, which its random numbers can be
    clock_skew: bool = False  # answers that complain about the clock bring another time

    def as_known(self, answer, service):
        """An answer as this release takes it, in terms that its preset knows."""
        if answer.get("transport") in self.final_transports:
            return {"status": 400, "code": None, "headers": {}}
        status, code = answer.get("status"), answer.get("code")
        if (service, status, code) in self.unknown or (service, None, code) in self.unknown:
            return answer | {"code": None}
        return answer


# 1.29.27 does not know a code that later releases retry in legacy mode.
def botocore(mode):
    return Oracle(f"botocore-{mode}", "botocore", "1.29.27", "botocore", mode, BOTOCORE_SERVICES,
                  revision="" if mode == "legacy" else "2.0", version="botocore@1.29.27",
                  unknown=(("dynamodb", 409, "ReplicatedWriteConflictException"),))


def js_v3(mode, revision):
    core = {"2.0": "3.39.0", "2.1": "3.41.0"}[revision]
    version = {"2.0": "smithy-core@3.39.0", "2.1": "js-v3@3.1143.0"}[revision]
    return Oracle(f"js-v3-{mode}-{revision}", "AWS SDK for JavaScript v3", f"3.1143.0, core {core}",
                  "js-v3", mode, JS_V3_SERVICES, revision=revision, version=version,
                  headers=BOTH_HEADERS, long_poll={"sqs": 0.7})


# The release of Debian 12 does not know the one code that only STS has.
def go_v2(mode):
    return Oracle(f"go-v2-{mode}", "AWS SDK for Go v2", "1.17.1", "go-v2", mode, GO_SERVICES,
                  revision="2.0", version="go-v2@1.17.1",
                  unknown=(("sts", None, "IDPCommunicationError"),))


def ruby(mode):
    return Oracle(f"ruby-{mode}", "AWS SDK for Ruby", "core 3.168.1", "ruby", mode,
                  {"kms": Service(1)}, revision="" if mode == "legacy" else "2.0",
                  version="ruby@3.168.1", settings=("refreshable_credentials=true",),
                  clock_skew=True)


ORACLES = [
    botocore("legacy"),
    botocore("standard"),
    botocore("adaptive"),
    Oracle("js-v2", "AWS SDK for JavaScript v2", "2.1693.0", "js-v2", "legacy", JS_V2_SERVICES,
           version="js-v2@2.1693.0"),
    js_v3("standard", "2.0"),
    js_v3("adaptive", "2.0"),
    js_v3("standard", "2.1"),
    js_v3("adaptive", "2.1"),
    # A connection that breaks while the answer is read may have done its work: no retry.
    Oracle("go-v1", "AWS SDK for Go v1", "1.44.133", "go-v1", "legacy", GO_SERVICES,
           version="go-v1@1.44.133", headers=("retry-after",), draws=10**7,
           final_transports=("reset",)),
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


def _works(*command):
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def driver_command(oracle, build):
    """(command, None), or (None, why the SDK cannot be used). `build`: where it was installed."""
    if oracle.sdk == "botocore":
        command = [PYTHON, "-B", str(HERE / "botocore_driver.py")]
        return (command, None) if _works(PYTHON, "-c", "import botocore") else (
            None, "the package python3-botocore is not installed")
    if oracle.sdk == "ruby":
        command = ["ruby", str(HERE / "ruby" / "ruby_driver.rb")]
        return (command, None) if _works("ruby", "-e", "require 'aws-sdk-kms'") else (
            None, "the package ruby-aws-sdk-kms is not installed")
    if oracle.sdk in ("go-v1", "go-v2"):
        driver = build / (oracle.sdk.replace("-", "_") + "_driver")
        return ([str(driver)], None) if driver.is_file() else (
            None, f"its driver is not compiled; {INSTALL}")
    modules = build / ("js-2.0" if oracle.revision == "2.0" else "js") / "node_modules"
    driver = HERE / "js" / (oracle.sdk.replace("-", "_") + "_driver.js")
    if shutil.which("node") is None or not modules.is_dir():
        return None, f"its packages are not installed; {INSTALL}"
    return ["env", f"NODE_PATH={modules}", "NODE_NO_WARNINGS=1", "node", str(driver)], None
