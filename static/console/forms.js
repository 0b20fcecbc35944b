// A form that stands open is told when what it speaks of has changed: nothing of it is changed under a person's hands,
// but it says so before its button, and a form that would be refused is not sent. live.js brings the news; whether
// they concern the form is the server's to say. What was typed is kept when the page is opened again from here.
(() => {
  "use strict";
  const PREFIX = "typed ";
  const KEPT_MS = 600000; // what was typed is put back within ten minutes
  const SENT_MS = 20000; // a form that was sent and brought no new page for so long stands open again
  const REST_MS = 1000; // at least so long between two questions
  const TYPED = "textarea, select, input:not([type]), input[type=text], input[type=search], input[type=number]";
  const here = () => PREFIX + location.pathname;
  const places = [...document.querySelectorAll("[data-still]")];
  const told = new Map(); // of each place what it says: {sentence, refused}
  let sentAt = 0, asking = false, again = false, timer = null;

  // What was typed: read from all fields, of a confirmation also the hidden ones; put back only where one can type.
  function keep() {
    const typed = {};
    forms().forEach((form) => form.querySelectorAll(`${TYPED}, input[type=hidden]`).forEach((field) => {
      if (field.name && field.name !== "csrfmiddlewaretoken") typed[field.name] = field.value;
    }));
    try { sessionStorage.setItem(here(), JSON.stringify({ at: Date.now(), typed })); } catch { /* it is not kept */ }
  }

  function putBack() {
    let kept = null;
    try {
      kept = JSON.parse(sessionStorage.getItem(here()) || "null");
      sessionStorage.removeItem(here());
    } catch { return; }
    if (!kept || Date.now() - kept.at > KEPT_MS) return;
    forms().forEach((form) => form.querySelectorAll(TYPED).forEach((field) => {
      const value = Object.hasOwn(kept.typed, field.name) ? kept.typed[field.name] : "";
      const fits = field.tagName !== "SELECT" || [...field.options].some((option) => option.value === value);
      if (value && fits) field.value = value;
    }));
  }

  const forms = () => [...new Set(places.map((place) => place.closest("form")).filter(Boolean))];
  const refused = (form) => places.some((place) => form.contains(place) && told.get(place)?.refused);

  function show(place) {
    const said = told.get(place);
    const sentence = said?.sentence || "";
    if (place.dataset.says === sentence) return; // it is announced once
    place.dataset.says = sentence;
    place.className = sentence ? `stands ${place.dataset.look}` : "stands";
    place.textContent = sentence ? `${sentence} ` : "";
    if (sentence) {
      const link = document.createElement("a");
      link.href = location.pathname + location.search;
      link.textContent = place.dataset.again;
      link.className = "alert-link";
      link.addEventListener("click", keep);
      place.append(link, ` ${place.dataset.kept}.`);
    }
    const form = place.closest("form");
    const buttons = form?.querySelectorAll("button[type=submit], input[type=submit]") || [];
    buttons.forEach((button) => {
      if (refused(form)) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    });
  }

  const sending = () => Date.now() - sentAt < SENT_MS;

  async function look(place) {
    const answer = await fetch(place.dataset.still, {
      cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(10000),
    });
    if (answer.status === 204) return null;
    if (![200, 401, 403].includes(answer.status)) throw new Error(`the form's question is answered ${answer.status}`);
    return answer.json();
  }

  async function ask() {
    asking = true;
    try {
      for (const place of places) {
        const said = await look(place);
        if (sending()) return; // what was changed now, was changed by this form
        told.set(place, said);
        show(place);
      }
    } catch { /* it is asked again with the next news; what is sent is compared by the server */ } finally {
      asking = false;
      if (again) soon(REST_MS);
      again = false;
    }
  }

  function soon(wait) {
    if (timer !== null || sending() || document.hidden) return;
    if (asking) { again = true; return; }
    timer = setTimeout(() => { timer = null; ask(); }, wait);
  }

  function start() {
    putBack();
    forms().forEach((form) => form.addEventListener("submit", (event) => {
      if (!refused(form)) { sentAt = Date.now(); return; }
      event.preventDefault();
      places.find((place) => form.contains(place) && told.get(place)?.refused)?.querySelector("a")?.focus();
    }));
    document.addEventListener("live:heard", (event) => soon(event.detail.wait));
    document.addEventListener("live:all", () => soon(0));
    document.addEventListener("visibilitychange", () => soon(0));
    window.addEventListener("pageshow", (event) => { if (event.persisted) { sentAt = 0; soon(0); } });
  }

  if (places.length) start();
})();
