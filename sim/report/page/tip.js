// What `retrysim tip` found: where a trigger tips the scenario.

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
