// The page that computes: a scenario, what may be changed in it, and the engine that answers. While
// something is moved, one replication at a time is simulated, always of the newest values; then more
// and more of them, so that the intervals narrow. Every answer is that of `retrysim run`.

const STAGES = [1, 5, 20];        // replications, one stage after the other
const LONGEST_MS = 20000;         // that a stage may take

const pageButton = (words, onclick) => el("button", { type: "button", onclick }, words);

/** What the page is doing, and above all else what it could not do. */
class Messages {
  constructor() {
    this.line = el("p", { class: "state", role: "status" }, "The engine starts.");
    this.notice = el("div", { class: "notice", role: "alert", hidden: true });
  }

  say(text, bad = false) {
    this.line.textContent = text;
    this.line.classList.toggle("bad", bad);
  }

  /** Adds to what is said. */
  add(text) { this.say(`${this.line.textContent} ${text}`); }

  /** Sentences about the address of the page; none takes them away. */
  tell(sentences) {
    this.notice.replaceChildren(...sentences.map((one) => el("p", {}, one)));
    this.notice.hidden = sentences.length === 0;
  }
}

/** The scenario as text, and the mistakes in it. */
class ScenarioText {
  constructor(onwritten) {
    this.area = el("textarea", { spellcheck: "false", "aria-label": "scenario as TOML",
      oninput: () => onwritten(this.area.value) });
    this.mistakes = el("div", { class: "mistakes" });
    this.fold = el("details", {}, el("summary", {}, "the scenario as text"), this.area);
  }

  show(toml) { this.area.value = toml; }

  mark(errors) {
    this.mistakes.replaceChildren(...errors.map((error) => el("button", { type: "button",
      onclick: () => this.goTo(error) },
    `${error.file === "scenario" ? `line ${error.line}, column ${error.column}` : error.file}: ${
      error.message}${error.source_line && error.caret > 0
      ? `\n${error.source_line}\n${" ".repeat(error.caret - 1)}^` : ""}`)));
  }

  /** Puts the cursor where a mistake is. */
  goTo({ file, line, column }) {
    if (file !== "scenario" || line < 1) return;
    this.fold.open = true;
    const lines = this.area.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(start + Math.max(0, column - 1),
      start + (lines[line - 1] || "").length);
  }
}

/** The workers of the page: a quick one, a patient one, and one that is asked about what is offered. */
class Engines {
  /** `late(what)` is called if the quick one takes too long for the newest question. */
  constructor(scenario, { module, worker }, late) {
    Object.assign(this, { scenario, module, late, adviser: null, advice: null });
    this.quick = new EngineWorker(module, worker);
    this.patient = new EngineWorker(module);
  }

  /** The answer of a worker, or null if it was stopped, as it is if it takes too long. */
  async ask(worker, question, what) {
    const { version } = this.scenario, started = performance.now();
    let isLate = false;
    const timer = setTimeout(() => { isLate = true; worker.stop(); }, LONGEST_MS);
    const answer = await worker.ask(question);
    clearTimeout(timer);
    const isNewest = version === this.scenario.version;
    if (isLate && isNewest && worker === this.quick) this.late(what);
    return { answer, isNewest, ms: performance.now() - started };
  }

  /** Why the scenario cannot have these edits as it is; null if it can. */
  async refusal(edits) {
    this.quick.stop();
    const question = this.scenario.request("offers", [], { offers: [edits.map(editText)] });
    const { answer } = await this.ask(this.quick, question, "Reading the link takes");
    return answer && answer.refusals ? answer.refusals[0]
      : (answer && answer.failure) || "it takes too long";
  }

  /** The same of lists of edits, as texts, beside those that it has: one question after the other,
   * and only what is not over. */
  refusals(lists, isOver) {
    const unknown = lists.map(() => null), pause = new Promise((then) => { setTimeout(then, 50); });
    this.advice = Promise.all([this.advice, pause]).then(async () => {
      if (isOver()) return unknown;
      this.adviser = this.adviser || new EngineWorker(this.module);
      const timer = setTimeout(() => this.adviser.stop(), LONGEST_MS);
      const answer = await this.adviser.ask(
        this.scenario.request("offers", this.scenario.allEdits(), { offers: lists }));
      clearTimeout(timer);
      return answer && answer.refusals ? answer.refusals : unknown;
    });
    return this.advice;
  }

