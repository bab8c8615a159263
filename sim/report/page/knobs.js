// Rows that change one key each: a choice of words, a text, or a slider.

const SHARES = /^fault\.[^.]+\.(capacity|speed)$/;  // seldom above 1

const mostOf = (key) => (SHARES.test(key.path) ? 1 : key.max);

/** How far a slider goes from the value that the scenario has, in equal steps or equal ratios. */
function travelOf(key, value) {
  const most = mostOf(key), whole = key.kind === "count";
  const least = Math.max(exists(key.min) ? key.min : 0, 0);
  if (!whole && exists(most) && most <= 100) {
    return { at: (x) => least + (most - least) * Math.round(x * 50) / 50,
      from: (v) => (v - least) / (most - least) };
  }
  const start = value > 0 ? value : 10;
  if (whole && start <= 20) {
    const high = Math.max(10, 2 * start);
    return { at: (x) => least + Math.round(x * (high - least)),
      from: (v) => (v - least) / (high - least) };
  }
  const low = Math.max(start / 20, whole ? Math.max(1, least) : 0), high = start * 10;
  const round = (v) => (whole ? Math.round(v) : Number(v.toPrecision(3)));
  return { at: (x) => Math.max(least, round(low * (high / low) ** x)),
    from: (v) => Math.log(Math.max(v, low) / low) / Math.log(high / low) };
}

const isPercentage = (key) => mostOf(key) === 1 && key.kind === "number";

/** A number as --set takes it, with so many digits. */
const edited = (key, number, significant = isDuration(key) ? 6 : 12) => {
  const rounded = Number(number.toPrecision(significant));
  return isDuration(key) ? `"${rounded}s"` : String(rounded);
};

/** With more digits than a slider's own values have, for those that are typed. */
const shown = (key, number) => (isDuration(key) ? seconds(number, 9)
  : isPercentage(key) ? percent(number, 9) : number >= 1e9 ? String(number) : digits(number, 9));

/** A value of a key as people write it. */
function valueText(key, toml) {
  const number = numberOf(key, toml);
  return Number.isNaN(number) ? String(tomlValue(toml)) : shown(key, number);
}

/**
 * The value that someone has typed for a key: {toml}, or {fault} if it cannot be one. Numbers
 * without a unit have that of the text that stood there before, `old`. Commas are for thousands only.
 */
function valueTyped(key, text, old, base) {
  const word = otherWords(key).find((one) => one === text.toLowerCase());
  if (word) return { toml: `"${word}"` };
  const found = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?) ?([a-zµ%]*)$/i
    .exec(text.replace(/[\u202f\u00a0_]/g, "").replace(/^([-+]?[1-9]\d{0,2})((?:,\d{3})+)(?!\d)/,
      (_, first, rest) => first + rest.replace(/,/g, "")));
  const what = isDuration(key) ? "duration" : key.kind === "count" ? "whole number"
    : isPercentage(key) ? "percentage" : "number";
  const none = { fault: `“${text}” is no ${what}` };
  if (!found) return none;
  const unitOf = (whole) => (/ (\S+)$/.exec(whole) || [])[1];
  const unit = (found[2] || unitOf(old) || (isDuration(key) ? "s" : "")).replace("µs", "us");
  const factor = isDuration(key) ? UNITS[unit] : isPercentage(key) ? { "%": 0.01, "": 1 }[unit]
    : { "": 1 }[unit];
  const number = Number(found[1]) * factor;
  if (!Number.isFinite(number) || (key.kind === "count" && !Number.isInteger(number))) return none;
  if (exists(key.min) && number < key.min) return { fault: `at least ${shown(key, key.min)}` };
  if (exists(key.max) && number > key.max) return { fault: `at most ${shown(key, key.max)}` };
  if (number < 0) return { fault: `at least ${shown(key, 0)}` };
  const toml = edited(key, number, 12);
  return { toml: isSame(key, toml, base) ? base : toml };
}

/** Words beside the numbers that a key may have. */
const otherWords = (key) => (key.others || []).filter((word) => word !== "sdk");

/**
 * A row. `base` is the key's value in the scenario itself. `change` takes a TOML text, and whether
 * other keys may have other values then; `refusal` promises why the scenario cannot have one, or
 * null. `offer` takes a function that does the same for all that the row offers, and the row keeps
 * to that.
 */
class Knob {
  constructor(key, label, base, { change, refusal }) {
    Object.assign(this, { key, label, base, change, refusal, id: `knob-${++Knob.count}` });
    const name = el("label", { class: "key", for: this.id, title: `${key.path}: ${key.meaning || ""}` },
      label);
    this.row = el("div", { class: `knob${base === key.toml ? "" : " edited"}` }, name, this.parts());
    this.row.knob = this;
  }

  static of(key, label, base, takers) {
    const isWord = Number.isNaN(numberOf(key)) && !otherWords(key).includes(tomlValue(key.toml));
    const Kind = wordsOf(key) ? WordKnob : isWord ? TextKnob : SliderKnob;
    return new Kind(key, label, base, takers);
  }
}
Knob.count = 0;

