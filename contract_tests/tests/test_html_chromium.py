"""The report page in a real browser."""

import asyncio
import base64
import os
from pathlib import Path

from contract_tests.tests.test_html import page
from emulator.tests.chromium import Tab, chromium

OVERLAPS = """(() => {
    const boxes = [...document.querySelectorAll(".lanes text, .lanes circle")].map((node) =>
        [node.tagName, node.textContent.slice(0, 40), node.getBoundingClientRect()]);
    const names = boxes.filter(([tag]) => tag === "text");
    return names.flatMap(([, name, a]) => boxes.filter(([, other, b]) => other !== name && a.left < b.right
        && b.left < a.right && a.top < b.bottom && b.top < a.bottom).map(([, other]) => `${name} | ${other}`));
})()"""
NAMED = frozenset({"link", "button", "image", "img", "region", "table", "heading", "slider", "DisclosureTriangle"})
FOCUSABLE = "a[href], summary, audio[controls], [tabindex='0']"


async def unnamed(tab: Tab) -> list[str]:
    """Return the roles of what a screen reader would announce without a name."""
    tree = await tab.call("Accessibility.getFullAXTree", {})
    nodes = [node for node in tree["nodes"] if not node["ignored"] and node["role"]["value"] in NAMED]
    assert {"link", "image", "region", "heading", "DisclosureTriangle"} <= {node["role"]["value"] for node in nodes}
    return [node["role"]["value"] for node in nodes if not node.get("name", {}).get("value", "").strip()]


async def press(tab: Tab, key: str, code: int, text: str = "") -> None:
    parameters = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}
    for kind in ("keyDown", "keyUp"):
        await tab.call("Input.dispatchKeyEvent", {**parameters, "type": kind})


async def shot(tab: Tab, name: str) -> None:
    """Keep a picture where somebody wants to look at it."""
    folder = os.environ.get("CONTRACT_SCREENSHOTS")
    if folder:
        picture = await tab.call("Page.captureScreenshot", {"captureBeyondViewport": True})
        await asyncio.to_thread(Path(folder, f"{name}.png").write_bytes, base64.b64decode(picture["data"]))


async def test_the_report_can_be_read_heard_and_walked_through(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page()[0], "utf-8")
    async with asyncio.timeout(120), chromium(tmp_path / "profile") as tab:
        await tab.call("Page.navigate", {"url": file.as_uri()})
        await tab.run("new Promise((r) => document.readyState === 'complete' ? r() : addEventListener('load', r))")
        assert await tab.run("performance.getEntriesByType('resource').length") == 0
        for width, scheme in ((1200, "light"), (400, "light"), (400, "dark")):
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            await tab.call("Emulation.setDeviceMetricsOverride", size)
            await tab.prefer(scheme)
            assert await tab.run("document.documentElement.scrollWidth") <= width
            assert await tab.contrast() >= 4.5
            assert await tab.run(OVERLAPS) == []
            await shot(tab, f"report-{width}-{scheme}")
        await tab.run("document.querySelector('a[href=\"#CT2\"]').click()")
        await tab.until("document.querySelector('details:last-of-type').open")
        assert await unnamed(tab) == []
        await tab.run(f"""
            globalThis.left = new Set(document.querySelectorAll("{FOCUSABLE}"));
            document.activeElement.blur(); scrollTo(0, 0);
            addEventListener("focusin", (event) => left.delete(event.target)); 0""")
        for _ in range(60):  # an audio element has several stops
            await press(tab, "Tab", 9)
        assert await tab.run("[...left].map((node) => node.outerHTML.slice(0, 200))") == []
        await tab.run("document.querySelector('details:last-of-type summary').focus()")
        await press(tab, "Enter", 13, "\r")
        await tab.until("!document.querySelector('details:last-of-type').open")
        seconds = await tab.run("""(async () => {
            const audio = document.querySelector("audio");
            await audio.play();
            await new Promise((resolve) => { audio.ontimeupdate = () => audio.currentTime > 0 && resolve(); });
            return audio.duration; })()""")
        assert abs(seconds - 5.33) < 0.01
        assert await tab.complaints() == []
