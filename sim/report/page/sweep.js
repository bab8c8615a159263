// Sweeps: a slider for each varied key over the points that were simulated.

/** The numbers of the choices of point `v` of a grid; the last slider changes fastest. */
function choicesOf(result, v) {
  let rest = result.sweep.places[v];
  const choices = [];
  for (const slider of [...result.sweep.sliders].reverse()) {
    choices.unshift(rest % slider.choices.length);
    rest = Math.floor(rest / slider.choices.length);
  }
  return choices;
}

/** The number of the point at these choices; undefined if a shard does not have it. */
function pointAt(result, choices) {
  const place = result.sweep.sliders.reduce((sum, slider, s) =>
    sum * slider.choices.length + choices[s], 0);
  return result.sweep.numbers.get(place);
}

function prepareSweep(result) {
  const { sweep } = result;
  sweep.places = [];
  sweep.outcomes = [];
  sweep.numbers = new Map();
  for (const [place, v, outcome] of sweep.at) {
    sweep.places[v] = place;
    sweep.outcomes[v] = outcome;
    sweep.numbers.set(place, v);
  }
}

const choiceText = (choice) => choice.map(tomlValue).join(", ");

/** The sliders, which call `move(v)`. */
function sliders(result, move) {
  const rows = result.sweep.sliders.map((slider, s) => {
    const value = el("output", {}, ""), name = sliderWords(slider, result.sweep.sliders);
    const show = () => {
      value.textContent = choiceText(slider.choices[choicesOf(result, result.v)[s]]);
    };
    const input = el("input", { type: "range", min: 0, max: slider.choices.length - 1, step: 1,
      "aria-label": name, oninput: () => {
        const choices = choicesOf(result, result.v);
        choices[s] = Number(input.value);
        const point = pointAt(result, choices);
        if (point === undefined) {
          value.textContent = `${choiceText(slider.choices[choices[s]])}: not in this shard`;
          return;
        }
        move(point);
      } });
    const row = el("label", { class: "slider" },
      el("span", { class: "key", title: slider.paths.join(", ") }, name),
      input, value);
    row.show = () => {
      input.value = choicesOf(result, result.v)[s];
      show();
    };
    row.show();
    return row;
  });
  const box = el("div", { class: "sliders" }, rows);
  box.show = () => rows.forEach((row) => row.show());
  return box;
}

const SWEPT = ["success_rate", "goodput", "amplification", "latency_p50", "latency_p99",
  "latency_mean", "recovery_s", "recovered", "peak_attempt_rate", "wasted_share", "queue_mean",
  "completion_time_s", "cost_per_success"];

/** A metric over the keys: over one as a line, over two as a map, the others as they are set. */
function sweepPicture(result, move, change) {
  const { sliders: keys } = result.sweep;
  const rows = (name) => sweepRows(result, name);
  const metrics = SWEPT.filter((name) => rows(name).some((row) => row !== null));
  if (metrics.length === 0) return null;
  if (!metrics.includes(result.metric)) result.metric = metrics[0];
  const metric = result.metrics[result.metric];
  const select = el("select", { onchange: () => { result.metric = select.value; change(); } },
    metrics.map((name) => el("option", { value: name, selected: name === result.metric },
      result.metrics[name].label)));
  const choices = choicesOf(result, result.v);
  const long = keys.map((_, s) => s).filter((s) => keys[s].choices.length > 1);
  const [a, b] = long.length > 1 ? long.slice(-2) : [long[0] ?? 0, undefined];
  const pick = (i, k) => {
    const wanted = [...choices];
    wanted[a] = i;
    if (b !== undefined) wanted[b] = k;
    const point = pointAt(result, wanted);
    if (point !== undefined) move(point);
  };
  const others = keys.map((slider, s) => (s === a || s === b || slider.choices.length < 2 ? null
    : `${sliderWords(slider, keys)} = ${choiceText(slider.choices[choices[s]])}`)).filter(Boolean);
  const title = metric.label + (others.length > 0 ? ` at ${others.join(", ")}` : "");
  const picture = b === undefined ? sweepLine(result, metric, title, a, pick)
    : sweepMap(result, metric, title, a, b, pick);
  return [el("label", { class: "choose" }, "metric ", select), picture];
}

