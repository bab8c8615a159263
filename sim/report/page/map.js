// What `retrysim map` found: the phase at each point of the plane.

/** A map over other than two keys, as a table. */
function mapTable(result) {
  const { points, columns, keys } = result.map;
  return sortable({ className: "tall", rows: points, columns: [...columns.map((_, i) =>
    ({ title: keyWords(result, keys[i]), hint: keys[i], text: (p) => p.at[i] })),
  { title: "phase", text: (p) => p.phase }] });
}
