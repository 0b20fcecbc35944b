// Counts down to the second what the server said in words; the moment itself stands beside it.
(() => {
  "use strict";
  const madeAt = Number(document.body.dataset.now || 0) * 1000;
  const skew = madeAt && Math.abs(madeAt - Date.now()) > 5000 ? madeAt - Date.now() : 0;

  function words(seconds) { // as console/spans.py; units are the same in every language
    const two = (large, unit, small, part) => {
      const rest = Math.floor((seconds % large) / small);
      return `${Math.floor(seconds / large)} ${unit}${rest ? ` ${rest} ${part}` : ""}`;
    };
    if (seconds < 60) return `${Math.floor(seconds)} s`;
    if (seconds < 3600) return two(60, "min", 1, "s");
    if (seconds < 86400) return two(3600, "h", 60, "min");
    return two(86400, "d", 3600, "h");
  }

  function tick() {
    document.querySelectorAll("[data-countdown]").forEach((place) => {
      const left = (Date.parse(place.dataset.countdown) - Date.now() - skew) / 1000;
      if (Number.isNaN(left)) return;
      const text = left > 0 ? interpolate(gettext("in %(span)s"), { span: words(left) }, true) : gettext("now");
      if (place.textContent !== text) place.textContent = text;
    });
  }

  tick();
  setInterval(tick, 1000);
})();
