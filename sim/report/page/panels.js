// Panels of pictures as the program has concluded them (`pictures` of result.json), but for those
// over time: what is called how, in which colours, on which axes. Here is only where it has room.

const VALUE_HEIGHT = 300;
const ROWS = [24, 33, 46];  // pixels of names along the vertical axis, in one line, two or three
const MOST_BESIDE = 220;  // pixels that names take
const MOST_UPRIGHT = 110;  // below a drawing

/** The pixels that texts need more if they stand upright; 0 if they have room beside each other. */
function heightUpright(texts, apart) {
  const widest = Math.max(0, ...texts.map((text) => textWidth(text)));
  return widest + 6 > apart ? Math.min(MOST_UPRIGHT, Math.ceil(widest)) : 0;
}

/** The scale of an axis of a panel between two places on the drawing. */
function scaleOf(axis, from, to) {
  if (axis.names) return linear(-0.5, axis.names.length - 0.5, from, to);
  if (axis.scale === "log") return logarithmic(axis.low, axis.high, from, to);
  if (axis.scale === "stretched") return stretched(axis.knee, axis.high, from, to);
  if (axis.scale === "nines") {
    const nines = (q) => -Math.log10(1 - q);
    return (q) => from + ((nines(q) - nines(axis.low)) / (nines(axis.high) - nines(axis.low))) *
      (to - from);
  }
  return linear(axis.low, axis.high, from, to);
}

/** The texts along an axis: [place, text]. */
const marksOf = (axis) => (axis.names ? axis.names.map(([, text], i) => [i, text]) : axis.ticks);

const colourOf = (name) => (name === "ink" ? "var(--ink)" : `var(--${name})`);
const dashOf = ({ dash }) => (dash && dash.length > 0 ? dash.join(" ") : null);
const shownSeries = (panel) => panel.series.filter((series) => !series.off);
const legendText = ({ name, said }) => (said ? `${name}: ${said}` : name);

/** The entries of a panel's legend, each text once. */
function legendOf(panel) {
  if (panel.quiet) return [];
  const entries = new Map();
  const add = (name, look) => { if (!entries.has(name)) entries.set(name, { name, ...look }); };
  for (const series of shownSeries(panel)) {
    const colour = colourOf(series.colour), pointed = series.mark && !series.line;
    add(legendText(series), panel.stacked ? { colour, solid: true } : { colour, dash: dashOf(series),
      band: series.band, mark: pointed ? series.mark : null,
      hollow: pointed && series.hollow });
  }
  for (const mark of panel.marks || []) {
    if (mark.name) add(mark.name, { colour: colourOf(mark.colour), dash: dashOf(mark) });
  }
  for (const span of panel.spans || []) if (span.legend) add(span.legend, { block: span.role });
  for (const [, text, name] of (panel.cells && panel.cells.classes) || []) {
    add(text, { colour: colourOf(name), solid: true });
  }
  if (panel.cells && panel.cells.scale && !panel.cells.texts) {
    panel.cells.scale.forEach(([, text], i) => add(text, { colour: "var(--blue)", solid: true,
      opacity: [0.06, 0.75][i] }));
  }
  for (const note of panel.notes || []) add(note, { nothing: true });
  // What the title says is not said again.
  return entries.size === 1 && entries.has(panel.title) ? [] : [...entries.values()];
}

/** The points of a series that are to be seen: of those that a slider fixes the present ones. */
const pointsOf = (series, isShown) => series.points.filter((_, i) =>
  !isShown || !series.names || isShown(series.names[i]));

/**
 * The chart of a panel. `onpick` is told the name of what is clicked; `isShown` says which names are
 * to be seen, `chosen` which one is chosen.
 */
