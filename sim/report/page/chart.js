// What all charts share: scales, axes, the frame with title and legend.

// Below this a drawing is hidden or being laid out.
const NARROWEST = 120;
// What makes up the look of a drawing.
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray",
  "stroke-linejoin", "stroke-linecap", "opacity", "paint-order", "visibility", "font-family",
  "font-size", "font-weight", "text-anchor"];
const MARGIN = { left: 52, right: 10, top: 8, bottom: 34 };

/** About `count` round numbers from `low` to `high`. */
function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + span * 1e-9; ++i) {
    found.push(i * step);
  }
  return found;
}

/** Round times: steps of 1, 2, 5, 10, 15, 30 s and so on. */
function timeTicks(low, high, count) {
  const steps = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 36000, 86400];
  const rough = (high - low) / count;
  const step = rough > 10 ? steps.find((s) => s >= rough) : null;
  if (!step) return ticks(low, high, count);
  const found = [];
  for (let t = Math.ceil(low / step) * step; t <= high; t += step) found.push(t);
  return found;
}

function linear(low, high, from, to) {
  const span = high - low || 1;
  const scale = (x) => from + ((x - low) / span) * (to - from);
  scale.back = (u) => low + ((u - from) / (to - from)) * span;
  scale.ticks = (count) => ticks(low, high, count);
  return scale;
}

/** Linear up to `limit`, logarithmic above: a herd does not flatten all the rest. */
function stretched(limit, high, from, to) {
  const height = (x) => (x <= limit ? x / limit : 1 + Math.log10(x / limit) * 1.2);
  const scale = (x) => from + (height(Math.max(0, x)) / height(high)) * (to - from);
  scale.ticks = () => {
    const powers = [];
    for (let p = 10 ** Math.ceil(Math.log10(limit * 1.8)); p <= high; p *= 10) powers.push(p);
    return [0, limit, ...powers];
  };
  return scale;
}

function logarithmic(low, high, from, to) {
  const span = Math.log10(high / low) || 1;
  const scale = (x) => from + (Math.log10(Math.max(x, low) / low) / span) * (to - from);
  scale.ticks = () => {
    const powers = [];
    for (let p = 10 ** Math.ceil(Math.log10(low) - 1e-9); p <= high * 1.001; p *= 10) powers.push(p);
    return powers.length > 1 ? powers : [low, ...powers, high];
  };
  return scale;
}

/**
 * A figure with a title, a legend and a drawing that follows its width. `draw(width)` gives the
 * drawing, `said()` what is told of it to those who do not see it, `table()` its figures as a table; `legend` is a list of {name, colour, dash, band, pick}: a click on an entry with `pick`
 * calls it with whether the entry is shown from now on.
 */
class Figure {
  constructor({ title, unit, legend = [], legendTitle, draw, said, table, note, kind = "chart" }) {
    this.draw = draw;
    this.said = () => [title, said ? said() : ""].filter(Boolean).join(": ");
    this.drawing = el("div", { class: "drawing" });
    // As wide as the drawing, but of no height: that the drawing becomes higher or lower is no news
    // to the observer that has it drawn.
    this.gauge = el("div", { class: "gauge" });
    this.behind = el("div", { class: "behind" });
    const entries = legend.map((entry) => this.entry(entry));
    this.legend = entries.length === 0 ? null : el("ul", { class: "legend" },
      legendTitle ? el("li", { class: "of" }, legendTitle) : null, entries);
    this.element = el("figure", { class: kind, "data-title": title },
      el("figcaption", {}, el("b", {}, title), unit ? el("span", { class: "unit" }, unit) : null,
        el("span", { class: "tools" }, table ? this.tableButton(title, table) : null,
          ["SVG", "PNG"].map((format) => el("button", { type: "button", class: "as-file",
            "aria-label": `${title}, save as ${format}`,
            onclick: () => this.save(title, format) }, format)))),
      this.legend, this.gauge, this.drawing, this.behind, note ? el("p", { class: "note" }, note) : null);
    this.width = 0;
    if (!Figure.observer) {
      Figure.observer = new ResizeObserver((changes) => {
        for (const change of changes) change.target.figure.fit();
      });
    }
    this.drawing.figure = this;
    this.gauge.figure = this;
    Figure.observer.observe(this.gauge);
  }

