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

/** What the choice number `i` of a slider is called. */
const choiceText = (slider, i) => slider.labels[i];

/** The sliders, which call `move(v)`. */
function sliders(result, move) {
  const rows = result.sweep.sliders.map((slider, s) => {
    const value = el("output", {}, ""), name = slider.label;
    const show = () => {
      value.textContent = choiceText(slider, choicesOf(result, result.v)[s]);
      input.setAttribute("aria-valuetext", value.textContent);
    };
    const input = el("input", { type: "range", min: 0, max: slider.choices.length - 1, step: 1,
      "aria-label": name, oninput: () => {
        const choices = choicesOf(result, result.v);
        choices[s] = Number(input.value);
        const point = pointAt(result, choices);
        if (point === undefined) {
          value.textContent = `${choiceText(slider, choices[s])}: not in this shard`;
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

/** The metrics over the keys that a picture has, of which a click chooses a point; the other keys are
 * as they are set. */
function sweepPicture(result, move) {
  const options = (panel) => {
    const keys = [panel.x, panel.y].map((axis) => axis.key).filter(Boolean);
    if (panel.line_key) keys.push(panel.line_key);
    const fixed = result.sweep.sliders.map((slider, s) => s).filter((s) =>
      !result.sweep.sliders[s].paths.some((path) => keys.includes(path)));
    const now = choicesOf(result, result.v);
    const v = (name) => result.sweep.names.indexOf(name);
    return { chosen: result.sweep.names[result.v], onpick: (name) => move(v(name)),
      isShown: (name) => {
        const point = v(name);
        if (point < 0 || result.sweep.places[point] === undefined) return false;
        const own = choicesOf(result, point);
        return fixed.every((s) => own[s] === now[s]);
      } };
  };
  const drawn = (name) => {
    const found = pictureOf(result, name);
    return found && [el("p", { class: "note picture-text" }, pictureText(result, found)),
      el("div", { class: "charts" },
      found.panels.map((panel) => panelChart(panel, options(panel))))];
  };
  const of = pictureOf(result, "sweep_clients");
  return [drawn("sweep"), of ? el("details", {}, el("summary", {}, "by client group"),
    drawn("sweep_clients")) : null];
}

/** [mean, low, high] of a metric for all clients, by point. */
function sweepRows(result, name) {
  return result.sweep.names.map((_, v) => summaryOf(result, v, "all", name));
}

/** All points, of which a click chooses one. */
function pointTable(result, move) {
  const keys = result.sweep.sliders;
  const metrics = FIGURES.filter((name) => sweepRows(result, name).some((row) => row));
  const columns = keys.map((slider, s) => ({ title: slider.label,
    hint: slider.paths.join(", "), text: (v) => choiceText(slider, choicesOf(result, v)[s]) }));
  for (const name of metrics) {
    columns.push(metricColumn(result, name, (v) => summaryOf(result, v, "all", name)));
  }
  if (result.sweep.outcomes.some((outcome) => outcome !== "complete")) {
    columns.push({ title: "outcome", text: (v) => result.sweep.outcomes[v] });
  }
  const rows = [...result.sweep.names.keys()].filter((v) => result.sweep.places[v] !== undefined);
  return sortable({ columns, rows, className: "tall", onrow: move, chosen: (v) => v === result.v });
}
