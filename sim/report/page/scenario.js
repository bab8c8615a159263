// The drawing of a scenario: who calls whom, with what comes through, and what happens when.

/** What is simulated at a variant or point, as sim/report/graph.hpp describes it; of a sweep with
 * very many points only the scenario that it varies. */
function graphAt(result, v) {
  const { graphs } = result.sweep || {};
  return (graphs && graphs[v]) || (result.variants[v] || {}).graph || result.graph || {};
}

/** Whether that is what was simulated at the point, and not only the scenario that is varied. */
const graphIsOwn = (result, v) => !result.sweep || Boolean((result.sweep.graphs || [])[v]);

/** What went along the edge of a group: requests per second, attempts per request and the share of
 * the requests that succeeded; before, during and after the first disturbance, or all the time where
 * there is none. `fails` where the program says that far fewer succeed than before. */
function flowsOf(result, v, group) {
  const metrics = ["offered_load", "amplification", "success_rate"];
  const flow = (word, [load, attempts, success], fails) => {
    if (!exists(load)) return null;
    const text = [`${word}${digits(load)} /s`, exists(attempts) && ` × ${digits(attempts)}`,
      exists(success) && `, ${percent(success)}`].filter(Boolean).join("");
    return { text, fails };
  };
  const rows = (result.phases || []).filter((row) => row.v === v && result.clients[row.c] === group);
  const first = (kind) => rows.find((row) => row.kind === kind);
  const [before, during] = [first("before"), first("during")];
  if (!during) {
    return [flow("", metrics.map((metric) => (summaryOf(result, v, group, metric) || [])[0]),
      (result.failing || []).some(([of, c]) => of === v && result.clients[c] === group))]
      .filter(Boolean);
  }
  const after = rows.filter((row) => row.kind === "after").pop();
  return [["before ", before], ["during ", during], ["after ", after],
    ["recovering ", after ? null : first("recovering")]]
    .map(([word, row]) => row && flow(word, metrics.map((metric) => (row.m[metric] || [])[0]),
      Boolean(row.fails))).filter(Boolean);
}

const CULPRIT = "the cause, by the verdict";

/** The services that the program names as the cause. */
const culpritsOf = (result, v) => (answerOf(result, v) || { culprits: [] }).culprits;

/** Whether services call each other. */
const isGraph = (result) => (graphAt(result, result.v).calls || []).length > 0;

/** A box for each client group and each service; `ports` are where arrows leave it, each with the
 * ids of the boxes that it leads to. Callers come before those that they call. */
function graphOf(result, v) {
  const { services, clients, calls } = graphAt(result, v), culprits = culpritsOf(result, v);
  const moment = (of, name) => (result.series[v]
    ? (time, isNarrow) => of(result, v, name, time, isNarrow) : null);
  const port = (group) => ({ moment: moment(callAt, group.name), name: group.calls.join(", "), to: group.calls.map((s) => `service ${s}`),
    lines: group.caller ? group.lines : [], flows: flowsOf(result, v, group.name) });
  const boxes = (clients || []).map((client) => ({ kind: "client", id: `client ${client.name}`,
    title: client.name, lines: client.lines, ports: [port(client)] }));
  for (const { name, instances, balancing, lines } of services || []) {
    const isCulprit = culprits.includes(name);
    boxes.push({ kind: "service", id: `service ${name}`, title: name, moment: moment(serviceAt, name), isCulprit,
      lines: [...(isCulprit ? [CULPRIT] : []), ...(instances > 1 && balancing ? [`balancer: ${balancing}`] : []), ...(lines || [])],
      ports: (calls || []).filter((call) => call.caller === name).map(port) });
  }
  const byId = new Map(boxes.map((box) => [box.id, box])), sorted = [];
  for (const box of boxes) box.callers = 0;
  for (const p of boxes.flatMap((box) => box.ports)) {
    p.to = p.to.map((id) => byId.get(id)).filter(Boolean);
    for (const to of p.to) ++to.callers;
  }
  const place = (box) => {  // and then at once whom only those that stand there call
    sorted.push(box);
    for (const to of box.ports.flatMap((p) => p.to)) if (--to.callers === 0) place(to);
  };
  boxes.filter((box) => box.callers === 0).forEach(place);
  return sorted;
}

