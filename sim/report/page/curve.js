// Tipping curves: how the tipping point moves with other keys.

const CURVE_OUTCOMES = { found: "tips", recovers_at_last_value: "never tips",
  tips_at_first_value: "always tips", ends_exchanged: "ends swapped",
  not_judged: "runs too short to judge" };

/** A row for each point of a tipping curve. */
function curveTable(result) {
  const { curve, trigger } = result;
  const columns = curve.keys.map((key) => ({ title: keyWords(result, key), hint: key,
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
