// The page: what each result shows, side by side, and what moves it.

const MOST_LINES = 6;

let results = [];  // that the page shows, side by side

/** A result as the page needs it; what is chosen in `old`, which stood in its place, stays chosen. */
function prepared(data, number, old = {}) {
  const result = { ...data, number, v: 0, client: "all", hidden: new Set(), tops: new Map(),
    off: old.off || new Map(), scrubs: new Map(), moment: old.moment };
  if (result.sweep) prepareSweep(result);
  if (old.client && result.clients.includes(old.client)) result.client = old.client;
  if (result.comparison) {
    result.variants.forEach((_, v) => { if (v >= MOST_LINES) result.hidden.add(v); });
  }
  return result;
}

/** Number of bins of the series of a variant. */
function binsOf(series) {
  if (series.bins === undefined) {
    const lists = [series.c, series.s].flatMap((bearers) => Object.values(bearers))
      .flatMap((quantities) => Object.values(quantities)).filter(Array.isArray);
    series.bins = lists.length > 0 ? lists[0][0].length : 1;
  }
  return series.bins;
}

/** A line of a chart; null where the series does not exist. */
function lineOf(result, v, bearers, name, quantity_, look) {
  const series = result.series[v], values = series && (series[bearers][name] || {})[quantity_];
  if (values === undefined || !series) return null;
  const [means, halves = null] = Array.isArray(values) ? values : [values];
  return { means, halves, dt: series.dt, bins: binsOf(series), v, ...look };
}

/** A series of a picture over time as the line of a chart; null where it does not exist. At a point
 * of a sweep, whose pictures have the series of the first one, it is that of the point. */
function seriesLine(result, v, series) {
  const look = { name: series.name, said: series.said, dash: dashOf(series),
    colour: series.colour === "ink" ? "ink" : colourOf(series.colour) };
  if (series.steps) {
    const line = lineOf(result, v, "s", series.service, "capacity", look);
    if (!result.sweep) return line && { ...line, halves: null, steps: series.steps };
    const { capacity_steps: own, autoscaled } = (graphIsOwn(result, v) &&
      (graphAt(result, v).services || []).find((one) => one.name === series.service)) || {};
    return isNothing(line) ? null : { ...line, halves: null, steps: !autoscaled && own || null };
  }
  const { where, y, low } = series.from;
  const line = where.service !== undefined ? lineOf(result, v, "s", where.service, y, look)
    : lineOf(result, v, "c", result.comparison && where.client === "all" ? result.client
      : where.client, y, look);
  return line && (series.band || result.sweep ? line : { ...line, halves: null });
}

/** The lines of a panel over time: those of a comparison that are not hidden. */
function linesOf(result, panel, v) {
  return panel.series.map((series) => {
    const name = series.variant || (series.from && series.from.where.variant);
    const own = result.sweep || name === undefined ? v
      : result.variants.findIndex((variant) => variant.variant === name);
    return result.hidden.has(own) && result.comparison ? null : seriesLine(result, own, series);
  }).filter(Boolean);
}

const isNothing = (line) => !line || line.means === 0 ||
  (Array.isArray(line.means) && line.means.every((x) => !exists(x) || x === 0));

/** The panels of a picture over time that have something in them, in their order. What is empty at
 * every point of a sweep is left out; at one point only, it stays in its place. */
function panels(result, name = "overview") {
  const picture = pictureOf(result, name);
  if (!picture || result.series.length === 0) return [];
  return picture.panels.map((panel) => ({ ...panel, key: panel.id,
    lines: (v) => linesOf(result, panel, v) })).filter((panel) => everyVariant(result).some((v) => {
    const lines = panel.lines(v);
    return panel.optional && result.sweep ? lines.some((line) => !isNothing(line)) : lines.length > 0;
  }));
}

const everyVariant = (result) =>
  (result.sweep ? [...result.sweep.names.keys()] : [result.v]).filter((v) => result.series[v]);

/** The largest value that a panel shows at any variant or point. */
function topOfPanel(result, panel) {
  if (!result.tops.has(panel.key)) {
    result.tops.set(panel.key, Math.max(0, ...everyVariant(result).map((v) =>
      topOf(panel.lines(v)))));
  }
  return result.tops.get(panel.key);
}

/** The times that a panel shades; at a point of a sweep its own. */
const shadesOf = (result, v, panel) => (result.sweep
  ? windowsOf(result, v).map((w) => ({ ...w, role: "fault" }))
  : panel.spans.map(({ from, to, ...span }) => ({ ...span, start: from, end: to })));

