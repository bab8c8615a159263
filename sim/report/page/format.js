// Elements, numbers with units, colours.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; texts are texts, never markup. */
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Offers a file to be kept. */
function save(name, blob) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// LOOKS is scripts/plotting/looks.json. Each ground has its own colours.
const [BLUE, RED, GREEN, PURPLE, ORANGE, SKY, GREY] = ["blue", "red", "green", "purple", "orange", "sky",
  "grey"].map((name) => `var(--${name})`);

const exists = (x) => x !== null && x !== undefined && Number.isFinite(x);

/** Significant digits, thousands apart, never an exponent: 0.000025, 32,400, 2.5 billion. */
function digits(x, significant = 3) {
  if (!exists(x)) return "–";
  const size = Math.abs(x);
  if (size < 1e-12) return "0";
  if (size >= 1e12) return `${digits(x / 1e12, significant)} trillion`;
  if (size >= 1e9) return `${digits(x / 1e9, significant)} billion`;
  const decimals = Math.max(0, significant - 1 - Math.floor(Math.log10(size)));
  const [whole, fraction] = x.toFixed(Math.min(decimals, size < 1e-4 ? 14 : 8)).split(".");
  const grouped = whole.length > 4 + (x < 0) ? whole.replace(/\B(?=(\d{3})+$)/g, ",") : whole;
  const rest = fraction ? fraction.replace(/0+$/, "") : "";
  return rest ? `${grouped}.${rest}` : grouped;
}

function seconds(x, significant = 3) {
  if (!exists(x)) return "–";
  const size = Math.abs(x), text = (value) => digits(value, significant);
  if (size === 0) return "0 s";
  if (size < 0.9995e-3) return `${text(x * 1e6)} µs`;
  if (size < 0.9995) return `${text(x * 1e3)} ms`;
  if (size >= 7200) return `${text(x / 3600)} h`;
  return `${text(x)} s`;
}

function percent(x, significant = 3) {
  if (!exists(x)) return "–";
  // What is not all is not shown as all.
  if (x < 1 && x > 0.9995) return `${(Math.floor(x * 1e5) / 1e3).toFixed(3)} %`;
  return `${digits(100 * x, significant)} %`;
}

/** A number with its unit, as people say it. */
function quantity(x, unit, share = false, significant = 3) {
  if (!exists(x)) return "–";
  if (share) return percent(x, significant);
  if (unit === "s") return seconds(x, significant);
  if (unit === "1/s") return `${digits(x, significant)} /s`;
  if (unit === "1" || !unit) return digits(x, significant);
  return `${digits(x, significant)} ${unit}`;
}

/** A number and its interval as texts; the number has as many digits as the ends of the interval,
 * so that it lies between them as they are written, too. */
function withRange([mean, low, high], unit, share) {
  const significant = exists(low) && exists(high) && digitsOfRange(low, high, unit, share);
  return significant ? [quantity(mean, unit, share, significant), rangeText(low, high, unit, share)]
    : [quantity(mean, unit, share), ""];
}

function withInterval(row, unit, share) {
  const [text, range] = withRange(row, unit, share);
  return range ? `${text} (${range})` : text;
}

/** Three, or more where three would make both ends the same; nothing where five do. */
const digitsOfRange = (low, high, unit, share) => [3, 4, 5].find((significant) =>
  quantity(low, unit, share, significant) !== quantity(high, unit, share, significant));

/** "91.8 to 96 %": the unit once, except where the two ends have different ones. */
function rangeText(low, high, unit, share) {
  const significant = digitsOfRange(low, high, unit, share);
  if (!significant) return "";
  const [a, b] = [low, high].map((x) => quantity(x, unit, share, significant));
  const [unitOfA, unitOfB] = [a, b].map((text) => text.split(" ").slice(1).join(" "));
  return low === 0 || unitOfA === unitOfB ? `${a.split(" ")[0]} to ${b}` : `${a} to ${b}`;
}

const plural = (n, one, many = `${one}s`) => `${digits(n, 6)} ${n === 1 ? one : many}`;

/** What a key is called, as the program says. */
const keyWords = (result, path) => (result.words || {})[path] || path;

/** "fault.*.duration" in two lines would be "duration" of "fault.*". */
const lastKey = (path) => path.split(".").slice(-2).join(".");

/** The value of a TOML text, as far as the page needs it. */
function tomlValue(text) {
  if (typeof text !== "string") return text;
  const quoted = /^"(.*)"$/s.exec(text.trim());
  if (quoted) return quoted[1].replace(/\\(["\\])/g, "$1");
  const number = Number(text.replace(/_/g, ""));
  return text.trim() !== "" && Number.isFinite(number) ? number : text;
}

const UNITS = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400 };

/** Seconds of "1.5min", "2 s" or of a number; NaN for anything else. */
function durationOf(value) {
  if (typeof value === "number") return value;
  const parts = /^([0-9.eE+-]+) ?(ns|us|ms|s|min|h|d)$/.exec(String(value));
  return parts ? Number(parts[1]) * UNITS[parts[2]] : NaN;
}