/** What a service can do at a moment, in attempts per second, as profile and faults leave it:
 * {now, usual}, null where nothing limits it. */
function capacityAt(result, v, name, time) {
  const { capacity_per_s: own, throttle_per_s: throttle, capacity_steps: steps, autoscaled } =
    (graphAt(result, v).services || []).find((one) => one.name === name) || {};
  const usual = Math.min(own ?? Infinity, throttle ?? Infinity);
  const line = lineOf(result, v, "s", name, "capacity", {});
  const isExact = steps && !autoscaled && graphIsOwn(result, v);
  const now = isNothing(line) ? null : valueAt(isExact ? { ...line, steps } : line, time);
  return { now: Number.isFinite(usual) || steps ? now : null, usual };
}

/** The value of a quantity at a moment, as a text. */
function momentText(result, v, bearers, name, quantity_, time, form = digits) {
  const line = lineOf(result, v, bearers, name, quantity_, {});
  const value = line ? at(line.means, Math.floor(time / line.dt)) : null;
  return exists(value) ? form(value) : "–";
}

/** What is at a moment along a call, as in `flowsOf`. */
function callAt(result, v, name, time) {
  const text = (...asked) => momentText(result, v, "c", name, asked[0], time, asked[1]);
  return { text: `▸ ${text("offered_load")} /s × ${text("amplification")}, ${
    text("success_rate", percent)}` };
}

/**
 * What is at a moment at a service: the attempts that arrive, what it can do then, its queue, and
 * what it works on; in two lines, or in more where the box is narrow. {text, less} each, `less`
 * where it can do less than usual.
 */
function serviceAt(result, v, name, time, isNarrow) {
  const { now, usual } = capacityAt(result, v, name, time);
  const text = (quantity_) => momentText(result, v, "s", name, quantity_, time);
  const less = exists(now) && now < 0.999 * usual, load = text("arrival_rate");
  const can = exists(now) ? `${less ? "only " : ""}${digits(now)} /s` : null;
  const [queue, service] = [`queue ${text("queue_mean")}`, `in service ${text("in_service_mean")}`];
  if (!isNarrow) {
    return [{ text: can === null ? `▸ load ${load} /s` : `▸ load ${load} of ${can}`, less },
      { text: `▸ ${queue}, ${service}` }];
  }
  return [{ text: `▸ load ${load} /s` }, ...(can === null ? [] : [{ text: `▸ can do ${can}`, less }]),
    { text: `▸ ${queue}` }, { text: `▸ ${service}` }];
}

const LINE = 15, TITLE_LINE = 17, PAD = 10, NO_BREAK = "\u00a0";
const FONT = "11.5px system-ui, \"Segoe UI\", Roboto, \"DejaVu Sans\", sans-serif";
const pen = document.createElement("canvas").getContext("2d");

/** How wide a text of a drawing is, or a name in a box. */
function textWidth(text, isName = false) {
  pen.font = isName ? `bold ${FONT.replace("11.5", "13")}` : FONT;
  return pen.measureText(text).width;
}

/** A text in lines that are at most so wide; words that are wider are broken. */
function wrapped(text, width, isName = false) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines[lines.length - 1] ? `${lines[lines.length - 1]} ${word}` : word;
    if (textWidth(longer, isName) <= width) lines[lines.length - 1] = longer;
    else {
      if (lines[lines.length - 1]) lines.push("");
      for (const letter of word) {
        if (textWidth(lines[lines.length - 1] + letter, isName) > width) lines.push("");
        lines[lines.length - 1] += letter;
      }
    }
  }
  return lines;
}

const WIDEST_MOMENT = "▸ queue 0000, in service 00000";

/** Functions of the time for the lines of a service that say what is then. */
function momentRows(box, width) {
  if (!box.moment) return [];
  const isNarrow = textWidth(WIDEST_MOMENT) > width - 2 * PAD;
  return box.moment(0, isNarrow).map((_, i) => (time) => box.moment(time, isNarrow)[i]);
}

