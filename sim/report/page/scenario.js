// The drawing of a scenario: who calls whom, with what comes through, and what happens when.

/** What is simulated at a variant or point, as sim/report/graph.hpp describes it; of a sweep with
 * very many points only the scenario that it varies. */
function graphAt(result, v) {
  const { graphs } = result.sweep || {};
  return (graphs && graphs[v]) || (result.variants[v] || {}).graph || result.graph || {};
}

/** What went along an edge: attempts per second and the share of requests that succeeded; before,
 * during and after the first disturbance, or all the time where there is none. */
function flowLines(result, v, group) {
  const line = (word, rate, success) => (exists(rate)
    ? `${word}${digits(rate)} /s${exists(success) ? `, ${percent(success)}` : ""}` : null);
  const rows = phasesOf(result, v).filter((row) => result.clients[row.c] === group);
  const first = (kind) => rows.find((row) => row.kind === kind);
  const shown = [["before ", first("before")], ["during ", first("during")],
    first("after") ? ["after ", rows.filter((row) => row.kind === "after").pop()]
      : ["recovering ", first("recovering")]];
  const mean = (row, metric) => (row.m[metric] || [])[0];
  const found = shown.filter(([, row]) => row)
    .map(([word, row]) => line(word, mean(row, "attempt_rate"), mean(row, "success_rate")));
  if (found.length > 0) return found.filter(Boolean);
  const whole = (metric) => (summaryOf(result, v, group, metric) || [])[0];
  return [line("", whole("attempt_rate"), whole("success_rate"))].filter(Boolean);
}

/** Boxes by layer: clients, balancers in front of services, services by depth of their calls. */
function graphOf(result, v) {
  const { services = [], clients = [], calls = [] } = graphAt(result, v);
  const boxes = [], edges = [], depth = new Map();
  const groups = [...(clients || []), ...(calls || [])];
  const callersOf = (name) => groups.filter((group) => group.calls.includes(name));
  const depthOf = (name, seen = new Set()) => {
    if (depth.has(name) || seen.has(name)) return depth.get(name) || 1;
    seen.add(name);
    const found = 1 + Math.max(0, ...callersOf(name).filter((group) => group.caller)
      .map((group) => depthOf(group.caller, seen)));
    depth.set(name, found);
    return found;
  };
  for (const client of clients || []) {
    boxes.push({ id: `client ${client.name}`, kind: "client", title: client.name, layer: 0,
      lines: client.lines });
  }
  for (const { name, instances, balancing, lines } of services || []) {
    const layer = depthOf(name) * 2, balanced = instances > 1;
    boxes.push({ id: `service ${name}`, kind: "service", title: name, layer, lines: lines || [] });
    if (balanced) {
      boxes.push({ id: `balancer ${name}`, kind: "balancer", title: "balancer", layer: layer - 1,
        lines: balancing ? [balancing] : [] });
      edges.push({ from: `balancer ${name}`, to: `service ${name}`, lines: [], title: null });
    }
    for (const group of callersOf(name)) {
      edges.push({ from: group.caller ? `service ${group.caller}` : `client ${group.name}`,
        to: `${balanced ? "balancer" : "service"} ${name}`,
        // The figures are those of the group; where it calls several services, they are of all.
        lines: group.calls.length === 1 ? flowLines(result, v, group.name) : [],
        title: [`${group.caller || group.name} calls ${name}`, ...group.lines].join("\n") });
    }
  }
  return { boxes, edges };
}

const LINE = 15;
const linesOf = (box) => box.wrapped || box.lines;
const heightOf = (box) => 28 + LINE * linesOf(box).length;
const lettersIn = (width) => Math.floor(width / 6.1);

/** A text in lines of at most `most` letters, as far as its words allow. */
function wrapped(text, most) {
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== undefined && last.length + 1 + word.length <= most) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines;
}

const cutTo = (text, width) => {
  const most = lettersIn(width);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
};

