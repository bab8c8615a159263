// The drawing of a scenario, from its keys: who calls whom, and what happens when.

/** The keys in force at a variant or point: those of the scenario and what is different there. */
function keysOf(result, v) {
  const keys = { ...result.keys, ...((result.variants[v] || {}).keys || {}) };
  if (!result.sweep) return keys;
  choicesOf(result, v).forEach((choice, s) => {
    const slider = result.sweep.sliders[s];
    slider.paths.forEach((path, p) => {
      const pattern = new RegExp(`^${path.split("*").map((part) =>
        part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join("[^.]+")}$`);
      for (const key of Object.keys(keys)) {
        if (pattern.test(key)) keys[key] = slider.choices[choice][p];
      }
    });
  });
  return keys;
}

function reader(keys) {
  return (path, otherwise = null) => (path in keys ? tomlValue(keys[path]) : otherwise);
}

const namesOf = (keys, pattern) =>
  [...new Set(Object.keys(keys).map((key) => (pattern.exec(key) || [])[1]).filter(Boolean))];

/** What the result has of a service: the mean service time in seconds and the attempts per second
 * that it can serve. Only the program works these out. Empty where a sweep varies keys of services at
 * so many points that the result has those of its scenario only. */
function serviceFacts(result, v, name) {
  const { sweep } = result;
  const varied = sweep && sweep.sliders.some((slider) =>
    slider.paths.some((path) => path.startsWith("service.")));
  const services = varied ? (sweep.services || [])[v] || []
    : (result.variants[v] || {}).services || result.services || [];
  return services.find((service) => service.name === name) || {};
}

const PROCESSES = { once: "all at once", closed: "closed loop", poll: "polling" };

function clientLines(get, name) {
  const key = (rest, otherwise) => get(`client.${name}.${rest}`, otherwise);
  const lines = [];
  const total = key("arrivals.total_rate"), rate = total ?? key("arrivals.rate");
  const process = key("arrivals.process"), count = key("count", 1);
  const file = key("arrivals.file", key("arrivals.profile"));
  const asked = process === "poll" ? "jobs" : "requests";
  if (count > 1) lines.push(plural(count, "client"));  // short lines: what is longer is cut
  const each = exists(total) || !(count > 1) ? "" : " each";
  lines.push([exists(rate) ? `${digits(rate)} ${asked}/s${each}` : null,
    PROCESSES[process] || process].filter(Boolean).join(", "));
  if (file) lines.push(file);
  const mode = key("retry.mode");
  const attempts = key("retry.max_attempts");
  if (mode === "none") lines.push("no retries");
  else if (mode) {
    const sdk = key("retry.sdk");
    lines.push(`retries: ${mode}${sdk ? ` (${sdk})` : ""}`);
    if (exists(attempts)) lines.push(plural(attempts, "attempt"));
    else if (attempts) lines.push(`${attempts} attempts`);
  }
  const quota = key("retry.quota.capacity");
  if (exists(quota)) lines.push(`retry quota ${digits(quota)}`);
  const timeout = durationOf(key("attempt_timeout", "none"));
  if (exists(timeout)) lines.push(`timeout ${seconds(timeout)}`);
  return lines;
}

/** The limit of a service, and those of single operations. */
function throttleLines(get, keys, name) {
  const line = (path, what) => {
    const rate = get(`${path}.rate`), window = durationOf(get(`${path}.window`));
    if (!exists(rate)) return [];
    return [`${what} ${window > 0 ? `${digits(rate * window)} per ${seconds(window)}`
      : `${digits(rate)} /s`}`];
  };
  const path = `service.${name}.throttle`, operations = `${path}.operation.`;
  const named = [...new Set(Object.keys(keys).filter((key) => key.startsWith(operations))
    .map((key) => key.slice(operations.length).replace(/\.[^.]*$/, "")))];
  const each = { key: " each key", client: " each client", operation: " each operation" };
  return [...line(path, "throttle").map((text) => text + (each[get(`${path}.scope`)] || "")),
    ...named.flatMap((operation) => line(operations + operation, `throttle of ${operation}:`))];
}

