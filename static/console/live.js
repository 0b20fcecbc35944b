// Keeps the panels of a page current. The socket says THAT a topic changed; one request fetches WHAT, for all panels
// that it concerns. Without the socket every panel is asked for every 15 s, so the page still works, only slower.
(() => {
  "use strict";
  const POLL_MS = 15000; // without the socket
  const REST_MS = 60000; // with it: what changes by the clock alone
  const LATE_MS = 90000; // a panel that could not be asked for so long says so
  const SILENT_MS = 70000; // the server says something every 25 s; a socket that is silent is dead
  const SLEPT_MS = 15000; // a clock that jumps so far: the machine slept
  const BACK_OFF_MS = [500, 1000, 2000, 5000, 10000, 20000];
  const SIGNED_OUT = 4401, NOT_UNDERSTOOD = 4400, TOO_MANY = 4429, COME_AGAIN = 4000;
  const PANELS_AT_MOST = 16;

  const named = [...document.querySelectorAll("[data-live-topics]")].flatMap((place) => place.dataset.liveTopics.split(" "));
  const topics = [...new Set(named.filter(Boolean))];
  const sign = document.getElementById("live-sign");
  let last = document.body.dataset.liveSince || "";
  let rights = document.querySelector("[data-rights]")?.dataset.rights || ""; // what this person may do and see, as a mark
  let shut = false; // whether that was changed since the page was made
  let failures = 0, live = false, out = false, askedAt = Date.now(), heardAt = 0, ticked = Date.now();
  let socket = null, again = null; // the open socket; the timer of the next try
  const stale = new Set(); // panels that are to be asked for
  let after = 0; // a look of the server that began later sees what the frames have told
  let timer = null, asking = false, unanswered = 0;

  const panels = () => document.querySelectorAll("[data-topics]");

  function say(state, word) {
    if (!sign || sign.dataset.state === state) return;
    sign.dataset.state = state;
    sign.querySelector(".live-word").textContent = word;
  }

  function signedOut() {
    if (out) return;
    out = true;
    say("out", `${gettext("signed out:")} `);
    const link = document.createElement("a");
    link.href = `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
    link.textContent = gettext("sign in again");
    sign?.querySelector(".live-word").append(link);
  }

  // Asks for what is stale, within `spread` ms: many open pages must not ask in the same instant.
  function soon(spread) {
    if (out || asking || timer !== null || document.hidden || !stale.size) return;
    timer = setTimeout(() => { timer = null; ask(); }, Math.random() * spread);
  }

  function refresh(spread, which = () => true) {
    panels().forEach((panel) => { if (which(panel)) stale.add(panel); });
    soon(spread);
  }

  function refreshAll(spread) {
    askedAt = Date.now();
    after = 0;
    refresh(spread);
    document.dispatchEvent(new CustomEvent("live:all"));
  }

  async function ask() {
    const wanted = [...stale].filter((panel) => panel.isConnected).slice(0, PANELS_AT_MOST);
    stale.forEach((panel) => { if (wanted.includes(panel) || !panel.isConnected) stale.delete(panel); });
    if (!wanted.length) return;
    const address = new URL("/panels", location.href);
    wanted.forEach((panel) => address.searchParams.append("of", panel.dataset.address));
    if (after) address.searchParams.set("after", after);
    if (rights) address.searchParams.set("rights", rights); // rights that were looked up before do not count then
    after = 0;
    const known = wanted.map((panel) => panel.dataset.etag).filter(Boolean);
    asking = true;
    try {
      const answer = await fetch(address, {
        headers: { "If-None-Match": known.join(", ") }, cache: "no-store", credentials: "same-origin",
        signal: AbortSignal.timeout(20000),
      });
      if (answer.status === 401) { signedOut(); return; }
      if (answer.status !== 200 && answer.status !== 304) throw new Error(`the panels answer ${answer.status}`);
      const mark = answer.headers.get("Rekindle-Rights"); // with a socket its frames tell it
      if (!live && mark && mark !== rights) mayOther(mark);
      const said = answer.status === 200 ? await answer.json() : {};
      const at = new Date(answer.headers.get("Date") || Date.now() + skew);
      wanted.forEach((panel) => seen(panel, said[panel.dataset.address], at));
      unanswered = 0;
    } catch {
      unanswered += 1;
      after = 0;
      wanted.forEach((panel) => stale.add(panel)); // until it comes, the panel says of when it is
    } finally {
      asking = false;
      soon(unanswered ? 2 * BACK_OFF_MS[Math.min(unanswered, BACK_OFF_MS.length - 1)] : 1000);
    }
  }

  function seen(panel, fresh, at) {
    if (fresh && !fresh.html && !fresh.etag) { // gone: what is shown is the last that was known
      if (shut) {
        panel.textContent = gettext("This is not there any more, or no longer for you to see.");
        delete panel.dataset.etag; // given back, it comes again
        panel.dispatchEvent(new CustomEvent("panel:gone"));
      }
      return;
    }
    if (fresh) {
      const box = document.createElement("template");
      box.innerHTML = fresh.html;
      window.calm.put(panel, box.content);
      panel.dataset.etag = fresh.etag;
      window.htmx.process(panel);
      ages(panel);
      panel.dispatchEvent(new CustomEvent("panel:changed", { bubbles: true }));
    }
    asOf(panel, at);
  }

  function asOf(panel, at) {
    const place = panel.closest(".panel")?.querySelector(".as-of");
    if (!place || Number.isNaN(at.getTime())) return;
    place.textContent = interpolate(gettext("as of %(clock)s UTC"), { clock: at.toISOString().slice(11, 19) }, true);
    place.dataset.at = Date.now();
    place.removeAttribute("data-late");
  }

  function late() {
    document.querySelectorAll(".as-of[data-at]").forEach((place) => {
      if (Date.now() - Number(place.dataset.at) > LATE_MS && !document.hidden) place.setAttribute("data-late", "");
    });
  }

  function heard(frame) {
    heardAt = Date.now();
    last = frame.last;
    if (frame.rights && frame.rights !== rights) mayOther(frame.rights);
    if (!frame.topics.length) return;
    const spread = (frame.spread ?? 1) * 1000;
    after = stale.size && !after ? 0 : Math.max(after, frame.at);
    refresh(spread, (panel) => panel.dataset.topics.split(" ").some((topic) => frame.topics.includes(topic)));
    // A form speaks of what was so when it was opened: it is not changed under the person's hands, but told (forms.js).
    document.dispatchEvent(new CustomEvent("live:heard", { detail: { wait: Math.random() * spread } }));
  }

  // What this person may do has been changed: panels are asked for anew, and what is no panel is reloaded by hand.
  function mayOther(mark) {
    const known = rights;
    rights = mark;
    refreshAll(known ? 0 : 1000);
    if (!known) return;
    shut = true;
    const place = document.getElementById("rights-news");
    if (place && !place.firstChild) place.append(document.getElementById("rights-words").content.cloneNode(true));
  }

  function connect() {
    clearTimeout(again);
    if (out) return;
    const address = new URL("/ws/live", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    topics.forEach((topic) => address.searchParams.append("topic", topic));
    if (last) address.searchParams.set("since", last);
    if (rights) address.searchParams.set("rights", rights);
    const was = failures > 0;
    let mine;
    try { mine = new WebSocket(address); } catch { return; }
    socket = mine;
    heardAt = Date.now();
    mine.addEventListener("message", (message) => {
      if (mine !== socket) return;
      if (!live) {
        live = true;
        failures = 0;
        say("live", gettext("live"));
        if (was) refreshAll(1000); // progress is no event: catch up with all of it
        else document.dispatchEvent(new CustomEvent("live:all")); // a form may have waited long for its socket
      }
      heard(JSON.parse(message.data));
    });
    mine.addEventListener("close", (event) => { if (mine === socket) closed(event.code); });
  }

  function closed(code) {
    live = false;
    socket = null;
    if (code === SIGNED_OUT) { signedOut(); return; }
    if (code === NOT_UNDERSTOOD) { say("polling", gettext("polling every 15 s")); return; }
    if (code === TOO_MANY) failures = BACK_OFF_MS.length; // as seldom as one comes again at all
    if (code !== COME_AGAIN) {
      failures += 1;
      if (failures > 2) say("polling", gettext("polling every 15 s"));
      else say("reconnecting", gettext("reconnecting"));
    }
    const wait = BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length - 1)];
    again = setTimeout(connect, wait * (0.5 + Math.random()));
  }

  // Drops a socket that may be dead without knowing it, and comes again at once.
  function reconnect() {
    if (out || !topics.length) return;
    const old = socket;
    socket = null;
    live = false;
    failures = Math.max(failures, 1);
    say("reconnecting", gettext("reconnecting"));
    old?.close();
    connect();
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
    const said = size < 5 ? gettext("just now") : seconds > 0 ? gettext("%(span)s ago") : gettext("in %(span)s");
    const text = interpolate(said, { span: coarse(size) }, true);
    if (span.textContent !== text) span.textContent = text;
  }

  const ages = (root) => root.querySelectorAll("[data-age-of]").forEach(age);

  function tick() {
    const slept = Date.now() - ticked > SLEPT_MS && !document.hidden;
    ticked = Date.now();
    ages(document);
    if (!topics.length) return;
    late();
    if (slept || (socket && Date.now() - heardAt > SILENT_MS && !document.hidden)) reconnect();
    if (Date.now() - askedAt >= (live ? REST_MS : POLL_MS)) refreshAll(1000);
  }

  function start() {
    document.body.addEventListener("htmx:afterSwap", (event) => ages(event.detail.target));
    // A piece of a page that does not come says so where it was to stand.
    ["htmx:responseError", "htmx:sendError", "htmx:timeout"].forEach((name) => {
      document.body.addEventListener(name, (event) => {
        const place = event.detail.target;
        if (place && place.dataset.failed) place.textContent = place.dataset.failed;
      });
    });
    document.body.addEventListener("changed", (event) => { // a page's own script may ask for a panel
      if (event.target.matches?.("[data-topics]")) { stale.add(event.target); soon(0); }
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      if (socket && Date.now() - heardAt > SILENT_MS) reconnect();
      ticked = Date.now();
      soon(0);
      ages(document);
    });
    window.addEventListener("online", reconnect);
    window.addEventListener("pageshow", (event) => { if (event.persisted) reconnect(); });
    document.querySelectorAll(".as-of").forEach((place) => { place.dataset.at = Date.now(); });
    // On a narrow screen the picture is scrolled: begin at its newest end.
    document.querySelectorAll(".lanes-scroll").forEach((box) => { box.scrollLeft = box.scrollWidth; });
    setInterval(tick, 1000);
    if (topics.length) connect();
  }

  start();
})();
