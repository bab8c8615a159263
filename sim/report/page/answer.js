// The answer in words, and the figures that matter most.

const groupsOf = (result) => {
  const groups = result.clients.filter((name) => name !== "all");
  return groups.length > 0 ? groups : ["all"];
};

const SIGNS = { good: "✓", bad: "✗", info: "•" };

/** `words` may begin in lower case and lack their full stop, as verdicts do; or be nodes. */
function sentence(severity, words, who, minor = false) {
  // The name of a variant, "mode=none", keeps its small letters.
  const text = typeof words !== "string" ? [words, "."]
    : (who || /^\S*=/.test(words) ? words : words[0].toUpperCase() + words.slice(1)) +
      (/[.!?]$/.test(words) ? "" : ".");
  return el("p", { class: `verdict ${severity}${minor ? " minor" : ""}` },
    el("span", { class: "sign", role: "img", "aria-label": severity }, SIGNS[severity] || "•"),
    el("span", {}, who ? el("b", {}, `${who}: `) : null, text));
}

/** What the program says of the result of a search. */
const saidSentences = ({ said }) => said.sentences.map(({ severity, text, who, minor }) =>
  sentence(severity, text, who, minor));

/** What the program has concluded of a variant; undefined if it has no results. */
const answerOf = (result, v) => (result.answers || []).find(({ variant }) =>
  variant === variantName(result, v));

/** The verdicts on a variant, in the program's own blocks. */
function verdicts(result, v) {
  const answer = answerOf(result, v);
  if (!answer) return [sentence("info", "no results at this point")];
  const named = groupsOf(result).length > 1;
  const remark = ({ severity, sentence: words }, who, minor) => sentence(severity, words, who, minor);
  const said = answer.blocks.map((block) => [
    remark(block, named ? block.clients.join(", ") : null),
    block.causes.map((cause) => remark(cause,
      cause.clients.length < block.clients.length ? cause.clients.join(", ") : null, true))]);
  return [answer.first.map((row) => remark(row)), said,
    answer.common.map((row) => remark(row, "all of them"))];
}

/** What became of each variant: the table that the program prints first. */
function overviewTable(result) {
  const { overview } = result.comparison;
  if (!overview || overview.rows.length < 2 || overview.columns.length === 0) return null;
  const marks = { none: "", best: " +", as_good: " =" };
  const columns = overview.columns.map(({ title }, c) => ({ title,
    value: (row) => row.cells[c].mean,
    text: (row) => row.cells[c].text + marks[row.cells[c].standing] }));
  columns.unshift({ title: variedWords(result), text: (row) => row.variant });
  return [sortable({ columns, rows: overview.rows, className: "headlines" }),
    el("p", {}, overview.legend)];
}

const comparisonAnswer = (result) => [overviewTable(result), saidSentences(result),
  noteList(result.notes, result.scenario_notes)];

/** Of a run its own notes, of other results theirs. */
function notesOf(result, v) {
  const variant = result.variants[v] || {};
  return noteList(variant.notes || result.notes, variant.scenario_notes || result.scenario_notes);
}

/** What limits an answer: the notes that the program prints under its own, and those on the scenario
 * that it prints before. */
function noteList(notes = [], ofScenario = []) {
  const list = (texts, what, kind) => (texts.length === 0 ? null : el("details", { class: kind },
    el("summary", {}, `${plural(texts.length, "note")} on ${what}`),
    el("ul", {}, texts.map((note) => el("li", {}, note.trim())))));
  return [list(ofScenario, "the scenario", "notes of-scenario"),
    list(notes, "how sure this is", "notes")];
}

const FIGURES = ["success_rate", "goodput", "amplification", "latency_p50", "latency_p99",
  "recovery_s"];

/** The most important metrics: a row for each group, or for each variant. */
function mainFigures(result) {
  if (!result.summary) return null;
  const compared = result.comparison ? result.variants.map((_, v) => v) : [result.v];
  const clients = groupsOf(result).length > 1 && !result.comparison
    ? result.clients : [result.comparison ? result.client : groupsOf(result)[0]];
  const rows = compared.flatMap((v) => clients.map((client) => ({ v, client })));
  const metrics = FIGURES.filter((name) =>
    rows.some((row) => summaryOf(result, row.v, row.client, name)));
  const columns = metrics.map((name) =>
    metricColumn(result, name, (row) => summaryOf(result, row.v, row.client, name)));
  const name = (row) => (result.comparison ? variantName(result, row.v)
    : row.client === "all" && clients.length > 1 ? "all together" : row.client);
  columns.unshift({ title: result.comparison ? variedWords(result) : "clients", text: name });
  return sortable({ columns, rows, className: "headlines" });
}

const PHASE_ORDER = ["before", "during", "between", "recovering", "after"];

/** Phases of a variant; of a comparison those of the chosen group. */
function phasesOf(result, v) {
  return (result.phases || []).filter((phase) => phase.v === v &&
    (result.comparison ? result.clients[phase.c] === result.client
      : groupsOf(result).length > 1 || result.clients[phase.c] !== "all"));
}

const PHASE_METRICS = { success_rate: "success", goodput: "goodput", offered_load: "offered",
  attempt_rate: "attempt rate", amplification: "attempts per request", latency_ok_p99: "p99 of successes",
  failures: "failed" };

/** Success, work and waiting before, during and after what happened. */
function phaseTables(result, v) {
  const rows = result.comparison
    ? result.variants.flatMap((_, i) => phasesOf(result, i)) : phasesOf(result, v);
  if (rows.length === 0) return null;
  const who = (row) => (result.comparison ? variantName(result, row.v)
    : result.clients[row.c] === "all" ? "all together" : result.clients[row.c]);
  const title = result.comparison ? variedWords(result) : "clients";
  const several = new Set(rows.map(who)).size > 1;
  const columns = [{ title: "phase", text: (row) => row.name },
    // A phase can be shorter than what three digits tell apart.
    { title: "from", value: (row) => row.start, node: (row) => seconds(row.start, 4) },
    { title: "to", value: (row) => row.end, node: (row) => seconds(row.end, 4) }];
  if (several) columns.unshift({ title, text: who });
  for (const [name, label] of Object.entries(PHASE_METRICS)) {
    if (rows.some((row) => row.m[name])) {
      columns.push(metricColumn(result, name, (row) => row.m[name], label));
    }
  }
  const all = sortable({ columns, rows, className: "phases" });
  if (!several) return all;
  return [phaseMatrix(result, rows, who, title),
    el("details", {}, el("summary", {}, "all figures by phase"), all)];
}

/** The success rate of everybody in every phase. */
function phaseMatrix(result, rows, who, title) {
  const phases = new Map();  // in the order of their first start
  const place = (row) => PHASE_ORDER.indexOf(row.kind);
  for (const row of [...rows].sort((a, b) => a.start - b.start || place(a) - place(b))) {
    if (!phases.has(row.name)) phases.set(row.name, new Map());
    phases.get(row.name).set(who(row), row);
  }
  const columns = [...phases].map(([name, found]) => ({ title: name, unit: "success",
    value: (w) => found.get(w)?.m.success_rate?.[0],
    node: (w) => {
      const row = found.get(w);
      if (!row) return "–";
      return [row.m.success_rate ? percent(row.m.success_rate[0]) : "–",
        el("span", { class: "interval" }, `${seconds(row.start, 4)} to ${seconds(row.end, 4)}`)];
    } }));
  columns.unshift({ title, text: (w) => w });
  return sortable({ columns, rows: [...new Set(rows.map(who))], className: "phases" });
}
