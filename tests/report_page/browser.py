"""Headless browsers: Chromium, driven through its DevTools protocol over a pipe, and Firefox,
through Marionette.

SPDX-License-Identifier: MIT
"""

import base64
import json
import os
import select
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time


class BrowserError(Exception):
    """The browser does not do what it is told."""


def find_chromium():
    """The program, or None if there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or \
        shutil.which("google-chrome")


def find_firefox():
    """The program, or None if there is none."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class AnyBrowser:
    """One page in a browser of its own. What it logs, and errors of scripts, are in `problems`."""

    def __init__(self, timeout):
        self.timeout = timeout
        self.problems = []
        self.profile = tempfile.TemporaryDirectory(prefix="retrysim-page-")

    def __enter__(self):
        return self

    def end(self, seconds):
        """Waits for the browser to end by itself, or ends it."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for _ in range(20):  # its children may still be writing there
            try:
                self.profile.cleanup()
                return
            except OSError:
                time.sleep(0.1)

    def settle(self):
        """Until what depends on sizes has been drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
                 "() => setTimeout(done, 0))))")


class Browser(AnyBrowser):
    """Chromium."""

    def __init__(self, program, timeout=60):
        super().__init__(timeout)
        self.events = []
        self.last_id = 0
        self.buffer = b""
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()

        def take_descriptors():  # the protocol's are 3 and 4
            high_in, high_out = os.dup(to_browser), os.dup(from_browser)
            os.dup2(high_in, 3, inheritable=True)
            os.dup2(high_out, 4, inheritable=True)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--hide-scrollbars",
             "--force-prefers-reduced-motion", f"--user-data-dir={self.profile.name}",
             "--remote-debugging-pipe", "about:blank"],
            close_fds=False, preexec_fn=take_descriptors, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        targets = self.call("Target.getTargets", session=None)["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", session=None, targetId=page["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        # Of what a page complains to itself some does not get into any log: loops of observers.
        self.call("Page.addScriptToEvaluateOnNewDocument", source="window.complaints = [];"
                  "addEventListener('error', event => complaints.push(event.message));")

    def __exit__(self, *_):
        os.close(self.commands)
        self.end(5)
        os.close(self.answers)

    def call(self, method, session="own", **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if session == "own":
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        deadline = time.monotonic() + self.timeout
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], deadline - time.monotonic())
            part = os.read(self.answers, 1 << 20) if ready else b""
            if not part:
                raise BrowserError("no answer from the browser")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self.note(message)
        return message

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.problems.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(str(parameters["args"]))
        elif method:
            self.events.append(method)

    def resize(self, width, height, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media="",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.settle()

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self.receive()
        self.settle()

    def settle(self):
        super().settle()
        self.problems += self.run("window.complaints ? complaints.splice(0) : []")

    def run(self, expression):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise BrowserError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def drag(self, x, y, to_x):
        for kind, at in (("mousePressed", x), ("mouseMoved", to_x), ("mouseReleased", to_x)):
            self.call("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1,
                      clickCount=1)
        self.settle()

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def screenshot(self, full=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)["data"]
        return base64.b64decode(data)

    def pdf(self):
        """On A4, as a person would print it."""
        data = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69,
                         preferCSSPageSize=True, printBackground=True)["data"]
        return base64.b64decode(data)


class Firefox(AnyBrowser):
    """Firefox. Scripts see the elements of the page, not what its own scripts put on window."""

    PREFERENCES = {"marionette.port": 0, "ui.prefersReducedMotion": 1,
                   "app.update.disabledForTesting": True,
                   "browser.shell.checkDefaultBrowser": False}

    def __init__(self, program, timeout=60):
        super().__init__(timeout)
        self.last_id = 0
        folder = pathlib.Path(self.profile.name)
        (folder / "user.js").write_text("".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
            for name, value in self.PREFERENCES.items()), encoding="utf-8")
        self.process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--marionette", "--remote-allow-system-access",
             "--profile", folder],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.profile.name})
        port, end = folder / "MarionetteActivePort", time.monotonic() + timeout
        while not port.exists() or not port.read_text(encoding="utf-8").strip():
            if time.monotonic() > end or self.process.poll() is not None:
                self.end(0)
                raise BrowserError("Firefox does not start")
            time.sleep(0.05)
        self.socket = socket.create_connection(
            ("127.0.0.1", int(port.read_text(encoding="utf-8"))), timeout)
        self.stream = self.socket.makefile("rb")
        self.receive()
        self.call("WebDriver:NewSession")
        self.call("WebDriver:SetTimeouts", script=1000 * timeout, pageLoad=1000 * timeout)

    def __exit__(self, *_):
        self.call("Marionette:Quit", flags=["eForceQuit"])
        self.stream.close()
        self.socket.close()
        self.end(10)

    def call(self, method, **parameters):
        self.last_id += 1
        message = json.dumps([0, self.last_id, method, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self.receive()
        if error:
            raise BrowserError(f"{method}: {error['message']}")
        return result

    def receive(self):
        """A message: its length in letters, a colon, JSON."""
        length = b""
        while not length.endswith(b":"):
            letter = self.stream.read(1)
            if not letter:
                raise BrowserError("no answer from Firefox")
            length += letter
        return json.loads(self.stream.read(int(length[:-1])))

    def open(self, url):
        self.call("WebDriver:Navigate", url=url)
        self.settle()

    def resize(self, width, height):
        for _ in range(2):  # the window has a frame
            more = self.run(f"[{width} - innerWidth, {height} - innerHeight]")
            now = self.call("WebDriver:GetWindowRect")
            self.call("WebDriver:SetWindowRect", width=now["width"] + more[0],
                      height=now["height"] + more[1])
            self.settle()

    def settle(self):
        super().settle()
        self.call("Marionette:SetContext", value="chrome")
        self.problems += self.call("WebDriver:ExecuteScript", args=[], script="""
            const found = Services.console.getMessageArray().filter(m =>
                m instanceof Ci.nsIScriptError && /^(file|blob|http):/.test(m.sourceName) &&
                !(m.flags & Ci.nsIScriptError.warningFlag)).map(m => String(m.errorMessage));
            Services.console.reset();
            return found;""")["value"]
        self.call("Marionette:SetContext", value="content")

    def run(self, expression):
        """The value of a JavaScript expression."""
        script = f"const done = arguments[0]; Promise.resolve({expression}).then(done, " \
            "error => done({ failed: String(error) }));"
        value = self.call("WebDriver:ExecuteAsyncScript", script=script, args=[])["value"]
        if isinstance(value, dict) and "failed" in value:
            raise BrowserError(f"{expression}: {value['failed']}")
        return value
