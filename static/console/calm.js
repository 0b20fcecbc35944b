// Changes a panel without moving what a person is at. What stands there is brought up to date in place; rows that
// would come in, or go, under the pointer, the focus or a selection wait and are announced: "3 new events – show".
(() => {
  "use strict";
  const AT_IT_MS = 60000; // so long after the last movement the pointer still means somebody
  const LISTS = "tbody, ul, ol, [data-rows]";
  const waiting = new Map(); // panel body -> { content, added, gone }
  let moved = 0; // when somebody last moved, touched, scrolled or typed

  const isRow = (node) => node instanceof Element && Boolean(node.id) && Boolean(node.parentElement?.matches(LISTS));
  const frame = (body) => body.closest(".panel") || body;
  const after = (one, two) => Boolean(one.compareDocumentPosition(two) & Node.DOCUMENT_POSITION_FOLLOWING);

  // Whether somebody is at this panel, or at something below it that its growth would push away.
  function attended(body) {
    const panel = frame(body);
    const here = (element) => element && (panel.contains(element) || after(panel, element));
    const focused = document.activeElement;
    if (focused && focused !== document.body && focused.closest("main") && !focused.matches("main") && here(focused)) return true;
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && panel.contains(selection.anchorNode)) return true;
    if (Date.now() - moved > AT_IT_MS) return false;
    return here([...document.querySelectorAll("main .panel:hover, main form:hover")].pop());
  }

  const rowsIn = (node) => (isRow(node) ? [node] : node instanceof Element ? [...node.querySelectorAll("[id]")].filter(isRow) : []);

  // Text between rows is white space: without it a row is matched by its id alone and never taken out and put back.
  function bare(root) {
    root.querySelectorAll(LISTS).forEach((list) => {
      [...list.childNodes].forEach((node) => {
        if (node.nodeType === Node.TEXT_NODE && !node.data.trim()) node.remove();
      });
    });
  }

  // Whether something after this row stays: then it was taken out of the middle of its list.
  function followed(row, still) {
    for (let next = row.nextElementSibling; next; next = next.nextElementSibling) if (still.has(next.id)) return true;
    return false;
  }

  // Morphs; with `held` new rows are left out and old ones kept. Gives what was left out.
  function morph(body, content, held) {
    const left = { added: 0, gone: 0, dropped: 0, noun: "" };
    bare(body);
    bare(content);
    const fresh = [];
    const still = new Set([...content.querySelectorAll("[id]")].map((node) => node.id));
    window.Idiomorph.morph(body, content.cloneNode(true).children, {
      morphStyle: "innerHTML",
      callbacks: {
        beforeAttributeUpdated: (name, node, change) =>
          !(name === "open" && (node.tagName === "DETAILS" || node.tagName === "DIALOG")) &&
          !(name === "tabindex" && change === "remove"), // a row that has the focus keeps it
        beforeNodeAdded: (node) => {
          const rows = rowsIn(node);
          if (!rows.length) return true;
          fresh.push(...rows.map((row) => row.id));
          if (!held) return true;
          left.added += rows.length;
          left.noun ||= rows[0].parentElement.dataset.rows || "";
          return false;
        },
        beforeNodeRemoved: (node) => {
          if (!held || !(node instanceof Element)) return true;
          if (left.added && node.matches(".empty")) return false;
          const rows = rowsIn(node);
          if (!rows.length) return true;
          // What drops off the end of a list makes room for what is new: nothing to tell.
          rows.forEach((row) => {
            if (left.dropped < left.added && !followed(row, still)) { left.dropped += 1; return; }
            row.classList.add("gone");
            left.gone += 1;
          });
          return false;
        },
      },
    });
    if (!held) fresh.forEach((id) => document.getElementById(id)?.classList.add("fresh"));
    return left;
  }

  // By what a list says of its rows: whole texts, since in other languages "new" goes by the noun.
  const NEW = {
    attempt: (count) => ngettext("%(count)s new attempt", "%(count)s new attempts", count),
    event: (count) => ngettext("%(count)s new event", "%(count)s new events", count),
    incident: (count) => ngettext("%(count)s new incident", "%(count)s new incidents", count),
    job: (count) => ngettext("%(count)s new job", "%(count)s new jobs", count),
    remark: (count) => ngettext("%(count)s new remark", "%(count)s new remarks", count),
    silence: (count) => ngettext("%(count)s new silence", "%(count)s new silences", count),
    step: (count) => ngettext("%(count)s new step", "%(count)s new steps", count),
    row: (count) => ngettext("%(count)s new row", "%(count)s new rows", count),
  };

  function words({ added, gone, noun }) {
    const fresh = NEW[noun.split("|")[0]] || NEW.row;
    const parts = [];
    if (added) parts.push(interpolate(fresh(added), { count: added }, true));
    if (gone) parts.push(interpolate(ngettext("%(count)s no longer here", "%(count)s no longer here", gone), { count: gone }, true));
    return interpolate(gettext("%(news)s – show"), { news: parts.join(", ") }, true);
  }

  function announce(body, left) {
    const place = frame(body).querySelector(".news");
    if (!place) return;
    let button = place.querySelector("button");
    if (!left.added && !left.gone) { button?.remove(); return; }
    if (!button) {
      button = document.createElement("button");
      button.type = "button";
      button.className = "btn btn-sm btn-primary";
      button.addEventListener("click", () => {
        show(body);
        const first = body.querySelector(".fresh a[href], .fresh button");
        if (button.contains(document.activeElement) || document.activeElement === document.body) first?.focus({ preventScroll: true });
        button.remove();
      });
      place.append(button);
    }
    const text = words(left);
    if (button.textContent !== text) button.textContent = text;
  }

  // Shows what waits.
  function show(body) {
    const kept = waiting.get(body);
    waiting.delete(body);
    if (!kept || !body.isConnected) return;
    morph(body, kept, false);
    announce(body, { added: 0, gone: 0 });
    body.dispatchEvent(new CustomEvent("panel:changed", { bubbles: true }));
  }

  // Puts new content into a panel. `content`: a fragment, as the server sent it.
  function put(body, content) {
    const kept = content.cloneNode(true);
    const held = attended(body);
    const left = morph(body, content, held);
    if (left.added || left.gone ) waiting.set(body, kept);
    else waiting.delete(body);
    announce(body, left);
  }

  ["pointermove", "pointerdown", "keydown", "wheel", "touchmove"].forEach((name) => {
    document.addEventListener(name, () => { moved = Date.now(); }, { passive: true, capture: true });
  });
  setInterval(() => {
    waiting.forEach((_, body) => { if (!attended(body) && Date.now() - moved > AT_IT_MS) show(body); });
  }, 1000);
  // An announcement whose panel begins above the window hangs at the top of it.
  if (window.IntersectionObserver) {
    const watch = new IntersectionObserver((seen) => seen.forEach(({ target, isIntersecting, boundingClientRect }) => {
      target.querySelector(".news")?.classList.toggle("afar", !isIntersecting && boundingClientRect.top < 100);
    }), { rootMargin: "-56px 0px 0px 0px" });
    document.querySelectorAll(".panel > .panel-title").forEach((title) => watch.observe(title));
  }
  window.htmx?.defineExtension("calm", {
    isInlineSwap: () => false,
    handleSwap: (style, target, content) => {
      if (style !== "morph:innerHTML" || !window.Idiomorph) return false;
      put(target, content);
      return [target];
    },
  });
  window.calm = { put, show };
})();