  /** What a worker says of the keys: as they are now, and without the edits. */
  async keys(worker) {
    const described = async (edits) => (await this.ask(worker,
      this.scenario.request("describe", edits), "Reading it takes")).answer;
    const now = await described(this.scenario.allEdits());
    return { now, base: now && now.keys && this.scenario.edits.size > 0 ? await described([]) : now };
  }

  /** A result of so many replications, with what was asked for. */
  async result(worker, replications) {
    const { scenario } = this, vary = scenario.vary(), edits = scenario.ownEdits();
    const question = scenario.request(scenario.other ? "compare" : "run",
      [...edits, `replications=${replications}`], { vary });
    const what = replications === 1 ? "One replication takes" : `To run ${replications} replications takes`;
    return { replications, vary, edits, ...await this.ask(worker, question, what) };
  }
}

/** Answers to what the page shows: a quick one, and then more and more precise ones. */
class Answers {
  /**
   * `show` takes a result and is called for each, `stopped` where there are no more, with the reason.
   * `ready` promises that all else is known that does not wait for the more precise ones.
   */
  constructor(engines, { show, stopped, ready }) {
    Object.assign(this, { engines, scenario: engines.scenario, show, stopped, ready });
  }

  /** The newest values are next, as soon as nothing else is asked. */
  next() { if (!this.engines.quick.isBusy) this.simulate(); }

  // A comparison needs two replications for an interval.
  async simulate() {
    const { engines, scenario } = this;
    const done = await engines.result(engines.quick, scenario.other ? 2 : STAGES[0]);
    if (done.answer !== null) this.show(done);
    if (!done.isNewest) {
      this.next();
      return;
    }
    if (done.answer === null || !done.answer.result) return;
    const { version } = scenario;
    await Promise.all([this.ready(), Answers.painted()]);
    if (version !== scenario.version) return;
    engines.patient.prepare();
    this.sharpen(1);
  }

  /** What comes next must not keep the picture waiting. */
  static painted() {
    return new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });
  }

  async sharpen(number) {
    if (number >= STAGES.length) return;
    const done = await this.engines.result(this.engines.patient, STAGES[number]);
    if (!done.isNewest) return;
    if (done.answer === null || !done.answer.result) {
      this.stopped(done.answer === null
        ? `${STAGES[number]} take more than ${LONGEST_MS / 1000} s here.` : done.answer.failure);
      return;
    }
    this.show(done);
    this.sharpen(number + 1);
  }
}

/** The same on the command line, and as files. */
class CommandLine {
  /** `listed` promises the answer with the files; null if it comes too late. */
  constructor(scenario, listed) {
    this.scenario = scenario;
    this.command = el("pre", {});
    this.files = el("div", { class: "files" });
    this.events = el("p", { class: "note events" });
    this.fold = el("details", {},
      el("summary", {}, "the same on the command line, and as files"), this.command, this.events,
      pageButton("scenario.toml", () => save("scenario.toml", new Blob([results[0].toml]))),
      pageButton("copy the command", () => {
        getSelection().selectAllChildren(this.command);
        document.execCommand("copy");
      }),
      pageButton("results as CSV", () => this.list(listed)), this.files);
  }

  get text() { return this.command.textContent; }

  show({ vary, edits, replications, answer }) {
    this.events.textContent = "It has the same events, one by one, and figures that agree to nine " +
      `digits or more: ${digits(answer.events, 12)} events${
        vary.length > 0 ? "" : `, fingerprint ${answer.fingerprint}`}.`;
    const quoted = (option) => (edit) => `${option} '${edit.replace(/'/g, "'\\''")}'`;
    this.command.textContent = [vary.length > 0 ? "retrysim compare" : "retrysim run",
      this.scenario.isOwn ? "scenario.toml" : this.scenario.shipped.path,
      ...vary.map(quoted("--vary")), ...edits.map(quoted("--set")),
      `--replications ${replications}`, ...(vary.length > 0 ? [] : ["--fingerprint"])].join(" ");
  }