function panelChart(panel, { onpick, isShown, chosen } = {}) {
  const along = Boolean(panel.y.names), cells = panel.cells;
  const left = panel.y.names ? Math.min(MOST_BESIDE, 16 + 6.6 * Math.max(0,
    ...panel.y.names.map(([, text]) => text.length))) : MARGIN.left;
  const draw = (width) => {
    const rows = along ? panel.y.names.length : 0;
    const edge = Math.min(left, width * 0.42);
    const lines = along ? Math.max(...panel.y.names.map(([, text]) => nameLines(text, edge - 8).length))
      : 1;
    const names = cells ? [] : (panel.x.names || []).map(([, text]) => text);
    const apart = (width - MARGIN.right - edge) / (names.length || 1);
    const upright = heightUpright(names, apart);
    const top = MARGIN.top + heightUpright(panel.tops || [], apart);
    const height = cells ? Math.max(160, Math.min(420, 40 * rows + 60))
      : along ? ROWS[lines - 1] * rows + MARGIN.top + MARGIN.bottom + 10
        : VALUE_HEIGHT + upright + top - MARGIN.top;
    const bottom = height - MARGIN.bottom - upright;
    const x = scaleOf(panel.x, edge, width - MARGIN.right);
    const y = along && !cells ? scaleOf(panel.y, MARGIN.top, bottom)
      : scaleOf(panel.y, bottom, top);
    const textAt = (axis) => (at) => marksOf(axis).find(([place]) => place === at)[1];
    const parts = frame(width, height, { x, y, left: edge, xLabel: panel.x.label,
      xTicks: marksOf(panel.x).map(([at]) => at),
      yTicks: marksOf(panel.y).map(([at]) => at), xText: textAt(panel.x), yText: textAt(panel.y),
      isDense: along, upright });
    drawMarks(parts.plot, panel, x, bottom);
    if (cells) drawCells(parts.plot, panel, x, y, { onpick, isShown, chosen });
    if (panel.stacked) drawStacks(parts.plot, panel, x, y, top > MARGIN.top);
    else {
      const marks = svg("g");  // whole at the edges, where the plot ends
      const isWithin = ([px, py]) => px > edge - 1 && px < width - MARGIN.right + 1 &&
        py > MARGIN.top - 4 && py < bottom + 1;
      for (const series of shownSeries(panel)) {
        drawSeries(parts.plot, series, pointsOf(series, isShown), x, y,
          { along, onpick, chosen, marks, isWithin, middle: (edge + width) / 2 });
      }
      parts.root.append(marks);
    }
    return parts.root;
  };
  const text = (axis, value) => (axis.names ? (axis.names[value] || [])[1]
    : quantity(value, axis.unit, axis.share));
  const values = along ? panel.x : panel.y, places = along ? panel.y : panel.x;
  const rows = () => shownSeries(panel).flatMap((series) => pointsOf(series, isShown)
    .map((p) => ({ name: series.name, place: along ? p[1] : p[0], value: along ? p[0] : p[1],
      low: p[2], high: p[3] }))).filter(({ value }) => exists(value));
  const said = () => [...rows().slice(0, 60).map(({ name, place, value }) =>
    `${name}: ${text(values, value)} at ${text(places, place)}`),
  ...(panel.marks || []).filter((mark) => mark.name).map((mark) => mark.name)].join("; ");
  const table = () => sortable({ className: "tall", rows: rows(), columns: [
    { title: places.label || "of", value: (row) => row.place, node: (row) => text(places, row.place) },
    { title: "of", text: (row) => row.name },
    { title: panel.title, value: (row) => row.value,
      node: (row) => intervalCell([row.value, row.low, row.high], values.unit, values.share) }] });
  const figure = new Figure({ title: panel.title, unit: panel.y.label, legend: legendOf(panel),
    legendTitle: panel.legend, draw, said: cells ? null : said, table: cells ? null : table });
  return figure.element;
}

/** Lines across the whole height, with what lies around them. */
function drawMarks(plot, panel, x, bottom) {
  for (const mark of panel.marks || []) {
    const colour = colourOf(mark.colour);
    if (exists(mark.from) && exists(mark.to)) {
      plot.append(svg("rect", { x: x(mark.from), width: Math.max(1, x(mark.to) - x(mark.from)),
        y: MARGIN.top, height: bottom - MARGIN.top, fill: colour, class: "band" }));
    }
    plot.append(svg("line", { x1: x(mark.at), x2: x(mark.at), y1: MARGIN.top, y2: bottom,
      stroke: colour, class: "line", "stroke-dasharray": dashOf(mark) }));
  }
}

