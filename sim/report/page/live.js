// The page that computes: a scenario, what may be changed in it, and the engine that answers. While
// something is moved, one replication at a time is simulated, always of the newest values; then more
// and more of them, so that the intervals narrow. Every answer is that of `retrysim run`.

const STAGES = [1, 5, 20];        // replications, one stage after the other
const LONGEST_MS = 20000;         // that a stage may take
const MOST_EVENTS = 400e6;
const KNOBS_SHOWN = 10;

/** Keys that matter most, in their order: the end of the path, its words, how its slider runs. */
const MAIN_KEYS = [
  ["client.*.arrivals.total_rate", "load"], ["client.*.arrivals.rate", "load per client"],
  ["client.*.clients", "clients"], ["fault.*.duration", "fault lasts"],
  ["fault.*.capacity", "capacity left"], ["surge.*.duration", "surge lasts"],
  ["surge.*.factor", "surge, times the load"], ["client.*.retry.mode", "retry mode"],
  ["client.*.retry.max_attempts", "attempts at most"], ["client.*.attempt_timeout", "timeout"],
  ["client.*.retry.backoff.jitter", "jitter"], ["client.*.retry.quota.capacity", "retry quota"],
  ["service.*.queue.capacity", "queue bound"], ["service.*.servers", "servers"],
];

const isLike = (path, pattern) => {
  const parts = path.split("."), wanted = pattern.split(".");
  return parts.length === wanted.length &&
    wanted.every((word, i) => word === "*" || word === parts[i]);
};

/** The number of a value: seconds of a duration; NaN of a word. */
const numberOf = (key) => {
  const value = tomlValue(key.toml);
  return key.kind === "duration" ? durationOf(value) : typeof value === "number" ? value : NaN;
};

/** How far a slider goes: from `low` to `high` in equal steps or equal ratios. */
function travelOf(key, value) {
  const bounded = exists(key.min) && exists(key.max) && key.max <= 100;
  const whole = key.kind === "count";
  if (bounded && !whole) {
    return { at: (x) => key.min + (key.max - key.min) * Math.round(x * 50) / 50,
      from: (v) => (v - key.min) / (key.max - key.min) };
  }
  const start = value > 0 ? value : 10, least = Math.max(exists(key.min) ? key.min : 0, 0);
  if (whole && start <= 20) {
    const low = least, high = Math.max(10, 2 * start);
    return { at: (x) => low + Math.round(x * (high - low)), from: (v) => (v - low) / (high - low) };
  }
  const low = Math.max(start / 20, whole ? Math.max(1, least) : 0), high = start * 10;
  const round = (v) => (whole ? Math.round(v) : Number(v.toPrecision(3)));
  return { at: (x) => Math.max(least, round(low * (high / low) ** x)),
    from: (v) => Math.log(Math.max(v, low) / low) / Math.log(high / low) };
}

/** A number as --set takes it. */
const edited = (key, number) => (key.kind === "duration" ? `"${Number(number.toPrecision(6))}s"`
  : String(Number(number.toPrecision(12))));

const shown = (key, number) => (key.kind === "duration" ? seconds(number)
  : exists(key.max) && key.max === 1 ? percent(number) : digits(number, 4));

/** A row of the page that changes one key. `change` takes a TOML text. */
function knob(key, label, isEdited, change) {
  const name = el("span", { class: "key", title: `${key.path}: ${key.meaning || ""}` }, label);
  const row = (...parts) => el("label", { class: `knob${isEdited ? " edited" : ""}` }, name, parts);
  if (key.words || key.kind === "boolean") {
    const words = key.words || ["true", "false"], value = String(tomlValue(key.toml));
    const select = el("select", { "data-key": key.path,
      onchange: () => change(key.words ? `"${select.value}"` : select.value) },
    words.map((word) => el("option", { value: word, selected: word === value }, word)));
    return row(select);
  }
  const others = (key.others || []).filter((word) => word !== "sdk");
  const value = numberOf(key), travel = travelOf(key, value), output = el("output");
  const STEPS = 1000, beyond = others.length > 0 ? STEPS + 50 : STEPS;  // the word is at the end
  const say = (text) => { output.textContent = text; };
  const input = el("input", { type: "range", min: 0, max: beyond, "data-key": key.path,
    oninput: () => {
      const x = Number(input.value);
      if (x > STEPS) {
        say(others[0]);
        change(`"${others[0]}"`);
        return;
      }
      const number = travel.at(x / STEPS);
      say(shown(key, number));
      change(edited(key, number));
    } });
  input.value = Number.isNaN(value) ? beyond : Math.round(STEPS * travel.from(value));
  say(Number.isNaN(value) ? String(tomlValue(key.toml)) : shown(key, value));
  return row(input, output);
}