/** Lays the texts of a box out in `width`, and so sets its height and that of its ports. */
function fillBox(box, width) {
  if (box.isShort) {
    fillShort(box, width);
    return;
  }
  box.w = width;
  box.rows = [];
  let y = 4;
  const add = (text, look, of = null, moment = null) => {
    for (const line of wrapped(text, width - 2 * PAD, look === "name")) {
      y += look === "name" ? TITLE_LINE : LINE;
      box.rows.push({ text: line.replaceAll(NO_BREAK, " "), look, moment, y: y - 3 });
      if (of && of.dy === null) of.dy = y - 7;
    }
  };
  add(box.title, "name");
  const facts = (lines) => lines.map((line) => (textWidth(line) + textWidth(" ·") <= width - 2 * PAD
    ? line.replaceAll(" ", NO_BREAK) : line)).join(`${NO_BREAK}· `);
  if (box.lines.length > 0) add(facts(box.lines), null);
  for (const moment of momentRows(box, width)) add("▸", "moment", null, moment);
  for (const p of box.ports) {
    p.dy = null;
    y += 6;
    p.rule = y;
    add(`→ ${p.name}`, "to", p);
    if (p.lines.length > 0) add(facts(p.lines), null);
    for (const flow of p.flows) add(flow.text, flow.fails ? "flow fails" : "flow");
    if (p.moment) add("▸", "moment", null, p.moment);
  }
  box.h = y + 6;
}

/** A box with its name and what is at the moment only. */
function fillShort(box, width) {
  let y = 4;
  Object.assign(box, { w: width, rows: [] });
  for (const text of wrapped(box.title, width - 2 * PAD, true)) {
    y += TITLE_LINE;
    box.rows.push({ text, look: "name", y: y - 3 });
  }
  for (const moment of momentRows(box, width)) {
    y += LINE;
    box.rows.push({ text: "▸", look: "moment", moment, y: y - 3 });
  }
  for (const p of box.ports) p.dy = INTO;
  box.h = y + 6;
}

const drawBox = (box) => svg("g", { class: `box ${box.kind}${box.isCulprit ? " culprit" : ""}`, transform: `translate(${box.x} ${box.y})` },
  svg("rect", { width: box.w, height: box.h, rx: 7 }),
  box.ports.map((p) => !box.isShort && svg("line", { x1: 0, x2: box.w, y1: p.rule, y2: p.rule,
    class: "rule" })),
  box.rows.map((row) => (row.node = svg("text", { x: PAD, y: row.y, class: row.look }, row.text))));

function drawArrow(d, x, y, back, fails) {
  const tip = `${x},${y} ${x - 7 * back},${y - 4} ${x - 7 * back},${y + 4}`;
  return svg("g", { class: `arrow${fails ? " fails" : ""}` }, svg("path", { d, fill: "none" }),
    svg("polygon", { points: tip }));
}

const meanOf = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
const BETWEEN = 14, INTO = 14;  // boxes of a layer; from the top of a box to where arrows end

/** Layers from left to right or, where there is no room for that, one box below the other. */
function drawGraph(boxes, width) {
  for (const box of boxes) box.layer = 0;
  for (const box of boxes) {
    for (const to of box.ports.flatMap((p) => p.to)) to.layer = Math.max(to.layer, box.layer + 1);
  }
  const layers = 1 + Math.max(0, ...boxes.map((box) => box.layer));
  const gap = Math.max(36, Math.min(90, (width - 190 * layers) / layers));
  const wide = Math.floor(Math.min(260, (width - 4 - gap * (layers - 1)) / layers));
  const { arrows, w, h } = wide < 165 ? placeDown(boxes, width)
    : placeAcross(boxes, layers, wide, gap);
  return svg("svg", { role: "img", viewBox: `0 0 ${width} ${h}` },
    svg("g", { transform: `translate(${Math.max(0, (width - w) / 2)} 0)` },
      arrows, boxes.map(drawBox)));
}

