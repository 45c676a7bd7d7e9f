// SPDX-License-Identifier: Apache-2.0
"use strict";
// Chooses what is drawn: the runs of the page's data, the quantities of both axes, and the runs of each series.

const data = JSON.parse(byId("data").textContent);

// Unpacks a run from the page's list, in which values that many runs share are indices.
function unpack([name, series, experiment, group, method, labels, status, fidelity, target, reached, timeToTarget,
  iterationsToTarget, iterations, sentBytes, wireBytes, times, predicted, points, end], index) {
  const shared = (place) => data.shared[place];
  const part = (value) => (value === null ? null : {mean: value[0], compute: value[1], load: value[2], exposed_exchange: value[3]});
  return {
    index, name, group, reached, iterations, points,
    series: series === null ? name : shared(series),
    experiment: shared(experiment),
    method: shared(method),
    labels: Object.fromEntries(labels.map(([axis, value]) => [shared(axis), shared(value)])),
    status: shared(status),
    fidelity: shared(fidelity),
    target: shared(target),
    // Those of the whole run if it did not reach the target; null if it did not complete.
    restricted_time_s: timeToTarget,
    restricted_iterations: iterationsToTarget,
    sent_bytes_per_worker: sentBytes,
    bottleneck_wire_bytes: wireBytes,
    iteration_time_s: part(times),
    predicted_s: predicted,
    end_s: end,
    curve: null,  // until curves.js loads it
  };
}

const runs = data.runs.map(unpack);

// ---- the quantities of the axes -------------------------------------------------------------------------

const short = (value) => String(Number(value.toPrecision(6)));
const number = (value) => (typeof value === "number" ? value : null);

function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  const unit = value > 0 ? Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(value) / 3 + 1e-9))) : 0;
  return `${Number((value / 1000 ** unit).toPrecision(4))} ${units[unit]}`;
}

// Returns a run's bytes up to an iteration, if all iterations have equal parts.
function bytesUpTo(run, total, point) {
  return total === null || !run.iterations ? null : (total * point.iteration) / run.iterations;
}

const inHours = runs.some((run) => run.end_s > 7200);
const hours = (seconds) => (inHours ? seconds / 3600 : seconds);

const xKinds = {
  train_time: {name: "train time", label: `Train time (${inHours ? "h" : "s"})`, format: short,
    of: (run, point) => (number(point.train_time_s) === null ? null : hours(point.train_time_s))},
  iteration: {name: "iterations", label: "Iterations", format: short, of: (run, point) => point.iteration},
  epoch: {name: "epochs", label: "Epochs", format: short, of: (run, point) => number(point.epoch)},
  sent: {name: "bytes sent", label: "Sent by a worker", format: bytes, evenly: true,
    of: (run, point) => bytesUpTo(run, run.sent_bytes_per_worker, point)},
  wire: {name: "bytes on the wire", label: "On the busiest bottleneck direction", format: bytes, evenly: true,
    leavesOut: (run) => run.bottleneck_wire_bytes === null,
    reason: "Runs whose bytes nobody counted are left out, as are replays, which send only some of their iterations.",
    of: (run, point) => bytesUpTo(run, run.bottleneck_wire_bytes, point)},
};

const finite = (value) => (Number.isFinite(value) ? value : null);

const yKinds = {
  accuracy: {field: "test_accuracy", name: "test accuracy", label: "Test accuracy", of: (point) => number(point.test_accuracy)},
  bits_per_byte: {field: "test_loss", name: "bits per byte", label: "Bits per byte of the test text", loss: true,
    of: (point) => (number(point.test_loss) === null ? null : point.test_loss / Math.LN2)},
  perplexity: {field: "test_loss", name: "perplexity", label: "Perplexity of the test text", loss: true,
    of: (point) => finite(Math.exp(number(point.test_loss) ?? NaN))},
  test_loss: {field: "test_loss", name: "test loss", label: "Test loss", loss: true, of: (point) => number(point.test_loss)},
  train_loss: {field: "train_loss", name: "train loss", label: "Train loss since the previous evaluation", loss: true,
    of: (point) => number(point.train_loss)},
};

const measured = (field) => data.measured.includes(field);
const aimedAt = (kind) => runs.some((run) => run.target?.metric === kind);
const ofTexts = ["bits_per_byte", "perplexity"];  // offered only if they are a target
const offeredY = Object.keys(yKinds).filter((kind) => measured(yKinds[kind].field) && (!ofTexts.includes(kind) || aimedAt(kind)));
const known = {
  train_time: () => measured("train_time_s"),
  iteration: () => measured("iteration"),
  epoch: () => measured("epoch"),
  sent: () => runs.some((run) => run.points > 0 && run.iterations && run.sent_bytes_per_worker !== null),
  wire: () => runs.some((run) => run.points > 0 && run.iterations && run.bottleneck_wire_bytes !== null),
};
const offeredX = Object.keys(xKinds).filter((kind) => known[kind]());

