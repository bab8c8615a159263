// What `retrysim predict` says of a scenario: figures by part of the theory, and what they leave out.

const PREDICTED_PARTS = { facts: "Facts", fluid: "Fluid model", chain: "Markov chain" };

function predictionTables(result) {
  const { figures, does_not_apply: refused, doubts, not_modelled: unmodelled = [] }
    = result.prediction;
  const text = ({ value, unit }) => (typeof value !== "number" ? value
    : quantity(value, unit, false));
  const table = (part) => sortable({ caption: PREDICTED_PARTS[part] || part,
    rows: figures.filter((f) => f.part === part), columns: [
      { title: "of", text: (f) => f.subject }, { title: "figure", text: (f) => f.name },
      { title: "value", value: (f) => f.value, node: text },
      { title: "meaning", text: (f) => f.meaning },
      { title: "leaves out", text: (f) => f.leaves_out }] });
  const remarks = (title, rows, say) => (rows.length === 0 ? null : [el("h3", {}, title),
    el("ul", {}, rows.map((r) => el("li", {}, say(r))))]);
  return [[...new Set(figures.map((f) => f.part))].map(table),
    remarks("Does not apply", refused, (r) => r.reason),
    remarks("Outside the range of validity", doubts,
      (r) => `${r.part} of ${r.subject}: ${r.reason}`),
    unmodelled.length === 0 ? null : sortable({ caption: "Not modelled", rows: unmodelled, columns: [
      { title: "feature", text: (f) => f.feature }, { title: "at", text: (f) => f.places.join(", ") },
      { title: "left out by", text: (f) => f.left_out_by },
      { title: "no figure from", text: (f) => f.no_figure_from }] })];
}
