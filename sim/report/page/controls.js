// What can be moved on a page that computes: a row for each key that matters, any other key that is
// looked for, and what the scenario is compared with. The engine is asked about all that is offered.

const KNOBS_SHOWN = window.matchMedia("(max-width: 760px)").matches ? 3 : 14;

class Controls {
  /**
   * `changed(anew)` is called when something has been moved, with whether other keys may have other
   * values then. `refusals(lists, isOver)` promises for each list of edits why the scenario cannot
   * be edited so, or null. `place` says by data-offers whether all that is shown is known.
   */
  constructor(scenario, place, { changed, refusals }) {
    Object.assign(this, { scenario, place, changed, refusals, offers: null });
    this.knobs = el("div", { class: "knobs" });
    this.finder = el("input", { type: "search", list: "keys", placeholder: "find any key",
      "aria-label": "find any key", onchange: () => this.find(this.finder.value) });
    this.names = el("datalist", { id: "keys" });
    this.versus = el("select", { "aria-label": "compare with", onchange: () => {
      scenario.other = this.versus.value ? JSON.parse(this.versus.value) : null;
      changed(false);
    } });
    this.others = el("div", { class: "choice" }, this.finder, this.names, this.versus);
  }

  find(path) {
    if (!this.scenario.keys.some((key) => key.path === path)) return;
    this.scenario.extra.add(path);
    this.finder.value = "";
    this.show();
  }

  // The rows.

  show() {
    const { scenario } = this, opened = new Set([...this.knobs.querySelectorAll("details[open]")]
      .map((one) => one.dataset.of));
    const fold = (of, title, rows) => (rows.length === 0 ? null
      : el("details", { "data-of": of, open: opened.has(of),
        ontoggle: ({ target }) => { if (target.open) this.offerRows(target); } },
      el("summary", {}, title), rows));
    const rows = [], each = new Map();  // by the name of a group or service, where many differ
    for (const { key, base, label, of, words } of scenario.mainKeys()) {
      scenario.extra.delete(key.path);
      if (of && !each.has(of)) each.set(of, []);
      (of ? each.get(of) : rows).push(this.row(key, base, of ? words : label));
    }
    const extra = scenario.keys.filter((key) => scenario.extra.has(key.path))
      .map((key) => this.row(key, scenario.baseOf(key), key.path));
    const rest = rows.splice(KNOBS_SHOWN);
    const folds = [fold("more", `${rest.length} more`, rest), fold("each", `each of ${each.size}`,
      [...each].map(([name, own]) => fold(`each ${name}`, name, own)))];
    this.knobs.replaceChildren(...rows, ...extra, ...folds.filter(Boolean));
    this.names.replaceChildren(...scenario.keys.map((key) =>
      el("option", { value: key.path }, key.meaning)));
    this.showOthers();
  }

  row(key, base, label) {
    return Knob.of(key, label, base, {
      change: (value, anew = false) => {
        this.scenario.edit(key, value, base);
        this.changed(anew);
      },
      refusal: this.refusalOf(key.path, async (edits) =>
        (await this.refusals([edits], () => false))[0]),
    }).row;
  }

  // What there is to compare with: another word for a key, or a value before it was moved.

  showOthers() {
    const { scenario, versus } = this, options = this.choices();
    const isChosen = ({ other }) => JSON.stringify(other) === JSON.stringify(scenario.other);
    if (scenario.other && !options.some(isChosen)) {
      options.push({ other: scenario.other, words: scenario.other.join(": ") });
    }
    // What has been refused or not stays so until it is known anew.
    const before = new Map([...versus.options].map((one) => [one.value, one.hidden]));
    versus.replaceChildren(el("option", { value: "" }, "compare with …"), ...options.map((one) => {
      const value = JSON.stringify(one.other), selected = isChosen(one);
      const hidden = !selected && (before.get(value) ?? true);
      return Object.assign(el("option", { value, selected, hidden, disabled: hidden }, one.words),
        { other: one.other });
    }));
    this.offer();
  }

  choices() {
    return this.scenario.mainKeys().flatMap(({ key, base, label }) => {
      const now = this.scenario.valueOf(key), words = wordsOf(key);
      const choices = words ? words.map((word) => [wordToml(key, word), word])
        : [[base, `${tomlValue(base)}, as it was`]];
      return choices.filter(([toml]) => toml !== now).map(([toml, word]) =>
        ({ other: [key.path, toml], words: `${label}: ${word}` }));
    });
  }

  // What the engine says of all this.

  endOffers() {
    if (this.offers) this.offers.isOver = true;
    this.offers = null;
    delete this.place.dataset.offers;
  }

  /** Asks about all that the page offers now. What is refused cannot be compared with. */
  offer() {
    this.endOffers();
    const offers = new Offers((lists) => this.refusals(lists, () => offers.isOver),
      () => { this.place.dataset.offers = "known"; });
    this.offers = offers;
    for (const option of this.versus.options) {
      if (!option.other || option.selected) continue;
      offers.refusal([editText(option.other)]).then((reason) => {
        option.disabled = option.hidden = reason !== null;
      });
    }
    this.offerRows(this.knobs);
  }

  /** Promises why a key cannot have a value; `ask` does so of a list of edits. What is moved is
   * moved in both variants of a comparison. */
  refusalOf(path, ask) {
    return async (toml) => {
      const { other } = this.scenario, edit = editText([path, toml]), reason = await ask([edit]);
      return reason !== null || !other || other[0] === path ? reason : ask([edit, editText(other)]);
    };
  }

  /** The same of the rows in an element, but for those that are folded. */
  offerRows(parent) {
    const { offers } = this;
    if (!offers) return;
    delete this.place.dataset.offers;
    const isShown = (row) => !row.parentElement.closest("details:not([open])");
    for (const row of [...parent.querySelectorAll(".knob")].filter(isShown)) {
      row.knob.offer(this.refusalOf(row.knob.key.path, (edits) => offers.refusal(edits)));
    }
    offers.end();
  }
}
