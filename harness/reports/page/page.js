// SPDX-License-Identifier: Apache-2.0
"use strict";
// Connects the drawing with the page: controls, legend, read-out.

// ---- the view: the state of the controls, kept in the URL's fragment so that it can be shared -----------

const view = {y: offeredY[0], x: offeredX[0], log: false, hidden: new Set(), only: {}, find: "", links: ""};

// Chooses a logarithmic axis if runs differ much in speed, so that equal ratios of time are equal distances.
function wantsLogarithm() {
  const ends = runs.map((run) => run.end_s ?? 0).filter((end) => end > 0);
  let [low, high] = [Infinity, 0];
  for (const end of ends) [low, high] = [Math.min(low, end), Math.max(high, end)];
  return high >= 3 * low;
}

function readView() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const firstTarget = runs.find((run) => run.target !== null)?.target.metric;
  const choose = (asked, offered, otherwise) => [asked, otherwise].find((kind) => offered.includes(kind)) ?? offered[0];
  view.y = choose(fragment.get("y"), offeredY, firstTarget);
  view.x = choose(fragment.get("x"), offeredX, "train_time");
  view.log = fragment.has("log") ? fragment.get("log") === "1" : wantsLogarithm();
  view.hidden = new Set(fragment.getAll("hide"));
  view.find = fragment.get("find") ?? "";
  view.links = fragment.get("links") ?? "";
  const filtered = axes.filter((axis) => fragment.has(`only.${axis}`));
  view.only = Object.fromEntries(filtered.map((axis) => [axis, fragment.get(`only.${axis}`)]));
}

function writeView() {
  const fragment = new URLSearchParams({y: view.y, x: view.x, log: view.log ? "1" : "0"});
  for (const name of view.hidden) fragment.append("hide", name);
  if (view.find) fragment.append("find", view.find);
  if (view.links) fragment.append("links", view.links);
  for (const [axis, value] of Object.entries(view.only)) fragment.append(`only.${axis}`, value);
  location.replace(`#${fragment}`);
}

// More could be neither distinguished nor drawn quickly.
const most = {series: 40, runs: 400};

const isChosen = (series) => series.name.toLowerCase().includes(view.find.toLowerCase()) &&
  Object.entries(view.only).every(([axis, value]) => valueOn(axis, series.runs[0]) === value);

// The series in the legend, which are the first of the chosen ones, and the number of all chosen ones.
let offered = [];
let chosenCount = 0;

// Updates the offered series. Returns whether they have changed.
function offerSeries() {
  const chosen = allSeries.filter(isChosen);
  let count = 0;
  const next = chosen.slice(0, most.series).filter((series, i) => (count += series.runs.length) <= most.runs || i === 0);
  const differs = next.length !== offered.length || next.some((series, i) => series !== offered[i]);
  [offered, chosenCount] = [next, chosen.length];
  return differs;
}

const shownSeries = () => offered.filter((series) => !view.hidden.has(series.name));

// ---- drawing --------------------------------------------------------------------------------------------

const chart = new CurveChart(byId("chart"), showReading);

function curveOf(series, run, x, y) {
  const incomplete = run.status === "completed" ? "" : "; --dash: 1 4";
  const marked = run.reached && run.target.metric === view.y ? run.restricted_iterations : null;
  const points = (run.curve ?? []).map((point) => (
    {iteration: point.iteration, x: x.of(run, point), y: y.of(point), reached: point.iteration === marked}));
  // A logarithmic axis has no place for the evaluation before the first iteration, which is at 0.
  return {
    name: run.name,
    style: series.style + incomplete,
    marker: series.marker,
    faint: false,
    points: points.filter((point) => point.x !== null && (!view.log || point.x > 0)),
  };
}

// Returns the curves of a series: its run or, of several completed runs, their mean and faint curves of all runs.
function curvesOf(series, x, y) {
  const own = series.runs.map((run) => curveOf(series, run, x, y));
  const completed = own.filter((curve, i) => series.runs[i].status === "completed");
  if (completed.length < 2) return own;
  const name = `${series.name}, mean of ${completed.length} seeds`;
  const mean = {name, style: series.style, marker: series.marker, faint: false, points: meanPoints(completed)};
  return [...own.map((curve) => ({...curve, faint: true})), mean];
}

