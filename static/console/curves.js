// Step time and throughput as charts that can be zoomed: drag over a stretch, or use the buttons and keys. The points
// come thinned from the site; a zoom asks for all there are in its stretch. New points do not move the zoom.
(() => {
  "use strict";
  const COLOURS = 6, HEIGHT = 190, FINER_MS = 350, CUT_AT = 4;
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
  const DAY = 86400;
  const panel = document.getElementById("panel-job_curves");
  if (!panel || !window.uPlot) return;

  let data = null, axis = null, etag = "", charts = [], zoom = null, timer = null, turn = 0;
  const host = make("div", "curves-live");
  host.hidden = true;
  const readout = make("output", "readout");
  readout.setAttribute("aria-live", "off");

  function make(tag, name = "", text = "") {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text) element.textContent = text;
    return element;
  }

  // --- the axis: seconds since its start, with the empty stretches folded as in the timeline above ---
  function axisOf({ from, to, folds, fold_ms: width }) {
    const place = (at) => {
      let seconds = (at - from) / 1000;
      for (const [begun, over] of folds) {
        if (at <= begun) break;
        seconds -= (Math.min(1, (at - begun) / (over - begun)) * (over - begun - width)) / 1000;
      }
      return seconds;
    };
    const moment = (seconds) => {
      let at = from + seconds * 1000;
      for (const [begun, over] of folds) {
        if (at <= begun) break;
        at = at < begun + width ? begun + ((at - begun) / width) * (over - begun) : at + over - begun - width;
      }
      return at;
    };
    return { place, moment, folds, length: place(to) };
  }

  function splits(_chart, _number, low, high) {
    const step = STEPS.find((one) => (high - low) / one <= 8) || Math.ceil((high - low) / DAY / 8) * DAY;
    const found = [];
    let at = Math.ceil(axis.moment(low) / 1000 / step) * step * 1000;
    for (let count = 0; count < 400 && at <= axis.moment(high); count += 1, at += step * 1000) {
      const fold = axis.folds.find(([begun, over]) => at > begun && at < over);
      if (fold) at = Math.ceil(fold[1] / 1000 / step) * step * 1000;
      const x = axis.place(at);
      if (x <= high && (!found.length || x - found.at(-1) >= (high - low) / 12)) found.push(x);
    }
    return found;
  }

  function labels(_chart, places) {
    const fine = places.length > 1 && places[1] - places[0] < 60;
    let day = "";
    return places.map((x) => {
      const told = new Date(axis.moment(x)).toISOString();
      const clock = told.slice(11, fine ? 19 : 16);
      const text = day && told.slice(5, 10) !== day ? `${told.slice(5, 10)} ${clock}` : clock;
      day = told.slice(5, 10);
      return text;
    });
  }

  // --- the points: one series for each colour; `null` breaks its line, `undefined` is another attempt's point ---
  function columns(number) {
    const points = [];
    data.attempts.forEach((attempt) => {
      const { at, step, value } = attempt.series[number];
      if (at.length) points.push({ x: axis.place(at[0]) - 1e-6, attempt, step: null, value: null });
      at.forEach((when, place) => points.push({ x: axis.place(when), attempt, step: step[place], value: value[place] }));
    });
    points.sort((one, other) => one.x - other.x);
    const last = new Map(); // where the points of an attempt end: until then its line goes on
    points.forEach((point, place) => last.set(point.attempt, place));
    const shown = [points.map((point) => point.x)];
    for (let colour = 0; colour < COLOURS; colour += 1) {
      let until = -1;
      shown.push(points.map((point, place) => {
        if (point.attempt.colour !== colour) return place < until ? undefined : null;
        until = last.get(point.attempt);
        return point.value;
      }));
    }
    return { points, shown };
  }

  function topOf(points, number) {
    const values = points.map((point) => point.value).filter((value) => value !== null).sort((one, other) => one - other);
    if (!values.length) return 1;
    const usual = values[Math.floor(values.length / 2)];
    const bands = data.attempts.map((attempt) => attempt.bands[number]?.[1] || 0);
    return 1.05 * Math.max(Math.min(values.at(-1), CUT_AT * usual), ...bands) || 1;
  }

  const css = (name) => getComputedStyle(host).getPropertyValue(name).trim();

  function under(chart, number) {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const x = (at) => chart.valToPos(axis.place(at), "x", true);
    ctx.fillStyle = css("--curve-band");
    data.attempts.forEach(({ bands, started, ended }) => {
      const band = bands[number];
      if (!band || started === null) return;
      const high = chart.valToPos(band[1], "y", true), low = chart.valToPos(band[0], "y", true);
      ctx.fillRect(x(started), high, x(ended ?? data.to) - x(started), low - high);
    });
    ctx.fillStyle = css("--curve-fold");
    axis.folds.forEach(([begun, over]) => ctx.fillRect(x(begun), bbox.top, x(over) - x(begun), bbox.height));
    ctx.strokeStyle = css("--curve-start");
    ctx.fillStyle = css("--curve-start");
    ctx.textAlign = "left";
    ctx.font = `${11 * devicePixelRatio}px sans-serif`;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    let free = -Infinity;
    const last = { x: -Infinity };
    const names = [];
    data.attempts.forEach(({ index, started }) => {
      if (started === null) return;
      const left = Math.round(x(started));
      if (left < bbox.left - 2 || left > bbox.left + bbox.width || left - last.x < 12) return;
      last.x = left;
      ctx.beginPath();
      ctx.moveTo(left, bbox.top);
      ctx.lineTo(left, bbox.top + bbox.height);
      ctx.stroke();
      const name = interpolate(gettext("attempt %(index)s"), { index }, true);
      if (left < free) return;
      names.push([name, left + 4]);
      free = left + ctx.measureText(name).width + 12;
    });
    const { fillStyle, font } = ctx;
    ctx.restore();
    ctx.save();
    Object.assign(ctx, { fillStyle, font, textAlign: "left" });
    names.forEach(([name, left]) => ctx.fillText(name, left, bbox.top - 4 * devicePixelRatio)); // above every curve
    ctx.restore();
  }

  function over(chart, points, top) { // what lies beyond the upper border
    const { ctx, bbox } = chart;
    const size = 4 * devicePixelRatio;
    points.forEach((point) => {
      if (point.value === null || point.value <= top) return;
      const x = chart.valToPos(point.x, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      ctx.fillStyle = css(`--curve-${point.attempt.colour}`);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x - size, bbox.top + 2 * size);
      ctx.lineTo(x + size, bbox.top + 2 * size);
      ctx.fill();
    });
  }

  const said = (value, unit) => `${value >= 1000 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(4))} ${unit}`;

  function tell(chart) {
    const place = chart.cursor.idx;
    const point = place === null || place === undefined ? null : chart.told.points[place];
    if (!point || point.value === null) return;
    const { label, unit } = data.measures[chart.told.number];
    const at = new Date(axis.moment(point.x)).toISOString();
    const english = document.documentElement.lang.startsWith("en"); // other languages may keep a large letter within
    readout.textContent = interpolate(gettext("%(at)s UTC · attempt %(index)s, step %(step)s · %(measure)s: %(value)s"), {
      at: `${at.slice(0, 10)} ${at.slice(11, 19)}`, index: point.attempt.index, step: point.step,
      measure: english ? label.charAt(0).toLowerCase() + label.slice(1) : label, value: said(point.value, unit),
    }, true);
  }

  function options(number, told) {
    const look = { stroke: css("--curve-ink"), grid: { stroke: css("--curve-grid"), width: 1 }, ticks: { stroke: css("--curve-grid"), width: 1 } };
    const series = [{}];
    for (let colour = 0; colour < COLOURS; colour += 1) {
      series.push({ stroke: css(`--curve-${colour}`), width: 1.4, spanGaps: false, points: { show: told.points.length < 150, size: 4 } });
    }
    return {
      width: Math.max(240, host.clientWidth), height: HEIGHT, legend: { show: false },
      padding: [18, null, null, null],
      scales: { x: { time: false }, y: { range: () => [0, told.top] } },
      cursor: { sync: { key: "job-curves" }, drag: { x: true, y: false, setScale: true }, points: { size: 6 } },
      axes: [{ ...look, splits, values: labels, space: 60 }, { ...look, size: 62, values: (_chart, places) => places.map((one) => (one >= 1000 ? `${one / 1000}k` : `${one}`)) }],
      series,
      hooks: {
        drawClear: [(chart) => under(chart, number)],
        draw: [(chart) => over(chart, chart.told.points, chart.told.top)],
        setCursor: [(chart) => { if (chart.told) tell(chart); }],
        setScale: [(chart, name) => { if (name === "x") scaled(chart.scales.x); }],
      },
    };
  }

  // --- zoom: kept as moments, so that new points and a new thinning leave it where it is ---
  function range() {
    const low = zoom && zoom.from !== null ? axis.place(zoom.from) : 0;
    const high = zoom && zoom.to !== null ? axis.place(zoom.to) : axis.length;
    return high - low > 0.5 ? { min: low, max: high } : { min: low, max: low + 1 };
  }

  const scale = () => charts.forEach((chart) => chart.setScale("x", range()));

  // The chart tells of every change of its scale, also of ours, and later: what is no news is passed over.
  function scaled({ min, max }) {
    const known = range(), near = (known.max - known.min) / 1000;
    if (!charts.length || Math.abs(min - known.min) + Math.abs(max - known.max) < near) return;
    zoomed(min, max);
  }

  function zoomed(low, high) {
    if (low === undefined || low === null || !(high > low)) return;
    const whole = low <= 0.001 && high >= axis.length - 0.001;
    zoom = whole ? null : { from: axis.moment(Math.max(0, low)), to: high >= axis.length - 0.001 && running() ? null : axis.moment(high) };
    clearTimeout(timer);
    timer = setTimeout(() => window.stretch.show(zoom ? zoom.from : null, zoom ? zoom.to : null), FINER_MS);
    scale(); // the other chart, too
  }

  const running = () => data.attempts.some(({ ended }) => ended === null);

  function move(times, by) {
    if (!charts.length) return;
    const { min, max } = range();
    const middle = (min + max) / 2, half = Math.max(0.5, ((max - min) / 2) * times), aside = by * (max - min);
    const low = Math.max(0, Math.min(middle - half + aside, axis.length - 2 * half));
    zoomed(low, Math.min(axis.length, low + 2 * half));
  }

  // --- drawing ---
  function draw() {
    charts.forEach((chart) => chart.destroy());
    charts = [];
    host.querySelectorAll(".chart").forEach((old) => old.remove());
    data.measures.forEach((measure, number) => {
      const told = { number, unit: measure.unit, ...columns(number) };
      if (!told.points.length) return;
      told.top = topOf(told.points, number);
      const box = make("figure", "chart");
      box.append(make("figcaption", "", `${measure.label} (${measure.unit})`));
      const ground = make("div", "ground");
      ground.tabIndex = 0;
      ground.setAttribute("role", "group");
      ground.setAttribute("aria-label", interpolate(
        gettext("%(measure)s: arrow keys go from point to point, plus and minus zoom, 0 shows the whole job. The table below has it in numbers."),
        { measure: measure.label }, true,
      ));
      box.append(ground);
      host.append(box);
      const chart = new window.uPlot(options(number, told), told.shown, ground);
      chart.told = told;
      chart.redraw();
      ground.addEventListener("keydown", (event) => keys(event, chart));
      ground.addEventListener("pointermove", () => readout.setAttribute("aria-live", "off"));
      charts.push(chart);
    });
    host.append(readout);
    scale();
  }

  function renew() {
    charts.forEach((chart) => {
      const { number, unit } = chart.told;
      const told = { number, unit, ...columns(number) };
      told.top = topOf(told.points, number);
      chart.told = told;
      chart.setData(told.shown, false);
    });
    scale();
  }

  function keys(event, chart) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      "+": () => move(0.5, 0), "=": () => move(0.5, 0), "-": () => move(2, 0), 0: () => zoomed(0, axis.length),
      PageUp: () => move(1, -0.5), PageDown: () => move(1, 0.5),
      ArrowLeft: () => step(chart, -1), ArrowRight: () => step(chart, 1),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  }

  function step(chart, by) {
    const { points } = chart.told;
    const { min, max } = range();
    const inside = (place) => points[place].value !== null && points[place].x >= min && points[place].x <= max;
    let place = chart.cursor.idx ?? points.findIndex((_point, one) => inside(one)) - by;
    do { place += by; } while (points[place] && !inside(place));
    if (!points[place]) return;
    readout.setAttribute("aria-live", "polite");
    chart.setCursor({ left: chart.valToPos(points[place].x, "x"), top: chart.valToPos(Math.min(points[place].value, chart.told.top), "y") });
  }

  function bar() {
    const row = make("p", "zoom");
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", gettext("Stretch of time of the curves"));
    [[gettext("Zoom in"), () => move(0.5, 0)], [gettext("Zoom out"), () => move(2, 0)], [gettext("Earlier"), () => move(1, -0.5)], [gettext("Later"), () => move(1, 0.5)], [gettext("Whole job"), () => zoomed(0, axis.length)]]
      .forEach(([name, act]) => {
        const button = make("button", "btn btn-sm btn-outline-secondary", name);
        button.type = "button";
        button.addEventListener("click", act);
        row.append(button);
      });
    row.append(make("span", "note", gettext("Drag over a curve to see a stretch of it; the timeline and the events follow.")));
    return row;
  }

  // --- the points come from the site ---
  async function ask() {
    const address = panel.querySelector("[data-curves]")?.dataset.curves;
    if (!address) { host.hidden = true; panel.classList.remove("drawn"); return; }
    const mine = turn += 1;
    const query = panel.dataset.address.split("?")[1];
    const wanted = query ? `${address}?${query}` : address;
    const headers = etag && etag.startsWith(`${wanted} `) ? { "If-None-Match": etag.slice(wanted.length + 1) } : {};
    const answer = await fetch(wanted, { credentials: "same-origin", cache: "no-store", headers });
    if (mine !== turn || answer.status !== 200) return;
    const fresh = await answer.json();
    if (mine !== turn || fresh.from === null) return;
    etag = `${wanted} ${answer.headers.get("ETag") || ""}`;
    if (!axis && query) { // opened with a stretch in its address: the axis is that of the whole job
      const whole = await fetch(address, { credentials: "same-origin", cache: "no-store" });
      if (mine !== turn || whole.status !== 200) return;
      axis = axisOf(await whole.json());
    }
    if (!query || !axis) axis = axisOf(fresh);
    axis.length = Math.max(axis.length, axis.place(fresh.to)); // a stretch without an end goes on with the clock
    data = fresh;
    shown();
  }

  function shown() {
    const drawn = !host.hidden && data.measures.every(({ unit }, number) =>
      charts.some((chart) => chart.told.number === number && chart.told.unit === unit) ||
      data.attempts.every(({ series }) => !series[number].at.length));
    host.hidden = false;
    panel.classList.add("drawn");
    if (drawn) renew();
    else draw();
  }

  const begin = () => { ask().catch(() => { /* the picture without a script stays */ }); };
  const told = window.stretch.now();
  zoom = told.from === null && told.to === null ? null : told;
  host.append(bar());
  panel.before(host);
  panel.addEventListener("panel:changed", begin);
  panel.addEventListener("panel:gone", () => { // nothing of it is kept
    turn += 1;
    charts.forEach((chart) => chart.destroy());
    [data, axis, etag, charts] = [null, null, "", []];
    host.hidden = true;
    panel.classList.remove("drawn");
  });
  document.addEventListener("stretch", (event) => {
    const { from, to } = event.detail;
    zoom = from === null && to === null ? null : { from, to };
    if (charts.length) scale();
  });
  new MutationObserver(() => { if (data && !host.hidden) draw(); }).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
  let width = 0;
  new ResizeObserver(() => {
    if (host.clientWidth === width || !charts.length) return;
    width = host.clientWidth;
    charts.forEach((chart) => chart.setSize({ width: Math.max(240, width), height: HEIGHT }));
  }).observe(host);
  begin();
})();
