// What `retrysim fit` found in a log: figures with their intervals, the laws that were tried,
// incidents, and the backtest.

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
      node: (law) => digits(law.kolmogorov_distance) }] }),
  incidentTable(result.fitted.incidents || [])];
}

function incidentTable(incidents) {
  if (incidents.length === 0) return null;
  const column = (title, name, unit, share) => ({ title, value: (i) => i[name],
    node: (i) => (exists(i[name]) ? quantity(i[name], unit, share) : "–") });
  return sortable({ caption: "Incidents", rows: incidents, columns: [
    { title: "incident", text: (i) => i.incident },
    column("from", "begin_s", "s"), column("to", "end_s", "s"),
    { title: "kind", text: (i) => i.kind },
    column("errors", "error_share", "1", true), column("otherwise", "usual_error_share", "1", true),
    column("median duration", "duration_p50_s", "s"),
    column("otherwise", "usual_duration_p50_s", "s"),
    column("fault: capacity", "capacity", "1"), column("fault: speed", "speed", "1"),
    { title: "fault: errors", text: (i) => i.added_errors || "–" }] });
}

const AGREEMENTS = { met: "met", chance: "missed by chance", off: "not met" };

/** The log's second half beside the simulation of what its first half gives. */
function backtest(result) {
  const { backtest: test } = result.fitted;
  const share = (f) => f.figure === "error_share";
  const cell = (name) => (f) => quantity(f[name], f.unit || "1", share(f));
  const overall = test.figures.filter((f) => f.part === "all");
  const table = sortable({ caption: "Second half of the log", rows: overall, columns: [
    { title: "figure", text: (f) => f.label },
    { title: "log", value: (f) => f.logged, node: cell("logged") },
    { title: "simulated", value: (f) => f.simulated, node: cell("simulated") },
    { title: "least run", value: (f) => f.simulated_least, node: cell("simulated_least") },
    { title: "largest run", value: (f) => f.simulated_most, node: cell("simulated_most") },
    { title: "", text: (f) => AGREEMENTS[f.agreement] }] });
  return [test.verdict.map((text) => el("p", {}, text)), table, pictureCharts(result, "fit")];
}