function drawBox(box) {
  return svg("g", { class: `box ${box.kind}` },
    svg("title", {}, [box.title, ...box.lines].join("\n")),
    svg("rect", { x: box.x, y: box.y, width: box.w, height: box.h, rx: 7 }),
    svg("text", { x: box.x + 10, y: box.y + 19, class: "name" },
      cutTo(box.title, (box.w - 16) / 1.12)),
    linesOf(box).map((line, i) => svg("text", { x: box.x + 10, y: box.y + 35 + LINE * i },
      cutTo(line, box.w - 14))));
}

function arrow({ x1, y1, x2, y2, upright, title }) {
  const bend = upright ? (y2 - y1) / 2 : (x2 - x1) / 2;
  const d = upright ? `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2 - 5}`
    : `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 5} ${y2}`;
  const tip = upright ? `${x2 - 4},${y2 - 7} ${x2 + 4},${y2 - 7} ${x2},${y2}`
    : `${x2 - 7},${y2 - 4} ${x2 - 7},${y2 + 4} ${x2},${y2}`;
  return svg("g", { class: "arrow" }, title ? svg("title", {}, title) : null,
    svg("path", { d, fill: "none" }), svg("polygon", { points: tip }));
}

const LABEL_LINE = 13, LABEL_LETTER = 5.6;
const widthOf = (lines) => LABEL_LETTER * Math.max(0, ...lines.map((line) => line.length));

/** The figures of an edge, at the end of it where it has most room to itself, and below those that
 * are there already. */
function drawLabel({ x1, y1, x2, y2, upright, atStart, lines }, taken, width) {
  const w = widthOf(lines), h = LABEL_LINE * lines.length;
  const at = { w, h, x: upright ? (atStart ? x1 : x2) + 6 : atStart ? x1 + 6 : x2 - w - 10,
    y: upright ? (atStart ? y1 + 2 : y2 - h - 8) : (atStart ? y1 : y2) + 4 };
  at.x = Math.max(2, Math.min(at.x, width - w - 4));
  const hits = (b) => at.x < b.x + b.w && b.x < at.x + w && at.y < b.y + b.h && b.y < at.y + h;
  for (let hit = taken.find(hits); hit; hit = taken.find(hits)) at.y = hit.y + hit.h + 1;
  taken.push(at);
  return lines.map((line, i) => svg("text", { x: at.x, y: at.y + 10 + LABEL_LINE * i,
    class: "flow" }, line));
}

/** Layers from left to right or, where there is no room, from top to bottom. */
function drawGraph(graph, width) {
  const layers = [...new Set(graph.boxes.map((box) => box.layer))].sort((a, b) => a - b)
    .map((layer) => graph.boxes.filter((box) => box.layer === layer));
  const labels = graph.edges.filter((edge) => edge.lines.length > 0);
  const gap = Math.max(60, ...labels.map((edge) => widthOf(edge.lines) + 24));
  const upright = width < 175 * layers.length + gap * (layers.length - 1);
  const starts = new Map();  // edges that leave a box
  for (const { from } of graph.edges) starts.set(from, (starts.get(from) || 0) + 1);
  for (const box of graph.boxes) box.wrapped = null;
  const room = LABEL_LINE * Math.max(0, ...labels.map((edge) => edge.lines.length));
  let height = upright ? placeDown(layers, width, room) : placeAcross(layers, width, gap);
  const byId = new Map(graph.boxes.map((box) => [box.id, box]));
  const root = svg("svg", { role: "img" }), taken = [], texts = [];
  for (const edge of graph.edges) {
    const [a, b] = [byId.get(edge.from), byId.get(edge.to)];
    if (!a || !b) continue;
    const ends = upright ? { x1: a.x + a.w / 2, y1: a.y + a.h, x2: b.x + b.w / 2, y2: b.y }
      : { x1: a.x + a.w, y1: a.y + a.h / 2, x2: b.x, y2: b.y + b.h / 2 };
    const drawn = { ...edge, ...ends, upright, atStart: starts.get(edge.from) === 1 };
    root.append(arrow(drawn));
    texts.push(...drawLabel(drawn, taken, width));
  }
  root.append(...graph.boxes.map(drawBox), ...texts);
  height = Math.max(height, ...taken.map((label) => label.y + label.h + 4));
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return root;
}

