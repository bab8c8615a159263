// Tables that sort by a click on a column's head.

/**
 * `columns`: [{title, unit, text: (row) => string, value: (row) => number or string, hint}].
 * Rows stay in their order until a head is clicked; values that do not exist come last.
 */
function sortable({ columns, rows, caption, onrow, chosen, className = "" }) {
  const body = el("tbody");
  let order = { column: -1, down: false };
  const write = () => {
    const sorted = rows.map((row, i) => [row, i]);
    if (order.column >= 0) {
      const value = columns[order.column].value || columns[order.column].text;
      sorted.sort(([a, i], [b, k]) => compare(value(a), value(b), order.down) || i - k);
    }
    body.replaceChildren(...sorted.map(([row]) => tableRow(row, columns, onrow, chosen)));
  };
  const heads = columns.map((column, i) => {
    const head = el("th", { scope: "col", title: column.hint, "aria-sort": "none",
      class: column.value ? "number" : null },
      el("button", { type: "button", onclick: () => {
        // Numbers begin with the largest, words with A.
        const first = Boolean(column.value);
        order = { column: i, down: order.column === i ? !order.down : first };
        heads.forEach((h, k) => h.setAttribute("aria-sort",
          k !== i ? "none" : order.down ? "descending" : "ascending"));
        write();
      } }, column.title, column.unit ? el("span", { class: "unit" }, ` ${column.unit}`) : null));
    return head;
  });
  write();
  return scrolling(className, caption || columns[0].title, el("table", {},
    caption ? el("caption", {}, caption) : null, el("thead", {}, el("tr", {}, heads)), body));
}

/** A table that may be wider than the page, and then says so. */
function scrolling(className, label, table) {
  const note = el("p", { class: "note" }, "Wider than the page: scroll the table sideways →");
  note.hidden = true;
  const area = el("div", { class: `scroll ${className}`, tabindex: 0, role: "region",
    "aria-label": `table: ${label}` }, table);
  scrolling.observer = scrolling.observer || new ResizeObserver((changes) => {
    for (const { target } of changes) {
      target.previousSibling.hidden = target.scrollWidth <= target.clientWidth + 1;
    }
  });
  scrolling.observer.observe(area);
  return el("div", {}, note, area);
}

function tableRow(row, columns, onrow, chosen) {
  const kind = ({ value, text }) => (value ? "number" : String(text(row)).length > 24 ? "words" : null);
  const cells = columns.map((column) => el("td", { class: kind(column) },
    column.node ? column.node(row) : column.text(row)));
  const attributes = { class: chosen && chosen(row) ? "chosen" : "" };
  if (onrow) {
    Object.assign(attributes, { class: `${attributes.class} pickable`, tabindex: 0,
      onclick: () => onrow(row),
      onkeydown: (event) => { if (event.key === "Enter") onrow(row); } });
  }
  return el("tr", attributes, cells);
}

function compare(a, b, down) {
  const missing = (x) => x === null || x === undefined || x === "" || Number.isNaN(x);
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  const order = typeof a === "number" && typeof b === "number" ? a - b
    : String(a).localeCompare(String(b), undefined, { numeric: true });
  return down ? -order : order;
}

/** The row [mean, low, high, replications] of a metric in a summary; null if there is none. */
function summaryOf(result, v, client, metric) {
  if (!result.summaryIndex) {
    result.summaryIndex = new Map();
    for (const [name, rows] of Object.entries(result.summary || {})) {
      for (const [variant, c, ...numbers] of rows) {
        result.summaryIndex.set(`${variant} ${c} ${name}`, numbers);
      }
    }
  }
  const c = result.clients.indexOf(client);
  return result.summaryIndex.get(`${v} ${c} ${metric}`) || null;
}

/** A number over its interval, in one cell. */
function intervalCell(row, unit, share) {
  if (!row || !exists(row[0])) return "–";
  const [text, range] = withRange(row, unit, share);
  return [text, range ? el("span", { class: "interval" }, range) : null];
}

/** A column of a metric; `find(row)` gives its [mean, low, high]. */
function metricColumn(result, name, find, title) {
  const metric = result.metrics[name] || { unit: "", label: name };
  return { title: title || metric.label, hint: metric.meaning,
    value: (row) => (find(row) ? find(row)[0] : null),
    // What is counted stands in the head.
    node: (row) => intervalCell(find(row), /^(s|1|1\/s)$/.test(metric.unit) ? metric.unit : "",
      metric.percentage) };
}

/** All metrics of all groups of one variant. */
function summaryTable(result, v) {
  const clients = result.clients.length === 2 ? [result.clients[0]] : result.clients;
  const rows = Object.keys(result.summary).filter((name) =>
    clients.some((client) => summaryOf(result, v, client, name)));
  const columns = [{ title: "metric", text: (name) => name,
    node: (name) => el("span", { title: result.metrics[name].meaning }, name) }];
  for (const client of clients) {
    columns.push({ title: client === "all" ? "all together" : client,
      value: (name) => (summaryOf(result, v, client, name) || [null])[0],
      node: (name) => intervalCell(summaryOf(result, v, client, name), result.metrics[name].unit,
        result.metrics[name].percentage) });
  }
  return sortable({ columns, rows, className: "tall" });
}

