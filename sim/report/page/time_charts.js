// Charts over time. They share one zoom and one cursor.

const HEIGHT = 220, LEAST_HEIGHT = 110;

/** The time that all charts of the page show, and the one that is pointed at. */
const timeline = {
  end: 1,
  zoom: null,
  charts: new Set(),
  setZoom(zoom) {
    this.zoom = zoom;
    document.body.classList.toggle("zoomed", zoom !== null);
    for (const chart of this.charts) chart.figure.redraw();
  },
  time: null,
  point(time) {
    this.time = time;
    for (const chart of this.charts) chart.point(time);
  },
};

/** Value number i of a series that is a list or, where all are equal, a number. */
const at = (values, i) => (Array.isArray(values) ? values[i] : values);

/** The value of a line at a moment; null where there is none. */
function valueAt(line, time) {
  const i = Math.floor(time / line.dt);
  if (i < 0 || i >= line.bins) return null;
  if (!line.steps) return at(line.means, i);
  const later = line.steps.findIndex(([start]) => start > time);
  const step = line.steps[(later < 0 ? line.steps.length : later) - 1];
  return step ? step[1] : null;
}

/** The values that a line has in a stretch of time. */
function valuesOf(line, low, high) {
  if (line.steps) {
    return line.steps.filter(([start], i) => start <= high &&
      (i + 1 === line.steps.length || line.steps[i + 1][0] > low)).map(([, value]) => value);
  }
  return Array.from({ length: line.bins }, (_, i) => at(line.means, i)).filter((value, i) =>
    exists(value) && (i + 0.5) * line.dt >= low && (i + 0.5) * line.dt <= high);
}

/**
 * A line of a chart: `of` gives [means, halves] of the present data, or null.
 * {name, colour, dash, of, share, dt, bins}; `steps` instead of bins: [start, value], each until the
 * next.
 */
class TimeChart {
  /** `panel`: what the program has concluded; `state`: () => {lines, windows, top} of what is shown
   * now; `isExact`: whether the axes are those of the panel; `off`: names of lines that are not to be
   * seen, which clicks on the legend change; `range`: of the time, if it is not all; `height`:
   * (chart) => pixels; `direct`: where names stand at the lines as well, what else is to be said of
   * each. */
  constructor({ panel, state, isExact, off, range, height, direct }) {
    const { title, y: { unit, share = false, label, scale } } = panel;
    this.panel = panel;
    this.options = { unit, share, scale, direct, isExact, whole: range, height: height || (() => HEIGHT) };
    this.state = () => ({ ...state(), lines: state().lines.filter((line) => !off || !off.has(line.name)) });
    const { lines, windows } = state();
    const legend = lines.map((line) => ({ ...line, label: legendText(line), band: hasInterval(line),
      off: off && off.has(line.name), pick: off && ((shown) => {
        if (shown) off.delete(line.name); else off.add(line.name);
        this.figure.redraw();
      }) }));
    for (const w of windows) if (w.legend) legend.push({ name: w.legend, block: w.role });
    this.figure = new Figure({ title, unit: label, legend,
      draw: (width) => this.draw(width), said: () => this.said(), table: () => this.table() });
    this.element = this.figure.element;
    this.tip = el("div", { class: "tip" });
    this.tip.hidden = true;
    this.figure.gauge.append(this.tip);
    this.legendHeight = 0;  // of what takes room from the drawing
    timeline.charts.add(this);
  }

  remove() { timeline.charts.delete(this); }

  range() { return timeline.zoom || this.options.whole || [0, timeline.end]; }

