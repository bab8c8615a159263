// The page that computes: a scenario, what may be changed in it, and the engine that answers. While
// something is moved, one replication at a time is simulated, always of the newest values; then more
// and more of them, so that the intervals narrow. Every answer is that of `retrysim run`.

const STAGES = [1, 5, 20];        // replications, one stage after the other
const LONGEST_MS = 20000;         // that a stage may take
const MOST_EVENTS = 400e6;
const KNOBS_SHOWN = window.matchMedia("(max-width: 760px)").matches ? 3 : 14;

const MOST_ALIKE = 4;  // sliders of one kind that stand side by side

/** Keys that matter most, in their order. Those of faults and surges count only where they are set. */
const MAIN_KEYS = ["fault.*.duration", "client.*.surge.*.duration", "client.*.arrivals.total_rate",
  "client.*.arrivals.rate", "client.*.retry.mode", "client.*.retry.sdk",
  "client.*.retry.max_attempts", "client.*.attempt_timeout", "client.*.retry.backoff.jitter",
  "client.*.retry.quota.capacity", "service.*.queue.capacity", "service.*.servers",
  "fault.*.capacity", "fault.*.speed", "client.*.surge.*.factor", "client.*.count",
  "service.*.queue.discipline"];
const IN_EVENTS = /^fault\.|\.surge\./;
const SHARES = /^fault\.[^.]+\.(capacity|speed)$/;  // seldom above 1

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

/** The words that a key may have; null of numbers and free texts. */
function wordsOf(key) {
  if (key.kind === "boolean") return ["true", "false"];
  if (!key.words || key.words.length === 0) return null;
  const own = String(tomlValue(key.toml));
  return key.words.includes(own) ? key.words : [own, ...key.words];
}
const wordToml = (key, word) => (key.kind === "boolean" ? word : `"${word}"`);

/**
 * A row of the page that changes one key. `base` is its value in the scenario itself. `change` takes
 * a TOML text, and whether other keys may have other values then. The row has `offer`, which takes a
 * function from a TOML text to the promise of why the scenario cannot have it, or null, and keeps to
 * that.
 */
function knob(key, label, base, change) {
  const name = el("span", { class: "key", title: `${key.path}: ${key.meaning || ""}` }, label);
  const row = (offer, ...parts) => Object.assign(el("label",
    { class: `knob${base === key.toml ? "" : " edited"}` }, name, parts), { offer });
  const words = wordsOf(key), value = numberOf(key);
  if (words) {
    const now = String(tomlValue(key.toml));
    const options = words.map((word) => el("option", { value: word, "data-words": word,
      selected: word === now, disabled: word !== now }, word));
    const select = el("select", { "data-key": key.path,
      onchange: () => change(wordToml(key, select.value), true) }, options);
    return row((refusal) => options.forEach((option) => option.value !== now &&
      offerOption(option, refusal(wordToml(key, option.value)))), select);
  }
  const others = (key.others || []).filter((word) => word !== "sdk");
  if (Number.isNaN(value) && !others.includes(tomlValue(key.toml))) {
    const field = el("input", { type: "text", "data-key": key.path, value: key.toml,
      onchange: () => change(field.value, true) });
    return row(() => {}, field);
  }
  const travel = travelOf(key, numberOf(key, base)), output = el("output");
  // The word is at the end, beyond the numbers.
  const STEPS = 1000, WORD = 50, word = others.length > 0 ? `"${others[0]}"` : null;
  const say = (text) => { output.textContent = text; };
  let last = STEPS;  // place of a number
  // Where the slider stands for what the scenario itself has, it is that to the last digit.
  const home = Math.round(STEPS * travel.from(numberOf(key, base)));
  const numberAt = (x) => (x === home ? base : edited(key, travel.at(x / STEPS)));
  const tomlAt = (x) => (x > last ? word : numberAt(x));
  const input = el("input", { type: "range", min: 0, max: last + (word ? WORD : 0),
    "data-key": key.path, oninput: () => {
      const x = Number(input.value);
      say(x > last ? others[0] : shown(key, numberOf(key, numberAt(x))));
      change(tomlAt(x));
    } });
  input.value = Number.isNaN(value) ? last + WORD : Math.round(STEPS * travel.from(value));
  say(Number.isNaN(value) ? String(tomlValue(key.toml)) : shown(key, value));
  const offer = async (refusal) => {
    const now = Number(input.value), isWord = now > last;
    const refused = word && !isWord ? await refusal(word) : null, hasWord = word && refused === null;
    const reach = await reachOf((x) => refusal(numberAt(x)), isWord ? null : now, STEPS);
    input.disabled = !reach;
    if (!reach) return;
    last = reach.high;
    input.min = reach.low;
    input.max = last + (hasWord ? WORD : 0);
    if (isWord) input.value = input.max;
    // What the ends stand for.
    Object.assign(input.dataset, { from: tomlAt(reach.low), to: tomlAt(Number(input.max)) });
    const reasons = [reach.reason && `not further: ${reach.reason}`,
      refused && `not ${others[0]}: ${refused}`].filter(Boolean);
    input.title = reasons.join("; ");
  };
  return row(offer, input, output);
}

