"""How does each page look? `python -m tests.console.screens [FOLDER]` takes pictures, in both themes.

The pages are those of `console/urls.py` over `tests.console.sample` and `everything`, 1280 wide; two of them are
taken at 390 as well, as on a phone. WebP, since all of them are committed in `docs/screens`.
"""

import base64
import json
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.chromium import CHROMIUM, FLAGS
from tests.console.browsing import EVERYBODY, ROOT, Door, Site

THEMES = ("dark", "light")
ON_A_PHONE = ("overview", "job")
SHOWN = frozenset(
    [
        "overview",
        "jobs",
        "job",
        "job-log",
        "incidents",
        "incident",
        "approvals",
        "approval",
        "nodes",
        "node",
        "clusters",
        "cluster",
        "cluster-mode",
        "audit",
        "audit-event",
        "policy",
        "step-hold",
        "silences",
        "notifications",
        "views",
    ]
)
"""Without the forms, which look alike, and what is as long as the API: all pictures together stay below 2 MB."""
HEIGHT_AT_MOST = 1400
QUALITY = 40
SETTLE_MS = 300  # until the socket is there and what grows has grown


def main() -> None:
    """Write `NAME-THEME.webp` for every page; what lies there is replaced."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screens"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rk-screens-") as state, sync_playwright() as playwright:
        site = Site(Path(state))
        site.start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            site.tell("everything")
            addresses = json.loads(site.tell("addresses"))
            door = Door(browser, site)
            wide, narrow = door(EVERYBODY), door(EVERYBODY, 390)
            for name, address in addresses.items():
                if name in SHOWN:
                    _take(wide, address, folder / name)
                if name in ON_A_PHONE:
                    _take(narrow, address, folder / f"{name}-phone")
        finally:
            browser.close()
            site.end()
    taken = list(folder.glob("*.webp"))
    print(f"{len(taken)} pictures, {sum(one.stat().st_size for one in taken) / 1e6:.2f} MB")


def _take(page: Page, address: str, stem: Path) -> None:
    page.goto(address)
    page.wait_for_timeout(SETTLE_MS)
    size = page.viewport_size or {"width": 1280, "height": 900}
    tall = min(HEIGHT_AT_MOST, page.evaluate("document.documentElement.scrollHeight"))
    clip = {"x": 0, "y": 0, "width": size["width"], "height": tall, "scale": 1}
    for theme in THEMES:
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
        page.evaluate("Promise.all(document.getAnimations().map(one => one.finished))")  # colours on their way
        said = page.context.new_cdp_session(page).send(
            "Page.captureScreenshot",
            {"format": "webp", "quality": QUALITY, "clip": clip, "captureBeyondViewport": True},
        )
        stem.with_name(f"{stem.name}-{theme}.webp").write_bytes(base64.b64decode(said["data"]))


if __name__ == "__main__":
    main()
