// What scrolls in the admin takes keys.
document.addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll(".readonly, #changelist .results, .wide")) {
    if (one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1) {
      one.tabIndex = 0;
      one.setAttribute("role", "region");
      one.setAttribute("aria-label", one.closest(".form-row")?.querySelector("label")?.textContent || gettext("Rows"));
    }
  }
});