/** An arrow over several layers has a node in each, so that it passes between the boxes there. */
function placeAcross(boxes, count, wide, gap) {
  const layers = Array.from({ length: count }, () => []), ways = [];
  for (const box of boxes) {
    fillBox(box, wide);
    layers[box.layer].push(box);
    Object.assign(box, { from: [], onto: [], at: INTO });
  }
  for (const box of boxes) {
    for (const p of box.ports) {
      for (const to of p.to) {
        const way = [box];
        for (let n = box.layer + 1; n < to.layer; ++n) {
          way.push({ layer: n, h: 0, w: wide, from: [], onto: [], at: 0 });
          layers[n].push(way[way.length - 1]);
        }
        way.push(to);
        for (let i = 1; i < way.length; ++i) {
          const start = { node: way[i - 1], at: i === 1 ? p.dy : 0 };
          way[i].from.push(start);
          way[i - 1].onto.push({ node: way[i], own: start.at });
        }
        ways.push({ way, port: p });
      }
    }
  }
  const stack = (layer) => {
    let y = 0;
    for (const node of layer) {
      node.y = y;
      y += node.h + BETWEEN;
    }
  };
  layers.forEach(stack);
  // Where a node would stand best: its arrows straight.
  const wish = (node, down) => (down ? node.from : node.onto).map((end) => (down
    ? end.node.y + end.at - node.at : end.node.y + end.node.at - end.own));
  const sweep = (move) => {
    for (const layer of layers.slice(1)) move(layer, true);
    for (const layer of layers.slice(0, -1).reverse()) move(layer, false);
  };
  for (let round = 0; round < 8; ++round) {
    sweep((layer, down) => {
      for (const node of layer) {
        const wishes = wish(node, down);
        node.wish = wishes.length > 0 ? meanOf(wishes) : node.y;
      }
      layer.sort((a, b) => a.wish - b.wish);
      stack(layer);
    });
  }
  for (let round = 0; round < 4; ++round) {
    sweep((layer, down) => {
      let least = -Infinity;
      for (const node of layer) {
        const wishes = wish(node, down);
        node.wish = wishes.length > 0 ? meanOf(wishes) : node.y;
        node.y = Math.max(least, node.wish);
        least = node.y + node.h + BETWEEN;
      }
      const shift = meanOf(layer.map((node) => node.wish - node.y));
      for (const node of layer) node.y += shift;
    });
  }
  const top = Math.min(...layers.flat().map((node) => node.y)) - 2;
  for (const node of layers.flat()) {
    node.y -= top;
    node.x = 2 + node.layer * (wide + gap);
  }
  const arrows = ways.map(({ way, port }) => {
    let [x, y] = [way[0].x + wide, way[0].y + port.dy], d = `M${x} ${y}`;
    for (const node of way.slice(1)) {
      const [to, last] = [node.y + node.at, node === way[way.length - 1]];
      const bend = gap / 2;
      d += `C${x + bend} ${y} ${node.x - bend} ${to} ${node.x - (last ? 6 : 0)} ${to}`;
      if (!last) d += `H${node.x + wide}`;
      [x, y] = [node.x + wide, to];
    }
    const end = way[way.length - 1];
    return drawArrow(d, end.x, end.y + INTO, 1, port.flows.some((flow) => flow.fails));
  });
  return { arrows, w: count * (wide + gap) - gap + 4,
    h: Math.max(...layers.flat().map((node) => node.y + node.h)) + 4 };
}

/** One below the other; arrows run down beside the boxes, those to the same box in one lane. */
function placeDown(boxes, width) {
  const callers = new Map(boxes.map((box) => [box, []]));
  boxes.forEach((box, i) => {
    box.row = i;
    for (const p of box.ports) for (const to of p.to) callers.get(to).push({ box, port: p });
  });
  const lanes = [];  // the row in which the last arrow of each lane ends
  for (const box of boxes) {
    const first = Math.min(...callers.get(box).map((caller) => caller.box.row));
    if (first === Infinity) continue;
    box.lane = lanes.findIndex((end) => end <= first);
    if (box.lane < 0) box.lane = lanes.length;
    lanes[box.lane] = box.row;
  }
  const STEP = 9, gutter = 18 + STEP * lanes.length, wide = Math.min(460, width - 4 - gutter);
  let y = 2;
  for (const box of boxes) {
    fillBox(box, wide);
    Object.assign(box, { x: 2, y });
    y += box.h + BETWEEN;
  }
  const arrows = boxes.flatMap((to) => callers.get(to).map(({ box, port }) => {
    const x = 2 + wide, lane = x + 14 + STEP * to.lane, [from, end] = [box.y + port.dy, to.y + INTO];
    return drawArrow(`M${x} ${from}H${lane - 5}Q${lane} ${from} ${lane} ${from + 5}V${end - 5}` +
      `Q${lane} ${end} ${lane - 5} ${end}H${x + 6}`, x, end, -1, port.flows.some((flow) => flow.fails));
  }));
  return { arrows, w: wide + gutter, h: y };
}

