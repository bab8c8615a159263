// The experiments of scenarios/tour.md as stories on the page that computes: what there is to see,
// and what to try, each as a button. What the verdict says after it is promised, and tested.

/**
 * `scenario` opens with each; `begins` says what it is, `promise` is in its verdict and `sees` what
 * to make of that. Each of `tries` changes `edits` or compares with `other`; then its `promise` is
 * in the verdict, and `means` says what to make of it.
 */
const STORIES = [
  { title: "What does load cost while nothing is wrong?", scenario: "steady-load",
    begins: "Two servers can do 200 requests a second, and 160 a second come.",
    promise: "all is well", sees: "a request takes 28 ms, and 10 of them are work.",
    tries: [
      { words: "190 requests a second", edits: [["client.web.arrivals.total_rate", "190"]],
        promise: "all is well",
        means: "but requests take more than three times as long: open “Success and latency”." },
      { words: "199, which the servers can do as well",
        edits: [["client.web.arrivals.total_rate", "199"]], promise: "of the requests fail",
        means: "the queue grows by chance until clients give up, and their retries are too much." },
    ],
    ends: "A service needs room: what is nearly full costs time first, and then everything." },
  { title: "Which hiccup kills a service?", scenario: "fifo-zombie",
    begins: "Nothing is served for 1.3 s at 70 % load; clients give up after 1 s and ask again.",
    promise: "never recovers", sees: "the fault is long over, but every answer comes too late.",
    tries: [
      { words: "a fault of 1 s", edits: [["fault.outage.duration", "\"1s\""]],
        promise: "answers come late",
        means: "nobody fails: the queue is served before clients give up." },
      { words: "a fault of 1.2 s", edits: [["fault.outage.duration", "\"1.2s\""]],
        promise: "recovers in only", means: "here is the border: chance decides." },
    ],
    ends: "Once the queue holds more than 1 s of work, retries keep it that long." },
  { title: "What stops a retry storm?", scenario: "fifo-zombie",
    begins: "The same fault of 1.3 s. What lets the service recover? Guess before you try.",
    promise: "never recovers",
    tries: [
      { words: "one attempt, no retries", edits: [["client.web.retry.max_attempts", "1"]],
        promise: "recovers at once", means: "nothing is asked for again." },
      { words: "a timeout of 3 s", edits: [["client.web.attempt_timeout", "\"3s\""]],
        promise: "answers come late", means: "clients are more patient than the queue is long." },
      { words: "a retry quota of 100", edits: [["client.web.retry.quota.capacity", "100"]],
        promise: "after the fault ends",
        means: "it needs no knowledge of the service, which is why SDKs have one." },
      { words: "50 places in the queue", edits: [["service.api.queue.capacity", "50"]],
        promise: "recovers at once", means: "what waits is served in time; the rest is refused." },
    ] },
  { title: "Is a longer queue safer?", scenario: "surge",
    begins: "Two equal services meet three times their load for 20 s: a queue of 100 places, and " +
      "one of 600.",
    promise: "never back", sees: "the long queue; the service with the short one is back at once.",
    tries: [
      { words: "300 places in the long queue", edits: [["service.long.queue.capacity", "300"]],
        promise: "never back", means: "1.5 s of work: still longer than clients wait." },
      { words: "150 places", edits: [["service.long.queue.capacity", "150"]],
        promise: "short, long", means: "both are back at once: 0.75 s of work is served in time." },
    ],
    ends: "A queue should hold less work than its clients wait for." },
  { title: "Why random waits?", scenario: "thundering-herd",
    begins: "A thousand clients ask for 2.5 s of work at the same instant; they wait at random.",
    promise: "all is well", sees: "everybody is served, after 1.3 to 1.5 s on average.",
    tries: [
      { words: "no jitter", edits: [["client.equal.retry.backoff.jitter", "\"none\""]],
        promise: "of the requests fail",
        means: "everybody waits equally long and meets again." },
      { words: "full against decorrelated jitter", edits: [],
        other: ["client.full.retry.backoff.jitter", "\"decorrelated\""],
        promise: "fewer attempts per request",
        means: "it also spares the peak; requests take nearly as long." },
    ],
    ends: "Random waits keep clients apart; which kind of jitter matters far less." },
];

/** The stories above the results. One is open while its scenario is, as it is shipped. */
class Tour {
  /** `open(story)` opens a story's scenario; `attempt(story, one)` changes what one of
   * its `tries` says. */
  constructor({ open, attempt }) {
    Object.assign(this, { open, attempt, story: null, tried: null });
    this.element = el("section", { id: "tour", "aria-label": "experiments" });
    this.draw();
  }

  /** What the page shows now: the story of the scenario that is open, or none. */
  follow(scenario) {
    const { name } = scenario.shipped, isShipped = !scenario.isOwn;
    const story = !isShipped ? null : this.story && this.story.scenario === name ? this.story
      : STORIES.find((one) => one.scenario === name) || null;
    const tried = story && story.tries.find((one) => Tour.isNow(one, scenario));
    if (story === this.story && tried === this.tried) return;
    Object.assign(this, { story, tried });
    this.draw();
  }

  /** Whether the scenario is changed as one of the tries says, and not otherwise. */
  static isNow({ edits, other = null }, scenario) {
    const sorted = (list) => JSON.stringify([...list].sort());
    return sorted(scenario.edits) === sorted(edits) &&
      JSON.stringify(scenario.other) === JSON.stringify(other);
  }

  draw() {
    const { story } = this, isNarrow = window.matchMedia("(max-width: 760px)").matches;
    const list = el("details", { class: "stories", open: !isNarrow && !story },
      el("summary", {}, "Five experiments"), el("ul", {}, STORIES.map((one) => el("li", {},
        el("button", { type: "button", class: "as-link", "aria-pressed": String(one === story),
          onclick: () => this.choose(one) }, one.title)))));
    this.element.replaceChildren(list, ...(story ? [this.told(story)] : []));
  }

  choose(story) {
    Object.assign(this, { story, tried: null });
    this.open(story);
    this.draw();
  }

  told({ title, begins, promise, sees, tries, ends }) {
    const now = ["Now: ", el("q", {}, promise), sees ? ` – ${sees}` : "."];
    return el("div", { class: "story", "data-promise": promise }, el("h2", {}, title),
      el("p", {}, begins, sees ? null : [" ", now]), sees ? el("p", {}, now) : null,
      tries.map((one) => this.toTry(one)), ends ? el("p", {}, ends) : null);
  }

  toTry(one) {
    const isNow = one === this.tried;
    return el("p", { class: isNow ? "tried" : null }, "Try ",
      el("button", { type: "button", class: "as-link try", "data-promise": one.promise,
        "aria-pressed": String(isNow), onclick: () => this.attempt(this.story, one) }, one.words),
      ": ", el("q", {}, one.promise), ` – ${one.means}`);
  }
}