  /** Each line from its least to its greatest value, in words. */
  said() {
    const [low, high] = this.range(), { unit, share } = this.options;
    return [...this.state().lines.map((line) => {
      const values = valuesOf(line, low, high);
      const text = (value) => quantity(value, unit, share);
      return values.length === 0 ? `${line.name} has no values` : `${line.name} from ${
        text(Math.min(...values))} to ${text(Math.max(...values))}, at last ${
        text(values[values.length - 1])}`;
    }), `between ${seconds(low)} and ${seconds(high)}`,
    ...this.state().windows.map((w) => `${w.name} from ${seconds(w.start)} to ${seconds(w.end)}`)]
      .join("; ");
  }

  /** About twenty moments of all lines. */
  table() {
    const [low, high] = this.range(), { lines } = this.state();
    const rows = Array.from({ length: 21 }, (_, i) => low + (high - low) * (i / 20) * 0.999);
    return sortable({ className: "tall", rows, columns: [{ title: this.panel.x.label, value: (time) => time,
      node: (time) => digits(time, 4) }, ...lines.map((line) => ({ title: line.name,
      value: (time) => valueAt(line, time),
      node: (time) => quantity(valueAt(line, time), this.options.unit, this.options.share) }))] });
  }

  draw(width) {
    const { lines, windows, top } = this.state(), { panel } = this;
    const [low, high] = this.range();
    const limit = topOf(lines.filter((line) => line.steps), low, high);
    if (width !== this.drawnWidth) this.legendHeight = 0;
    this.drawnWidth = width;
    const height = Math.max(LEAST_HEIGHT, this.options.height(this) - this.legendHeight), bottom = height - MARGIN.bottom;
    this.height = height;
    const x = linear(low, high, MARGIN.left, width - MARGIN.right);
    // Alone and whole it has the very axes that the program has concluded; else those that fit.
    const isWhole = low === panel.x.low && high === panel.x.high;
    const isOwn = this.options.isExact && isWhole;
    const y = isOwn ? scaleOf(panel.y, bottom, MARGIN.top)
      : this.scale(timeline.zoom ? topOf(lines, low, high) : top, limit, bottom, lines);
    const known = new Map(isOwn ? panel.y.ticks : []), times = new Map(isWhole ? panel.x.ticks : []);
    const yText = (value) => known.get(value) || (this.options.share ? `${digits(100 * value)} %`
      : this.options.unit === "s" ? seconds(value) : digits(value));
    const parts = frame(width, height, { x, y, yText, xLabel: panel.x.label,
      xTicks: isWhole ? [...times.keys()] : timeTicks(low, high, width / 75),
      yTicks: isOwn ? [...known.keys()] : y.ticks(5), xText: (t) => times.get(t) || digits(t, 6) });
    for (const w of windows) {
      parts.plot.append(svg("rect", { x: x(w.start), width: Math.max(1.5, x(w.end) - x(w.start)),
        y: MARGIN.top - 3, height: w.role === "storm" ? 10 : bottom - MARGIN.top + 3,
        class: w.role },
        svg("title", {}, `${w.name}: ${seconds(w.start)} to ${seconds(w.end)}`)));
    }
    for (const line of lines) this.drawBand(parts.plot, line, x, y);
    for (const line of lines) this.drawLine(parts.plot, line, x, y);
    const without = this.options.direct ? this.drawNames(parts.root, x, y, width, bottom) : [];
    const lower = this.options.direct && this.drawLegend(without, width);
    if (lower) return lower;
    this.cursor = svg("line", { y1: MARGIN.top, y2: bottom, class: "cursor", visibility: "hidden" });
    parts.plot.append(this.cursor);
    this.x = x;
    this.listen(parts.root, width);
    return parts.root;
  }

  scale(top, limit, bottom, lines) {
    if (this.options.share) return linear(0, 1.03, bottom, MARGIN.top);
    const high = top > 0 ? top * 1.06 : 1;
    if (this.panel.group !== "latency" && limit > 0 && high > 12 * limit) {
      return stretched(limit, high, bottom, MARGIN.top);
    }
    if (this.options.scale === "log") {
      const low = lowOf(lines);
      if (low > 0 && high / low > 40) {
        return logarithmic(10 ** Math.floor(Math.log10(low)), high, bottom, MARGIN.top);
      }
    }
    return linear(0, high, bottom, MARGIN.top);
  }

