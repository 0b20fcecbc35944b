// Keeps the panels of a page current. The socket says THAT a topic changed; htmx fetches WHAT.
// Without the socket every panel asks every 15 s, so the page still works, only slower.
(() => {
  "use strict";
  const POLL_MS = 15000; // without the socket
  const REST_MS = 30000; // with it: what changes by the clock alone
  const JITTER_MS = 1000; // many open pages must not ask in the same instant
  const BACK_OFF_MS = [500, 1000, 2000, 5000, 10000, 20000];
  const SIGNED_OUT = 4401, NOT_UNDERSTOOD = 4400, COME_AGAIN = 4000;

  const topics = (document.body.dataset.liveTopics || "").split(" ").filter(Boolean);
  const sign = document.getElementById("live-sign");
  let last = document.body.dataset.liveSince || "";
  let failures = 0, live = false, out = false, askedAt = Date.now();
  const waiting = new Map(); // panel -> timer
  const missed = new Set(); // panels that changed while nobody looked

  const panels = () => document.querySelectorAll("[data-topics]");

  function say(state, word) {
    if (!sign || sign.dataset.state === state) return;
    sign.dataset.state = state;
    sign.querySelector(".live-word").textContent = word;
  }

  function signedOut() {
    out = true;
    say("out", "signed out: open the page again");
  }

  function refresh(panel, within = JITTER_MS) {
    if (out || waiting.has(panel)) return;
    if (document.hidden) { missed.add(panel); return; }
    waiting.set(panel, setTimeout(() => {
      waiting.delete(panel);
      window.htmx.trigger(panel, "changed");
    }, Math.random() * within));
  }

  function refreshAll(within) {
    askedAt = Date.now();
    panels().forEach((panel) => refresh(panel, within));
  }

  function heard(frame) {
    last = frame.last;
    panels().forEach((panel) => {
      if (panel.dataset.topics.split(" ").some((topic) => frame.topics.includes(topic))) refresh(panel);
    });
  }

  function connect() {
    const address = new URL("/ws/live", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    topics.forEach((topic) => address.searchParams.append("topic", topic));
    if (last) address.searchParams.set("since", last);
    const again = failures > 0;
    let socket;
    try { socket = new WebSocket(address); } catch { return; }
    socket.addEventListener("message", (message) => {
      if (!live) {
        live = true;
        failures = 0;
        say("live", "live");
        if (again) refreshAll(JITTER_MS); // progress is no event: catch up with all of it
      }
      heard(JSON.parse(message.data));
    });
    socket.addEventListener("close", (event) => {
      live = false;
      if (event.code === SIGNED_OUT) { signedOut(); return; }
      if (event.code === NOT_UNDERSTOOD) { say("polling", "polling every 15 s"); return; }
      if (event.code !== COME_AGAIN) {
        failures += 1;
        say(failures > 2 ? "polling" : "reconnecting", failures > 2 ? "polling every 15 s" : "reconnecting");
      }
      const wait = BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length - 1)];
      setTimeout(connect, wait * (0.5 + Math.random()));
    });
  }

  // Ages count on between two fetches; the wording is that of console/spans.py.
  function coarse(seconds) {
    if (seconds < 60) return `${Math.floor(seconds)} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 86400) {
      const minutes = Math.floor((seconds % 3600) / 60);
      return `${Math.floor(seconds / 3600)} h${minutes ? ` ${minutes} min` : ""}`;
    }
    return `${Math.floor(seconds / 86400)} d`;
  }

  // The server's clock rules: the page says when it was made. A few seconds are loading time.
  const madeAt = Number(document.body.dataset.now || 0) * 1000;
  const skew = madeAt && Math.abs(madeAt - Date.now()) > 5000 ? madeAt - Date.now() : 0;

  function age(span) {
    const seconds = (Date.now() + skew - Date.parse(span.dataset.ageOf)) / 1000;
    if (Number.isNaN(seconds)) return;
    const size = Math.abs(seconds);
    const text = size < 5 ? "just now" : seconds > 0 ? `${coarse(size)} ago` : `in ${coarse(size)}`;
    if (span.textContent !== text) span.textContent = text;
  }

  const ages = (root) => root.querySelectorAll("[data-age-of]").forEach(age);

  function start() {
    if (window.Idiomorph) {
      // What a person has opened stays open when the panel is fetched again.
      window.Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) =>
        !(node.tagName === "DETAILS" && name === "open");
    }
    document.body.addEventListener("htmx:configRequest", (event) => {
      const etag = event.detail.elt.dataset.etag;
      if (etag) event.detail.headers["If-None-Match"] = etag;
    });
    document.body.addEventListener("htmx:beforeSwap", (event) => {
      const status = event.detail.xhr.status;
      if (status === 304) event.detail.shouldSwap = false;
      if (status === 401) { event.detail.shouldSwap = false; event.detail.isError = false; signedOut(); }
    });
    document.body.addEventListener("htmx:afterSwap", (event) => {
      const etag = event.detail.xhr.getResponseHeader("ETag");
      if (etag) event.detail.target.dataset.etag = etag;
      ages(event.detail.target);
    });
    // A piece of a page that does not come says so where it was to stand.
    ["htmx:responseError", "htmx:sendError", "htmx:timeout"].forEach((name) => {
      document.body.addEventListener(name, (event) => {
        const place = event.detail.target;
        if (place && place.dataset.failed) place.textContent = place.dataset.failed;
      });
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      missed.forEach((panel) => refresh(panel, 0));
      missed.clear();
      ages(document);
    });
    // On a narrow screen the picture is scrolled: begin at its newest end.
    document.querySelectorAll(".lanes-scroll").forEach((box) => { box.scrollLeft = box.scrollWidth; });
    setInterval(() => ages(document), 1000);
    if (!topics.length) return;
    setInterval(() => {
      if (Date.now() - askedAt >= (live ? REST_MS : POLL_MS)) refreshAll(JITTER_MS);
    }, 1000);
    connect();
  }

  start();
})();
