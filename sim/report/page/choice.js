// What `retrysim choose` found: the best policy, and why each of the others left.

function choiceAnswer(result) {
  const { terms = [], notes } = result.choice;
  return [saidSentences(result), terms.map((term) => el("p", { class: "note" }, term)),
    noteList(notes, result.scenario_notes)];
}

function choiceNumber(result, value) {
  const { unit, metric } = result.choice;
  return quantity(value, unit, isShare(result, metric));
}

const isShare = (result, metric) => Boolean((result.metrics[metric] || {}).percentage);

const FATES = { chosen: "the best", undecided: "undecided", same: "the same as", as_good: "as good as",
  beaten: "beaten by",
  breaks_limit: "breaks a limit", no_value: "no value" };

function choiceTable(result) {
  const { label, unit, metric, direction, indifference } = result.choice;
  // The best first; those without a value last.
  const worth = ({ mean }) => !exists(mean) ? -Infinity : direction === "minimize" ? -mean : mean;
  const rows = [...result.policies].sort((a, b) => worth(b) - worth(a));
  const least = isShare(result, metric) ? plural(100 * indifference, "point")
    : choiceNumber(result, indifference);
  return sortable({ rows, caption: `Differences below ${least} do not matter`, columns: [
    { title: "policy", text: (p) => p.variant },
    { title: label, value: (p) => p.mean,
      node: (p) => intervalCell([p.mean, p.ci_low, p.ci_high], unit, isShare(result, metric)) },
    { title: "outcome", text: (p) => [FATES[p.outcome] || p.outcome, p.by].filter(Boolean).join(" ") },
    { title: "replications", value: (p) => p.replications, node: (p) => digits(p.replications, 6) }] });
}
