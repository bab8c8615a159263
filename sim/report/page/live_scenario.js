// The scenario of a page that computes: its text, what has been changed in it, its keys, and what
// the engine is asked about it.

const MOST_EVENTS = 400e6;
const MOST_ALIKE = 4;  // sliders of one kind that stand side by side

/** Keys that matter most, in their order. Those of faults and surges count only where they are set. */
const MAIN_KEYS = ["fault.*.duration", "client.*.surge.*.duration", "client.*.arrivals.total_rate",
  "client.*.arrivals.rate", "client.*.retry.mode", "client.*.retry.sdk",
  "client.*.retry.max_attempts", "client.*.attempt_timeout", "client.*.retry.backoff.jitter",
  "client.*.retry.quota.capacity", "service.*.queue.capacity", "service.*.servers",
  "fault.*.capacity", "fault.*.speed", "client.*.surge.*.factor", "client.*.count",
  "service.*.queue.discipline"];
const IN_EVENTS = /^fault\.|\.surge\./;

// --- Keys ----------------------------------------------------------------------------------------

const isLike = (path, pattern) => {
  const parts = path.split("."), wanted = pattern.split(".");
  return parts.length === wanted.length &&
    wanted.every((word, i) => word === "*" || word === parts[i]);
};

/** Whether values are durations, or distributions that are given by one. */
const isDuration = (key) => key.kind === "duration" ||
  (key.kind === "distribution" && Number.isFinite(durationOf(tomlValue(key.toml))));

/** The number of a value: seconds of a duration; NaN of a word. */
function numberOf(key, toml = key.toml) {
  const value = tomlValue(toml);
  return isDuration(key) ? durationOf(value) : typeof value === "number" ? value : NaN;
}

const isSame = (key, one, other) => one === other || numberOf(key, one) === numberOf(key, other);

/** The words that a key may have; null of numbers and free texts. */
function wordsOf(key) {
  if (key.kind === "boolean") return ["true", "false"];
  if (!key.words || key.words.length === 0) return null;
  const own = String(tomlValue(key.toml));
  return key.words.includes(own) ? key.words : [own, ...key.words];
}
const wordToml = (key, word) => (key.kind === "boolean" ? word : `"${word}"`);

/** An edit as --set takes it. */
const editText = ([path, value]) => `${path}=${value}`;

// --- The scenario --------------------------------------------------------------------------------

class LiveScenario {
  constructor(shipped) {
    // By their paths, `base` has the values of keys in the text itself.
    Object.assign(this, { version: 0, keys: [], base: new Map() });
    this.take(shipped);
  }

  /** What is asked before is not what the page is about any more. */
  touch() { return ++this.version; }

  /** Another scenario, as it is shipped or with a text of its own. */
  take(shipped, toml = shipped.toml) {
    Object.assign(this, { shipped, toml });
    this.change([], null);
  }

  /** Other edits, [path, TOML text] each. `other` is the value that another variant has. */
  change(edits, other) {
    this.edits = new Map(edits);
    this.other = other;
    this.extra = new Set(this.edits.keys());  // keys that are shown besides those that matter most
  }

  /** Another text, without edits. */
  write(toml) {
    this.toml = toml;
    this.edits.clear();
    this.other = null;
  }

  get isOwn() { return this.toml !== this.shipped.toml; }

  /** One key has been moved. The newest edit comes last. */
  edit(key, value, base) {
    this.edits.delete(key.path);
    if (this.edits.size === 0 && isSame(key, value, base)) {  // nothing is changed any more
      for (const one of this.keys) if (isLike(one.path, key.path)) one.toml = base;
    } else this.edits.set(key.path, value);
  }

  /** What the engine has said of the keys; of those that have been moved meanwhile the newest value. */
  describe(keys, base) {
    this.keys = keys.map((key) => ({ ...key, toml: this.edits.get(key.path) ?? key.toml }));
    this.base = new Map(base.map((key) => [key.path, key.toml]));
    this.described = this.toml;
  }