/** The lines that are switched off in a chart. */
function offOf(result, key) {
  if (!result.off.has(key)) result.off.set(key, new Set());
  return result.off.get(key);
}

const MOST_APART = 2;  // loads that one scale shows well

/**
 * The top of a panel's scale. The same panel of several results has one scale, and so have panels
 * that belong together if their tops are near each other: among services of very different loads
 * each can be read.
 */
function sharedTop(panel) {
  const tops = new Map();  // by the keys of panels
  for (const result of results) {
    for (const other of panels(result)) {
      if (panel.together ? other.together !== panel.together : other.key !== panel.key) continue;
      tops.set(other.key, Math.max(tops.get(other.key) || 0, topOfPanel(result, other)));
    }
  }
  let shared = 0;
  for (const [key, top] of [...tops].sort(([, a], [, b]) => b - a)) {
    if (shared > MOST_APART * top) shared = 0;  // too far below the others
    if (shared === 0) shared = top;
    if (key === panel.key) break;
  }
  return shared;
}

/** Whether a panel stands alone, so that it has the scale that the program has concluded. */
const isExact = (result) => results.length === 1 && !result.sweep && result.client === "all";

/** The charts of a section. */
function charts(result, section) {
  result.charts = result.charts || {};
  for (const chart of result.charts[section] || []) chart.remove();
  result.charts[section] = [];
  const own = panels(result).filter((panel) => panel.group === section);
  const rows = own.map((panel) => {
    const lines = panel.lines(result.v);
    const top = (result.fit && topOf(lines)) || sharedTop(panel);
    const chart = new TimeChart({ panel, off: offOf(result, panel.key), isExact: isExact(result),
      state: () => ({ lines, windows: shadesOf(result, result.v, panel), top }) });
    result.charts[section].push(chart);
    return chart.element;
  });
  return rows.length > 0 ? [el("p", { class: "note" }, intervalsNote(result)),
    el("div", { class: "charts" }, rows)] : null;
}

function chartControls(result) {
  if (result.series.length === 0) return null;
  const controls = [];
  if (result.comparison && groupsOf(result).length > 1) {
    const select = el("select", { onchange: () => { result.client = select.value; refresh(result); } },
      result.clients.map((name) => el("option", { value: name, selected: name === result.client },
        name === "all" ? "all together" : name)));
    controls.push(el("label", { class: "choose" }, "clients ", select));
  }
  if (result.comparison && result.variants.length > 2) {
    controls.push(el("fieldset", { class: "variants" }, el("legend", {}, "variants"),
      result.variants.map((_, v) => el("label", {}, el("input", { type: "checkbox",
        checked: !result.hidden.has(v), onchange: () => {
          if (!result.hidden.delete(v)) result.hidden.add(v);
          refresh(result);
        } }), variantName(result, v)))));
  }
  if (result.sweep) {
    controls.push(el("label", { class: "choose" }, el("input", { type: "checkbox",
      checked: Boolean(result.fit), onchange: () => {
        result.fit = !result.fit;
        refresh(result);
      } }), "fit the scales to this point"));
  }
  controls.push(el("span", { class: "note" }, "Drag over a chart to zoom in. ",
    el("button", { type: "button", class: "unzoom", onclick: () => timeline.setZoom(null) },
      "show all")));
  return el("div", { class: "controls" }, controls);
}

/** What the program says under the title of the picture. */
const intervalsNote = (result) => pictureText(result, pictureOf(result, "overview"));

/** The command line that made a result, without what its scenario.toml says. */
function commandOf(result) {
  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text
    : `'${text.replace(/'/g, "'\\''")}'`);
  // The scenario of a comparison says in its head how that was asked for.
  const asked = /^# +(retrysim compare .*)$/m.exec(result.toml);
  if (asked) return asked[1];
  const words = ["retrysim", result.command.split(" ")[0]];
  if (!result.fitted) words.push("scenario.toml");
  if (result.trigger) {
    const { path, first, last, unit, tolerance } = result.trigger;
    const value = (x) => `${x}${unit === "s" ? "s" : ""}`;
    words.push("--trigger", quoted(`${path}=${value(first)}:${value(last)}`));
    for (const vary of result.curve ? result.curve.vary : []) words.push("--vary", quoted(vary));
    if (tolerance !== 0.01) words.push("--tolerance", tolerance);
  } else if (result.hysteresis) {
    const { path, values, dwell_s: dwell } = result.hysteresis.load;
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const step = Number((values[1] - values[0]).toPrecision(12));
    words.push("--hysteresis", quoted(`${path}=${low}:${high}:${step}`), "--dwell", `${dwell}s`);
  } else {
    for (const request of result.options) {
      const space = request.indexOf(" ");
      // What is no option stands without a name: a log, or the key that is to be sized.
      if (space >= 0 && !request.startsWith("log ")) words.push(request.slice(0, space));
      words.push(quoted(request.slice(space + 1)));
    }
    if (result.fitted) words.push("--out", quoted(result.scenario));
  }
  return words.join(" ");
}

