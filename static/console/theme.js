// Dark or light: as the system says, until the person chooses. Runs before the first paint.
(() => {
  "use strict";
  const KEY = "rekindle-theme";
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  const current = () => chosen() || (system.matches ? "dark" : "light");

  function show() {
    const theme = current();
    document.documentElement.dataset.bsTheme = theme;
    const button = document.getElementById("theme-switch");
    if (!button) return;
    button.hidden = false;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", theme === "dark" ? "Switch to light colours" : "Switch to dark colours");
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
      if (current() !== next) document.documentElement.dataset.bsTheme = next;
    });
  });
})();