class WordKnob extends Knob {
  parts() {
    this.now = String(tomlValue(this.key.toml));
    this.options = wordsOf(this.key).map((word) => el("option", { value: word, "data-words": word,
      selected: word === this.now, disabled: word !== this.now }, word));
    const select = el("select", { id: this.id, "data-key": this.key.path,
      onchange: () => this.change(wordToml(this.key, select.value), true) }, this.options);
    return [select];
  }

  offer(refusal) {
    for (const option of this.options) {
      if (option.value !== this.now) offerOption(option, refusal(wordToml(this.key, option.value)));
    }
  }
}

class TextKnob extends Knob {
  parts() {
    const field = el("input", { type: "text", id: this.id, "data-key": this.key.path, value: this.key.toml,
      onchange: () => this.change(field.value, true) });
    return [field];
  }

  offer() {}
}

/** A slider, and a field beside it for exact values. */
class SliderKnob extends Knob {
  static STEPS = 1000;
  static WORD = 50;  // steps beyond the numbers, where a word is

  parts() {
    const { key, base } = this, [word = null] = otherWords(key);
    this.travel = travelOf(key, numberOf(key, base));
    this.last = SliderKnob.STEPS;  // place of a number
    this.word = word;
    // Where the slider stands for what the scenario itself has, it is that to the last digit.
    this.home = this.placeOf(numberOf(key, base));
    this.input = el("input", { type: "range", id: this.id, min: 0,
      max: this.last + (word ? SliderKnob.WORD : 0), "data-key": key.path,
      oninput: () => this.moved(Number(this.input.value)) });
    this.field = el("input", { type: "text", class: "exact", "data-exact": key.path,
      "aria-label": `${this.label}, exact value`, autocomplete: "off", spellcheck: "false",
      onchange: () => this.typed(), onkeydown: (event) => this.pressed(event) });
    this.said = el("span", { class: "refused", id: `${this.id}-refused`, role: "alert", hidden: true });
    this.show(key.toml);
    return [this.input, this.field, this.said];
  }

  placeOf(number) { return Math.round(SliderKnob.STEPS * this.travel.from(number)); }
  numberAt(x) {
    return x === this.home ? this.base : edited(this.key, this.travel.at(x / SliderKnob.STEPS));
  }
  tomlAt(x) { return x > this.last ? `"${this.word}"` : this.numberAt(x); }
  textOf(toml) { return valueText(this.key, toml); }

  /** Slider and field stand for a value. One beyond the slider's end leaves it there. */
  show(toml) {
    const number = numberOf(this.key, toml);
    this.input.value = Number.isNaN(number) ? this.last + SliderKnob.WORD
      : Math.min(this.last, this.placeOf(number));
    this.write(toml);
  }

  write(toml) {
    this.toml = toml;
    this.field.value = this.textOf(toml);
    this.input.setAttribute("aria-valuetext", this.field.value);
    this.refuse(null);
  }

  moved(x) {
    this.write(this.tomlAt(x));
    this.change(this.toml);
  }

  /** The arrow keys move the slider by a step; Escape takes back what was typed. */
  pressed(event) {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (step && !this.input.disabled) {
      this.input.value = Number(this.input.value) + step;
      this.moved(Number(this.input.value));
    } else if (event.key === "Escape") this.write(this.toml);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Takes what was typed if the scenario can have it; otherwise says why not, and what it can. */
  async typed() {
    const text = this.field.value.trim();
    const { toml, fault } = valueTyped(this.key, text, this.textOf(this.toml), this.base);
    const asked = this.asked = {};  // a later one counts more
    const reason = fault || await this.refusal(toml);
    if (asked !== this.asked || !this.row.isConnected) return;
    if (reason !== null) {
      this.refuse(`${reason.slice(0, 200)} – the slider goes from ${this.textOf(this.tomlAt(
        Number(this.input.min)))} to ${this.textOf(this.tomlAt(this.last))}`);
      return;
    }
    this.show(toml);
    this.change(toml);
  }

  /** Says why the field's text is not the value; null: it is. */
  refuse(reason) {
    if (reason === null) this.asked = null;
    this.said.hidden = reason === null;
    this.said.textContent = reason || "";
    if (reason === null) {
      this.field.removeAttribute("aria-invalid");
      this.field.removeAttribute("aria-describedby");
    } else {
      this.field.setAttribute("aria-invalid", "true");
      this.field.setAttribute("aria-describedby", this.said.id);
    }
  }

  async offer(refusal) {
    const { input, word } = this, now = Number(input.value), isWord = now > this.last;
    const refused = word && !isWord ? await refusal(`"${word}"`) : null;
    const reach = await reachOf((x) => refusal(this.numberAt(x)), isWord ? null : now, SliderKnob.STEPS);
    input.disabled = !reach;
    if (!reach) return;
    this.last = reach.high;
    input.min = reach.low;
    input.max = this.last + (word && refused === null ? SliderKnob.WORD : 0);
    if (isWord) input.value = input.max;
    // What the ends stand for.
    Object.assign(input.dataset, { from: this.tomlAt(reach.low), to: this.tomlAt(Number(input.max)) });
    input.title = [reach.reason && `not further: ${reach.reason}`,
      refused && `not ${word}: ${refused}`].filter(Boolean).join("; ");
  }
}
