// What `retrysim choose` found: the best policy, and why each of the others left.

function choiceAnswer(result) {
  const { outcome, best, nearest, label, direction, confidence, indifference, procedure, leader,
    margin } = result.choice;
  const most = `the ${direction === "minimize" ? "lowest" : "highest"} ${label}`;
  const row = result.policies.find((policy) => policy.variant === best);
  const found = row && exists(row.mean) ? `, ${choiceValue(result, row)}` : "";
  const words = {
    chosen: `${best} has ${most}${found}, or is within ${choiceNumber(result, indifference)
      } of it, with ${percent(confidence)} confidence${procedure === "normal" ?
      " if values are normally distributed" : ""}.`,
    undecided: `Undecided: the replications ran out${leader ? `; with ${percent(confidence)
      } confidence no policy that is left is better than ${leader} by more than ${
      choiceNumber(result, margin)}` : ""}.`,
    none_keeps_limits: `No policy keeps the limits${nearest ? `; ${nearest} comes nearest` : ""}.`,
    none_has_values: `No policy has a value of ${label}.`,
  };
  return [sentence(outcome === "chosen" ? "good" : "bad", words[outcome] || outcome),
    result.choice.notes.length > 0 ? el("ul", { class: "notes note" },
      result.choice.notes.map((note) => el("li", {}, note))) : null];
}

function choiceNumber(result, value) {
  const { unit, metric } = result.choice;
  return quantity(value, unit, isShare(result, metric));
}

function choiceValue(result, { mean, ci_low: low, ci_high: high }) {
  const { unit, metric } = result.choice;
  return withInterval([mean, low, high], unit, isShare(result, metric));
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
  return sortable({ rows, caption: `Differences below ${choiceNumber(result, indifference)
    } do not matter`, columns: [
    { title: "policy", text: (p) => p.variant },
    { title: label, value: (p) => p.mean,
      node: (p) => intervalCell([p.mean, p.ci_low, p.ci_high], unit, isShare(result, metric)) },
    { title: "outcome", text: (p) => [FATES[p.outcome] || p.outcome, p.by].filter(Boolean).join(" ") },
    { title: "replications", value: (p) => p.replications, node: (p) => digits(p.replications, 6) }] });
}