  points(line, value, x, y) {
    const found = [], end = line.bins * line.dt;
    if (line.steps) {
      line.steps.forEach(([start, v], i) => {
        const until = i + 1 < line.steps.length ? line.steps[i + 1][0] : end;
        if (start < end) found.push([x(start), y(v)], [x(Math.min(until, end)), y(v)]);
      });
      return found;
    }
    for (let i = 0; i < line.bins; ++i) {
      const v = value(i);
      if (!exists(v)) {
        found.push(null);
      } else {
        found.push([x((i + 0.5) * line.dt), y(v)]);
      }
    }
    return found;
  }

  drawLine(plot, line, x, y) {
    const d = pathOf(this.points(line, (i) => at(line.means, i), x, y));
    if (!d) return;
    plot.append(svg("path", { d, fill: "none", stroke: line.colour === "ink" ? null : line.colour,
      class: `line${line.colour === "ink" ? " ink" : ""}`,
      "stroke-dasharray": line.dash || null }));
  }

  /** Names beside the lines; gives those for which there is no room there. */
  drawNames(root, x, y, width, bottom) {
    const { lines, windows } = this.state();
    return new LineNames({ lines, said: this.options.direct, windows, x, y, width, bottom,
      range: this.range() }).draw(root);
  }

  /** The legend of a chart with names beside its lines has the others. Where that takes room, the
   * chart is drawn anew, lower. */
  drawLegend(without, width) {
    const { legend } = this.figure;
    if (!legend) return null;
    for (const entry of legend.children) entry.hidden = !without.includes(entry.dataset.name);
    legend.classList.toggle("needed", without.length > 0);
    const taken = legend.offsetHeight;
    if (taken <= this.legendHeight) return null;
    this.legendHeight = taken;
    return this.draw(width);
  }

  drawBand(plot, line, x, y) {
    if (!hasInterval(line)) return;
    const end = (sign) => (i) => {
      const mean = at(line.means, i), half = at(line.halves, i);
      if (!exists(mean) || !exists(half)) return null;
      const value = Math.max(0, mean + sign * half);
      return this.options.share ? Math.min(1, value) : value;
    };
    const up = this.points(line, end(1), x, y), down = this.points(line, end(-1), x, y);
    let d = "";
    for (let i = 0; i < up.length;) {  // stretches without a gap
      let k = i;
      while (k < up.length && up[k] && down[k]) ++k;
      if (k - i > 1) {
        d += `${pathOf(up.slice(i, k))}${pathOf(down.slice(i, k).reverse()).replace("M", "L")}Z`;
      }
      i = k + 1;
    }
    if (d) plot.append(svg("path", { d, fill: line.colour, class: "band" }));
  }

