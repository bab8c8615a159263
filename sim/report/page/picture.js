// The first glance: the answer in one sentence, and under it attempts and successes per second
// around the disturbance, each line with its name.

/** What there is to tell apart: the client groups that send requests of their own, or the variants. */
function told(result) {
  if (result.comparison) {
    return result.variants.map((_, v) => ({ v, client: result.client, name: variantName(result, v) }))
      .filter(({ v }) => !result.hidden.has(v));
  }
  const own = new Set((graphAt(result, result.v).clients || []).map((client) => client.name));
  const groups = groupsOf(result).filter((name) => own.has(name));
  return (groups.length > 0 ? groups : groupsOf(result)).map((client) =>
    ({ v: result.v, client, name: client }));
}

// --- In one sentence -----------------------------------------------------------------------------

const WORTH = ["bad", "info", "good"];
const NUMBERS = /\d[\d.]*( (?:ns|µs|ms|s|minutes|hours|%)(?![a-z]))?/g;
const TIMES = { ms: 1e-3, µs: 1e-6, minutes: 60, hours: 3600 };
const sizeOf = (text) => parseFloat(text) * (TIMES[text.split(" ")[1]] || 1);

/** The heart of a sentence: what comes before the reasons. */
const heartOf = (words) => words.split(/: |; | \(|, with /)[0];

/** Same fates are one, also where only numbers differ: "back 5.6 s to 88 s after ...". */
function fates(rows) {
  const found = new Map();
  for (const { name, severity, heart } of rows) {
    const key = heart.replace(NUMBERS, "#");
    const fate = found.get(key) || { key, severity, names: [], numbers: [] };
    found.set(key, fate);
    if (!fate.names.includes(name)) fate.names.push(name);
    fate.numbers.push(heart.match(NUMBERS) || []);
  }
  return [...found.values()].sort((a, b) => WORTH.indexOf(a.severity) - WORTH.indexOf(b.severity))
    .map(({ key, severity, names, numbers }) => {
      let place = 0;
      const words = key.replace(/#/g, () => {
        const all = numbers.map((list) => list[place]).sort((a, b) => sizeOf(a) - sizeOf(b));
        const [first, last] = [all[0], all[all.length - 1]];
        ++place;
        return first === last ? first : `${first} to ${last}`;
      });
      const shown = names.length > 4 ? [...names.slice(0, 3), `${names.length - 3} more`] : names;
      return { severity, names: shown.join(", "), words };
    });
}

/** The verdicts on who is told apart: {name, severity, heart, sentence}. */
function verdictRows(result) {
  const rows = told(result).map((e) => ({ ...e, row: (result.verdicts || []).find((verdict) =>
    verdict.variant === variantName(result, e.v) && verdict.client === e.client) }));
  return rows.filter(({ row }) => row).map(({ name, row }) => ({ name, severity: row.severity,
    sentence: row.sentence, heart: row.fate || heartOf(row.sentence) }));
}

/** A comparison of several groups at once: each group of each variant. */
function comparedRows(result) {
  return (result.verdicts || []).filter((row, i, all) =>
    all.findIndex((r) => r.variant === row.variant && r.client === row.client) === i)
    .filter((row) => (graphAt(result, 0).clients || []).some((client) => client.name === row.client))
    .map((row) => ({ name: row.variant, severity: row.severity, sentence: row.sentence,
      heart: row.fate || heartOf(row.sentence), client: row.client }));
}

/** The answer in one sentence; what else is to say of it comes under "Causes". */
function headline(result) {
  const { headline: own } = result.said || {};
  if (own) return sentence(own.severity, own.text);
  const rows = result.comparison ? comparedRows(result) : verdictRows(result);
  // Of a graph the line that names the cause, if there is one for all.
  const lines = (result.verdicts || []).filter((row) => row.client === "all" &&
    row.variant === variantName(result, result.v));
  if (!result.comparison && lines.length === 1) {
    return sentence(lines[0].severity, lines[0].sentence);
  }
  const differ = new Set(rows.map((row) => `${row.client} ${row.heart}`)).size >
    new Set(rows.map((row) => row.client)).size;
  if (result.curve) {
    rows.push(...result.said.sentences.map(({ severity, text, who }) => ({ name: who, severity,
      sentence: who ? `${who}: ${text}` : text, heart: heartOf(text) })));
  }
  if (rows.length === 1) return sentence(rows[0].severity, rows[0].sentence);
  if (rows.length > 1 && (!result.comparison || differ)) {
    const several = new Set(rows.map((row) => row.client)).size > 1 && result.comparison;
    const all = fates(several ? rows.map((row) => ({ ...row, name: `${row.name} (${row.client})` }))
      : rows);
    const [severity] = all.map((fate) => fate.severity);
    return sentence(severity, all.map(({ names, words }, i) =>
      [i > 0 ? "; " : "", el("b", {}, names), `: ${words}`]));
  }
  if (result.comparison) {
    const texts = (result.comparison.sentences || []).map((text) => text.sentence || text);
    const text = texts.find((words) => /success rate by/.test(words)) || texts[0];
    if (text) return sentence("info", text.split(/(?<=\))\. /)[0]);
  }
  return [kindOf(result).answer(result)].flat(Infinity).find((node) => node && node.matches(".verdict"));
}

// --- The picture ---------------------------------------------------------------------------------

/** How high each of the two charts may be, so that both are on the first screen. */
function heightOnScreen(chart) {
  const hero = chart.element.closest(".picture");
  const above = hero ? hero.getBoundingClientRect().top + window.scrollY : 200;
  return Math.max(150, Math.min(290, Math.floor((window.innerHeight - above - 78) / 2)));
}

function picture(result) {
  for (const chart of result.picture || []) chart.remove();
  result.picture = [];
  if (!result.series.some(Boolean)) return null;
  const glances = results.map((one) => pictureOf(one, "glance")).filter(Boolean);
  const ends = glances.flatMap(({ panels: own }) => own.map(({ x }) => x));
  if (!pictureOf(result, "glance")) return null;
  const range = [Math.min(...ends.map(({ low }) => low)), result.sweep ? timeline.end
    : Math.max(...ends.map(({ high }) => high))];
  return el("div", { class: "picture" }, panels(result, "glance").map((panel) => {
    const lines = panel.lines(result.v);
    const top = Math.max(...results.map((one) => topOf(panels(one, "glance").filter((other) =>
      other.key === panel.key).flatMap((other) => other.lines(one.v)), ...range)));
    const words = new Map(lines.filter(({ said }) => said).map(({ name, said }) => [name, said]));
    const chart = new TimeChart({ panel, range, height: heightOnScreen, direct: words,
      isExact: isExact(result),
      state: () => ({ lines, windows: shadesOf(result, result.v, panel), top }) });
    result.picture.push(chart);
    return chart.element;
  }));
}
