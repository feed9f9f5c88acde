"""A headless Chromium for a test: opens a page, runs JavaScript in it, ends with the block."""

import asyncio
import contextlib
import itertools
import json
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from emulator.tests.required import lacking

__all__ = ["Tab", "chromium"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-audio-output",  # its clock runs without a sound card too
    "--autoplay-policy=no-user-gesture-required",
    "--no-first-run",
    "--disable-background-networking",  # it would look for its maker's hosts
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)

_CONTRAST = """(() => {
    const channel = (value) => { const c = value / 255;
        return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
    const light = (text) => { const [r, g, b] = text.match(/\\d+/g).map(Number).map(channel);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const back = (node) => { for (; node; node = node.parentElement) {
        const colour = getComputedStyle(node).backgroundColor;
        if (!colour.endsWith(", 0)")) return light(colour); } return 1; };
    const nodes = document.querySelectorAll("p, li, dd, dt, td, th, .badge, del, ins, a:not(.skip), label, h1, h2");
    return Math.min(...[...nodes].map((node) => {
        const [a, b] = [light(getComputedStyle(node).color), back(node)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }));
})()"""


class Tab:
    """The one tab of the browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._complaints: list[str] = []

    async def complaints(self) -> list[str]:
        """Return what the console has shown as an error so far: exceptions, failed loads, complaints of scripts."""
        await self.run("0")  # what happened before is told before the answer
        return self._complaints

    async def run(self, script: str) -> Any:
        """Return the value of an expression; a promise is awaited.

        Raises:
            AssertionError: it threw.
        """
        parameters = {"expression": script, "awaitPromise": True, "returnByValue": True}
        answer = await self.call("Runtime.evaluate", parameters)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def open(self, url: str) -> None:
        """Go to a page and wait until it says that it is ready."""
        await self.call("Page.navigate", {"url": url})
        await self.until("document.body?.dataset.ready === 'true'")

    async def prefer(self, scheme: str) -> None:
        """Show the page to somebody who wants it "light" or "dark"."""
        await self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    async def contrast(self) -> float:
        """Return the smallest contrast of all texts with what is behind them; WCAG 2 wants 4.5."""
        least: float = await self.run(_CONTRAST)
        return least

    async def until(self, condition: str) -> None:
        """Wait until an expression is true; the page itself looks whenever it changes."""
        await self.run(f"""new Promise((resolve) => {{
            const look = () => {{ if ({condition}) {{ seen.disconnect(); resolve(); }} }};
            const seen = new MutationObserver(look);
            const all = {{ subtree: true, childList: true, attributes: true, characterData: true }};
            seen.observe(document, all);
            look();
        }})""")

    async def call(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Call a method of the DevTools protocol."""
        number = next(self._ids)
        await self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(await self._socket.recv())
            self._complaints += _complaint(message)
            if message.get("id") == number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result


@contextlib.asynccontextmanager
async def chromium(profile: Path) -> AsyncIterator[Tab]:
    """Start Chromium with a profile of its own; skips the test where there is none."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        lacking(f"no Chromium: none of {', '.join(_NAMES)} is installed")
    process = await asyncio.create_subprocess_exec(
        program,
        *_FLAGS,
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    reading = asyncio.ensure_future(_address(process.stderr))
    try:
        address = await asyncio.shield(reading)
        async with connect(address, max_size=None) as browser:
            root = Tab(browser)
            targets = await root.call("Target.getTargets", {})
            page = next(target for target in targets["targetInfos"] if target["type"] == "page")
            port = re.search(r":(\d+)/", address)
            assert port is not None
            async with connect(f"ws://127.0.0.1:{port[1]}/devtools/page/{page['targetId']}", max_size=None) as socket:
                tab = Tab(socket)
                await tab.call("Runtime.enable", {})
                await tab.call("Log.enable", {})
                yield tab
            await root.call("Browser.close", {})
        async with asyncio.timeout(10):
            await process.wait()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        if process.returncode is None:
            process.kill()
        await process.communicate()


def _complaint(message: dict[str, Any]) -> list[str]:
    match message:
        case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": told}}:
            return [f"exception: {told}"]
        case {"method": "Runtime.consoleAPICalled", "params": {"type": "error" | "assert", "args": told}}:
            return [f"console: {told}"]
        case {"method": "Log.entryAdded", "params": {"entry": {"level": "error"} as told}}:
            return [f"log: {told}"]
    return []


async def _address(output: asyncio.StreamReader) -> str:
    said = ""
    while line := (await output.readline()).decode("utf-8", "replace"):
        said += line
        if match := re.search(r"DevTools listening on (ws://\S+)", line):
            return match[1]
    raise AssertionError(f"Chromium did not start:\n{said}")
