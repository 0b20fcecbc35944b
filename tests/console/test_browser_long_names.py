"""Do long and hostile names stay within the page and its tables, on a screen and on a phone?"""

from urllib.parse import quote

import pytest

from tests.console.browsing import EVERYBODY, Door, Site
from tests.console.named_long import NODE

pytestmark = pytest.mark.browser
PAGES = {
    "overview": "/",
    "jobs": "/jobs",
    "silences": "/silences",
    "nodes": "/nodes",
    "audit": "/audit",
    "node": f"/nodes/demo/{quote(NODE, safe='')}",
    "cluster": "/clusters/demo",
    "job": "/jobs/demo/8800000000000000/0",
}
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  const wider = one => one.scrollWidth > one.clientWidth + 1;
  const tables = [...document.querySelectorAll(".table-responsive")].filter(wider);
  const page = document.documentElement.scrollWidth > width ? ['the page'] : [];
  return page.concat(tables.map(one => one.textContent.trim().slice(0, 40)));
}"""


@pytest.fixture(scope="module")
def long_names(site: Site) -> None:
    site.tell("everything")
    site.tell("long_names")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_page(width: int, enter: Door, long_names: None) -> None:
    page = enter(EVERYBODY, width)
    wide = {}
    for name, address in PAGES.items():
        page.goto(address)
        text = page.inner_text("main")
        assert any(one in text for one in ("blade09", "pretrain_llama", "firstname.lastname")), name
        if found := page.evaluate(TOO_WIDE):
            wide[name] = found
    assert not wide
