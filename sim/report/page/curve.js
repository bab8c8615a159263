// Tipping curves: how the tipping point moves with other keys.

/** The D50 of every point, a line for each combination of the keys that are not the axis. */
function curvePicture(result) {
  const { trigger, curve } = result;
  const numeric = curve.axis !== null;
  const placed = curve.points.map((p, i) => ({ ...p, at: numeric ? p.x : i }))
    .sort((p, q) => p.at - q.at);
  const of = (line, outcome) => placed.filter((p) => p.line === line && p.outcome === outcome);
  const series = curve.lines.flatMap((line, i) => {
    const look = lookOf(i), name = line || "half do not recover";
    const ends = [["recovers_at_last_value", trigger.last, "recovers even from"],
      ["tips_at_first_value", trigger.first, "tips already at"]];
    return [{ ...look, name: `${name}, with 95 % interval`, joined: numeric,
      points: of(i, "found").map((p) => [p.at, p.d50.value, p.d50.ci_low, p.d50.ci_high]) },
    ...ends.map(([outcome, end, words]) => ({ ...look, mark: "ring",
      name: `${line ? `${line}: ` : ""}${words} ${quantity(end, trigger.unit)}`,
      points: of(i, outcome).map((p) => [p.at, end]) }))];
  }).filter((s) => s.points.length > 0);
  if (series.length === 0) return null;  // no run was long enough to judge
  return valueChart({ title: `Tipping point: ${keyWords(trigger.path)}`, yUnit: trigger.unit, series,
    xLabel: numeric ? keyWords(curve.axis, curve.axis_unit)
      : curve.keys.map((key) => keyWords(key)).join(", "),
    names: numeric ? null : placed.map((p) => p.variant) });
}

const CURVE_OUTCOMES = { found: "tips", recovers_at_last_value: "never tips",
  tips_at_first_value: "always tips", ends_exchanged: "ends swapped",
  not_judged: "runs too short to judge" };

/** A row for each point of a tipping curve. */
function curveTable(result) {
  const { curve, trigger } = result;
  const columns = curve.keys.map((key) => ({ title: keyWords(key), hint: key,
    text: (p) => p.keys[key] }));
  columns.push({ title: "D50", value: (p) => p.d50 && p.d50.value,
    node: (p) => (p.d50 ? intervalCell([p.d50.value, p.d50.ci_low, p.d50.ci_high], trigger.unit)
      : "–") },
  { title: "between the ends searched", text: (p) => CURVE_OUTCOMES[p.outcome] || p.outcome },
  { title: "do not recover nearest to D50", value: (p) => p.nearest.tipped,
    node: (p) => `${p.nearest.tipped} of ${p.nearest.replications}` },
  { title: "of these metastable", value: (p) => p.nearest.metastable,
    node: (p) => digits(p.nearest.metastable) });
  return sortable({ className: "tall", rows: curve.points, columns });
}

function curveAnswer({ curve }) {
  return curve.sentences.map((text, i) => {
    const line = curve.lines[i];
    return sentence(curve.found > 0 ? "info" : "good", line ? text.slice(line.length + 2) : text,
      line || null);
  });
}
