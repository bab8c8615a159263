// Charts whose axis is a value: the results of searches and sweeps.

const VALUE_HEIGHT = 300;

/**
 * `series`: [{name, colour, points: [[x, mean, low, high], ...], joined, mark}], `lines`:
 * [{at, name, colour, from, to}] across the whole height, `names`: what x says instead of numbers.
 */
function valueChart({ title, series, xLabel, yUnit, share, lines = [], names, onpick, chosen,
  note }) {
  const points = series.flatMap((s) => s.points);
  const xs = points.map((p) => p[0]).concat(lines.map((l) => l.at)).filter(exists);
  const tops = points.map((p) => Math.max(p[1], Math.min(exists(p[3]) ? p[3] : p[1], p[1] * 2)));
  const low = Math.min(...xs), high = Math.max(...xs), pad = (high - low || 1) * 0.04;
  const whole = xs.every(Number.isInteger);  // no numbers between two numbers of attempts
  const legend = series.map((s) => ({ ...s, band: false })).concat(lines);
  const draw = (width) => {
    const bottom = VALUE_HEIGHT - MARGIN.bottom;
    const x = linear(low - pad, high + pad, MARGIN.left, width - MARGIN.right);
    const y = linear(0, share ? 1.03 : Math.max(...tops, 0) * 1.06 || 1, bottom, MARGIN.top);
    const yText = (v) => (share ? `${digits(100 * v)} %` : yUnit === "s" ? seconds(v) : digits(v));
    const parts = frame(width, VALUE_HEIGHT, { x, y, yText, yTicks: y.ticks(5), xLabel,
      xTicks: names ? names.map((_, i) => i) : ticks(low, high, width / 80)
        .filter((x) => !whole || Number.isInteger(x)),
      xText: (v) => (names ? names[v] : digits(v, 5)) });
    for (const line of lines) {
      if (exists(line.from) && exists(line.to)) {
        parts.plot.append(svg("rect", { x: x(line.from), width: x(line.to) - x(line.from),
          y: MARGIN.top, height: bottom - MARGIN.top, fill: line.colour, class: "band" }));
      }
      parts.plot.append(svg("line", { x1: x(line.at), x2: x(line.at), y1: MARGIN.top, y2: bottom,
        stroke: line.colour, class: "line", "stroke-dasharray": line.dash || null }));
    }
    for (const s of series) drawValues(parts.plot, s, x, y, { yUnit, share, names, onpick, chosen });
    return parts.root;
  };
  const rows = series.flatMap((s) => s.points.map((point) => ({ name: s.name, point })));
  const x = (value) => (names ? names[value] : digits(value, 5));
  const table = () => sortable({ className: "tall", rows, columns: [
    { title: xLabel, value: ({ point }) => point[0], node: ({ point }) => x(point[0]) },
    { title: "of", text: ({ name }) => name },
    { title, value: ({ point }) => point[1],
      node: ({ point }) => intervalCell(point.slice(1), yUnit, share) }] });
  const said = () => series.map((s) => `${s.name}: ${s.points.map((p) =>
    `${quantity(p[1], yUnit, share)} at ${x(p[0])}`).join(", ")}`)
    .concat(lines.map((line) => `${line.name} at ${x(line.at)}`)).join("; ");
  return new Figure({ title, unit: unitText(yUnit, share), legend, draw, said, table, note }).element;
}

function drawValues(plot, series, x, y, { yUnit, share, names, onpick, chosen }) {
  if (series.joined) {
    plot.append(svg("path", { d: pathOf(series.points.map((p) => [x(p[0]), y(p[1])])),
      fill: "none", stroke: series.colour, class: "line", "stroke-dasharray": series.dash || null }));
  }
  series.points.forEach((p, i) => {
    const [value, mean, low, high] = p;
    if (!exists(mean)) return;
    if (exists(low) && exists(high)) {
      plot.append(svg("line", { x1: x(value), x2: x(value), y1: y(low), y2: y(high),
        stroke: series.colour, class: "whisker" }));
    }
    const text = `${names ? names[value] : digits(value, 6)}: ` +
      withInterval([mean, low, high], yUnit, share);
    plot.append(svg("circle", { cx: x(value), cy: y(mean), r: i === chosen || series.mark === "ring" ? 6.5 : 3.8,
      fill: series.mark === "ring" ? "none" : series.colour, stroke: series.colour,
      "stroke-width": 1.6, class: onpick ? "pickable" : null,
      tabindex: onpick ? 0 : null, role: onpick ? "button" : null,
      "aria-label": onpick ? text : null, onclick: onpick ? () => onpick(i) : null,
      onkeydown: onpick ? (event) => { if (event.key === "Enter") onpick(i); } : null }, svg("title", {}, text)));
  });
}

/**
 * A field of coloured cells over two keys, each with its number. `value(i, k)` is [mean, text];
 * `colour(mean)` a share from 0 to 1 of the way from light to dark.
 */
function heatMap({ title, xs, ys, xLabel, yLabel, value, shade, chosen, onpick }) {
  const cells = ys.map((y, k) => el("tr", {}, el("th", { scope: "row" }, y), xs.map((x, i) => {
    const [mean, text] = value(i, k);
    const cell = el("td", { tabindex: 0, title: `${xLabel} = ${x}, ${yLabel} = ${y}: ${text}`,
      class: i === chosen[0] && k === chosen[1] ? "chosen" : "", onclick: () => onpick(i, k),
      onkeydown: (event) => { if (event.key === "Enter") onpick(i, k); } }, text);
    if (exists(mean)) {
      const part = shade(mean);
      // Not darker: the text stays readable on a light page and on a dark one.
      cell.style.background = `rgba(0, 114, 178, ${(0.06 + 0.69 * shade(mean)).toFixed(3)})`;
    }
    return cell;
  })));
  return el("figure", { class: "map", "data-title": title },
    el("figcaption", {}, el("b", {}, title)),
    scrolling("", title, el("table", { class: "heat" },
      el("thead", {}, el("tr", {}, el("th", {}, `${yLabel} ↓  ${xLabel} →`),
        xs.map((x) => el("th", { scope: "col" }, x)))), el("tbody", {}, cells))));
}
