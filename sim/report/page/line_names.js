// The names that stand beside the lines of a chart. A name never lies on a line: where there is no
// room for it, it stands in the legend.

const NAME_LINE = 15;                    // pixels
const NAME_DISTANCES = [5, 14, 26, 40];  // from a line, the nearest that has room
const FROM_LEFT = 4, STEP_ACROSS = 4;    // pixels between the places that are tried

class LineNames {
  /**
   * `lines` as TimeChart has them; `said` what else is to be said of each; `windows` what is shaded.
   * `x` and `y` are the scales, `width` and `bottom` bound the plot, `range` is the time that it
   * shows.
   */
  constructor({ lines, said, windows, x, y, width, bottom, range }) {
    Object.assign(this, { lines, said, windows, x, y, bottom, range });
    Object.assign(this, { left: MARGIN.left + FROM_LEFT, right: width - MARGIN.right, taken: [] });
    this.places = lines.map((line) => this.placesOf(line));
  }

  /** The heights of a line, every few pixels: `y` there, `from` and `to` since the last place. */
  placesOf(line) {
    const found = [], { dt, bins, means } = line;
    const binAt = (px) => Math.floor(this.x.back(px) / dt - 0.5);
    for (let px = this.left; px <= this.right; px += STEP_ACROSS) {
      const value = line.steps ? valueAt(line, this.x.back(px)) : LineNames.between(line, this.x.back(px));
      if (!exists(value)) {
        found.push(null);
        continue;
      }
      const ys = [this.y(value)], before = found[found.length - 1];
      if (before) ys.push(before.y);
      for (let k = binAt(px - STEP_ACROSS) + 1; !line.steps && k <= binAt(px); ++k) {
        if (k >= 0 && k < bins && exists(at(means, k))) ys.push(this.y(at(means, k)));
      }
      found.push({ y: ys[0], from: Math.min(...ys), to: Math.max(...ys) });
    }
    return found;
  }

  /** The value at a time of a line that leads from the middle of each bin to that of the next one. */
  static between({ dt, bins, means }, time) {
    const i = time / dt - 0.5, k = Math.floor(i), [a, b] = [at(means, k), at(means, k + 1)];
    if (k < 0 || k >= bins) return null;
    return k + 1 >= bins || !exists(b) ? a : exists(a) ? a + (b - a) * (i - k) : null;
  }

  /** Writes the names into `root`; gives the names of the lines for which there was no room. */
  draw(root) {
    this.takeStorms();
    const named = this.spanNames();
    root.append(...named.map(({ text }) => text));
    const without = this.shadesWithout(named);
    for (const group of this.groups()) {
      const names = group.names.map((name) => name.replaceAll(" ", NO_BREAK)).join(", ");
      const placed = this.place(group, [names, group.said]) ||
        (group.said && this.place(group, [names]));
      if (placed) root.append(...placed);
      else without.push(...group.names);
    }
    return without;
  }

  /** Above in the plot there are bars where retry storms are. */
  takeStorms() {
    for (const w of this.windows.filter(({ role }) => role === "storm")) {
      const [from, to] = [w.start, w.end].map(this.x);
      this.taken.push({ x: from, y: MARGIN.top - 3, w: to - from, h: 10 });
    }
  }

  /** Names of what is shaded: above in it or, if something is there, below. */
  spanNames() {
    const [low, high] = this.range, texts = [];
    for (const w of this.windows.filter(({ role }) => role === "fault")) {
      const [from, to] = [Math.max(w.start, low), Math.min(w.end, high)].map(this.x);
      const box = { x: from + 6, w: textWidth(w.name), h: 14 };
      if (to <= from || box.x + box.w > this.right) continue;
      const y = [MARGIN.top - 2, MARGIN.top + 9, this.bottom - 18].find((top) =>
        this.isFree({ ...box, y: top }) && this.room({ ...box, y: top }).others > 0);
      if (y === undefined) continue;
      this.taken.push({ ...box, y });
      texts.push({ name: w.name,
        text: svg("text", { x: box.x, y: y + 11, class: "span-name" }, w.name) });
    }
    return texts;
  }

