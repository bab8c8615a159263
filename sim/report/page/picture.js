// The first glance: the answer in one sentence, and under it attempts and successes per second
// around the disturbance, each line with its name.

/** What there is to tell apart: the client groups that send requests of their own, or the variants. */
function told(result) {
  if (result.comparison) return entries(result, result.v);
  const own = new Set((graphAt(result, result.v).clients || []).map((client) => client.name));
  const groups = groupsOf(result).filter((name) => own.has(name));
  return (groups.length > 0 ? groups : groupsOf(result)).map((client, i) =>
    ({ v: result.v, client, name: client, ...lookOf(i) }));
}

// --- In one sentence -----------------------------------------------------------------------------

const WORTH = ["bad", "info", "good"];
const NUMBERS = /\d[\d.]*( (?:ns|µs|ms|s|minutes|hours|%)(?![a-z]))?/g;
const TIMES = { ms: 1e-3, µs: 1e-6, minutes: 60, hours: 3600 };
const sizeOf = (text) => parseFloat(text) * (TIMES[text.split(" ")[1]] || 1);

/** The heart of a sentence: what comes before the reasons. */
const heartOf = (words) => words.split(/: |; | \(|, with /)[0];

/** The same at a line, where the picture shows the rest. */
const shortFate = (words) => words.replace(/ during the [a-z ]+(?=,|$)/, "")
  .replace(/at once after \w+$/, "at once").replace(/ after (it|them)$/, " later")
  .replace(/^recovers (\S+ \S+) after .*/, "back after $1").replace(/ when the .* ends?$/, "");

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
  const { headline: own } = kindOf(result);
  if (own) return own(result);
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
    const { lines, sentences, found } = result.curve;
    rows.push(...lines.map((name, i) => ({ name, severity: found > 0 ? "info" : "good",
      sentence: sentences[i], heart: heartOf(sentences[i].slice(name ? name.length + 2 : 0)) })));
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

/** The stretch of time around what happened; null where that is everything. */
function aroundDisturbance(all) {
  let [first, last, down] = [Infinity, 0, 0];
  for (const result of all) {
    for (const { v, client } of told(result)) {
      const windows = windowsOf(result, v).filter((w) => exists(w.start) && exists(w.end));
      if (windows.length === 0) continue;
      const start = Math.min(...windows.map((w) => w.start));
      const end = Math.max(...windows.map((w) => w.end));
      const recovery = summaryOf(result, v, client, "recovery_s");
      const recovered = summaryOf(result, v, client, "recovered");
      first = Math.min(first, start);
      last = Math.max(last, end + (recovery ? recovery[0] : 0));
      if (recovered && recovered[0] < 1) down = Math.max(down, end + 2 * (end - start));
    }
  }
  const end = Math.max(last, Math.min(down, timeline.end)), span = end - first;
  if (!(span > 0)) return null;
  const range = [Math.max(0, first - 0.3 * span), Math.min(timeline.end, end + 0.6 * span)];
  return range[1] - range[0] < 0.75 * timeline.end ? range : null;
}

const MOST_DRAWN = 9;  // more lines cannot be told apart

/** Whose lines the picture has: of very many groups the sum, which is the load that counts. */
function drawn(result) {
  const who = told(result), { c: clients = {} } = result.series[result.v] || {};
  return result.comparison || who.length <= MOST_DRAWN || !clients.all ? who
    : [{ v: result.v, client: "all", of: `, ${who.length} groups`, ...lookOf(0) }];
}

/** Lines of one quantity, and the capacity if there is one. */
function pictureLines(result, quantity_, range) {
  const who = drawn(result);
  const lines = who.map((e) => lineOf(result, e.v, "c", e.client, quantity_, e)).filter(Boolean);
  if (who.length === 1 && quantity_ === "attempt_rate") {
    const load = lineOf(result, who[0].v, "c", who[0].client, "offered_load",
      { name: "requests", colour: GREY, dash: DASHES[1] });
    if (load) lines.push(load);
  }
  const top = topOf(lines, ...range);
  const called = new Set((graphAt(result, result.v).clients || []).flatMap((c) => c.calls));
  const capacities = [...called].map((service) => capacityLine(result, result.v, service))
    .filter(Boolean);
  const one = new Set(capacities.map((c) => JSON.stringify(c.steps))).size === 1;
  if (one && topOf(capacities.slice(0, 1)) < 1.6 * top) lines.push(capacities[0]);
  return lines;
}

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
  const range = aroundDisturbance(results) || [0, timeline.end];
  const windows = shadesOf(result, result.v);
  const words = new Map(verdictRows(result).map(({ name, heart }) => [name, shortFate(heart)]));
  const who = drawn(result), single = who.length === 1, differ = new Set(words.values()).size > 1;
  return el("div", { class: "picture" }, [["attempt_rate", "Attempts that the clients send"],
    ["goodput", "Requests that succeed"]].map(([quantity_, title], i) => {
    const lines = pictureLines(result, quantity_, range);
    const top = Math.max(...results.map((r) => topOf(pictureLines(r, quantity_, range), ...range)));
    if (single && lines.length > 0) lines[0].name = (i === 0 ? "attempts" : "successes") + (who[0].of || "");
    const chart = new TimeChart({ title, unit: "1/s", scale: "stretched", range,
      height: heightOnScreen, direct: i === 1 && differ ? words : new Map(),
      state: () => ({ lines, windows, top,
        limit: topOf(lines.filter((line) => line.name === "capacity")) }) });
    result.picture.push(chart);
    return chart.element;
  }));
}