  /** The pointer: a cursor in all charts, and a zoom to what is dragged over. */
  listen(root, width) {
    const timeOf = (event) => {
      const box = root.getBoundingClientRect();
      return this.x.back(((event.clientX - box.left) / box.width) * width);
    };
    let from = null, mark = null;
    root.addEventListener("pointermove", (event) => {
      timeline.point(timeOf(event));
      if (from === null) return;
      const [a, b] = [from, timeOf(event)].sort((p, q) => p - q).map(this.x);
      if (!mark) {
        mark = svg("rect", { y: MARGIN.top, height: this.height - MARGIN.bottom - MARGIN.top,
          class: "mark" });
        root.append(mark);
      }
      mark.setAttribute("x", a);
      mark.setAttribute("width", b - a);
    });
    root.addEventListener("pointerleave", () => timeline.point(null));
    root.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      from = timeOf(event);
      root.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    root.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const range = [from, timeOf(event)].sort((p, q) => p - q);
      const [low, high] = this.range();
      from = null;
      if (mark) mark.remove();
      mark = null;
      if (range[1] - range[0] > (high - low) / 100) {
        timeline.setZoom([Math.max(low, range[0]), Math.min(high, range[1])]);
      }
    });
    // With the keyboard: arrows move the cursor, + zooms in around it, - and Escape out again.
    root.setAttribute("tabindex", 0);
    root.addEventListener("keydown", (event) => {
      const [low, high] = this.range(), step = (high - low) / 50;
      const time = Math.max(low, Math.min(high, timeline.time ?? (low + high) / 2));
      const move = { ArrowLeft: -step, ArrowRight: step }[event.key];
      if (move) timeline.point(Math.max(low, Math.min(high, time + move)));
      else if (event.key === "+") timeline.setZoom([time - 12 * step, time + 12 * step]
        .map((t) => Math.max(0, Math.min(timeline.end, t))));
      else if (event.key === "-") timeline.setZoom(null);
      else return;
      event.preventDefault();
      for (const chart of timeline.charts) if (chart === this) chart.focus();
    });
    root.addEventListener("blur", () => timeline.point(null));
    root.addEventListener("dblclick", () => timeline.setZoom(null));
  }

  /** The drawing is another one after a zoom. */
  focus() { this.figure.drawing.firstChild.focus({ preventScroll: true }); }

  point(time) {
    if (!this.cursor) return;
    const { lines } = this.state();
    const [low, high] = this.range();
    const inside = time !== null && time >= low && time <= high;
    this.cursor.setAttribute("visibility", inside ? "visible" : "hidden");
    if (inside) {
      this.cursor.setAttribute("x1", this.x(time));
      this.cursor.setAttribute("x2", this.x(time));
    }
    this.tip.hidden = !inside;
    if (!inside) return;
    // As the picture is drawn: its units may be wider or narrower than pixels.
    const left = this.x(time) * (this.figure.gauge.clientWidth / this.figure.width);
    const onRight = time < (low + high) / 2;
    this.tip.style.left = onRight ? `${left + 8}px` : "";
    this.tip.style.right = onRight ? "" : `${this.figure.gauge.clientWidth - left + 8}px`;
    this.tip.replaceChildren(el("b", {}, `at ${digits(time, 4)} s`), ...lines.map((line) => {
      const mean = valueAt(line, time), half = at(line.halves, Math.floor(time / line.dt));
      const text = (value) => quantity(value, this.options.unit, this.options.share);
      const known = exists(mean);
      const row = el("span", {}, `${line.name}: ${known ? text(mean) : "–"}`,
        known && half > 0 ? ` (${text(Math.max(0, mean - half))} to ${
          text(this.options.share ? Math.min(1, mean + half) : mean + half)})` : null);
      row.style.color = line.colour === "ink" ? "" : line.colour;
      return row;
    }));
  }
}

const hasInterval = (line) => Array.isArray(line.halves) && line.halves.some((h) => h > 0);

/** The largest value of lines in a stretch of time. */
function topOf(lines, low = 0, high = Infinity) {
  let top = 0;
  for (const line of lines) {
    if (line.steps) {
      top = Math.max(top, ...valuesOf(line, low, high));
      continue;
    }
    for (let i = 0; i < line.bins; ++i) {
      const time = (i + 0.5) * line.dt, mean = at(line.means, i);
      if (time < low || time > high || !exists(mean)) continue;
      // A wide interval may leave the picture; the line may not.
      top = Math.max(top, mean, Math.min(mean + (at(line.halves, i) || 0), mean * 1.5));
    }
  }
  return top;
}

function lowOf(lines) {
  let low = Infinity;
  for (const line of lines) {
    for (let i = 0; i < line.bins; ++i) {
      const mean = at(line.means, i);
      if (mean > 0 && mean < low) low = mean;
    }
  }
  return Number.isFinite(low) ? low : 0;
}
