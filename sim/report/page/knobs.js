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

/** A number as --set takes it. */
const edited = (key, number) => (isDuration(key) ? `"${Number(number.toPrecision(6))}s"`
  : String(Number(number.toPrecision(12))));

const shown = (key, number) => (isDuration(key) ? seconds(number)
  : mostOf(key) === 1 && key.kind === "number" ? percent(number) : digits(number, 4));

/** Words beside the numbers that a key may have. */
const otherWords = (key) => (key.others || []).filter((word) => word !== "sdk");

/**
 * A row. `base` is the key's value in the scenario itself. `change` takes a TOML text, and whether
 * other keys may have other values then. `offer` takes a function from a TOML text to the promise of
 * why the scenario cannot have it, or null, and the row keeps to that.
 */
class Knob {
  constructor(key, label, base, change) {
    Object.assign(this, { key, base, change });
    const name = el("span", { class: "key", title: `${key.path}: ${key.meaning || ""}` }, label);
    this.row = el("label", { class: `knob${base === key.toml ? "" : " edited"}` }, name, this.parts());
    this.row.knob = this;
  }

  static of(key, label, base, change) {
    const isWord = Number.isNaN(numberOf(key)) && !otherWords(key).includes(tomlValue(key.toml));
    const Kind = wordsOf(key) ? WordKnob : isWord ? TextKnob : SliderKnob;
    return new Kind(key, label, base, change);
  }
}

class WordKnob extends Knob {
  parts() {
    this.now = String(tomlValue(this.key.toml));
    this.options = wordsOf(this.key).map((word) => el("option", { value: word, "data-words": word,
      selected: word === this.now, disabled: word !== this.now }, word));
    const select = el("select", { "data-key": this.key.path,
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
    const field = el("input", { type: "text", "data-key": this.key.path, value: this.key.toml,
      onchange: () => this.change(field.value, true) });
    return [field];
  }

  offer() {}
}

class SliderKnob extends Knob {
  static STEPS = 1000;
  static WORD = 50;  // steps beyond the numbers, where a word is

  parts() {
    const { key, base } = this, value = numberOf(key), [word = null] = otherWords(key);
    this.travel = travelOf(key, numberOf(key, base));
    this.last = SliderKnob.STEPS;  // place of a number
    this.word = word;
    // Where the slider stands for what the scenario itself has, it is that to the last digit.
    this.home = this.placeOf(numberOf(key, base));
    this.output = el("output");
    this.input = el("input", { type: "range", min: 0, max: this.last + (word ? SliderKnob.WORD : 0),
      "data-key": key.path, oninput: () => this.moved(Number(this.input.value)) });
    this.input.value = Number.isNaN(value) ? this.last + SliderKnob.WORD : this.placeOf(value);
    this.output.textContent = Number.isNaN(value) ? String(tomlValue(key.toml)) : shown(key, value);
    return [this.input, this.output];
  }

  placeOf(number) { return Math.round(SliderKnob.STEPS * this.travel.from(number)); }
  numberAt(x) {
    return x === this.home ? this.base : edited(this.key, this.travel.at(x / SliderKnob.STEPS));
  }
  tomlAt(x) { return x > this.last ? `"${this.word}"` : this.numberAt(x); }

  moved(x) {
    this.output.textContent = x > this.last ? this.word
      : shown(this.key, numberOf(this.key, this.numberAt(x)));
    this.change(this.tomlAt(x));
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
