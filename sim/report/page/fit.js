// What `retrysim fit` found in a log: figures with their intervals, and the laws that were tried.

function fitAnswer(result) {
  return [result.sentences.map((text, i) => sentence("info", text, null, i > 0)),
    noteList(result.notes, result.scenario_notes)];
}

function fitTables(result) {
  const { figures, laws } = result.fitted, share = (f) => /_share$/.test(f.figure);
  const words = ({ figure }) => figure.replace(/_/g, " ");
  const text = (x, f) => quantity(x, f.unit || "1", share(f));
  const found = figures.filter((f) => exists(f.value) || exists(f.low));
  return [sortable({ caption: "Fitted to the log", rows: found, columns: [
    { title: "figure", text: words },
    { title: "estimate", value: (f) => f.value ?? f.low,
      node: (f) => (exists(f.value) ? text(f.value, f) : `at least ${text(f.low, f)}`) },
    { title: "low", value: (f) => f.low, node: (f) => (exists(f.low) ? text(f.low, f) : "–") },
    { title: "high", value: (f) => f.high, node: (f) => (exists(f.high) ? text(f.high, f) : "–") },
    { title: "range", text: (f) => f.range }] }),
  laws.length === 0 ? null : sortable({ caption: "Laws of the service time", rows: laws, columns: [
    { title: "law", text: (law) => law.law },
    { title: "AIC above best", value: (law) => law.aic_above_best,
      node: (law) => digits(law.aic_above_best) },
    { title: "Kolmogorov distance", value: (law) => law.kolmogorov_distance,
      node: (law) => digits(law.kolmogorov_distance) }] })];
}
