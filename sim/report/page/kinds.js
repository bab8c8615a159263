// The results of all commands: what each is called, what was counted, what it answers, and what its
// picture over a range is. A command whose result has a page of its own kind has a row here.

const simulated = (r) => [plural(r.replications, "replication"), `seed ${r.seed}`];
const ofRun = (r) => [verdicts(r, r.v), notesOf(r, r.v)];
const ofSearch = (r) => [saidSentences(r), notesOf(r, r.v)];

/** The first row that fits: `is` it a result of this kind? `over` is missing without a range;
 * `overTitle` says what it shows if that is no range. */
const KINDS = [
  // The replications of policies differ.
  { is: (r) => r.choice, called: "choice of a policy", answer: choiceAnswer, overTitle: "Policies",
    over: (r) => [choiceTable(r), pictureCharts(r, "choose")],
    counted: (r) => [plural(r.policies.length, "policy", "policies"),
      plural(r.choice.replications, "replication"), `seed ${r.seed}`] },
  { is: (r) => r.advice, called: "advice", counted: simulated, answer: adviceAnswer,
    overTitle: "What each remedy changes",
    over: (r) => [pictureCharts(r, "advise"), adviceTable(r)] },
  { is: (r) => r.fitted, called: "fit of a log", counted: (r) => [plural(r.fitted.log.lines, "line")],
    answer: ofSearch },
  { is: (r) => r.uncertain, called: "draws of what is uncertain", answer: ofSearch,
    over: (r) => pictureCharts(r, "uncertain"),
    counted: (r) => [plural(r.replications, "draw"), `seed ${r.seed}`] },
  { is: (r) => r.uncertain_variants, called: "comparison of draws", answer: ofSearch,
    over: (r) => pictureCharts(r, "uncertain"),
    counted: (r) => [plural(r.replications, "draw"), `seed ${r.seed}`] },
  { is: (r) => r.frontier, called: "searches for a size", counted: simulated, answer: ofSearch,
    over: (r) => pictureCharts(r, "size") },
  { is: (r) => r.size, called: "search for a size", counted: simulated, answer: ofSearch,
    over: (r) => pictureCharts(r, "size") },
  { is: (r) => r.risk, called: "search for a rare event", answer: ofSearch, overTitle: "How likely",
    counted: (r) => [plural(r.risk.points.length, "point"), `seed ${r.seed}`],
    over: (r) => pictureCharts(r, "risk") },
  { is: (r) => r.prediction, called: "prediction", counted: () => ["nothing was simulated"],
    answer: ofSearch },
  { is: (r) => r.map, called: "map", answer: ofSearch,
    over: (r) => pictureCharts(r, "map") || mapTable(r),
    counted: (r) => (r.map.confirm ? simulated(r) : [plural(r.map.points.length, "point")]) },
  { is: (r) => r.curve, called: "search for tipping points", answer: ofSearch,
    counted: (r) => [plural(r.curve.points.length, "point"), ...simulated(r)],
    over: (r) => [pictureCharts(r, "tip_curve"), curveTable(r)] },
  { is: (r) => r.trigger, called: "search for the tipping point", counted: simulated,
    answer: ofSearch, over: (r) => [pictureCharts(r, "tip"), probeTable(r)] },
  { is: (r) => r.hysteresis, called: "load up and down", counted: simulated,
    answer: ofSearch, over: (r) => pictureCharts(r, "hysteresis") },
  { is: (r) => r.sweep, called: "sweep",
    counted: (r) => [plural(r.sweep.at.length, "point"), ...simulated(r)],
    answer: (r) => [ofRun(r), noteList(r.sweep.notes)],
    over: (r) => sweepPicture(r, (v) => moveTo(r, v)) },
  { is: (r) => r.comparison, called: "comparison", counted: simulated, answer: comparisonAnswer },
  { is: () => true, called: "run", counted: simulated, answer: ofRun },
];
const kindOf = (result) => KINDS.find(({ is }) => is(result));