/** A slider through time, and a button that plays it: the graph shows what is at that moment (▸), or
 * at the one that a chart is pointed at. */
class Scrub {
  /** At first it stands at `time` or, where that is none, in the middle of the first disturbance;
   * `onpoint` is told each time. */
  constructor(boxes, windows, time, onpoint) {
    Object.assign(this, { boxes, onpoint });
    this.time = time <= timeline.end ? time
      : windows.length > 0 ? (windows[0].start + Math.min(windows[0].end, timeline.end)) / 2
        : timeline.end / 2;
    this.input = el("input", { type: "range", min: 0, max: timeline.end, step: timeline.end / 400,
      "aria-label": "time in the run", oninput: () => timeline.point(Number(this.input.value)) });
    this.output = el("output");
    this.button = el("button", { type: "button", onclick: () => this.play(!this.timer) }, "play");
    this.element = el("div", { class: "scrub" }, this.button, this.input, this.output,
      el("span", { class: "note" }, "▸ at this time"));
    timeline.charts.add(this);
  }

  remove() {
    this.play(false);
    timeline.charts.delete(this);
  }

  get figure() { return { redraw() {} }; }  // a zoom does not concern it

  /** Twenty seconds for the whole run; where motion is to be reduced, a step each second. */
  play(on) {
    clearInterval(this.timer);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = timeline.end / (calm ? 20 : 200);
    this.timer = on ? setInterval(() => {
      if (!this.element.isConnected || this.time >= timeline.end) this.play(false);
      else timeline.point(Math.min(timeline.end, this.time + step));
    }, calm ? 1000 : 100) : null;
    this.button.textContent = on ? "stop" : "play";
    if (on && this.time >= timeline.end) this.time = 0;
  }

  point(time) {
    if (time === null) return;  // it stays where it is
    this.time = time;
    this.input.value = time;
    this.output.textContent = `${digits(time, 4)} s`;
    this.input.setAttribute("aria-valuetext", this.output.textContent);
    for (const { moment, node } of this.boxes.flatMap((box) => box.rows || [])) {
      if (!moment || !node) continue;
      const { text, less = false } = moment(Math.min(time, timeline.end * (1 - 1e-9))) || { text: "▸" };
      node.textContent = text;
      node.classList.toggle("less", less);
    }
    this.onpoint(time);
  }
}

/** Faults and surges. */
const disturbancesOf = (result, v) => (graphAt(result, v).disturbances || []).map((d) =>
  ({ kind: d.kind, name: d.name, start: d.start_s, end: d.end_s, where: d.service || d.client,
    what: d.what || "" }));

/** The same as they are drawn: those of the same time and effect are one. */
const windowsOf = (result, v) => graphAt(result, v).windows || [];

function drawWindows(result, v, width) {
  const { window_start_s: warmup, window_end_s: end } = graphAt(result, v);
  const windows = windowsOf(result, v);
  const texts = windows.map((w) => `${w.name}${w.where ? ` (${w.where})` : ""}: ${
    w.what ? `${w.what}, ` : ""}${seconds(w.start)} to ${seconds(w.end)}`);
  const lines = texts.map((text) => wrapped(text, width - 16));
  const tops = [0];  // of the rows, and the end of the last one
  for (const words of lines) tops.push(tops[tops.length - 1] + 21 + LINE * words.length);
  const height = tops[tops.length - 1] + 30;
  const x = linear(0, end, 6, width - 14), bottom = height - 22;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "axes" });
  if (warmup > 0) {
    root.append(svg("rect", { x: x(0), y: 0, width: x(warmup) - x(0), height: bottom,
      class: "warmup" }, svg("title", {}, `warm-up to ${seconds(warmup)}, not in the summary`)));
  }
  windows.forEach((w, i) => {
    const left = Math.min(x(w.start), width - 6 - Math.max(...lines[i].map((line) => textWidth(line))));
    root.append(...lines[i].map((line, k) => svg("text", { x: Math.max(6, left),
      y: tops[i] + 12 + LINE * k, class: "what" }, line)),
    svg("rect", { x: x(w.start), width: Math.max(3, x(Math.min(w.end, end)) - x(w.start)), y: tops[i + 1] - 19,
      height: 12, rx: 2, class: w.kind }, svg("title", {}, texts[i])));
  });
  root.append(svg("line", { x1: x(0), x2: x(end), y1: bottom, y2: bottom, class: "axis" }));
  for (const t of timeTicks(0, end, width / 90)) {
    root.append(svg("text", { x: x(t), y: height - 6,
      "text-anchor": t === 0 ? "start" : t > end * 0.97 ? "end" : "middle" },
    t === 0 ? "0 s" : `${digits(t, 6)} s`));
  }
  return root;
}