  tableButton(title, table) {
    const button = el("button", { type: "button", class: "as-table", "aria-expanded": "false",
      "aria-label": `${title}, as a table`, onclick: () => {
        const open = button.getAttribute("aria-expanded") === "false";
        button.setAttribute("aria-expanded", String(open));
        this.behind.replaceChildren(...(open ? [table()] : []));
      } }, "table");
    return button;
  }

  entry({ name, label = name, colour, dash, band, block, mark, hollow, solid, opacity, nothing, pick, off }) {
    const sample = nothing ? null : svg("svg", { class: "sample", width: 22, height: 10, "aria-hidden": "true" },
      block ? svg("rect", { width: 22, height: 10, class: block })
        : solid ? svg("rect", { width: 22, height: 10, fill: colour, opacity })
        : mark ? symbol({ mark, hollow }, [11, 5], colour, 3.6) : [
        band ? svg("rect", { width: 22, height: 10, fill: colour, opacity: 0.18 }) : null,
        svg("line", { x1: 0, x2: 22, y1: 5, y2: 5, stroke: colour, "stroke-width": 2,
          "stroke-dasharray": dash || null, class: colour === "ink" ? "ink" : null })]);
    const rest = label.startsWith(name) ? label.slice(name.length) : "";  // what is said of it
    const words = rest ? [name, el("span", { class: "said" }, rest)] : label;
    if (!pick) return el("li", { "data-name": name }, sample, words);
    const button = el("button", { type: "button", "aria-pressed": String(!off), title: "show or hide",
      onclick: () => {
        const shown = button.getAttribute("aria-pressed") === "false";
        button.setAttribute("aria-pressed", String(shown));
        pick(shown);
      } }, sample, words);
    return el("li", { "data-name": name }, button);
  }

  fit() {
    const width = Math.round(this.gauge.clientWidth);
    if (width >= NARROWEST && width !== this.width) this.redraw(width);
  }

  /** The drawing for a file: with the title, on its ground, and with all styles that it has here. */
  standalone(title) {
    const drawn = this.drawing.querySelector("svg"), copy = drawn.cloneNode(true);
    const [, , width, height] = drawn.getAttribute("viewBox").split(" ").map(Number);
    const copies = [copy, ...copy.querySelectorAll("*")], TOP = 28;
    [drawn, ...drawn.querySelectorAll("*")].forEach((element, i) => {
      const style = getComputedStyle(element);
      copies[i].removeAttribute("style");
      for (const name of STYLES) copies[i].setAttribute(name, style.getPropertyValue(name));
    });
    const { color, fontFamily } = getComputedStyle(this.element);
    const ground = getComputedStyle(document.documentElement).backgroundColor;
    for (const [name, value] of Object.entries({ viewBox: `0 ${-TOP} ${width} ${height + TOP}`, width,
      height: height + TOP, xmlns: SVG })) copy.setAttribute(name, value);
    const { changed } = results[0] || {};  // a picture that leaves the page says what it is of
    const name = results.length === 1 && changed ? `${title}. ${changed}` : title;
    copy.prepend(svg("rect", { y: -TOP, width, height: height + TOP, fill: ground }),
      svg("text", { x: 8, y: 18 - TOP, "font-family": fontFamily, "font-size": 15, "font-weight": 600,
        fill: color }, name));
    return { copy, width, height: height + TOP };
  }