// A loss has no upper bound: a diverging curve leaves the picture at the top instead of flattening the others.
function highestDrawn(curves) {
  const levels = curves.map(({points}) => points.map((point) => point.y).filter((level) => level !== null));
  const first = Math.max(...levels.flatMap((own) => own.slice(0, 1)));
  return Math.max(first, ...levels.map((own) => Math.max(...own)).filter((highest) => highest <= 2 * first));
}

function drawCurves() {
  const [x, y] = [xKinds[view.x], yKinds[view.y]];
  if (!x || !y) {
    byId("legend-note").textContent = "No run has a point to draw.";
    return;
  }
  const shown = shownSeries();
  getCurves(shown.flatMap((series) => series.runs), drawCurves);
  const drawn = shown.flatMap((series) => curvesOf(series, x, y)).sort((a, b) => b.faint - a.faint);  // means on top
  const targets = [...new Set(runs.filter((run) => run.target?.metric === view.y).map((run) => run.target.value))];
  chart.draw({
    curves: drawn,
    x: {label: x.label, format: x.format, logarithmic: view.log},
    y: {label: y.label, format: short, to: y.loss ? highestDrawn(drawn) : undefined},
    lines: targets.map((value) => ({value, text: `target ${short(value)}`})),
  });
  byId("legend-note").textContent = notes(x, drawn).join(" ");
}

function notes(x, drawn) {
  const out = ["Click a name to hide or show its curve; double-click or Shift-click it to see it alone."];
  if (curves.problem) out.unshift(curves.problem);
  if (curves.missing > 0) out.unshift("Loading curves …");
  if (offered.length < chosenCount) {
    out.unshift(`${offered.length} of ${chosenCount} names are shown: choose others above, by value or by name.`);
  }
  const marked = drawn.some((curve) => curve.points.some((point) => point.reached));
  if (marked) out.push("A ring marks the first evaluation that reached the target.");
  if (drawn.some((curve) => curve.faint)) out.push("Faint: the runs of each seed; strong: their mean where all have one.");
  if (x.evenly) out.push("Bytes: the run’s total, in equal parts per iteration.");
  if (x.leavesOut && runs.some(x.leavesOut)) out.push(x.reason);
  if (view.log) out.push("A logarithmic axis leaves out the evaluation before the first iteration.");
  if (runs.some((run) => run.status !== "completed")) out.push("Dotted: the run did not complete.");
  if (allSeries.some((series) => hasVerdict(series, "degraded"))) out.push("† network emulation degraded: see below.");
  if (allSeries.some((series) => hasVerdict(series, "not judged"))) out.push("‡ nothing filled some links: see below.");
  return out;
}

// Rebuilt only if the series change, so that a button stays under the pointer that clicks it.
function fillLegend() {
  byId("legend").replaceChildren(...offered.map((series) => {
    const look = {class: "swatch", viewBox: "0 0 28 10", "aria-hidden": "true", style: series.style};
    const swatch = svgElement("svg", look);
    swatch.append(svgElement("path", {d: "M1 5H27"}), pointElement(series.marker, "medium", 14, 5));
    const name = element("span", {}, `${series.name} ${markOf(series)}`.trimEnd());
    const button = element("button", {type: "button"}, swatch, name, element("small", {}, outcome(series)));
    button.addEventListener("click", (event) => (event.shiftKey ? showAlone(series.name) : toggle(series.name)));
    button.addEventListener("dblclick", () => showAlone(series.name));
    return element("li", {}, button);
  }));
}

function drawLegend() {
  offered.forEach((series, i) => {
    const button = byId("legend").children[i].firstElementChild;
    button.setAttribute("aria-pressed", String(!view.hidden.has(series.name)));
  });
}

function toggle(name) {
  if (!view.hidden.delete(name)) view.hidden.add(name);
  update();
}

function showAlone(name) {
  const others = offered.map((series) => series.name).filter((other) => other !== name);
  const isAlone = !view.hidden.has(name) && others.every((other) => view.hidden.has(other));
  view.hidden = new Set(isAlone ? [] : others);
  update();
}