  forgetFiles() { this.files.replaceChildren(); }

  /** The files that `run` would write, each to be saved. */
  async list(listed) {
    this.files.textContent = "They are computed.";
    const answer = await listed();
    if (answer === null) return;
    this.files.replaceChildren(...(answer.files ? Object.entries(answer.files)
      .map(([name, content]) => pageButton(name, () => save(name, new Blob([content]))))
      : [String(answer.failure)]));
  }
}

/** All of it: what has been changed leads to a question, and an answer to pictures. */
class LivePage {
  constructor() {
    this.place = document.getElementById("live");
    this.page = document.getElementById("page");
    this.shipped = JSON.parse(document.getElementById("scenarios").textContent);
    this.isReport = results.length > 0;
    this.scenario = new LiveScenario(this.shipped[0]);
    this.reading = null;  // a promise of the keys, while they are not known
    this.messages = new Messages();
    this.text = new ScenarioText((toml) => {
      this.scenario.write(toml);
      this.describe();
    });
    this.controls = new Controls(this.scenario, this.place, {
      changed: (anew) => (anew ? this.describe() : this.changed()),
      refusals: (lists, isOver) => this.engines.refusals(lists, isOver) });
    this.address = new Address(this.scenario, this.shipped, (edits) => this.engines.refusal(edits));
    this.commandLine = new CommandLine(this.scenario, () => this.files());
    this.choice = el("select", { "aria-label": "scenario",
      onchange: () => this.choose(this.choice.selectedIndex) },
    this.shipped.map((one) => el("option", {}, one.name)));
    this.place.append(this.messages.notice, el("div", { class: "choice" }, this.choice,
      pageButton("reset", () => this.choose(this.choice.selectedIndex)),
      pageButton("link to this", () => this.address.share()), this.address.field),
    this.controls.knobs, this.controls.others, this.messages.line, this.text.mistakes,
    this.text.fold, this.commandLine.fold);
    this.tour = new Tour({ open: (story) => this.choose(this.placeOf(story)),
      attempt: (story, one) => this.attempt(story, one) });
    if (!this.isReport) this.place.after(this.tour.element);
  }

  /** With the engine the page opens what its address says; whatever that is, it opens. */
  async start(engine) {
    this.engines = new Engines(this.scenario, engine, (what) => this.messages.say(
      `${what} more than ${LONGEST_MS / 1000} s here and was stopped. Try less load or a ` +
      "shorter duration, or run it on the command line.", true));
    this.answers = new Answers(this.engines, { show: (done) => this.show(done),
      stopped: (reason) => this.messages.add(`No more: ${reason}`), ready: () => this.reading });
    const opened = () => this.open().catch((error) => {
      this.choose(0, !this.isReport);
      this.messages.tell([`The address of the page could not be used: ${error}`]);
    });
    window.addEventListener("hashchange", opened);
    await opened();
  }

  // What is open.

  choose(number, run = true) {
    this.messages.tell([]);
    this.take(this.shipped[number]);
    this.describe(run);
  }

  placeOf(story) { return this.shipped.findIndex(({ name }) => name === story.scenario); }

  /** What a story says to try. */
  attempt(story, { edits, other = null }) {
    this.messages.tell([]);
    this.take(this.shipped[this.placeOf(story)]);
    this.scenario.change(edits, other);
    this.describe();
  }

  take(shipped, toml) {
    this.scenario.take(shipped, toml);
    this.text.show(this.scenario.toml);
    this.choice.selectedIndex = this.shipped.indexOf(shipped);
    this.address.hide();
  }

