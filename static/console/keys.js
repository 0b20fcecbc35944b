// The keyboard: `?` lists the keys, `/` searches, `g` and a letter goes to a page, `j` and `k` go from row to row.
// Whoever needs single keys for something else (speech input, for one) turns them off in the list.
(() => {
  "use strict";
  const OFF = "rekindle-keys-off";
  const SECOND_KEY_MS = 1500;
  const ROWS = "main tbody tr, main .lines > li, main .events > li, main [data-row]";
  const LINK = "th a[href], a.sentence, a[href], button, summary";
  const list = document.getElementById("keys");
  let gone = 0; // when `g` was pressed

  const stored = () => { try { return localStorage.getItem(OFF) !== null; } catch { return false; } };
  const typing = (element) => element instanceof HTMLElement &&
    (element.isContentEditable || element.matches("textarea, select, input:not([type=checkbox]):not([type=radio])"));
  const visible = (element) => element.getClientRects().length > 0;

  function show() {
    if (!list || list.open) return;
    list.showModal();
  }

  function search() {
    const field = [...document.querySelectorAll("main [data-search], main input[type=search]")].find(visible);
    if (!field) return false;
    field.focus();
    field.select?.();
    return true;
  }

  function go(letter) {
    const link = document.querySelector(`nav [data-key="${CSS.escape(letter)}"]`);
    if (link) location.assign(link.href);
    return Boolean(link);
  }

  // The row one stands in, or the first (last) one in sight.
  function step(by) {
    const rows = [...document.querySelectorAll(ROWS)].filter(visible);
    if (!rows.length) return false;
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const first = rows.findIndex((row) => row.getBoundingClientRect().top >= 0);
    const next = at >= 0 ? at + by : Math.max(first, 0);
    const row = rows[Math.min(Math.max(next, 0), rows.length - 1)];
    let target = row.querySelector(LINK);
    if (!target) { target = row; row.tabIndex = -1; }
    target.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    return true;
  }

  function close() {
    const open = [...document.querySelectorAll("details[data-closes][open]")].pop();
    if (open) { open.open = false; open.querySelector("summary").focus(); return true; }
    const menu = document.querySelector(".navbar-collapse.show");
    if (menu && window.bootstrap) { window.bootstrap.Collapse.getOrCreateInstance(menu).hide(); return true; }
    if (typing(document.activeElement)) { document.activeElement.blur(); return true; }
    return false;
  }

  const ONE = {
    "?": () => { show(); return true; },
    "/": search,
    j: () => step(1),
    k: () => step(-1),
    n: () => {
      const news = [...document.querySelectorAll(".news button")].find(visible);
      news?.click();
      return Boolean(news);
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") { if (!document.querySelector("dialog[open]")) close(); return; }
    if (stored() || typing(event.target) || document.querySelector("dialog[open]")) return;
    const second = Date.now() - gone < SECOND_KEY_MS;
    gone = 0;
    if (second && go(event.key)) { event.preventDefault(); return; }
    if (event.key === "g") { gone = Date.now(); return; }
    if (Object.hasOwn(ONE, event.key) && ONE[event.key]()) event.preventDefault();
  });

  // A menu that hangs over the page goes when one clicks beside it.
  document.addEventListener("click", (event) => {
    document.querySelectorAll("details[data-closes][open]").forEach((one) => {
      if (!one.contains(event.target)) one.open = false;
    });
  });

  const button = document.getElementById("keys-switch");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", show);
  }
  const on = document.getElementById("keys-on");
  if (on) {
    on.checked = !stored();
    on.addEventListener("change", () => {
      try {
        if (on.checked) localStorage.removeItem(OFF);
        else localStorage.setItem(OFF, "yes");
      } catch { on.checked = true; }
    });
  }
})();