/** What the scenario on the page leaves open. */
function caveat(result) {
  if (!result.comparison && !result.sweep && !result.curve) return null;
  return el("p", { class: "note" }, result.comparison
    ? "The scenario below is that of the first variant; the result folder has one for each. "
    : "The scenario below is the one that the keys were varied from. ",
  "A key such as retry.mode sets the values of many others: to vary it, start from the original ",
  "file, in which those are not set.");
}

/** "Seed 1, 20 replications, "; nothing where nothing was simulated. */
const computed = (result) => (kindOf(result).counted(result).some((text) => /^seed/.test(text))
  ? `Seed ${result.seed}, ${plural(result.replications, "replication")}, ` : "");

function reproduction(result) {
  const inputs = result.files.filter((name) => name.endsWith(".csv") && result.toml.includes(name));
  const beside = inputs.length > 0
    ? `, with ${inputs.join(" and ")} from the result folder beside it` : "";
  return [el("p", {}, result.fitted ? "With the log:" : result.comparison ? "With the original file:"
    : `Save the scenario below as scenario.toml${beside}, and run:`),
  el("pre", {}, commandOf(result)), caveat(result),
  el("p", {}, `${computed(result)}retrysim ${
    result.version}: the same numbers come out on every machine.`),
  el("details", {}, el("summary", {}, "The scenario with every effective value"),
    el("button", { type: "button", onclick: () => save("scenario.toml", new Blob([result.toml])) },
    "save as scenario.toml"),
    el("pre", { class: "toml" }, result.toml))];
}

/** Whether there is something to show over a range: a search at a single point has no picture. */
const hasRange = (r) => Boolean(kindOf(r).over) &&
  (!(r.size || r.frontier || r.risk) || Boolean(pictureOf(r, r.risk ? "risk" : "size")));

/** What the results have in common that lies over a range. */
function overTitle() {
  const titles = new Set(results.filter(hasRange).map((r) => kindOf(r).overTitle));
  return (titles.size === 1 && [...titles][0]) || "Over the range";
}

/** Sections in the order of the page: which results have it, what it shows. Those with a title are
 * folded unless they are the picture of their result. */
const SECTIONS = [
  { id: "answer", has: () => true, show: (r) => [headline(r), changeNote(r), servicesNow(r), picture(r), chartControls(r)] },
  { title: "Who calls whom", id: "graph", open: true, has: isGraph,
    show: (r) => scenarioDrawing(r, r.v) },
  { title: overTitle, id: "range", open: true, has: hasRange, show: (r) => kindOf(r).over(r) },
  { title: "What the log says", id: "fit", open: true, has: (r) => r.fitted, show: fitTables },
  { title: "Is the fit any good?", id: "backtest", open: true,
    has: (r) => r.fitted && r.fitted.backtest, show: backtest },
  { title: "What theory says", id: "prediction", open: true, has: (r) => r.prediction,
    show: (r) => [pictureCharts(r, "phase_plane"), predictionTables(r)] },
  { id: "figures", has: (r) => r.summary, show: mainFigures },
  { title: "Before, during and after", id: "phases", has: (r) => r.phases && r.phases.length > 0,
    show: (r) => phaseTables(r, r.v) },
  { title: "Causes, and how sure this is", id: "causes", has: () => true,
    show: (r) => kindOf(r).answer(r) },
  { title: "Success and latency", id: "latency", has: (r) => r.series.length > 0,
    show: (r) => [charts(r, "latency"), pictureCharts(r, "latency")] },
  { title: () => (results.every(isGraph) ? "Services: load and queues"
    : "Services: who calls whom, load and queues"), id: "services",
  has: (r) => (graphAt(r, r.v).services || []).length > 0 && (!isGraph(r) || r.series.length > 0),
  show: (r) => [isGraph(r) ? null : scenarioDrawing(r, r.v), charts(r, "services")] },
  { title: "Retries and failures", id: "retries", has: (r) => r.series.length > 0,
    show: (r) => charts(r, "retries") },
  { title: "Differences", id: "differences", has: (r) => r.comparison,
    show: (r) => [pictureCharts(r, "compare"), comparisonTable(r)] },
  { title: "Error budgets", id: "budgets", has: (r) => budgetTable(r, r.v),
    show: (r) => budgetTable(r, r.v) },
  { title: "Expectations", id: "expectations", has: (r) => expectationTable(r, r.v),
    show: (r) => expectationTable(r, r.v) },
  { title: "Points", id: "points", has: (r) => r.sweep,
    show: (r) => pointTable(r, (v) => moveTo(r, v)) },
  { title: "All metrics", id: "metrics", has: (r) => r.summary, show: (r) => summaryTable(r, r.v) },
  { title: "How to reproduce", id: "reproduce", has: () => true, show: reproduction },
];

