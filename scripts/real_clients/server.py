#!/usr/bin/python3
"""A small HTTP server on loopback that is the service of a scenario.

Reads its configuration as a line of JSON, prints the port, and answers everything at once with
success until the start time, which the second line names (ns of CLOCK_MONOTONIC). From then on the
ServiceModel decides what is answered, and when. A third line, or the end of the input, makes it
print its report and exit. Started by reality.py.

SPDX-License-Identifier: MIT
"""

import asyncio
import json
import random
import sys
import time

import case
from service_model import ANSWERS, ServiceModel

BODIES = {name: b'{"TableNames":[]}' if code is None else
          json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}",
                      "message": name}).encode()
          for name, (_, code) in ANSWERS.items()}
RESPONSES = {name: (b"HTTP/1.1 %d -\r\nContent-Type: application/x-amz-json-1.0\r\n"
                    b"Content-Length: %d\r\n\r\n" % (status, len(BODIES[name]))) + BODIES[name]
             for name, (status, _) in ANSWERS.items()}


def requests_in(data):
    """Takes the whole HTTP requests off the front of a bytearray; returns the name of each: SDKs
    send it with every attempt. Empty if there is none."""
    names = []
    while (head := data.find(b"\r\n\r\n")) >= 0:
        length, request = 0, ""
        for line in bytes(data[:head]).lower().split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name == b"content-length":
                length = int(value)
            elif name == b"amz-sdk-invocation-id":
                request = value.decode("ascii", "replace").strip()
        if len(data) < head + 4 + length:
            break
        del data[:head + 4 + length]
        names.append(request)
    return names


class Server:
    """Ties the model to the clock and to the connections."""

    def __init__(self, service, seed):
        self.model = ServiceModel(service, random.Random(seed))
        self.start_ns = None
        self.timer, self.timer_ns = None, None
        self.arrivals = []  # ns
        self.late_ns = []  # how long after its time each answer was written
        self.answers = dict.fromkeys(ANSWERS, 0)
        self.access_log = []  # (ns of the answer, ns since the attempt came, status, request)

    def now_ns(self):
        return time.monotonic_ns() - self.start_ns

    def receive(self, transport, request=""):
        """One attempt has arrived."""
        if self.start_ns is None or self.now_ns() < 0:
            transport.write(RESPONSES["success"])
            return
        now_ns = self.now_ns()
        self.advance(now_ns)
        self.arrivals.append(now_ns)
        attempt = (transport, now_ns, request)
        refusal = self.model.arrive(attempt)
        if refusal is not None:
            self.answer(attempt, refusal)
        self.set_timer()

    def advance(self, now_ns):
        for due_ns, attempt, name in self.model.advance(now_ns):
            self.answer(attempt, name)
            self.late_ns.append(self.now_ns() - due_ns)

    def answer(self, attempt, name):
        """The work is done even if its client has hung up."""
        transport, arrived_ns, request = attempt
        self.answers[name] += 1
        now_ns = self.now_ns()
        self.access_log.append((now_ns, now_ns - arrived_ns, ANSWERS[name][0], request))
        if not transport.is_closing():
            transport.write(RESPONSES[name])

    def set_timer(self):
        due_ns = self.model.next_ns()
        if due_ns == self.timer_ns:
            return
        if self.timer is not None:
            self.timer.cancel()
        self.timer, self.timer_ns = None, due_ns
        if due_ns is not None:
            when = (self.start_ns + due_ns) / case.SECOND
            self.timer = asyncio.get_running_loop().call_at(when, self.fire)

    def fire(self):
        self.timer_ns = None
        self.advance(self.now_ns())
        self.set_timer()

    def report(self):
        used = time.process_time()
        return {"arrivals": self.arrivals, "late_ns": self.late_ns, "answers": self.answers,
                "cpu_s": used, "access_log": self.access_log}


class Connection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, server):
        self.server, self.data, self.transport = server, bytearray(), None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.data += data
        for request in requests_in(self.data):
            self.server.receive(self.transport, request)


async def serve():
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=2**24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    configuration = json.loads(await lines.readline())
    server = Server(service_from(configuration["service"]), configuration["seed"])
    listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", 0, backlog=1024)
    print(json.dumps({"port": listening.sockets[0].getsockname()[1]}), flush=True)
    start_ns = json.loads(await lines.readline())["start_ns"]
    server.start_ns = start_ns
    loop.call_at(start_ns / case.SECOND, server.set_timer)
    await lines.readline()
    print(json.dumps(server.report()), flush=True)


def service_from(fields):
    """A case.Service that went through JSON (where Python writes Infinity)."""
    faults = tuple(case.Fault(**fault) for fault in fields.pop("faults"))
    kind, parameters = fields.pop("service_time")
    return case.Service(service_time=(kind, tuple(parameters)), faults=faults, **fields)


if __name__ == "__main__":
    asyncio.run(serve())