// ---- series: runs that differ only in their seed, and the style of each ---------------------------------

const valueOn = (axis, run) => run.labels[axis] ?? "";
const axisValues = (axis) => [...new Set(runs.map((run) => valueOn(axis, run)))];
const axes = [...new Set(runs.flatMap((run) => Object.keys(run.labels)))]
  .filter((axis) => axis !== "seed" && axisValues(axis).length > 1);

// If methods vary together with other axes, or over several experiments, colours, markers and fills show methods, and
// dashes the rest.
const experiments = new Set(runs.map((run) => run.experiment)).size;
const methodsAmongOthers = (axes.length > 1 || experiments > 1) && axes.includes("method");
const keyOf = (run) => JSON.stringify([run.experiment, run.group]);
const otherValues = (run) => axes.filter((axis) => axis !== "method").map((axis) => valueOn(axis, run));
const dashKey = (run) => (methodsAmongOthers ? JSON.stringify([run.experiment, otherValues(run)]) : "");

// Names the curve, as in a figure: by the method's label or, if methods are not swept, by the other labels.
const curveLabel = (run) => (axes.includes("method") ? valueOn("method", run) : otherValues(run).join(", "));
const lineWidth = 2;

// Numbers keys in the order of their first use.
class Places {
  constructor() {
    this.places = new Map();
  }

  of(key) {
    if (!this.places.has(key)) this.places.set(key, this.places.size);
    return this.places.get(key);
  }
}

// Returns [{name, style, marker, runs}] in the order of the runs. `style` is for an element's attribute.
function makeSeries() {
  const [dashPlaces, all] = [new Places(), new Map()];
  const styles = stylesOf(runs.map((run) => [curveLabel(run), run.method]));
  for (const run of runs) {
    const key = keyOf(run);
    if (!all.has(key)) {
      const own = styles.get(styleKey(curveLabel(run), run.method));
      const {dashes} = looks.variants;
      const dash = methodsAmongOthers ? dashes[dashPlaces.of(dashKey(run)) % dashes.length] : own.dash;
      const lengths = dash.map((length) => short(length * lineWidth)).join(" ") || "none";
      const style = `--light: ${own.light}; --dark: ${own.dark}; --dash: ${lengths}; ` +
        `--fill: var(${own.filled ? "--colour" : "--page"})`;
      all.set(key, {name: run.series, style, marker: own.marker, runs: []});
    }
    all.get(key).runs.push(run);
  }
  return [...all.values()];
}

const allSeries = makeSeries();

const meanOf = (values) => values.reduce((a, b) => a + b) / values.length;

// Returns the mean point at each iteration that all curves have: a gap if one of them has a gap there.
function meanPoints(curves) {
  const atIterations = new Map();
  for (const point of curves.flatMap((curve) => curve.points)) {
    if (!atIterations.has(point.iteration)) atIterations.set(point.iteration, []);
    atIterations.get(point.iteration).push(point);
  }
  return [...atIterations.values()].filter((points) => points.length === curves.length).map((points) => ({
    x: meanOf(points.map((point) => point.x)),
    y: points.some((point) => point.y === null) ? null : meanOf(points.map((point) => point.y)),
    reached: false,
  }));
}

const seconds = (value) => (inHours ? `${short(Number((value / 3600).toFixed(2)))} h` : `${value.toFixed(1)} s`);

// Returns the legend's text for a series: when it reached the target, or why it did not. As in the table over seeds,
// the mean time is a lower bound if some runs did not reach it.
function outcome({runs: own}) {
  const reached = own.filter((run) => run.reached).length;
  const counted = own.filter((run) => run.restricted_iterations !== null);
  const isTimed = counted.every((run) => run.restricted_time_s !== null);
  const show = isTimed ? seconds : (n) => `${short(n)} iterations`;
  const mean = reached ? show(meanOf(counted.map((run) => run.restricted_time_s ?? run.restricted_iterations))) : "";
  if (own.length === 1) {
    const [run] = own;
    if (run.status !== "completed") return run.status;
    return run.target === null ? "" : mean || "not reached";
  }
  const states = [`${own.length} seeds`];
  if (mean) states.push(`mean ${reached < own.length ? "≥ " : ""}${mean}`);
  const aimed = own.some((run) => run.target !== null);
  if (aimed && reached < own.length) states.push(`${reached} of ${own.length} reached`);
  const failed = own.filter((run) => run.status === "failed").length;
  if (failed) states.push(`${failed} failed`);
  return states.join(", ");
}

const marks = {degraded: "†", "not judged": "‡"};
const markOf = (series) => Object.keys(marks).filter((verdict) => hasVerdict(series, verdict)).map((verdict) => marks[verdict]).join("");
const hasVerdict = (series, verdict) => series.runs.some((run) => run.fidelity === verdict);
