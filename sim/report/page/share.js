// The state of the page as a fragment of its address: compressed JSON in letters that addresses may
// have. Whatever comes from an address is a text to the engine, as if someone had typed it.

const MOST_LINK_CHARACTERS = 100000, MOST_LINK_BYTES = 2e6;

/** A text of a link as a notice can show it. */
const inShort = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);

/** All bytes of a stream; throws if they are more than `most`. */
async function bytesOf(stream, most = Infinity) {
  const parts = [], reader = stream.getReader();
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > most) throw new Error("too large");
    parts.push(next.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/**
 * `{name, toml, edits, other}` as a fragment; `toml` only where it is not that of the scenario `name`,
 * `other` only where two variants are compared.
 */
async function linkOf(state) {
  const packed = await bytesOf(new Blob([JSON.stringify(state)]).stream()
    .pipeThrough(new CompressionStream("deflate-raw")));
  let text = "";
  for (const byte of packed) text += String.fromCharCode(byte);
  return `#state=${btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")}`;
}

/**
 * What a fragment asks for: null if it is no link of this page, else {state, problems}. `state` is
 * that of `linkOf` as far as it can be used, null if nothing of it can; `problems` are sentences
 * about what was left out.
 */
async function stateOf(fragment) {
  if (!fragment.startsWith("#state=")) return null;
  const nothing = (why) => ({ state: null, problems: [`The link is damaged: ${why}. Nothing of it was used.`] });
  const found = /^#state=([\w-]+)$/.exec(fragment);
  if (!found) return nothing("it has letters that no link has, or ends too early");
  if (fragment.length > MOST_LINK_CHARACTERS) return nothing("it is too long");
  let read;
  try {
    const packed = Uint8Array.from(atob(found[1].replace(/-/g, "+").replace(/_/g, "/")),
      (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    read = JSON.parse(new TextDecoder().decode(await bytesOf(stream, MOST_LINK_BYTES)));
  } catch (error) {
    return nothing("it cannot be unpacked, perhaps because a part is missing");
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) {
    return nothing("it does not say what to open");
  }
  const isText = (value) => typeof value === "string";
  const isEdit = (value) => Array.isArray(value) && value.length === 2 && value.every(isText);
  const { name, toml, edits = [], other = null, ...more } = read;
  const state = { name: isText(name) ? name : null, edits: [], other: null }, problems = [];
  const leaveOut = (what) => { problems.push(`${what} of the link cannot be read; the rest was used.`); };
  if (toml !== undefined && toml !== null) {
    if (isText(toml)) state.toml = toml;
    else leaveOut("The text of the scenario");
  }
  if (!isText(name) && state.toml === undefined) return nothing("it names no scenario");
  if (Array.isArray(edits)) state.edits = edits.filter(isEdit);
  if (!Array.isArray(edits)) leaveOut("The changes");
  else if (state.edits.length < edits.length) {
    leaveOut(`${plural(edits.length - state.edits.length, "change")}`);
  }
  if (isEdit(other)) state.other = other;
  else if (other !== null) leaveOut("The comparison");
  const unknown = Object.keys(more);
  if (unknown.length > 0) {
    problems.push(`The link asks for what this page does not know: ${inShort(unknown.join(", "))}.`);
  }
  return { state, problems };
}
