// The page of a job: the arrow keys go from mark to mark, and a stretch of time is shown in place, by one address.
(() => {
  "use strict";
  const FOLLOWING = ["panel-job_lanes", "panel-job_curves", "panel-job_attempts", "panel-job_events"]; // what shows a stretch of time
  const PART = /^[?&]?(?:from|to)=/;
  let asked = 0;

  // --- marks: one of them is in the tab order, the arrow keys go on from there ---
  const lanes = () => document.getElementById("panel-job_lanes");
  const marks = () => [...lanes().querySelectorAll("a.stamp")];

  function rove(to) {
    const all = marks();
    if (!all.length) return;
    const chosen = to || all.find((mark) => mark === document.activeElement) || all.at(-1);
    all.forEach((mark) => mark.setAttribute("tabindex", mark === chosen ? "0" : "-1"));
    if (to) { to.focus({ preventScroll: true }); to.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  }

  const place = (mark) => { const box = mark.getBoundingClientRect(); return box.left + box.width / 2; };
  const laneOf = (mark) => mark.closest("svg.lane");

  function beside(mark, by) {
    const own = marks().filter((one) => laneOf(one) === laneOf(mark)).sort((one, other) => place(one) - place(other));
    return own[own.indexOf(mark) + by];
  }

  function other(mark, by) {
    const all = [...lanes().querySelectorAll("svg.lane")].filter((lane) => lane.querySelector("a.stamp"));
    const next = all[all.indexOf(laneOf(mark)) + by];
    if (!next) return undefined;
    const far = (one) => Math.abs(place(one) - place(mark));
    return [...next.querySelectorAll("a.stamp")].sort((one, two) => far(one) - far(two))[0];
  }

  const KEYS = {
    ArrowLeft: (mark) => beside(mark, -1), ArrowRight: (mark) => beside(mark, 1),
    ArrowUp: (mark) => other(mark, -1), ArrowDown: (mark) => other(mark, 1),
    Home: () => marks()[0], End: () => marks().at(-1),
  };

  function pressed(event) {
    const mark = event.target.closest?.("a.stamp");
    if (!mark || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
    event.preventDefault();
    const next = KEYS[event.key](mark);
    if (next) rove(next);
  }

  // --- a stretch of time: `?from=…&to=…`, in the address and in every panel that follows it ---
  const written = (ms) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

  function queryOf(from, to) {
    if (from === null && to === null) return "";
    const parts = [];
    if (from !== null) parts.push(`from=${written(Math.floor(from / 1000) * 1000)}`);
    if (to !== null) parts.push(`to=${written(Math.ceil(to / 1000) * 1000)}`);
    return `?${parts.join("&")}`;
  }

  function readQuery(query) {
    const asked = new URLSearchParams(query);
    const moment = (name) => { const at = Date.parse(asked.get(name) || ""); return Number.isNaN(at) ? null : at; };
    return { from: moment("from"), to: moment("to") };
  }

  async function put(panel, turn) {
    const answer = await fetch(panel.dataset.address, { credentials: "same-origin", cache: "no-store" });
    if (turn !== asked || !answer.ok) return;
    const box = document.createElement("template");
    box.innerHTML = await answer.text();
    panel.replaceChildren(box.content);
    panel.dataset.etag = answer.headers.get("ETag") || "";
    panel.dispatchEvent(new CustomEvent("panel:changed", { bubbles: true }));
  }

  function show(query, { push = true } = {}) {
    const turn = asked += 1;
    FOLLOWING.map((id) => document.getElementById(id)).filter(Boolean).forEach((panel) => {
      panel.dataset.address = panel.dataset.address.split("?")[0] + query;
      delete panel.dataset.etag;
      put(panel, turn).catch(() => panel.dispatchEvent(new CustomEvent("changed", { bubbles: true })));
    });
    if (push) history.pushState(null, "", location.pathname + query);
    document.dispatchEvent(new CustomEvent("stretch", { detail: readQuery(query) }));
  }

  window.stretch = { show: (from, to) => show(queryOf(from, to)), now: () => readQuery(location.search) };

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-stretch]");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(link.dataset.stretch);
  });
  window.addEventListener("popstate", () => {
    const query = PART.test(location.search) ? location.search : "";
    const shown = document.getElementById("panel-job_lanes").dataset.address.split("?")[1] || "";
    if (query.slice(1) !== shown) show(query, { push: false });
  });

  function settle() {
    rove();
    const box = lanes().querySelector(".lanes-scroll");
    if (box && !box.dataset.begun) { box.dataset.begun = "yes"; box.scrollLeft = box.scrollWidth; }
  }

  if (lanes()) {
    document.body.classList.add("with-keys");
    document.addEventListener("keydown", pressed);
    lanes().addEventListener("panel:changed", settle);
    lanes().addEventListener("focusin", (event) => {
      const mark = event.target.closest("a.stamp");
      if (mark) marks().forEach((one) => one.setAttribute("tabindex", one === mark ? "0" : "-1"));
    });
    settle();
  }
})();
