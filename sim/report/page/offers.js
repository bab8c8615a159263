// What the page offers to change is asked of the engine before it can be taken: a word that the
// scenario cannot have as it is now is switched off, with the reason; a slider ends where the
// scenario does.

const OFFERS_AT_A_TIME = 40;  // the first ones can be taken before the last ones are known

/** The engine's word on what one state of the page offers. */
class Offers {
  /**
   * `ask` takes lists of edits, each an offer, and promises for each why the scenario cannot be edited
   * so, or null. `done` is called when all that was asked is known.
   */
  constructor(ask, done) {
    Object.assign(this, { ask, done, waiting: [], known: new Map(), isAsking: false, isOver: false });
  }

  /** A promise of why the edits cannot be taken, null if they can; it stays open once this is over. */
  refusal(edits) {
    const name = JSON.stringify(edits);
    if (!this.known.has(name)) {
      this.known.set(name, new Promise((settle) => { this.waiting.push({ edits, settle }); }));
      this.end();
    }
    return this.known.get(name);
  }

  /** Asks what waits, and calls `done` when nothing does. */
  async end() {
    if (this.isAsking) return;
    this.isAsking = true;
    const others = () => new Promise((then) => { setTimeout(then); });  // that are asked beside it
    for (await others(); this.waiting.length > 0 && !this.isOver; await others()) {
      const some = this.waiting.splice(0, OFFERS_AT_A_TIME);
      const reasons = await this.ask(some.map(({ edits }) => edits));
      if (this.isOver) return;
      some.forEach(({ settle }, i) => settle(reasons[i]));
    }
    this.isAsking = false;
    if (!this.isOver) this.done();
  }
}

/** Switches an option on, or off with the reason. */
async function offerOption(option, refusal) {
  const reason = await refusal;
  option.disabled = reason !== null;
  option.title = reason || "";
  const shortened = reason && reason.length > 70 ? `${reason.slice(0, 69)}…` : reason;
  option.textContent = reason === null ? option.dataset.words
    : `${option.dataset.words} – not here: ${shortened}`;
}

/**
 * How far a slider of `steps` steps can be moved from `now`, its place or null: {low, high, reason}.
 * The engine is asked at both ends, and where it refuses one, between that and `now`. Null if it
 * takes no place.
 */
async function reachOf(refusalAt, now, steps) {
  let start = now, reason = null;
  if (start === null) {
    for (const place of [0, steps, steps / 2]) {
      if (start === null && await refusalAt(place) === null) start = place;
    }
    if (start === null) return null;
  }
  const end = async (to) => {
    let good = start, bad = to;
    const refused = good === bad ? null : await refusalAt(to);
    if (refused === null) return to;
    reason = reason || refused;
    while (Math.abs(bad - good) > 1) {
      const middle = Math.trunc((good + bad) / 2);
      if (await refusalAt(middle) === null) good = middle;
      else bad = middle;
    }
    return good;
  };
  const [low, high] = await Promise.all([end(0), end(steps)]);
  return { low, high, reason };
}
