"""A headless Chromium, driven through its pipe by the DevTools protocol: no library, no port."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
_PATIENCE = 60.0


class Browser:
    """One browser with one page; `troubles` is what the console was told, `asked` every URL."""

    def __init__(self, profile: Path) -> None:
        # The protocol reads requests on descriptor 3 and answers on 4.
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        self.troubles: list[str] = []
        self.asked: list[str] = []
        self._next, self._buffer, self._answers = 0, b"", {}
        script = f'exec 3<&{to_read} 4>&{to_write}; exec "$@"'
        command = [PROGRAM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *command],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        os.set_blocking(self._in, False)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session: str | None = None
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._session = None
        try:
            self.call("Browser.close")
        finally:
            os.close(self._out)
            os.close(self._in)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events are taken in meanwhile."""
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        wanted = self._next
        self._until(lambda: wanted in self._answers, method)
        answer = self._answers.pop(wanted)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, page: Path, *, width: int, height: int, dark: bool) -> None:
        """Load a page as a device of this size would, with this setting."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._loaded = False
        self.call("Page.navigate", url=page.as_uri())
        self._until(lambda: self._loaded, "loading the page")

    def value(self, expression: str) -> Any:
        """What a JavaScript expression has as its value in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def screenshot(self, path: Path) -> Path:
        """The whole page, also what is below the window."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))
        return path

    def _until(self, done: Any, what: str) -> None:
        began = time.monotonic()
        while not done():
            try:
                piece = os.read(self._in, 1 << 20)
            except BlockingIOError:
                piece = None
                time.sleep(0.005)
            if piece == b"":
                raise RuntimeError(f"Chromium ended while {what}, status {self._process.poll()}")
            if time.monotonic() - began > _PATIENCE:
                raise TimeoutError(f"Chromium did not answer in {_PATIENCE:g} s: {what}")
            *messages, self._buffer = (self._buffer + (piece or b"")).split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._answers[message["id"]] = message
            return
        method, params = message["method"], message["params"]
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.troubles.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.troubles.append(str(params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.troubles.append(str(params["exceptionDetails"]))