function startLive() {
  const starting = pageEngine();  // beside all else
  const place = document.getElementById("live"), page = document.getElementById("page");
  const shipped = JSON.parse(document.getElementById("scenarios").textContent);
  const isReport = results.length > 0;
  // `other` is the value that another variant has: [path, TOML text].
  const state = { scenario: shipped[0], toml: shipped[0].toml, edits: new Map(), other: null,
    keys: [], base: new Map(), extra: new Set(), change: 0, reading: null, offers: null };
  // The quick and the patient worker, and the one that is asked about what is offered.
  const first = { engine: null }, more = { engine: null }, third = { engine: null };

  // What stands on the page.
  const line = el("p", { class: "state", role: "status" }, "The engine starts.");
  const say = (text, bad = false) => {
    line.textContent = text;
    line.classList.toggle("bad", bad);
  };
  const notice = el("div", { class: "notice", role: "alert", hidden: true });
  /** Sentences about the address of the page; none takes them away. */
  const tell = (sentences) => {
    notice.replaceChildren(...sentences.map((one) => el("p", {}, one)));
    notice.hidden = sentences.length === 0;
  };
  const choice = el("select", { "aria-label": "scenario", onchange: () => choose(choice.selectedIndex) },
    shipped.map((one) => el("option", {}, one.name)));
  const knobs = el("div", { class: "knobs" });
  const finder = el("input", { type: "search", list: "keys", placeholder: "find any key",
    "aria-label": "find any key", onchange: () => {
      if (!state.keys.some((key) => key.path === finder.value)) return;
      state.extra.add(finder.value);
      finder.value = "";
      showKnobs();
    } });
  const names = el("datalist", { id: "keys" });
  const versus = el("select", { "aria-label": "compare with", onchange: () => {
    state.other = versus.value ? JSON.parse(versus.value) : null;
    changed();
  } });
  const mistakes = el("div", { class: "mistakes" });
  const text = el("textarea", { spellcheck: "false", "aria-label": "scenario as TOML",
    oninput: () => {
      state.toml = text.value;
      state.edits.clear();
      state.other = null;
      describe();
    } });
  const command = el("pre", {}), files = el("div", { class: "files" });
  const link = el("input", { type: "text", readonly: true, hidden: true, "aria-label": "link" });
  const button = (words, onclick) => el("button", { type: "button", onclick }, words);
  place.append(notice, el("div", { class: "choice" }, choice,
    button("reset", () => choose(choice.selectedIndex)), button("link to this", share), link),
  knobs, el("div", { class: "choice" }, finder, names, versus), line, mistakes,
  el("details", {}, el("summary", {}, "the scenario as text"), text),
  el("details", {}, el("summary", {}, "the same on the command line, and as files"), command,
    el("p", { class: "note" }, "It has the same events, one by one, and figures that agree to nine ",
      "digits or more."),
    button("scenario.toml", () => save("scenario.toml", new Blob([results[0].toml]))),
    button("copy the command", () => {
      getSelection().selectAllChildren(command);
      document.execCommand("copy");
    }),
    button("results as CSV", listFiles), files));

  const own = () => [...state.edits].filter(([path]) => !state.other || path !== state.other[0])
    .map(([path, value]) => `${path}=${value}`);
  /** The key that a path stands for, which may be that of several of one value. */
  const keyOf = (path) => (mainKeys().find(({ key }) => key.path === path) ||
    { key: state.keys.find((key) => key.path === path) }).key;
  const vary = () => (state.other || []).slice(1).map((other) => {
    const [path] = state.other;
    return `${path}=${state.edits.get(path) ?? keyOf(path).toml},${other}`;
  });
  const edits = () => [...state.edits].map(([path, value]) => `${path}=${value}`);
  const request = (ask, edits_, more_ = {}) => ({ ask, toml: state.toml, files: state.scenario.files,
    changes: state.scenario.changes, max_events: MOST_EVENTS, edits: edits_, ...more_ });

  function choose(number, run = true) {
    tell([]);
    take(shipped[number], shipped[number].toml, [], null);
    describe(run);
  }

  function take(scenario, toml, edits, other) {
    state.scenario = scenario;
    state.toml = text.value = toml;
    state.edits = new Map(edits);
    state.other = other;
    state.extra = new Set(state.edits.keys());
    choice.selectedIndex = shipped.indexOf(scenario);
    link.hidden = true;
  }

  /** The address of the page as it is now, to be copied. */
  async function share() {
    const isOwn = state.toml !== state.scenario.toml;
    history.replaceState(null, "", await linkOf({ name: state.scenario.name,
      toml: isOwn ? state.toml : undefined, edits: [...state.edits], other: state.other || undefined }));
    link.value = location.href;
    link.hidden = false;
    link.select();
  }

  /** What the address of the page asks for, as far as it can be used; a notice says what cannot. */
  async function open() {
    const change = ++state.change, wanted = location.hash;
    const byName = shipped.find((one) => `#${one.name}` === wanted);
    const found = byName ? { state: { name: byName.name, edits: [], other: null }, problems: [] }
      : await stateOf(wanted);
    if (change !== state.change) return;  // something else has been asked for meanwhile
    const asked = found && found.state, problems = found ? found.problems : [];
    const scenario = asked && shipped.find((one) => one.name === asked.name);
    if (!found && wanted.length > 1 && !document.getElementById(wanted.slice(1))) {
      problems.push(`This page has no scenario “${inShort(wanted.slice(1))}”.`);
    }
    if (!asked || (!scenario && asked.toml === undefined)) {
      if (asked) {
        problems.push(`The link names the scenario “${inShort(asked.name)}”, which this page does not ` +
          "have. Nothing of the link was used.");
      }
      choose(0, !isReport);  // a report has its answer already
      tell(problems);
      return;
    }
    if (!scenario && asked.name !== null) {
      problems.push(`This page has no scenario “${inShort(asked.name)}”, but the link has its text.`);
    }
    take(scenario || shipped[0], asked.toml === undefined ? scenario.toml : asked.toml, [], null);
    const used = await usable(asked, problems);
    if (change !== state.change) return;
    state.edits = new Map(used.edits);
    state.extra = new Set(state.edits.keys());
    state.other = used.other;
    tell(problems);
    describe();
  }

  /** The changes of a link that the scenario can have; adds to `problems` what it cannot. */
  async function usable({ edits: wanted, other }, problems) {
    const MOST_TRIED = 50;  // one by one
    const text = ([path, value]) => `${path}=${value}`;
    const refusal = async (list) => {
      first.engine.stop();
      const question = request("offers", [], { offers: [list.map(text)] });
      const { answer } = await ask(first, question, "Reading the link takes");
      return answer && answer.refusals ? answer.refusals[0]
        : (answer && answer.failure) || "it takes too long";
    };
    const nothing = { edits: [], other: null };
    if (wanted.length === 0 && !other) return nothing;
    let kept = wanted;
    const reason = await refusal(wanted);
    // The page shows the mistakes of a text that cannot be read even without changes.
    if (reason !== null && await refusal([]) !== null) return nothing;
    if (reason !== null && wanted.length > MOST_TRIED) {
      problems.push(`The ${wanted.length} changes of the link do not fit the scenario: ${inShort(reason)}`);
      kept = [];
    } else if (reason !== null) {
      kept = [];
      for (const edit of wanted) {
        const why = await refusal([...kept, edit]);
        if (why === null) kept.push(edit);
        else problems.push(`A change of the link was left out: ${inShort(text(edit))} (${why}).`);
      }
    }
    if (!other) return { edits: kept, other: null };
    const why = await refusal([...kept, other]);
    if (why !== null) {
      problems.push(`The comparison of the link was left out: ${inShort(text(other))} (${why}).`);
    }
    return { edits: kept, other: why === null ? other : null };
  }

  /** The scenario as it is now: its keys, and beside them its first picture, which does not wait for
   * them unless it is a comparison, which needs their values. */
  function describe(run = true) {
    first.engine.stop();
    more.engine.stop();
    ++state.change;
    endOffers();
    const isAtOnce = run && !state.other, reading = read(isAtOnce ? more : first);
    state.reading = reading;
    if (isAtOnce) simulate();
    reading.then(({ now, base }) => {
      if (reading !== state.reading) return;
      state.reading = null;
      if (now === null) return;
      if (!now.keys) {
        refuse(now);
        return;
      }
      // Something may have been moved meanwhile.
      state.keys = now.keys.map((key) => ({ ...key, toml: state.edits.get(key.path) ?? key.toml }));
      state.base = new Map((base && base.keys || now.keys).map((key) => [key.path, key.toml]));
      checkOther();
      showKnobs();
      if (run && !isAtOnce) changed();
      else if (!run) say("Move something, and the engine answers.");
    });
  }

  /** What a worker says of the keys: as they are now, and without the edits. */
  async function read(worker) {
    const described = async (edits) => (await ask(worker, request("describe", edits), "Reading it takes"))
      .answer;
    const now = await described(edits());
    return { now, base: now && now.keys && state.edits.size > 0 ? await described([]) : now };
  }

  /** The keys of the scenario that matter most, with their words; those of one value are one key. */
  function mainKeys() {
    return MAIN_KEYS.flatMap((pattern) => {
      const alike = state.keys.filter((key) => isLike(key.path, pattern) &&
        (key.kind !== "text" || wordsOf(key)) &&
        !(IN_EVENTS.test(pattern) && key.origin === "default"));
      const base = (key) => state.base.get(key.path) ?? key.toml;
      const words = alike.length > 0 ? alike[0].words_of_key : "";
      const namesOf = (keys) => new Set(keys.map((key) => key.path.split(".")[1])).size;
      const bearers = namesOf(state.keys.filter((key) => key.path.startsWith(pattern.split("*")[0])));
      if (alike.length > 1 && namesOf(alike) === bearers &&
          alike.every((key) => key.toml === alike[0].toml)) {
        return [{ key: { ...alike[0], path: pattern }, base: base(alike[0]), label: `${words} (all)` }];
      }
      return alike.map((key) => {
        const [, name] = key.path.split("."), of = alike.length > MOST_ALIKE ? name : null;
        return { key, base: base(key), of, words, label: words + (alike.length > 1 ? ` (${name})` : "") };
      });
    });
  }

  /** A comparison that a link asks for needs one value to compare with another one. */
  function checkOther() {
    if (!state.other) return;
    const [path, other] = state.other, key = keyOf(path);
    const now = state.edits.get(path) ?? (key && key.toml);
    if (now !== undefined && now !== other) return;
    state.other = null;
    tell([`The comparison was left out: ${inShort(path)} ${now === undefined
      ? "has no single value here" : `is ${inShort(other)} already`}.`]);
  }

  function showKnobs() {
    const row = (key, base, label) => knob(key, label, base, (value, anew) => {
      state.edits.delete(key.path);  // the newest edit comes last
      if (state.edits.size === 0 && isSame(key, value, base)) {  // nothing is changed any more
        for (const one of state.keys) if (isLike(one.path, key.path)) one.toml = base;
      } else state.edits.set(key.path, value);
      if (anew) describe();
      else changed();
    });
    const opened = new Set([...knobs.querySelectorAll("details[open]")].map((one) => one.dataset.of));
    const fold = (of, title, rows) => (rows.length === 0 ? null
      : el("details", { "data-of": of, open: opened.has(of),
        ontoggle: ({ target }) => { if (target.open) offerRows(target); } },
      el("summary", {}, title), rows));
    const rows = [], each = new Map();  // by the name of a group or service, where many differ
    for (const { key, base, label, of, words } of mainKeys()) {
      state.extra.delete(key.path);
      if (of && !each.has(of)) each.set(of, []);
      (of ? each.get(of) : rows).push(row(key, base, of ? words : label));
    }
    const extra = state.keys.filter((key) => state.extra.has(key.path));
    const rest = rows.splice(KNOBS_SHOWN);
    knobs.replaceChildren(...rows, ...extra.map((key) =>
      row(key, state.base.get(key.path) ?? key.toml, key.path)));
    const folds = [fold("more", `${rest.length} more`, rest), fold("each", `each of ${each.size}`,
      [...each].map(([name, own_]) => fold(`each ${name}`, name, own_)))];
    knobs.append(...folds.filter(Boolean));
    names.replaceChildren(...state.keys.map((key) => el("option", { value: key.path }, key.meaning)));
    showOthers();
  }

  /** What the scenario can be compared with: another word for a key, or a value before it was moved. */
  function showOthers() {
    const options = mainKeys().flatMap(({ key, base, label }) => {
      const now = state.edits.get(key.path) ?? key.toml, words = wordsOf(key);
      const choices = words ? words.map((word) => [wordToml(key, word), word])
        : [[base, `${tomlValue(base)}, as it was`]];
      return choices.filter(([toml]) => toml !== now).map(([toml, word]) =>
        ({ other: [key.path, toml], words: `${label}: ${word}` }));
    });
    const isChosen = ({ other }) => JSON.stringify(other) === JSON.stringify(state.other);
    if (state.other && !options.some(isChosen)) {
      options.push({ other: state.other, words: state.other.join(": ") });
    }
    // What has been refused or not stays so until it is known anew.
    const before = new Map([...versus.options].map((one) => [one.value, one.hidden]));
    versus.replaceChildren(el("option", { value: "" }, "compare with …"), ...options.map((one) => {
      const value = JSON.stringify(one.other), selected = isChosen(one);
      const hidden = !selected && (before.get(value) ?? true);
      return Object.assign(el("option", { value, selected, hidden, disabled: hidden }, one.words),
        { other: one.other });
    }));
    offer();
  }

  function endOffers() {
    if (state.offers) state.offers.isOver = true;
    state.offers = null;
    delete place.dataset.offers;
  }

  /** The refusals of a worker of its own, one question after the other, and only the newest. */
  function refusals(offers, lists) {
    const unknown = lists.map(() => null), pause = new Promise((then) => { setTimeout(then, 50); });
    third.asking = Promise.all([third.asking, pause]).then(async () => {
      if (offers.isOver) return unknown;
      third.engine = third.engine || new EngineWorker(first.engine.module);
      const timer = setTimeout(() => third.engine.stop(), LONGEST_MS);
      const answer = await third.engine.ask(request("offers", edits(), { offers: lists }));
      clearTimeout(timer);
      return answer && answer.refusals ? answer.refusals : unknown;
    });
    return third.asking;
  }

  /** Asks the engine about all that the page offers now. What it refuses cannot be compared with. */
  function offer() {
    endOffers();
    const offers = new Offers((lists) => refusals(offers, lists),
      () => { place.dataset.offers = "known"; });
    state.offers = offers;
    for (const option of versus.options) {
      if (!option.other || option.selected) continue;
      offers.refusal([option.other.join("=")]).then((reason) => {
        option.disabled = option.hidden = reason !== null;
      });
    }
    offerRows(knobs);
  }

  /** The same of the rows in an element, but for those that are folded. */
  function offerRows(parent) {
    const { offers, other } = state, second = other && other.join("=");
    if (!offers) return;
    delete place.dataset.offers;
    // What is moved is moved in both variants of a comparison.
    const refusal = (path) => async (toml) => {
      const edit = `${path}=${toml}`, reason = await offers.refusal([edit]);
      return reason !== null || !other || other[0] === path ? reason
        : offers.refusal([edit, second]);
    };
    const isShown = (row) => !row.parentElement.closest("details:not([open])");
    for (const row of [...parent.querySelectorAll(".knob")].filter(isShown)) {
      row.offer(refusal(row.querySelector("[data-key]").dataset.key));
    }
    offers.end();
  }

  function refuse(answer) {
    page.classList.add("stale");
    const errors = answer.errors || [];
    say(answer.failure || `${plural(errors.length, "mistake")} in the scenario`, true);
    mistakes.replaceChildren(...errors.map((error) => el("button", { type: "button",
      onclick: () => goTo(error) },
    `${error.file === "scenario" ? `line ${error.line}, column ${error.column}` : error.file}: ${
      error.message}${error.source_line && error.caret > 0
      ? `\n${error.source_line}\n${" ".repeat(error.caret - 1)}^` : ""}`)));
  }

  /** Puts the cursor where a mistake is. */
  function goTo({ file, line: row, column }) {
    if (file !== "scenario" || row < 1) return;
    text.closest("details").open = true;
    const lines = text.value.split("\n");
    const start = lines.slice(0, row - 1).reduce((sum, one) => sum + one.length + 1, 0);
    text.focus();
    text.setSelectionRange(start + Math.max(0, column - 1), start + (lines[row - 1] || "").length);
  }

  /** Something has been moved: what runs for older values is of no interest any more. */
  function changed() {
    ++state.change;
    if (!state.reading) more.engine.stop();
    files.replaceChildren();
    checkOther();
    showOthers();
    next();
  }

  /** The newest values are next, as soon as nothing else is asked. */
  const next = () => { if (!first.engine.isBusy) simulate(); };

  /** The answer of a worker, or null if it was stopped, as it is if it takes too long. */
  async function ask(worker, question, what) {
    const change = state.change, started = performance.now();
    let late = false;
    const timer = setTimeout(() => { late = true; worker.engine.stop(); }, LONGEST_MS);
    const answer = await worker.engine.ask(question);
    clearTimeout(timer);
    const isNewest = change === state.change;
    if (late && isNewest && worker === first) {
      say(`${what} more than ${LONGEST_MS / 1000} s here and was stopped. Try less load or a ` +
        "shorter duration, or run it on the command line.", true);
    }
    return { answer, isNewest, late, ms: performance.now() - started };
  }

  async function stage(worker, replications) {
    const question = request(state.other ? "compare" : "run",
      [...own(), `replications=${replications}`], { vary: vary() });
    const what = replications === 1 ? "One replication takes" : `To run ${replications} replications takes`;
    return { replications, vary: vary(), own: own(), ...await ask(worker, question, what) };
  }

  // A comparison needs two replications for an interval.
  async function simulate() {
    const done = await stage(first, state.other ? 2 : STAGES[0]);
    if (done.answer !== null) show(done);
    if (!done.isNewest) {
      next();
      return;
    }
    if (done.answer === null || !done.answer.result) return;
    const change = state.change;
    await Promise.all([state.reading, painted()]);
    if (change !== state.change) return;
    more.engine.prepare();
    sharpen(1);
  }

  /** What comes next must not keep the picture waiting. */
  const painted = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });

  async function sharpen(number) {
    if (number >= STAGES.length) return;
    const done = await stage(more, STAGES[number]);
    if (!done.isNewest) return;
    if (done.answer === null || !done.answer.result) {
      say(`${line.textContent} No more: ${done.answer === null
        ? `${STAGES[number]} take more than ${LONGEST_MS / 1000} s here.` : done.answer.failure}`);
      return;
    }
    show(done);
    sharpen(number + 1);
  }

  function show({ answer, replications, ms, vary: varied, own: edits }) {
    if (!answer.result) {
      refuse(answer);
      return;
    }
    mistakes.replaceChildren();
    page.classList.remove("stale");
    const quoted = (option) => (edit) => `${option} '${edit.replace(/'/g, "'\\''")}'`;
    command.textContent = [varied.length > 0 ? "retrysim compare" : "retrysim run",
      state.toml === state.scenario.toml ? state.scenario.path : "scenario.toml",
      ...varied.map(quoted("--vary")), ...edits.map(quoted("--set")),
      `--replications ${replications}`, ...(varied.length > 0 ? [] : ["--fingerprint"])].join(" ");
    // The head of a comparison's scenario says how it was asked for.
    const head = varied.length > 0 ? `# Variant of a comparison\n#   ${command.textContent}\n\n` : "";
    renderPage([{ ...answer.result, toml: head + answer.result.toml, series: answer.series }]);
    document.title = `${answer.result.title} - retrysim`;
    say(`${plural(replications, "replication")}${varied.length > 0 ? " of each" : ""} in ${
      digits(ms / 1000, 2)} s, ${digits(answer.events, 3)} events${
      varied.length > 0 ? "" : `, fingerprint ${answer.fingerprint}`}.`);
    page.dataset.replications = replications;
    page.dataset.fingerprint = answer.fingerprint;
    page.dataset.shown = Number(page.dataset.shown || 0) + 1;
  }

  /** The files that `run` would write, each to be saved. */
  async function listFiles() {
    files.textContent = "They are computed.";
    const replications = Number(page.dataset.replications || 1);
    const { answer, isNewest } = await ask(more, request("files", [...own(),
      `replications=${replications}`]), "To compute them takes");
    if (!isNewest || answer === null) return;
    files.replaceChildren(...(answer.files ? Object.entries(answer.files).map(([name, content]) =>
      button(name, () => save(name, new Blob([content])))) : [String(answer.failure)]));
  }

  starting.then(({ module, worker }) => {
    first.engine = new EngineWorker(module, worker);
    more.engine = new EngineWorker(module);
    // Whatever an address says, the page opens.
    const opened = () => open().catch((error) => {
      choose(0, !isReport);
      tell([`The address of the page could not be used: ${error}`]);
    });
    window.addEventListener("hashchange", opened);
    return opened();
  }).catch((error) => say(`The engine could not be started: ${error}`, true));
}