function serviceLines(get, keys, name, { mean_service_time_s: demand, capacity_per_s: most }) {
  const key = (rest, otherwise) => get(`service.${name}.${rest}`, otherwise);
  const servers = key("servers");
  const lines = [];
  const instances = key("instances", 1);
  if (exists(servers)) {
    lines.push(`${instances > 1 ? `${plural(instances, "instance")} × ` : ""}${
      plural(servers, "server")}${exists(demand) ? ` × ${seconds(demand)}` : ""}`);
    if (exists(most)) lines.push(`capacity ${digits(most)} /s`);
  } else if (exists(demand)) {
    lines.push(demand > 0 ? `any number of servers × ${seconds(demand)}` : "answers at once");
  }
  const queue = key("queue.capacity"), discipline = key("queue.discipline");
  if (exists(servers)) {
    lines.push(`queue: ${discipline}${exists(queue) ? `, ${digits(queue)} places` : ", unlimited"}`);
  }
  const slowdown = key("slowdown");
  if (slowdown > 0) lines.push("slower the more it does at once");
  lines.push(...throttleLines(get, keys, name));
  const limit = key("concurrency.limit");
  if (exists(limit)) lines.push(`at most ${digits(limit)} at once`);
  return lines;
}

/** Boxes by layer: clients, balancers in front of services, services by depth of their calls. */
function graphOf(result, v) {
  const keys = keysOf(result, v), get = reader(keys);
  const services = namesOf(keys, /^service\.([^.]+)\./);
  const groups = namesOf(keys, /^client\.(.+)\.calls$/);
  const boxes = [], edges = [], depth = new Map();
  const callers = new Map(services.map((name) => [name, []]));
  for (const group of groups) {
    const target = get(`client.${group}.calls`);
    const caller = group.includes(".") && services.includes(group.split(".")[0])
      ? group.split(".")[0] : get(`client.${group}.caller`);
    if (services.includes(caller)) callers.get(target)?.push(`service ${caller}`);
    else {
      boxes.push({ id: `client ${group}`, kind: "client", title: group, layer: 0,
        lines: clientLines(get, group) });
      callers.get(target)?.push(`client ${group}`);
    }
  }
  const depthOf = (name, seen = new Set()) => {
    if (depth.has(name) || seen.has(name)) return depth.get(name) || 1;
    seen.add(name);
    const from = callers.get(name).filter((id) => id.startsWith("service "));
    const found = 1 + Math.max(0, ...from.map((id) => depthOf(id.slice(8), seen)));
    depth.set(name, found);
    return found;
  };
  for (const name of services) {
    const policy = get(`service.${name}.balancing`);
    const balanced = get(`service.${name}.instances`, 1) > 1;
    const layer = depthOf(name) * 2;
    boxes.push({ id: `service ${name}`, kind: "service", title: name, layer,
      lines: serviceLines(get, keys, name, serviceFacts(result, v, name)) });
    if (balanced) {
      boxes.push({ id: `balancer ${name}`, kind: "balancer", title: "balancer", layer: layer - 1,
        lines: typeof policy === "string" ? [policy] : [] });
      edges.push([`balancer ${name}`, `service ${name}`]);
    }
    for (const from of callers.get(name)) {
      edges.push([from, `${balanced ? "balancer" : "service"} ${name}`]);
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

function arrow(x1, y1, x2, y2, upright) {
  const bend = upright ? (y2 - y1) / 2 : (x2 - x1) / 2;
  const d = upright ? `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2 - 5}`
    : `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 5} ${y2}`;
  const tip = upright ? `${x2 - 4},${y2 - 7} ${x2 + 4},${y2 - 7} ${x2},${y2}`
    : `${x2 - 7},${y2 - 4} ${x2 - 7},${y2 + 4} ${x2},${y2}`;
  return svg("g", { class: "arrow" }, svg("path", { d, fill: "none" }),
    svg("polygon", { points: tip }));
}

/** Layers from left to right or, where there is no room, from top to bottom. */
function drawGraph(graph, width) {
  const layers = [...new Set(graph.boxes.map((box) => box.layer))].sort((a, b) => a - b)
    .map((layer) => graph.boxes.filter((box) => box.layer === layer));
  const upright = width < 175 * layers.length + 60 * (layers.length - 1);
  const place = upright ? placeDown : placeAcross;
  for (const box of graph.boxes) box.wrapped = null;
  const height = place(layers, width);
  const byId = new Map(graph.boxes.map((box) => [box.id, box]));
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  for (const [from, to] of graph.edges) {
    const [a, b] = [byId.get(from), byId.get(to)];
    if (!a || !b) continue;
    root.append(upright ? arrow(a.x + a.w / 2, a.y + a.h, b.x + b.w / 2, b.y, true)
      : arrow(a.x + a.w, a.y + a.h / 2, b.x, b.y + b.h / 2, false));
  }
  root.append(...graph.boxes.map(drawBox));
  return root;
}

function placeAcross(layers, width) {
  const gap = Math.min(110, Math.max(46, width / (4 * layers.length)));
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

function placeDown(layers, width) {
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
    y += 24;
  }
  return y - 30;
}

/** Faults and surges: those of the result, or those that the keys name. */
function windowsOf(result, v) {
  if (result.hysteresis) return [];  // its runs go without faults and surges
  const details = result.variants[v];
  const keys = keysOf(result, v), get = reader(keys);
  if (details && details.disturbances) {
    return details.disturbances.map((d) => ({ kind: d.kind, name: d.name, start: d.start_s,
      end: d.end_s, where: d.service || d.client,
      what: effectOf({ ...(d.kind === "fault" ? faultOf(get, d.name) : {}), ...d }) }));
  }
  const found = (kind, name, path, where, what) => {
    const start = durationOf(get(`${path}.start`)), length = durationOf(get(`${path}.duration`));
    return exists(start) && exists(length)
      ? [{ kind, name, start, end: start + length, where, what }] : [];
  };
  const faults = namesOf(keys, /^fault\.([^.]+)\./).flatMap((name) =>
    found("fault", name, `fault.${name}`, get(`fault.${name}.service`),
      effectOf(faultOf(get, name))));
  const surges = namesOf(keys, /^client\.(.+)\.arrivals\.surge\./).flatMap((group) =>
    namesOf(keys, new RegExp(`^client\\.${group}\\.arrivals\\.surge\\.([^.]+)\\.`))
      .flatMap((name) => found("surge", name, `client.${group}.arrivals.surge.${name}`, group,
        effectOf({ factor: get(`client.${group}.arrivals.surge.${name}.factor`) }))));
  return faults.concat(surges);
}

/** What a fault does, from its keys. */
function faultOf(get, name) {
  const key = (rest) => get(`fault.${name}.${rest}`);
  const errors = ["internal", "unavailable", "throttled", "invalid"]
    .map((kind) => Number(key(`errors.${kind}`)) || 0).reduce((a, b) => a + b);
  return { capacity: key("capacity"), speed: key("speed"), errors, latency: durationOf(key("latency")),
    loss: Math.max(Number(key("request_loss")) || 0, Number(key("response_loss")) || 0),
    unreachable: key("unreachable") === "true", hole: key("black_hole") === "true",
    instance: key("instance"), instances: key("instances") };
}

function effectOf({ capacity, speed, factor, errors, latency, loss, unreachable, hole, instance,
  instances = 1 }) {
  const effects = [];
  if (exists(instance)) effects.push(plural(instances || 1, "instance"));
  if (unreachable) effects.push("unreachable");
  if (hole) effects.push("never answers");
  if (errors > 0) effects.push(errors >= 1 ? "answers errors only" : `${percent(errors)} errors`);
  if (latency > 0) effects.push(`${seconds(latency)} later`);
  if (loss > 0) effects.push(`${percent(loss)} lost`);
  if (exists(factor)) effects.push(`load × ${digits(factor)}`);
  if (exists(capacity) && capacity < 1) {
    effects.push(capacity === 0 ? "no servers" : `${percent(capacity)} of the servers`);
  }
  if (exists(speed) && speed !== 1) effects.push(`speed × ${digits(speed)}`);
  return effects.join(", ");
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
  const get = reader(keysOf(result, v));
  const details = result.variants[v] || {};
  const end = details.window_end_s ?? durationOf(get("duration"));
  const warmup = details.window_start_s ?? durationOf(get("warmup"));
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
