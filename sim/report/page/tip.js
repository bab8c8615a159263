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

function tipPicture(result) {
  const { path, unit } = result.trigger;
  const probes = [...result.probes].sort((a, b) => a.value - b.value)
    .filter((p) => exists(p.probability));
  if (probes.length === 0) return null;  // no run was long enough to judge
  const inner = probes.filter((p) => p.probability > 0 && p.probability < 1).map((p) => p.value)
    .concat(result.d50 ? [result.d50.value, result.d50.ci_low, result.d50.ci_high] : [])
    .filter(exists);
  const [low, high] = [Math.min(...inner), Math.max(...inner)];
  const below = Math.max(...probes.map((p) => p.value).filter((x) => x < low), -Infinity);
  const above = Math.min(...probes.map((p) => p.value).filter((x) => x > high), Infinity);
  const near = inner.length > 0 ? probes.filter((p) => p.value >= below && p.value <= above) : probes;
  const meta = near.filter((p) => p.tipped > 0 && exists(p.metastable_probability));
  return valueChart({ title: "Where does it tip?", share: true, yUnit: "1",
    xLabel: keyWords(path, unit),
    series: [{ name: `do not recover, of ${plural(result.replications, "replication")}`,
      colour: BLUE, joined: true,
      points: near.map((p) => [p.value, p.probability, p.ci_low, p.ci_high]) },
    { name: "metastable: would recover without retries", colour: GREEN, mark: "ring",
      points: meta.map((p) => [p.value, p.metastable_probability]) }]
      .filter((s) => s.points.length > 0),
    lines: result.d50 ? [{ at: result.d50.value, from: result.d50.ci_low, to: result.d50.ci_high,
      name: "half do not recover, with 95 % interval", colour: RED }] : [] });
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

function hysteresisPicture(result) {
  const { rows, load, tip_load: tip, recover_load: recover } = result.hysteresis;
  const points = (branch) => rows.filter((row) => row.branch === branch)
    .map((row) => [row.load, row.goodput, row.ci_low, row.ci_high]).sort((p, q) => p[0] - q[0]);
  const up = points("up"), down = points("down").concat(up.slice(-1));
  return valueChart({ title: "Does it go back the way it came?", yUnit: "1/s",
    xLabel: keyWords(load.path, load.unit),
    series: [{ name: "offered load", colour: GREY, dash: LIMIT_DASH, joined: true,
      points: rows.filter((row) => row.branch === "up").map((row) => [row.load, row.offered_load]) },
    { name: "goodput, load going up", colour: BLUE, joined: true, points: up },
    { name: "goodput, load coming back", colour: RED, joined: true, points: down }],
    lines: [tip && { at: tip.mean, name: "tips", colour: BLUE, dash: LIMIT_DASH },
      recover && { at: recover.mean, name: "recovers", colour: RED, dash: LIMIT_DASH }]
      .filter(Boolean) });
}