function drawSeries(plot, series, points, x, y, { along, onpick, chosen, marks, isWithin, middle }) {
  const colour = colourOf(series.colour);
  const known = points.filter((p) => exists(p[0]) && exists(p[1]));
  const at = (p) => [x(p[0]), y(p[1])];
  const ends = known.filter((p) => exists(p[2]) && exists(p[3]));
  if (series.bar) {
    for (const p of known) drawBar(plot, series, p, x, y);
    return;
  }
  if (series.band && ends.length > 1) {
    const side = (i) => ends.map((p) => [x(p[0]), y(p[i])]);
    plot.append(svg("path", { fill: colour, class: "band",
      d: `${pathOf(side(2))}${pathOf(side(3).reverse()).replace("M", "L")}Z` }));
  }
  if (series.line) {
    const ordered = series.arrow ? known : [...known].sort((p, q) => p[0] - q[0]);
    plot.append(svg("path", { d: pathOf(ordered.map(at)), fill: "none", stroke: colour, class: "line",
      "stroke-dasharray": dashOf(series) }));
    if (series.arrow) drawDirection(plot, known.map(at), colour);
  }
  const isCross = series.label !== undefined;  // without a name if that of another one has it
  if (series.whiskers || isCross) {
    for (const p of ends) {
      const across = along && !isCross;
      plot.append(svg("line", { x1: x(across ? p[2] : p[0]), x2: x(across ? p[3] : p[0]),
        y1: y(across ? p[1] : p[2]), y2: y(across ? p[1] : p[3]), stroke: colour, class: "whisker" }));
      if (isCross && exists(p[4]) && exists(p[5])) {
        plot.append(svg("line", { x1: x(p[4]), x2: x(p[5]), y1: y(p[1]), y2: y(p[1]),
          stroke: colour, class: "whisker" }));
      }
    }
  }
  const names = series.names && new Map(series.points.map((p, i) => [p, series.names[i]]));
  if (series.mark) {
    for (const p of known.filter((one) => isWithin(at(one)))) {
      const name = names && names.get(p), big = name !== undefined && name === chosen;
      marks.append(symbol(series, at(p), colour, big ? 6.5 : null, onpick && name !== undefined
        ? () => onpick(name) : null));
      if (series.label) {
        const right = x(p[0]) > middle;
        plot.append(svg("text", { x: x(p[0]) + (right ? -8 : 8), y: y(p[1]) - 6,
          "text-anchor": right ? "end" : "start" }, series.label));
      }
    }
  }
  if (series.end && known.length > 0) {
    marks.append(symbol({ ...series, mark: series.end }, at(known[known.length - 1]), colour));
  }
}

