// Dark or light, in console and admin: as the system says, until the person chooses. Runs before the first paint.
// The scripts speak English until the texts of another language are there.
window.gettext = (text) => text;
window.ngettext = (one, many, count) => (count === 1 ? one : many);
window.interpolate = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);
(() => {
  "use strict";
  const KEY = "rekindle-theme";
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  const current = () => chosen() || (system.matches ? "dark" : "light");

  function paint(theme) {
    document.documentElement.dataset.bsTheme = theme; // the console's style sheets
    document.documentElement.dataset.theme = theme; // the admin's
  }

  function show() {
    const theme = current();
    paint(theme);
    const button = document.getElementById("theme-switch");
    if (!button) return;
    button.hidden = false;
    button.textContent = theme === "dark" ? gettext("Light") : gettext("Dark");
    button.setAttribute("aria-label", theme === "dark" ? gettext("Switch to light colours") : gettext("Switch to dark colours"));
  }

  document.documentElement.dataset.scripts = "on"; // the menu of a narrow screen needs them to open
  show();
  system.addEventListener("change", show);
  document.addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("theme-switch")?.addEventListener("click", () => {
      const next = current() === "dark" ? "light" : "dark";
      const systemTheme = system.matches ? "dark" : "light";
      try {
        if (next === systemTheme) localStorage.removeItem(KEY);
        else localStorage.setItem(KEY, next);
      } catch { /* the choice lasts for this page */ }
      show();
      if (current() !== next) paint(next);
    });
  });
})();