  async save(title, format) {
    const { copy, width, height } = this.standalone(title);
    const text = new XMLSerializer().serializeToString(copy);
    const name = `${title.replace(/\W+/g, "-").replace(/-$/, "")}.${format.toLowerCase()}`;
    if (format === "SVG") {
      save(name, new Blob([text], { type: "image/svg+xml" }));
      return;
    }
    const image = new Image(), FINE = 2;
    image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = el("canvas", { width: FINE * width, height: FINE * height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(name, blob));
  }

  redraw(width = this.width) {
    if (!(width >= NARROWEST)) return;
    this.width = width;
    const drawing = this.draw(width);
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", this.said());
    this.drawing.replaceChildren(drawing);
  }
}

/** A name in at most three lines; what has no room ends in "…". */
function nameLines(text, width) {
  const lines = wrapped(text, width), rest = lines.slice(2).join(" ");
  return rest ? [...lines.slice(0, 2), fitting(rest, width)] : lines;
}

/** Lines that end at `x`, with their middle at the height of a single one. */
function sideText(lines, x, y) {
  const LINE_HEIGHT = 13, top = y - (LINE_HEIGHT * (lines.length - 1)) / 2;
  if (lines.length === 1) return svg("text", { x, y, "text-anchor": "end" }, lines[0]);
  return svg("text", { x, y, "text-anchor": "end" }, lines.map((line, i) =>
    svg("tspan", { x, y: top + LINE_HEIGHT * i }, line)));
}

/** An empty drawing with axes; gives the group for what is drawn. Texts below it that have no room
 * beside each other stand upright, and take so many pixels more. */
function frame(width, height, { x, y, xTicks, yTicks, xText, yText, xLabel, left = MARGIN.left,
  isDense, upright = 0 }) {
  const right = width - MARGIN.right, bottom = height - MARGIN.bottom - upright;
  const id = `clip-${++frame.count}`;
  const axes = svg("g", { class: "axes" });
  let last = Infinity;
  for (const value of yTicks) {
    const at = y(value);
    if (!isDense && last - at < 13) continue;
    last = at;
    axes.append(svg("line", { x1: left, x2: right, y1: at, y2: at, class: "grid" }),
      sideText(isDense ? nameLines(yText(value), left - 8) : [fitting(yText(value), left - 8)],
        left - 6, at + 4));
  }
  let end = -Infinity;
  for (const value of upright ? xTicks : []) {
    const at = x(value);
    axes.append(svg("line", { x1: at, x2: at, y1: bottom, y2: bottom + 4, class: "tick" }),
      svg("text", { transform: `translate(${at + 4} ${bottom + 8}) rotate(-90)`,
        "text-anchor": "end" }, fitting(xText(value), upright + 10)));
  }
  for (const value of upright ? [] : xTicks) {
    const at = x(value), text = xText(value), half = text.length * 3.3;
    if (at - half < end + 6 || at > right + 1) continue;
    const anchor = at + half > width ? "end" : "middle";
    end = at + (anchor === "end" ? 0 : half);
    axes.append(svg("line", { x1: at, x2: at, y1: bottom, y2: bottom + 4, class: "tick" }),
      svg("text", { x: anchor === "end" ? width : at, y: bottom + 16, "text-anchor": anchor },
        text));
  }
  axes.append(svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }));
  if (xLabel) {
    axes.append(svg("text", { x: (left + right) / 2, y: height - 3,
      "text-anchor": "middle", class: "label" }, xLabel));
  }
  const plot = svg("g", { "clip-path": `url(#${id})` });
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" },
    svg("clipPath", { id }, svg("rect", { x: left, y: MARGIN.top - 3,
      width: Math.max(0, right - left), height: bottom - MARGIN.top + 4 })), axes, plot);
  return { root, plot, axes, right, bottom };
}
frame.count = 0;

/** What a text has room for; the whole of it for who points at it. */
function fitting(text, width) {
  const most = Math.max(4, Math.floor(width / 6.8));
  if (text.length <= most) return text;
  return [`${text.slice(0, most - 1)}…`, svg("title", {}, text)];
}

/** Path through points that may be missing (null). One that stands alone becomes a dot. */
function pathOf(points) {
  let path = "", length = 0;
  for (const point of [...points, null]) {
    if (!point) {
      if (length === 1) path += "h0.1";
      length = 0;
      continue;
    }
    path += `${length > 0 ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    ++length;
  }
  return path;
}

// What is printed is drawn for the width of an A4 page: two charts stand side by side.
const PRINTED = { chart: 335, other: 690 };
function drawForPaper() {
  for (const drawing of document.querySelectorAll(".drawing")) {
    const alone = !drawing.closest(".charts") && !drawing.closest(".of-2, .of-3, .of-4");
    drawing.figure.redraw(alone ? PRINTED.other : PRINTED.chart);
  }
}
window.addEventListener("afterprint", () => {
  for (const drawing of document.querySelectorAll(".drawing")) drawing.figure.fit();
});