/** A drawing that shows the moment which is pointed at has a slider through time; `of` names it. */
function scrubOf(result, v, of, boxes) {
  if (result.scrubs.has(of)) result.scrubs.get(of).remove();
  const scrub = !result.series[v] ? null : new Scrub(boxes, disturbancesOf(result, v), result.moment,
    (time) => { result.moment = time; });
  if (scrub) result.scrubs.set(of, scrub);
  return scrub;
}

/** Graphs of services lead with this: each service at the moment that is pointed at. */
function servicesNow(result) {
  const { v } = result;
  if (!isGraph(result) || !result.series[v]) return null;
  const boxes = graphOf(result, v).filter((box) => box.kind === "service");
  for (const box of boxes) {
    box.isShort = true;
    for (const p of box.ports) p.moment = null;
  }
  const scrub = scrubOf(result, v, "now", boxes);
  const inWords = () => boxes.map((box) => `${box.title}${box.isCulprit ? `, ${CULPRIT}` : ""}: ${
    serviceAt(result, v, box.title, Math.min(scrub.time, timeline.end * (1 - 1e-9)))
      .map(({ text }) => text.replace("▸ ", "")).join(", ")}`).join("; ");
  const figure = new Figure({ title: "Services at one moment", kind: "diagram graph now",
    unit: "attempts that arrive, of those that it can do then; red: the cause, by the verdict",
    said: inWords, draw: (width) => {
      const drawing = drawGraph(boxes, width);
      scrub.point(scrub.time);
      return drawing;
    } });
  return el("div", { class: "services-now" }, figure.element, scrub.element);
}

function scenarioDrawing(result, v) {
  const graph = graphOf(result, v), happened = disturbancesOf(result, v);
  const scrub = scrubOf(result, v, "whole", graph);
  const ways = graph.flatMap((box) => box.ports.map((p) => ({ from: box.title, to: p.name,
    how: (box.kind === "client" ? box.lines : p.lines).join(", "),
    flows: p.flows.map((flow) => flow.text).join("; ") })));
  return [new Figure({ title: "Who calls whom", kind: "diagram graph",
    note: graph.some((box) => box.ports.some((p) => p.flows.length > 0))
      ? "Along an arrow: requests per second × attempts for each, and how many of the requests succeed."
      : null, draw: (width) => {
      const drawing = drawGraph(graph, width);
      if (scrub) scrub.point(scrub.time);
      return drawing;
    },
    said: () => culpritsOf(result, v).map((name) => `${name} is the cause; `).join("") + ways.map((w) => `${w.from} calls ${w.to}${w.flows ? `, ${w.flows}` : ""}`).join("; "),
    table: () => sortable({ rows: ways, columns: [{ title: "from", text: (w) => w.from },
      { title: "to", text: (w) => w.to }, { title: "how", text: (w) => w.how },
      { title: "requests per second × attempts, successes", text: (w) => w.flows }] }) }).element,
  scrub && scrub.element,
  happened.length > 0 ? new Figure({ title: "What happens when", kind: "diagram",
    said: () => happened.map((w) => `${w.name} of ${w.where}, ${w.what}, ${seconds(w.start)} to ${
      seconds(w.end)}`).join("; "),
    table: () => sortable({ rows: happened, columns: [{ title: "what", text: (w) => w.name },
      { title: "of", text: (w) => w.where || "" }, { title: "does", text: (w) => w.what },
      { title: "from", value: (w) => w.start, node: (w) => seconds(w.start) },
      { title: "to", value: (w) => w.end, node: (w) => seconds(w.end) }] }),
    draw: (width) => drawWindows(result, v, width) }).element : null];
}