/** What the variants of a comparison differ in, as the head of the column with their names. */
const variedWords = (result) => (result.comparison.vary || []).map((text) => {
  const [path] = text.split("=");
  return (result.words || {})[path] || path.split(".").pop().replace(/_/g, " ");
}).join(", ") || "variant";

/** How each variant differs from the baseline. A single one has a column of its name. */
function comparisonTable(result) {
  const { rows, metrics, baseline } = result.comparison;
  const names = [...new Set(rows.map((row) => row.variant))];
  const info = (row) => metrics[row.metric] || { unit: row.unit, label: row.metric };
  const difference = (row) => {
    const share = info(row).percentage;
    const signed = (x) => (exists(x) ? `${x > 0 ? "+" : ""}` : "");
    if (share) return `${signed(row.difference)}${digits(100 * row.difference)} points`;
    if (exists(row.relative_difference) && row.relative_difference > 1) {
      return `${digits(1 + row.relative_difference)} times`;
    }
    if (exists(row.relative_difference)) {
      return `${signed(row.relative_difference)}${digits(100 * row.relative_difference)} %`;
    }
    return exists(row.difference) ? signed(row.difference) + quantity(row.difference, row.unit) : "–";
  };
  const columns = [
    ...(names.length > 1 ? [{ title: variedWords(result), text: (row) => row.variant }] : []),
    { title: "clients", text: (row) => row.client },
    { title: "metric", text: (row) => info(row).label },
    { title: baseline, value: (row) => row.baseline_mean,
      node: (row) => quantity(row.baseline_mean, row.unit, info(row).percentage) },
    { title: names.length > 1 ? "with that" : names[0] || "with that", value: (row) => row.mean,
      node: (row) => quantity(row.mean, row.unit, info(row).percentage) },
    { title: "difference", value: (row) => row.relative_difference ?? row.difference,
      node: difference },
    { title: "its 95 % interval", value: (row) => row.ci_low,
      node: (row) => {
        if (!exists(row.ci_low) || !exists(row.ci_high)) return "–";
        const [factor, unit] = info(row).percentage ? [100, "points"] : [1, row.unit];
        return rangeText(factor * row.ci_low, factor * row.ci_high, unit) ||
          quantity(factor * row.ci_low, unit);
      } },
    { title: "significant", text: (row) => (row.significant ? "yes" : "no") },
  ];
  return sortable({ columns, rows, className: "tall" });
}

function expectationTable(result, v) {
  const name = variantName(result, v);
  const rows = (result.expectations || []).filter((e) => e.variant === name);
  if (rows.length === 0) return null;
  return sortable({ rows, columns: [
    { title: "expectation", text: (row) => row.name },
    { title: "verdict", text: (row) => row.verdict,
      node: (row) => {
        const [mark, style] = { holds: ["✓", "good"], fails: ["✗", "bad"] }[row.verdict] ||
          ["?", ""];
        return el("span", { class: style }, `${mark} ${row.verdict}`);
      } },
    { title: "of", text: (row) => `${row.metric} of ${row.client}` },
    { title: "found", text: (row) => row.reason }] });
}

/** What faults and surges use of the error budgets; of a comparison with a row for each variant. */
function budgetTable(result, v) {
  const name = variantName(result, v);
  const rows = (result.slos || []).filter((row) => result.comparison || row.variant === name);
  if (rows.length === 0) return null;
  const columns = [{ title: "objective", text: (row) => row.slo },
    { title: "event", text: (row) => row.event },
    { title: "budget used", value: (row) => row.budget_used.mean,
      node: (row) => intervalCell([row.budget_used.mean, row.budget_used.ci_low,
        row.budget_used.ci_high], "1", true) },
    { title: "bad requests", value: (row) => row.bad, node: (row) => digits(row.bad, 4) },
    { title: "as an outage of", value: (row) => row.outage_s, node: (row) => seconds(row.outage_s) },
    { title: "clients hurt", value: (row) => row.users_hurt,
      node: (row) => (exists(row.users_hurt) ? digits(row.users_hurt, 4) : "–") },
    { title: "of a year's budget", value: (row) => row.year_budget_used,
      node: (row) => (exists(row.year_budget_used) ? percent(row.year_budget_used) : "–") }];
  if (result.comparison) columns.unshift({ title: "variant", text: (row) => row.variant });
  return sortable({ columns, rows });
}

const variantName = (result, v) =>
  (result.sweep ? result.sweep.names[v] : (result.variants[v] || {}).variant) || "base";