function startLive() {
  const place = document.getElementById("live");
  const shipped = JSON.parse(document.getElementById("scenarios").textContent);
  const isReport = results.length > 0;
  const state = { scenario: shipped[0], toml: shipped[0].toml, edits: new Map(), change: 0 };
  const first = { engine: null }, more = { engine: null };  // the quick and the patient worker

  // What stands on the page.
  const line = el("p", { class: "state", role: "status" }, "The engine starts.");
  const say = (text, bad = false) => {
    line.textContent = text;
    line.classList.toggle("bad", bad);
  };
  const choice = el("select", { "aria-label": "scenario", onchange: () => choose(choice.selectedIndex) },
    shipped.map((one) => el("option", {}, one.name)));
  const knobs = el("div", { class: "knobs" });
  const mistakes = el("div", { class: "mistakes" });
  const text = el("textarea", { spellcheck: "false", "aria-label": "scenario as TOML",
    oninput: () => {
      state.toml = text.value;
      state.edits.clear();
      describe();
    } });
  const command = el("pre", {});
  const link = el("input", { type: "text", readonly: true, hidden: true, "aria-label": "link" });
  place.append(el("div", { class: "choice" }, choice,
    el("button", { type: "button", onclick: () => choose(choice.selectedIndex) }, "reset"),
    el("button", { type: "button", onclick: share }, "link to this"), link),
  knobs, line, mistakes,
  el("details", {}, el("summary", {}, "the scenario as text"), text),
  el("details", {}, el("summary", {}, "the same on the command line"), command));

  const request = (ask, edits) => ({ ask, toml: state.toml, files: state.scenario.files,
    max_events: MOST_EVENTS, edits });
  const ownEdits = () => [...state.edits].map(([path, value]) => `${path}=${value}`);

  function choose(number, run = true) {
    take(shipped[number], shipped[number].toml, []);
    describe(run);
  }

  function take(scenario, toml, edits) {
    state.scenario = scenario;
    state.toml = text.value = toml;
    state.edits = new Map(edits);
    choice.selectedIndex = shipped.indexOf(scenario);
    link.hidden = true;
  }

  /** The address of the page as it is now, to be copied. */
  async function share() {
    const own = state.toml !== state.scenario.toml;
    const fragment = await linkOf({ name: state.scenario.name, toml: own ? state.toml : undefined,
      edits: [...state.edits] });
    history.replaceState(null, "", fragment);
    link.value = location.href;
    link.hidden = false;
    link.select();
  }

  /** What the address of the page asks for. */
  async function open() {
    const asked = await stateOf(location.hash);
    const scenario = asked && shipped.find((one) => one.name === asked.name);
    if (!asked || (!scenario && asked.toml === undefined)) {
      choose(0, !isReport);  // a report has its answer already
      return;
    }
    take(scenario || shipped[0], asked.toml === undefined ? scenario.toml : asked.toml, asked.edits);
    describe();
  }

  /** The keys of the scenario as it is now; then its first picture. */
  async function describe(run = true) {
    first.engine.stop();
    more.engine.stop();
    ++state.change;
    const { answer, isNewest } = await ask(first, request("describe", ownEdits()), "Reading it takes");
    if (!isNewest) {
      next();
    } else if (answer !== null && answer.keys) {
      showKnobs(answer.keys);
      if (run) changed();
      else say("Move something, and the engine answers.");
    } else if (answer !== null) {
      refuse(answer);
    }
  }

  function showKnobs(keys) {
    const rows = [];
    for (const [pattern, words] of MAIN_KEYS) {
      const alike = keys.filter((key) => isLike(key.path, pattern) && !key.path.includes(".calls."));
      for (const key of alike) {
        const parts = key.path.split(".");
        const label = alike.length > 1 ? `${words} (${parts[1]})` : words;
        rows.push(knob(key, label, state.edits.has(key.path), (value) => {
          state.edits.set(key.path, value);
          changed();
        }));
      }
    }
    const rest = rows.splice(KNOBS_SHOWN);
    knobs.replaceChildren(...rows);
    if (rest.length > 0) {
      knobs.append(el("details", {}, el("summary", {}, `${rest.length} more`), rest));
    }
  }

  function refuse(answer) {
    document.getElementById("page").classList.add("stale");
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
    more.engine.stop();
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
    if (late && isNewest) {
      say(`${what} more than ${LONGEST_MS / 1000} s here and was stopped. Try less load or a ` +
        "shorter duration, or run it on the command line.", true);
    }
    return { answer, isNewest, ms: performance.now() - started };
  }

  async function stage(worker, replications) {
    const question = request("run", [...ownEdits(), `replications=${replications}`]);
    const what = replications === 1 ? "One replication takes" : `To run ${replications} replications takes`;
    return { replications, ...await ask(worker, question, what) };
  }

  async function simulate() {
    const done = await stage(first, STAGES[0]);
    if (done.answer !== null) show(done);
    if (!done.isNewest) next();
    else if (done.answer !== null && done.answer.result) sharpen(1);
  }

  async function sharpen(number) {
    if (number >= STAGES.length) return;
    const done = await stage(more, STAGES[number]);
    if (done.answer === null || !done.isNewest) return;
    if (!done.answer.result) {
      say(`${line.textContent} No more replications: ${done.answer.failure}`);
      return;
    }
    show(done);
    sharpen(number + 1);
  }

  function show({ answer, replications, ms }) {
    if (!answer.result) {
      refuse(answer);
      return;
    }
    mistakes.replaceChildren();
    const page = document.getElementById("page");
    page.classList.remove("stale");
    renderPage([{ ...answer.result, series: answer.series }]);
    say(`${plural(replications, "replication")} in ${digits(ms / 1000, 2)} s, ${
      digits(answer.events, 3)} events, fingerprint ${answer.fingerprint}.`);
    const file = state.toml === state.scenario.toml ? state.scenario.path
      : "scenario.toml";
    command.textContent = ["retrysim run", file, ...ownEdits().map((edit) => `--set '${edit}'`),
      `--replications ${replications} --fingerprint`].join(" ");
    page.dataset.replications = replications;
    page.dataset.fingerprint = answer.fingerprint;
    page.dataset.shown = Number(page.dataset.shown || 0) + 1;
  }

  embeddedEngine().then((module) => {
    first.engine = new EngineWorker(module);
    more.engine = new EngineWorker(module);
    window.addEventListener("hashchange", open);
    open();
  }).catch((error) => say(`The engine could not be started: ${error}`, true));
}
