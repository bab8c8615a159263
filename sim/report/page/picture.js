// The first glance: the answer in one sentence, and under it attempts and successes per second
// around the disturbance, each line with its name.

/** The answer in one sentence, as the program has concluded it; what else is to say of it comes
 * under "Causes". */
function headline(result) {
  const { headline: own } = result.said || answerOf(result, result.v) || {};
  if (!own) return result.said ? null : sentence("info", "no results at this point");
  if (!own.fates) return sentence(own.severity, own.text, own.who);
  return sentence(own.severity, own.fates.map(({ who, text }, i) =>
    [i > 0 ? "; " : "", el("b", {}, who), `: ${text}`]));
}

/** What has been changed from where the experiment began, if a page that computes knows. */
const changeNote = ({ changed }) =>
  (changed ? el("p", { class: "note changed" }, changed) : null);

/** How high each of the two charts may be, so that both are on the first screen. */
function heightOnScreen(chart) {
  const hero = chart.element.closest(".picture");
  const above = hero ? hero.getBoundingClientRect().top + window.scrollY : 200;
  const rows = hero && getComputedStyle(hero).display === "grid" ? 1 : 2;
  return Math.max(150, Math.min(290, Math.floor((window.innerHeight - above - 39 * rows) / rows)));
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
  const shape = `picture${isGraph(result) ? " beside" : ""}`;
  return el("div", { class: shape }, panels(result, "glance").map((panel) => {
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
