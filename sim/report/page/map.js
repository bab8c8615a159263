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

/** A map over other than two keys, as a table. */
function mapTable(result) {
  const { points, columns, keys } = result.map;
  return sortable({ className: "tall", rows: points, columns: [...columns.map((_, i) =>
    ({ title: keyWords(result, keys[i]), hint: keys[i], text: (p) => p.at[i] })),
  { title: "phase", text: (p) => p.phase }] });
}
