// The address of a page that computes: it says what is open, and a link has all of it (share.js).

const MOST_TRIED = 50;  // changes of a link, one by one

class Address {
  /** `refusal` takes edits and promises why the scenario cannot have them, or null. */
  constructor(scenario, shipped, refusal) {
    Object.assign(this, { scenario, shipped, refusal });
    this.field = el("input", { type: "text", readonly: true, hidden: true, "aria-label": "link" });
  }

  /** Makes an address of what is open now, to be copied. */
  async share() {
    const { shipped, toml, isOwn, edits, other } = this.scenario;
    history.replaceState(null, "", await linkOf({ name: shipped.name,
      toml: isOwn ? toml : undefined, edits: [...edits], other: other || undefined }));
    this.field.value = location.href;
    this.field.hidden = false;
    this.field.select();
  }

  hide() { this.field.hidden = true; }

  /**
   * What the address asks for: {shipped, toml, edits, other, problems}, as far as it names a
   * scenario; the changes have not been tried yet. Without `shipped` it asks for nothing that there
   * is. `problems` are sentences about what cannot be used.
   */
  async wanted() {
    const name = location.hash.slice(1), byName = this.shipped.find((one) => one.name === name);
    if (byName) return { shipped: byName, toml: byName.toml, edits: [], other: null, problems: [] };
    const found = await stateOf(location.hash);
    const { state: asked, problems } = found || { state: null, problems: [] };
    if (!found && name && !document.getElementById(name)) {
      problems.push(`This page has no scenario “${inShort(name)}”.`);
    }
    if (!asked) return { problems };
    const shipped = this.shipped.find((one) => one.name === asked.name);
    if (!shipped && asked.toml === undefined) {
      problems.push(`The link names the scenario “${inShort(asked.name)}”, which this page does not ` +
        "have. Nothing of the link was used.");
      return { problems };
    }
    if (!shipped && asked.name !== null) {
      problems.push(`This page has no scenario “${inShort(asked.name)}”, but the link has its text.`);
    }
    return { ...asked, shipped: shipped || this.shipped[0], toml: asked.toml ?? shipped.toml, problems };
  }

  /** The changes that the scenario, which is open already, can have; adds to `problems` what it
   * cannot. */
  async usable({ edits: wanted, other, problems }) {
    const nothing = { edits: [], other: null };
    if (wanted.length === 0 && !other) return nothing;
    const reason = await this.refusal(wanted);
    // The page shows the mistakes of a text that cannot be read even without changes.
    if (reason !== null && await this.refusal([]) !== null) return nothing;
    const edits = reason === null ? wanted : await this.usableEdits(wanted, reason, problems);
    if (!other) return { edits, other: null };
    const why = await this.refusal([...edits, other]);
    if (why === null) return { edits, other };
    problems.push(`The comparison of the link was left out: ${inShort(editText(other))} (${why}).`);
    return { edits, other: null };
  }

  async usableEdits(wanted, reason, problems) {
    if (wanted.length > MOST_TRIED) {
      problems.push(`The ${wanted.length} changes of the link do not fit the scenario: ${inShort(reason)}`);
      return [];
    }
    const kept = [];
    for (const edit of wanted) {
      const why = await this.refusal([...kept, edit]);
      if (why === null) kept.push(edit);
      else problems.push(`A change of the link was left out: ${inShort(editText(edit))} (${why}).`);
    }
    return kept;
  }
}