function head(result) {
  const { called, counted } = kindOf(result), facts = [called, ...counted(result)];
  if (results.length > 1) facts.push(result.folder);
  return el("header", {}, el("h1", {}, result.title),
    result.description ? el("p", { class: "question" }, result.description) : null,
    el("p", { class: "facts" }, facts.join(" · ")));
}

/** Shows a result anew: what is folded only when it is opened. */
function refresh(result) {
  for (const section of SECTIONS) {
    const cell = section.cells && section.cells[result.number];
    if (!cell) continue;
    cell.stale = true;
    update(section);
  }
  if (result.sliders) result.sliders.show();
  const said = document.querySelectorAll("#answer .verdict")[result.number];
  document.getElementById("said").textContent = said ? said.textContent : "";
}

function update(section) {
  if (section.fold && !section.fold.open) return;
  section.cells.forEach((cell, i) => {
    if (!cell.stale) return;
    cell.stale = false;
    const result = results[i];
    const shown = section.has(result) ? [section.show(result)].flat(Infinity).filter(Boolean) : [];
    cell.replaceChildren(...shown);
  });
}

function moveTo(result, v) {
  result.v = v;
  refresh(result);
}

/**
 * Shows these results, side by side, in place of those that stand there: objects of what the
 * program writes into the page (page.cpp), each with its `series`. What is open, zoomed and chosen
 * stays so.
 */
function renderPage(data) {
  const opened = new Map(SECTIONS.filter(({ fold }) => fold).map(({ id, fold }) => [id, fold.open]));
  timeline.charts.clear();
  results = data.map((one, i) => prepared(one, i, results[i]));
  // What comes later is not worth drawing.
  timeline.end = Math.max(...results.map((one) => one.end_of_action || 0)) || 1;
  const side = (cells) => el("div", { class: `side of-${Math.min(results.length, 4)}` }, cells);
  const parts = [side(results.map(head))];
  if (results.some((r) => r.sweep)) {
    parts.push(el("div", { class: "bar" }, side(results.map((result) => {
      if (!result.sweep) return el("div");
      result.sliders = sliders(result, (v) => moveTo(result, v));
      return result.sliders;
    }))));
  }
  for (const section of SECTIONS) {
    section.fold = section.cells = null;
    if (!results.some((result) => section.has(result))) continue;
    section.cells = results.map(() => Object.assign(el("div", { class: "cell" }), { stale: true }));
    if (section.title) {
      section.fold = el("details", { id: section.id, class: "section",
        open: opened.has(section.id) ? opened.get(section.id) : section.open,
        ontoggle: () => update(section) },
      el("summary", {}, el("h2", {},
        typeof section.title === "function" ? section.title() : section.title)), side(section.cells));
    }
    parts.push(section.fold || el("section", { id: section.id }, side(section.cells)));
  }
  parts.push(el("p", { id: "said", role: "status" }), el("footer", {}, `Made by retrysim ${results[0].version}. `,
    "This page needs no network."));
  document.getElementById("page").replaceChildren(...parts);
  for (const section of SECTIONS) if (section.cells) update(section);
}

/** What the program has written into the page. */
function embedded() {
  const data = [], json = (id) => document.getElementById(id);
  for (let i = 0; json(`result-${i}`); ++i) {
    data.push({ ...JSON.parse(json(`result-${i}`).textContent),
      series: JSON.parse(json(`series-${i}`).textContent) });
  }
  return data;
}

window.addEventListener("keydown", (event) => { if (event.key === "Escape") timeline.setZoom(null); });
// On paper everything is open.
window.addEventListener("beforeprint", () => {
  for (const { fold } of SECTIONS.filter((section) => section.fold)) {
    fold.folded = !fold.open;
    fold.open = true;
  }
  SECTIONS.filter((section) => section.cells).forEach(update);
  drawForPaper();  // what has just been opened as well
});
window.addEventListener("afterprint", () => {
  for (const { fold } of SECTIONS) if (fold && fold.folded) fold.open = false;
});
const written = embedded();
if (written.length > 0) renderPage(written);
if (typeof startLive === "function") startLive();
