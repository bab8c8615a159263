// What `retrysim map` found: the phase at each point of the plane.

const PHASES = ["safe", "vulnerable", "tipped", "overloaded", "dead"];
const PHASE_WORDS = { safe: "comes back after any disturbance",
  vulnerable: "would not recover from a large enough disturbance",
  tipped: "stays down after the faults and surges of the scenario",
  overloaded: "short of capacity without any disturbance, but most requests succeed",
  dead: "down without any disturbance" };

function mapHeadline({ map: { points } }) {
  const found = PHASES.map((phase) => [phase, points.filter((p) => p.phase === phase).length])
    .filter(([, n]) => n > 0);
  return sentence(found.every(([phase]) => phase === "safe") ? "good" : "bad",
    `Of ${plural(points.length, "point")} ${found.map(([phase, n], i) =>
      `${n} ${i > 0 ? "" : n === 1 ? "is " : "are "}${phase}`).join(", ")}`);
}

function mapAnswer(result) {
  const { points } = result.map;
  const found = PHASES.map((phase) => [phase, points.filter((p) => p.phase === phase).length])
    .filter(([, n]) => n > 0);
  return found.map(([phase, n]) => sentence(phase === "safe" ? "good" : phase === "vulnerable"
    ? "info" : "bad", `${n} of ${plural(points.length, "point")}: ${PHASE_WORDS[phase]}`, phase));
}

/** Over two keys as a field of cells, otherwise as a table. */
function mapPicture(result) {
  const { points, columns, keys } = result.map;
  if (columns.length !== 2) {
    return sortable({ className: "tall", rows: points, columns: [...columns.map((_, i) =>
      ({ title: keyWords(keys[i]), hint: keys[i], text: (p) => p.at[i] })), { title: "phase", text: (p) => p.phase }] });
  }
  const values = (i) => [...new Set(points.map((p) => p.at[i]))];
  const [xs, ys] = [values(0), values(1).reverse()];
  const phaseAt = new Map(points.map((p) => [p.at.join("\n"), p.phase]));
  return heatMap({ title: `What the fluid model predicts for ${result.map.service}`, xs, ys,
    xLabel: keyWords(keys[0]), yLabel: keyWords(keys[1]), chosen: [], onpick: () => {},
    shade: (place) => place / (PHASES.length - 1),
    value: (i, k) => {
      const phase = phaseAt.get(`${xs[i]}\n${ys[k]}`);
      return phase ? [PHASES.indexOf(phase), phase] : [null, "–"];
    } });
}