/** [mean, low, high] of a metric for all clients, by point. */
function sweepRows(result, name) {
  return result.sweep.names.map((_, v) => summaryOf(result, v, "all", name));
}

function sweepLine(result, metric, title, s, pick) {
  const slider = result.sweep.sliders[s];
  const choices = choicesOf(result, result.v);
  const values = slider.choices.map((choice) => {
    const value = tomlValue(choice[0]);
    return typeof value === "number" ? value : durationOf(value);
  });
  const numeric = values.every(exists);
  const points = [], numbers = [];
  slider.choices.forEach((_, i) => {
    const at = [...choices];
    at[s] = i;
    const v = pointAt(result, at), row = v === undefined ? null
      : summaryOf(result, v, "all", result.metric);
    if (!row) return;
    points.push([numeric ? values[i] : i, ...row.slice(0, 3)]);
    numbers.push(i);
  });
  return valueChart({ title, yUnit: metric.unit, share: metric.percentage,
    xLabel: sliderWords(slider, result.sweep.sliders) +
      (numeric && typeof tomlValue(slider.choices[0][0]) === "string" ? ", s" : ""),
    names: numeric ? null : slider.choices.map(choiceText),
    chosen: numbers.indexOf(choices[s]), onpick: (n) => pick(numbers[n]),
    series: [{ name: "all clients, mean and 95 % interval", colour: BLUE, points, joined: numeric }] });
}

function sweepMap(result, metric, title, a, b, pick) {
  const keys = result.sweep.sliders, choices = choicesOf(result, result.v);
  const row = (i, k) => {
    const at = [...choices];
    at[a] = i;
    at[b] = k;
    const v = pointAt(result, at);
    return v === undefined ? null : summaryOf(result, v, "all", result.metric);
  };
  const means = sweepRows(result, result.metric).map((r) => (r ? r[0] : null)).filter(exists);
  const low = Math.min(...means), high = Math.max(...means);
  const wide = low > 0 && high > 20 * low;
  const shade = (x) => (high === low ? 0 : wide ? Math.log(x / low) / Math.log(high / low)
    : (x - low) / (high - low));
  return heatMap({ title, xs: keys[a].choices.map(choiceText), ys: keys[b].choices.map(choiceText),
    xLabel: sliderWords(keys[a], keys), yLabel: sliderWords(keys[b], keys), shade,
    chosen: [choices[a], choices[b]], onpick: pick,
    value: (i, k) => {
      const found = row(i, k);
      return found ? [found[0], quantity(found[0], metric.unit, metric.percentage)] : [null, "–"];
    } });
}

/** All points, of which a click chooses one. */
function pointTable(result, move) {
  const keys = result.sweep.sliders;
  const metrics = FIGURES.filter((name) => sweepRows(result, name).some((row) => row));
  const columns = keys.map((slider, s) => ({ title: sliderWords(slider, keys),
    hint: slider.paths.join(", "), text: (v) => choiceText(slider.choices[choicesOf(result, v)[s]]) }));
  for (const name of metrics) {
    columns.push(metricColumn(result, name, (v) => summaryOf(result, v, "all", name)));
  }
  if (result.sweep.outcomes.some((outcome) => outcome !== "complete")) {
    columns.push({ title: "outcome", text: (v) => result.sweep.outcomes[v] });
  }
  const rows = [...result.sweep.names.keys()].filter((v) => result.sweep.places[v] !== undefined);
  return sortable({ columns, rows, className: "tall", onrow: move, chosen: (v) => v === result.v });
}