function placeAcross(layers, width, least) {
  const gap = Math.max(least, Math.min(110, width / (4 * layers.length)));
  const wide = Math.min(250, (width - gap * (layers.length - 1)) / layers.length);
  const heights = layers.map((boxes) => boxes.reduce((sum, b) => sum + heightOf(b) + 12, -12));
  const height = Math.max(...heights);
  layers.forEach((boxes, n) => {
    let y = (height - heights[n]) / 2 + 2;
    for (const box of boxes) {
      Object.assign(box, { x: n * (wide + gap) + 2, y, w: wide - 4, h: heightOf(box) });
      y += box.h + 12;
    }
  });
  return height + 4;
}

function placeDown(layers, width, room) {
  let y = 2;
  for (const boxes of layers) {
    const abreast = Math.max(1, Math.min(boxes.length, Math.floor((width + 8) / 158)));
    const wide = (width - 8 * (abreast - 1)) / abreast;
    for (const box of boxes) {
      box.wrapped = box.lines.flatMap((line) => wrapped(line, lettersIn(wide - 16)));
    }
    for (let i = 0; i < boxes.length; i += abreast) {
      const row = boxes.slice(i, i + abreast), h = Math.max(...row.map(heightOf));
      row.forEach((box, k) => Object.assign(box, { x: k * (wide + 8) + 1, y, w: wide - 2, h }));
      y += h + 8;
    }
    y += 24 + room;
  }
  return y - 30 - room;
}

/** Faults and surges. */
function windowsOf(result, v) {
  if (result.hysteresis) return [];  // its runs go without them
  return (graphAt(result, v).disturbances || []).map((d) => ({ kind: d.kind, name: d.name,
    start: d.start_s, end: d.end_s, where: d.service || d.client, what: d.what || "" }));
}

/** Windows at the same time with the same name and effect are one. */
function joinedWindows(windows) {
  const found = new Map();
  for (const w of windows) {
    const key = [w.kind, w.start, w.end, w.what].join(" ");
    const known = found.get(key);
    if (!known) found.set(key, { ...w, places: [w.where], names: [w.name] });
    else {
      known.places.push(w.where);
      if (!known.names.includes(w.name)) known.names.push(w.name);
    }
  }
  return [...found.values()].map((w) => ({ ...w,
    name: w.names.length <= 2 ? `${w.kind} ${w.names.join(", ")}` : plural(w.names.length, w.kind),
    where: w.places.length > 2 ? plural(w.places.length, w.kind === "fault" ? "service" : "group")
      : w.places.join(", ") }));
}

function drawWindows(result, v, width) {
  const { window_start_s: warmup, window_end_s: end } = graphAt(result, v);
  const windows = joinedWindows(windowsOf(result, v));
  const texts = windows.map((w) => `${w.name}${w.where ? ` (${w.where})` : ""}: ${
    w.what ? `${w.what}, ` : ""}${seconds(w.start)} to ${seconds(w.end)}`);
  const lines = texts.map((text) => wrapped(text, lettersIn(width - 10)));
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
    const longest = Math.max(...lines[i].map((line) => line.length));
    const left = Math.min(x(w.start), width - 6 - Math.min(width - 12, longest * 6));
    root.append(...lines[i].map((line, k) => svg("text", { x: Math.max(6, left),
      y: tops[i] + 12 + LINE * k, class: "what" }, line)),
    svg("rect", { x: x(w.start), width: Math.max(3, x(w.end) - x(w.start)), y: tops[i + 1] - 19,
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

function scenarioDrawing(result, v) {
  const graph = graphOf(result, v);
  return [new Figure({ title: "Who calls whom", kind: "diagram",
    draw: (width) => drawGraph(graph, width) }).element,
  windowsOf(result, v).length > 0 ? new Figure({ title: "What happens when", kind: "diagram",
    draw: (width) => drawWindows(result, v, width) }).element : null];
}
