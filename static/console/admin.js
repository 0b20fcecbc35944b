// Dark or light in the admin: the same choice as in the console, before the first paint. What scrolls takes keys.
// Its words are English until the texts of another language are there.
window.gettext = (text) => text;
(() => {
  "use strict";
  const KEY = "rekindle-theme";
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  let now = null;

  function show(theme) {
    now = theme;
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme-switch");
    if (!button) return;
    button.hidden = false;
    button.textContent = theme === "dark" ? gettext("Light") : gettext("Dark");
    button.setAttribute("aria-label", theme === "dark" ? gettext("Light: switch colours") : gettext("Dark: switch colours"));
  }
  const current = () => chosen() || (system.matches ? "dark" : "light");

  show(current());
  system.addEventListener("change", () => show(current()));
  document.addEventListener("DOMContentLoaded", () => {
    for (const one of document.querySelectorAll(".readonly, #changelist .results, .wide")) { // what scrolls takes the keyboard
      if (one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1) {
        one.tabIndex = 0;
        one.setAttribute("role", "region");
        one.setAttribute("aria-label", one.closest(".form-row")?.querySelector("label")?.textContent || gettext("Rows"));
      }
    }
    show(now);
    document.getElementById("theme-switch")?.addEventListener("click", () => {
      const next = now === "dark" ? "light" : "dark";
      try {
        if (next === (system.matches ? "dark" : "light")) localStorage.removeItem(KEY);
        else localStorage.setItem(KEY, next);
      } catch { /* the choice lasts for this page */ }
      show(next);
    });
  });
})();