  /** What the legend says of what is shaded, in this stretch of time, and has no name there. */
  shadesWithout(named) {
    const [low, high] = this.range;
    return this.windows.filter((w) => w.legend && w.start < high && w.end > low &&
      !named.some(({ name }) => name === w.name)).map((w) => w.legend);
  }

  isFree({ x, y, w, h }) {
    return !this.taken.some((b) => x < b.x + b.w + 4 && b.x < x + w + 4 && y < b.y + b.h && b.y < y + h);
  }

  /** Pixels above or below a box to line `n` and to the others; 0 if one goes through it. */
  room({ x, y, w, h }, n = null) {
    let own = Infinity, others = Infinity;
    const first = Math.max(0, Math.ceil((x - this.left) / STEP_ACROSS));
    const last = Math.ceil((x + w - this.left) / STEP_ACROSS);
    this.places.forEach((places, m) => {
      let least = Infinity;
      for (const place of places.slice(first, last + 1)) {
        if (!place) continue;
        const { from, to } = place;
        least = Math.min(least, to < y ? y - to : from > y + h ? from - y - h : 0);
      }
      if (m === n) own = least;
      else others = Math.min(others, least);
    });
    return { own, others };
  }

  /** Lines that run together, and of which the same is said, have one name. */
  groups() {
    const groups = [];
    this.lines.forEach((line, n) => {
      const said = this.said.get(line.name) || "";
      const same = groups.find((group) => group.said === said && !group.line.steps && !line.steps &&
        this.runTogether(group.n, n));
      if (same) same.names.push(line.name);
      else groups.push({ line, n, said, names: [line.name] });
    });
    return groups;
  }

  runTogether(a, b) {
    const apart = this.places[a].filter((own, i) => {
      const other = this.places[b][i];
      return Math.abs((own ? own.y : 0) - (other ? other.y : 0)) > 7;
    });
    return apart.length < 0.08 * this.places[a].length;
  }

  /** The texts where their line has most room to itself; null if nowhere. */
  place({ line, n, names }, said) {
    const most = Math.max(150, ...names.map((name) => textWidth(`${name},`, true)));
    const texts = said.filter(Boolean).flatMap((text) => wrapped(text, most, true)
      .map((part) => part.replaceAll(NO_BREAK, " ")));
    const box = { w: Math.max(...texts.map((text) => textWidth(text, true))) + 4,
      h: NAME_LINE * texts.length };
    let best = null;
    for (const far of NAME_DISTANCES) {
      best = this.bestAt(n, box, far);
      if (best) break;
    }
    if (!best) return null;
    this.taken.push(best);
    return texts.map((text, i) => {
      const name = svg("text", { x: best.x + 2, y: best.y + 12 + NAME_LINE * i, class: "at-line" },
        text);
      name.style.fill = line.colour === "ink" ? "var(--ink)" : line.colour;
      return name;
    });
  }

  /** The best place of a box so far from line `n`: above, below, to the right or to the left. */
  bestAt(n, { w, h }, far) {
    let best = null;
    this.places[n].forEach((place, i) => {
      if (!place) return;
      const own = place.y, px = this.left + STEP_ACROSS * i;
      for (const [x, y] of [[px - w / 2, own - h - far], [px - w / 2, own + far],
        [px + far + 2, own - h / 2], [px - far - 2 - w, own - h / 2]]) {
        const box = { x, y, w, h };
        if (x < this.left || x + w > this.right || y < MARGIN.top - 4 || y + h > this.bottom ||
            !this.isFree(box)) continue;
        const room = this.room(box, n);
        if (room.own < 1 || room.others < 2 || room.others < far / 2) continue;
        const worth = Math.min(50, room.others);
        if (!best || worth > best.worth) best = { ...box, worth };
      }
    });
    return best;
  }
}