function showReading(reading) {
  const box = byId("readout");
  box.hidden = reading === null;
  if (reading === null) return;
  const [x, y] = [xKinds[view.x], yKinds[view.y]];
  const best = (a, b) => (y.loss ? a.y - b.y : b.y - a.y);
  const lines = [...reading.hits].sort(best).map((hit) => element("tr", {},
    element("th", {scope: "row", style: hit.curve.style}, hit.curve.name),
    element("td", {}, short(hit.y)),
    element("td", {}, x.format(Number(hit.x.toPrecision(4))))));
  const head = element("tr", {}, ...["", y.name, x.name].map((name) => element("th", {scope: "col"}, name)));
  box.replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines)));
  box.classList.toggle("low", !y.loss);
  // Beside the cursor, on the side with more room.
  const svg = byId("chart");
  const scale = svg.clientWidth / svg.viewBox.baseVal.width || 1;
  const onTheLeft = reading.left * scale > svg.clientWidth / 2;
  box.style.left = onTheLeft ? "auto" : `${reading.left * scale + 14}px`;
  box.style.right = onTheLeft ? `${svg.clientWidth - reading.left * scale + 14}px` : "auto";
}

function drawIterationTimes() {
  const milliseconds = (value) => `${(1000 * value).toFixed(1)} ms`;
  const shown = shownSeries().flatMap((series) => series.runs).sort((a, b) => a.index - b.index);
  const rows = shown.filter((run) => run.iteration_time_s !== null).map((run) => {
    const {mean, compute, load = 0, exposed_exchange: exposed} = run.iteration_time_s;
    const predicted = run.predicted_s;
    // An external trainer may not report its compute and waiting times.
    const known = compute !== null && exposed !== null;
    return {
      name: run.name, total: mean,
      parts: known ? [
        {value: compute, kind: "compute"},
        {value: load, kind: "load"},
        {value: exposed, kind: "exposed-exchange"},
      ] : [{value: mean, kind: "undivided"}],
      mark: predicted === null ? undefined : {value: predicted, text: `predicted ${milliseconds(predicted)}`},
    };
  });
  byId("iteration-times").hidden = rows.length === 0;
  if (rows.length === 0) return;
  drawBars(byId("bars"), rows, milliseconds);
  const kinds = {compute: "compute", load: "waiting for the batch", "exposed-exchange": "waiting for communication"};
  if (rows.some((row) => row.parts.some((part) => part.kind === "undivided"))) {
    kinds.undivided = "not divided by the trainer";
  }
  if (rows.some((row) => row.mark)) kinds.predicted = "predicted";
  const keys = Object.entries(kinds).map(([kind, text]) => element("span", {class: `key ${kind}`}, text));
  byId("bars-note").replaceChildren(...keys);
}

function draw() {
  if (offerSeries()) fillLegend();
  drawCurves();
  drawLegend();
  drawLinks(view.links);
  drawIterationTimes();
}

// ---- controls -------------------------------------------------------------------------------------------

function fillSelect(select, options, chosen, change) {
  select.replaceChildren(...options.map(([value, text]) => element("option", {value}, text)));
  select.value = chosen;
  select.onchange = () => {
    change(select.value);
    update();
  };
}

function fillControls() {
  byId("controls").hidden = false;
  byId("controls").onsubmit = () => false;
  fillSelect(byId("y"), offeredY.map((kind) => [kind, yKinds[kind].name]), view.y, (value) => (view.y = value));
  fillSelect(byId("x"), offeredX.map((kind) => [kind, xKinds[kind].name]), view.x, (value) => (view.x = value));
  byId("log").checked = view.log;
  byId("log").onchange = () => {
    view.log = byId("log").checked;
    update();
  };
  byId("links-controls").onsubmit = () => false;
  fillSelect(byId("links-run"), linkRuns.map((run) => [run.name, run.name]), view.links, (value) => (view.links = value));
  byId("finder").hidden = allSeries.length <= most.series;
  byId("find").value = view.find;
  byId("find").oninput = () => {
    view.find = byId("find").value;
    update();
  };
  byId("filters").replaceChildren(...(axes.length > 1 ? axes : []).map((axis) => {
    const select = element("select", {});
    const chosen = view.only[axis] === undefined ? "" : `=${view.only[axis]}`;
    fillSelect(select, [["", "all"], ...axisValues(axis).map((value) => [`=${value}`, value])], chosen, (value) => {
      if (value) view.only[axis] = value.slice(1);
      else delete view.only[axis];
    });
    return element("label", {}, `${axis} `, select);
  }));
}

function update() {
  writeView();
  draw();
}

readView();
fillControls();
draw();
for (const id of ["runs", "over-seeds", "origin"]) if (byId(id)) makeSortable(byId(id));
window.addEventListener("resize", draw);
window.addEventListener("beforeprint", draw);
window.addEventListener("hashchange", () => {
  readView();
  fillControls();
  draw();
});
