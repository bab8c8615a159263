// What `retrysim tip` found: where a trigger tips the scenario, or (with --hysteresis) at which load it
// tips and comes back.

/** The program's own sentences: where it tips, and what would recover without retries. */
function tippingAnswer({ outcome, sentences = [] }) {
  const severity = { found: "info", recovers_at_last_value: "good" }[outcome] || "bad";
  return sentences.map((text, i) => sentence(severity, text, null, i > 0));
}

function hysteresisAnswer(result) {
  const { load, tip_load: tip, recover_load: recover } = result.hysteresis;
  const text = (figure) => withInterval([figure.mean, figure.ci_low, figure.ci_high], load.unit);
  if (!tip) return sentence("good", `Nothing tips up to ${load.path} = ${
    quantity(Math.max(...load.values), load.unit)}.`);
  return sentence("bad", `Going up, it tips at ${load.path} = ${text(tip)}; ` +
    (recover ? `coming back, it recovers at ${text(recover)}.` : "coming back, it never recovers."));
}

function probeTable(result) {
  const { unit } = result.trigger;
  return sortable({ className: "tall", rows: result.probes, columns: [
    { title: "value", value: (p) => p.value, node: (p) => quantity(p.value, unit, false, 5) },
    { title: "do not recover", value: (p) => p.tipped,
      node: (p) => `${p.tipped} of ${p.replications}` },
    { title: "share", value: (p) => p.probability,
      node: (p) => intervalCell([p.probability, p.ci_low, p.ci_high], "1", true) },
    { title: "metastable", value: (p) => p.metastable, node: (p) => digits(p.metastable) }] });
}