/** A mark: a disc, a ring, a square, a cross, a diamond, a star, an arrow. */
function symbol(series, [cx, cy], colour, size, onpick) {
  const ring = series.mark === "ring", r = size || { dot: 3.8, ring: 6.5 }[series.mark] || 6;
  const attributes = { fill: ring ? "none" : series.hollow ? "var(--ground)" : colour,
    stroke: colour, "stroke-width": 1.6, class: onpick ? "pickable" : null,
    tabindex: onpick ? 0 : null, role: onpick ? "button" : null, onclick: onpick,
    onkeydown: onpick ? (event) => { if (event.key === "Enter") onpick(); } : null };
  const path = { square: `M${cx - r} ${cy - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
    diamond: `M${cx} ${cy - r}L${cx + r} ${cy}L${cx} ${cy + r}L${cx - r} ${cy}Z`,
    cross: `M${cx - r} ${cy - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`,
    arrow: `M${cx - r} ${cy - r}L${cx + r} ${cy}L${cx - r} ${cy + r}Z` }[series.mark];
  if (series.mark === "star") {
    const corners = Array.from({ length: 10 }, (_, i) => {
      const turn = (Math.PI * (i - 2.5)) / 5, far = i % 2 ? r * 0.5 : r * 1.3;
      return `${(cx + far * Math.cos(turn)).toFixed(1)} ${(cy + far * Math.sin(turn)).toFixed(1)}`;
    });
    return svg("path", { d: `M${corners.join("L")}Z`, ...attributes });
  }
  return path ? svg("path", { d: path, ...attributes }) : svg("circle", { cx, cy, r, ...attributes });
}

/** Which way a curve goes, at the middle of its length. */
function drawDirection(plot, points, colour) {
  const steps = points.slice(1).map(([a, b], i) => Math.hypot(a - points[i][0], b - points[i][1]));
  let rest = steps.reduce((sum, step) => sum + step, 0) * 0.4;
  if (rest < 10) return;
  const at = steps.findIndex((step) => (rest -= step) <= 0);
  const [from, to] = [points[at], points[at + 1]];
  const turn = (Math.atan2(to[1] - from[1], to[0] - from[0]) * 180) / Math.PI;
  plot.append(svg("path", { d: "M-6 -4L4 0L-6 4Z", fill: colour,
    transform: `translate(${to[0]} ${to[1]}) rotate(${turn})` }));
}

/** A difference with its interval and its number. */
function drawBar(plot, series, [value, place, low, high], x, y) {
  const at = y(place), from = x(Math.min(0, value)), to = x(Math.max(0, value));
  plot.append(svg("rect", { x: from, width: Math.max(1, to - from), y: at - 8, height: 16,
    fill: colourOf(series.colour), opacity: series.pale ? 0.35 : 1 }));
  const known = exists(low) && exists(high);
  if (known) {
    plot.append(svg("line", { x1: x(low), x2: x(high), y1: at, y2: at, class: "line ink" }));
  }
  const far = value < 0 ? Math.min(value, known ? low : value) : Math.max(value, known ? high : value);
  plot.append(svg("text", { x: x(far) + (value < 0 ? -4 : 4), y: at + 4,
    "text-anchor": value < 0 ? "end" : "start" }, series.text));
}

/** Shares on top of each other, and above them how many there are. */
function drawStacks(plot, panel, x, y, isUpright) {
  const whole = new Map(), below = new Map(), half = Math.abs(x(0.4) - x(0));
  shownSeries(panel).forEach((series, n) => {
    const heights = new Map();
    for (const [place, value, , , of] of series.points) {
      heights.set(place, (heights.get(place) || 0) + value);
      if (n === 0) whole.set(place, (whole.get(place) || 0) + of);
    }
    for (const [place, height] of heights) {
      const share = whole.get(place) > 0 ? height / whole.get(place) : 0;
      const from = below.get(place) || 0;
      below.set(place, from + share);
      if (!exists(place)) continue;
      plot.append(svg("rect", { x: x(place) - half, width: 2 * half, y: y(from + share),
        height: Math.max(0, y(from) - y(from + share)), fill: colourOf(series.colour) },
      svg("title", {}, `${series.name}: ${percent(share)}`)));
    }
  });
  panel.tops.forEach((text, place) => plot.append(svg("text", isUpright
    ? { transform: `translate(${x(place) + 4} ${y(1) - 4}) rotate(-90)` }
    : { x: x(place), y: y(1) - 4, "text-anchor": "middle" }, text)));
}

/** A field of cells: each a class with its colour, or a number on a scale from light to dark. */
function drawCells(plot, panel, x, y, { onpick, isShown, chosen }) {
  const { cells } = panel, { low, high } = cells;
  const classes = new Map((cells.classes || []).map(([key, text, name]) => [key, { text, name }]));
  const share = (v) => (!(high > low) ? 0 : cells.log ? Math.log(v / low) / Math.log(high / low)
    : (v - low) / (high - low));
  const [w, h] = [Math.abs(x(1) - x(0)), Math.abs(y(1) - y(0))];
  cells.points.forEach(([i, k, value], n) => {
    const name = cells.names && cells.names[n];
    if (isShown && cells.names && !isShown(name)) return;
    if (!exists(i) || !exists(k)) return;
    const known = classes.get(value), text = cells.texts && cells.texts[k] && cells.texts[k][i];
    const rect = svg("rect", { x: x(i) - w / 2, y: y(k) - h / 2, width: w, height: h,
      fill: known ? colourOf(known.name) : exists(value) ? "var(--blue)" : "none",
      "fill-opacity": known || !exists(value) ? 1 : 0.06 + 0.69 * share(value),
      class: `cell${name !== undefined && name === chosen ? " chosen" : ""}`,
      tabindex: onpick ? 0 : null, role: onpick ? "button" : null,
      onclick: onpick ? () => onpick(name) : null,
      onkeydown: onpick ? (event) => { if (event.key === "Enter") onpick(name); } : null },
    svg("title", {}, `${panel.x.names[i][1]}, ${panel.y.names[k][1]}: ${
      known ? known.text : text || digits(value)}`));
    plot.append(rect);
    if (text && w > 6 * text.length) {
      plot.append(svg("text", { x: x(i), y: y(k) + 4, "text-anchor": "middle", class: "in-cell" },
        text));
    }
  });
}

/** The panels of a picture of this name; nothing if the result has none. */
function pictureOf(result, name) {
  return (result.pictures || []).find((picture) => picture.name === name &&
    (picture.variant === undefined || picture.variant === null));
}

/** What a picture says of itself, sentence by sentence. */
function pictureText(result, { text }) {
  const found = text.filter((one) => one !== result.description);
  return found.map((one, i) => (i + 1 < found.length && !/[.!?]$/.test(one) ? `${one}.` : one))
    .join(" ");
}

/** The panels of a picture as charts beside each other; above them what it says of them. */
function pictureCharts(result, name, options) {
  const found = pictureOf(result, name);
  if (!found) return null;
  return [el("p", { class: "note picture-text" }, pictureText(result, found)),
  el("div", { class: found.panels.length > 1 ? "charts of-picture" : "of-picture" }, found.panels.map((panel) =>
    panelChart(panel, options)))];
}