  /** What the address asks for, as far as it can be used; a notice says what cannot. */
  async open() {
    const version = this.scenario.touch(), wanted = await this.address.wanted();
    if (version !== this.scenario.version) return;  // something else has been asked for meanwhile
    if (wanted.shipped) {
      this.take(wanted.shipped, wanted.toml);
      const { edits, other } = await this.address.usable(wanted);
      if (version !== this.scenario.version) return;
      this.scenario.change(edits, other);
      this.messages.tell(wanted.problems);
      this.describe();
    } else {
      this.choose(0, !this.isReport);  // a report has its answer already
      this.messages.tell(wanted.problems);
    }
  }

  // What follows when something has been changed.

  /** The scenario as it is now: its keys, and beside them its first picture, which does not wait for
   * them unless it is a comparison, which needs their values. */
  describe(run = true) {
    const { engines, scenario } = this, { quick, patient } = engines;
    quick.stop();
    patient.stop();
    scenario.touch();
    this.tour.follow(scenario);
    this.controls.endOffers();
    const isAtOnce = run && !scenario.other, reading = engines.keys(isAtOnce ? patient : quick);
    this.reading = reading;
    if (isAtOnce) this.answers.simulate();
    reading.then(({ now, base }) => {
      if (reading !== this.reading) return;
      this.reading = null;
      if (now === null) return;
      if (!now.keys) {
        this.refuse(now);
        return;
      }
      scenario.describe(now.keys, (base && base.keys) || now.keys);
      this.checkOther();
      this.controls.show();
      if (run && !isAtOnce) this.changed();
      else if (!run) this.messages.say("Move something, and the engine answers.");
    });
  }

  /** Something has been moved: what runs for older values is of no interest any more. */
  changed() {
    this.scenario.touch();
    this.tour.follow(this.scenario);
    if (!this.reading) this.engines.patient.stop();
    this.commandLine.forgetFiles();
    this.checkOther();
    this.controls.showOthers();
    this.answers.next();
  }

  /** A comparison that a link asks for needs one value to compare with another one. */
  checkOther() {
    const fault = this.scenario.faultOfOther();
    if (fault === null) return;
    this.scenario.other = null;
    this.messages.tell([`The comparison was left out: ${fault}.`]);
  }

  // What the engine answers.

  show(done) {
    const { answer, replications, ms, vary } = done, { page } = this, isCompared = vary.length > 0;
    if (!answer.result) {
      this.refuse(answer);
      return;
    }
    this.text.mark([]);
    page.classList.remove("stale");
    this.commandLine.show(done);
    // The head of a comparison's scenario says how it was asked for.
    const head = isCompared ? `# Variant of a comparison\n#   ${this.commandLine.text}\n\n` : "";
    renderPage([{ ...answer.result, toml: head + answer.result.toml, series: answer.series,
      changed: done.isNewest ? this.scenario.changes() : null }]);
    document.title = `${answer.result.title} - retrysim`;
    this.messages.say(`${plural(replications, "replication")}${isCompared ? " of each" : ""} in ${
      digits(ms / 1000, 2)} s.`);
    page.dataset.replications = replications;
    page.dataset.fingerprint = answer.fingerprint;
    page.dataset.shown = Number(page.dataset.shown || 0) + 1;
  }

  refuse({ failure, errors = [] }) {
    this.page.classList.add("stale");
    this.messages.say(failure || `${plural(errors.length, "mistake")} in the scenario`, true);
    this.text.mark(errors);
  }

  /** The files that `run` would write; null if they come too late. */
  async files() {
    const replications = Number(this.page.dataset.replications || 1);
    const { answer, isNewest } = await this.engines.ask(this.engines.patient,
      this.scenario.request("files", [...this.scenario.ownEdits(), `replications=${replications}`]),
      "To compute them takes");
    return isNewest ? answer : null;
  }
}

function startLive() {
  const starting = pageEngine();  // beside all else
  const live = new LivePage();
  starting.then((engine) => live.start(engine)).catch((error) =>
    live.messages.say(`The engine could not be started: ${error}`, true));
}