  /** What has been changed from the scenario itself, in words: "Changed: length of the fault: 45 s →
   * 60 s." Null while the keys are not known. */
  changes() {
    if (this.described !== this.toml) return null;
    const [compared = null, other] = this.other || [];
    const changed = [...this.edits].filter(([path]) => path !== compared)
      .map(([path, toml]) => this.changeOf(path, toml, "→")).filter(Boolean);
    return [changed.length > 0 && `Changed: ${changed.join("; ")}.`,
      compared && `Compared: ${this.changeOf(compared, other, "against")}.`].filter(Boolean).join(" ");
  }

  changeOf(path, toml, between) {
    const main = this.mainKeys().find(({ key }) => key.path === path), key = this.keyOf(path);
    if (!key) return `${inShort(path)}: ${inShort(toml)}`;
    const from = between === "against" ? this.valueOf(key) : main ? main.base : this.baseOf(key);
    if (isSame(key, from, toml)) return null;
    const [old, now] = [from, toml].map((value) => inShort(valueText(key, value)));
    return `${main ? main.label : path}: ${old} ${between} ${now}`;
  }

  baseOf(key) { return this.base.get(key.path) ?? key.toml; }

  /** The value of a key as it is now. */
  valueOf(key) { return this.edits.get(key.path) ?? key.toml; }

  /** The key that a path stands for, which may be that of several of one value. */
  keyOf(path) {
    const main = this.mainKeys().find(({ key }) => key.path === path);
    return main ? main.key : this.keys.find((key) => key.path === path);
  }

  /** The keys that matter most, with their words; those of one value are one key. */
  mainKeys() { return MAIN_KEYS.flatMap((pattern) => this.keysLike(pattern)); }

  keysLike(pattern) {
    const alike = this.keys.filter((key) => isLike(key.path, pattern) &&
      (key.kind !== "text" || wordsOf(key)) &&
      !(IN_EVENTS.test(pattern) && key.origin === "default"));
    const words = alike.length > 0 ? alike[0].words_of_key : "";
    const namesOf = (keys) => new Set(keys.map((key) => key.path.split(".")[1])).size;
    const bearers = namesOf(this.keys.filter((key) => key.path.startsWith(pattern.split("*")[0])));
    if (alike.length > 1 && namesOf(alike) === bearers &&
        alike.every((key) => key.toml === alike[0].toml)) {
      return [{ key: { ...alike[0], path: pattern }, base: this.baseOf(alike[0]),
        label: `${words} (all)` }];
    }
    return alike.map((key) => {
      const [, name] = key.path.split("."), of = alike.length > MOST_ALIKE ? name : null;
      return { key, base: this.baseOf(key), of, words,
        label: words + (alike.length > 1 ? ` (${name})` : "") };
    });
  }

  /** Why there can be no comparison with the value that is wanted; null if there can. */
  faultOfOther() {
    if (!this.other) return null;
    const [path, other] = this.other, key = this.keyOf(path);
    const now = this.edits.get(path) ?? (key && key.toml);
    if (now !== undefined && now !== other) return null;
    return `${inShort(path)} ${now === undefined ? "has no single value here"
      : `is ${inShort(other)} already`}`;
  }

  // What the engine is asked.

  request(ask, edits, more = {}) {
    return { ask, toml: this.toml, files: this.shipped.files, changes: this.shipped.changes,
      max_events: MOST_EVENTS, edits, ...more };
  }

  /** All edits, as --set takes them. */
  allEdits() { return [...this.edits].map(editText); }

  /** Those that all variants have. */
  ownEdits() {
    return [...this.edits].filter(([path]) => !this.other || path !== this.other[0]).map(editText);
  }

  /** The two values of a comparison as --vary takes them, or none. */
  vary() {
    if (!this.other) return [];
    const [path, other] = this.other;
    return [`${path}=${this.edits.get(path) ?? this.keyOf(path).toml},${other}`];
  }
}
