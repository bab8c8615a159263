// The state of the page as a fragment of its address: compressed JSON in letters that addresses may
// have. Whatever comes from an address is a text to the engine, as if someone had typed it.

const MOST_LINK_CHARACTERS = 100000, MOST_LINK_BYTES = 2e6;

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

/** The state in a fragment; null if there is none or it is damaged. */
async function stateOf(fragment) {
  const found = /^#state=([\w-]+)$/.exec(fragment);
  if (!found || fragment.length > MOST_LINK_CHARACTERS) return null;
  try {
    const packed = Uint8Array.from(atob(found[1].replace(/-/g, "+").replace(/_/g, "/")),
      (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const state = JSON.parse(new TextDecoder().decode(await bytesOf(stream, MOST_LINK_BYTES)));
    const isText = (value) => typeof value === "string";
    const isEdit = (value) => Array.isArray(value) && value.length === 2 && value.every(isText);
    const whole = isText(state.name) && (state.toml === undefined || isText(state.toml)) &&
      Array.isArray(state.edits) && state.edits.every(isEdit) &&
      (!state.other || isEdit(state.other));
    return whole ? state : null;
  } catch (error) {
    return null;
  }
}
