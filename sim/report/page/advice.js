// What `retrysim advise` found: which of the usual remedies helps most, and what each costs.

function adviceAnswer(result) {
  const { command, notes } = result.advice;
  return [saidSentences(result), command ? el("pre", {}, command) : null,
    noteList(notes, result.scenario_notes)];
}

/** "+8.7 points", "+12 %", "9.1 times" of what a remedy changes; the unit where nothing else fits. */
function adviceChange(measure, row) {
  const by = row[`${measure.name}_difference`], now = row[measure.name] - by;
  const sign = by > 0 ? "+" : "";
  if (measure.percentage) return `${sign}${digits(100 * by)} points`;
  if (!(now > 0)) return sign + quantity(by, measure.unit);
  return by > now ? `${digits(1 + by / now)} times` : `${sign}${digits(100 * by / now)} %`;
}

/** What a remedy does in results of before 0.3, which do not say it in a word. */
const ADVICE_EFFECTS = { helps: "helps", "no-difference": "none", mixed: "mixed", harms: "harms" };

/** Every remedy that was tried below the scenario as it stands, and why the others were not. */
function adviceTable(result) {
  const { measures, rows } = result.advice;
  const tried = rows.filter((row) => row.state === null || row.state === "tried");
  const others = rows.filter((row) => row.state !== null && row.state !== "tried");
  const worse = (row) => measures.filter(({ name }) => name !== "success_rate" &&
    row[`${name}_effect`] === "worse").map((m) => `${m.label} ${adviceChange(m, row)}`).join("; ");
  const columns = [
    { title: "remedy", text: (row) => row.remedy,
      node: (row) => el("span", { title: row.words }, row.remedy) },
    { title: "effect", text: (row) => row.effect || ADVICE_EFFECTS[row.verdict] || "" }];
  for (const measure of measures) {
    const { name, label, unit, percentage } = measure;
    if (!measure.aim || !tried.some((row) => exists(row[name]))) continue;
    columns.push({ title: label, value: (row) => row[name],
      node: (row) => [quantity(row[name], unit, percentage),
        exists(row[`${name}_ci_low`]) && row[`${name}_effect`] !== "none" ? el("span",
          { class: "interval" }, adviceChange(measure, row)) : null] });
  }
  columns.push({ title: "worse elsewhere", text: worse });
  columns.push({ title: "options of retrysim run", text: (row) => row.edits.join(" "),
    node: (row) => row.edits.map((edit) => el("code", {}, edit, " ")) });
  return [sortable({ columns, rows: tried }), others.length === 0 ? null
    : el("details", {}, el("summary", {}, `${plural(others.length, "remedy", "remedies")} not tried`),
      el("ul", {}, others.map((row) => el("li", {}, `${row.remedy}: ${row.reason}`))))];
}
