// SPDX-License-Identifier: Apache-2.0
"use strict";
// Draws curves and bars into SVG elements. Independent of records: page.js chooses what to draw.

// Returns about `count` multiples of 1, 2 or 5 times a power of ten.
function evenTicks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12); ++i) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

// Returns 1, 2 and 5 times the powers of ten, or the powers alone if there are many.
function logarithmicTicks(low, high) {
  const factors = high / low > 1e4 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; ++power) {
    for (const factor of factors) ticks.push(Number(`${factor}e${power}`));
  }
  return ticks.filter((tick) => tick >= low && tick <= high);
}

// Maps values to a range of positions in the drawing.
class Scale {
  constructor(low, high, from, to, logarithmic = false) {
    this.measure = logarithmic ? Math.log : (value) => value;
    Object.assign(this, {low, high, from, to, logarithmic});
  }

  place(value) {
    const low = this.measure(this.low);
    return this.from + ((this.to - this.from) * (this.measure(value) - low)) / (this.measure(this.high) - low);
  }

  ticks(count) {
    const ticks = this.logarithmic ? logarithmicTicks(this.low, this.high) : [];
    return ticks.length > 1 ? ticks : evenTicks(this.low, this.high, count);
  }
}

// Returns the lowest and the highest value; they differ even if there is only one value or none.
function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low > high) return [0, 1];
  return low < high ? [low, high] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
}

// The outlines of markers, by matplotlib's letters, for a marker of radius 1.
const markerPaths = {
  "o": "M-1 0A1 1 0 1 0 1 0A1 1 0 1 0 -1 0Z",
  "s": "M-.9 -.9H.9V.9H-.9Z",
  "^": "M0 -1.2L1.15 .9H-1.15Z",
  "v": "M0 1.2L1.15 -.9H-1.15Z",
  "<": "M-1.2 0L.9 -1.15V1.15Z",
  ">": "M1.2 0L-.9 1.15V-1.15Z",
  "D": "M0 -1.3L1.3 0L0 1.3L-1.3 0Z",
  "P": "M-.45 -1.25H.45V-.45H1.25V.45H.45V1.25H-.45V.45H-1.25V-.45H-.45Z",
  "X": "M-1.2 -.6L-.6 -1.2L0 -.6L.6 -1.2L1.2 -.6L.6 0L1.2 .6L.6 1.2L0 .6L-.6 1.2L-1.2 .6L-.6 0Z",
  "p": "M0 -1.2L1.14 -.37L.71 .97H-.71L-1.14 -.37Z",
};
const markerRadii = {small: 1, medium: 3};

// Returns the definitions that the points of curves and the legend's swatches refer to.
function markerDefinitions() {
  const definitions = svgElement("defs", {});
  for (const [size, radius] of Object.entries(markerRadii)) {
    for (const [marker, d] of Object.entries(markerPaths)) {
      const path = svgElement("path", {d, transform: `scale(${radius})`, "vector-effect": "non-scaling-stroke"});
      const group = svgElement("g", {id: markerId(marker, size)});
      group.append(path);
      definitions.append(group);
    }
  }
  return definitions;
}

const markerId = (marker, size) => `marker-${size}-${Object.keys(markerPaths).indexOf(marker)}`;

const pointElement = (marker, size, x, y) =>
  svgElement("use", {class: "point", "data-marker": marker, href: `#${markerId(marker, size)}`, x, y});

class CurveChart {
  // `onRead(reading)` receives the contents of the read-out, {x, left, hits: [{curve, x, y}]}, or null to hide it.
  constructor(svg, onRead) {
    Object.assign(this, {svg, onRead, readable: [], reading: null});
    svg.addEventListener("pointermove", (event) => this.readAt(this.placeOf(event)));
    svg.addEventListener("pointerleave", () => this.read(null));
    svg.addEventListener("blur", () => this.read(null));
    svg.addEventListener("keydown", (event) => this.step(event));
  }

  // curves: [{name, style, marker, faint, points: [{x, y or null, reached}]}]; faint ones have no markers, and the
  //     read-out leaves them out
  // x: {label, format, logarithmic}; y: {label, format, to}, where `to` is the highest level to show
  // lines: [{value, text}], drawn across the picture
  draw({curves, x, y, lines}) {
    const width = Math.max(320, this.svg.parentElement.clientWidth || 960);
    const height = Math.round(Math.min(460, Math.max(300, 0.45 * width)));
    const box = {left: 58, right: width - 14, top: 10, bottom: height - 46};
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.readable = curves.filter((curve) => !curve.faint);
    const all = curves.flatMap((curve) => curve.points).filter((point) => point.y !== null);
    const levels = all.map((point) => Math.min(point.y, y.to ?? Infinity));
    // A logarithmic axis must not include zero, even without points.
    const [xLow, xHigh] = all.length === 0 && x.logarithmic ? [1, 10] : extent(all.map((point) => point.x));
    const [yLow, yHigh] = extent(levels.concat(lines.map((line) => line.value)));
    const margin = 0.05 * (yHigh - yLow);
    const low = x.logarithmic || xLow < 0 ? xLow : 0;
    this.x = new Scale(low, xHigh + (x.logarithmic ? 0 : 0.01 * (xHigh - low)), box.left, box.right, x.logarithmic);
    this.y = new Scale(yLow - margin, yHigh + margin, box.bottom, box.top);
    this.box = box;

    const clip = svgElement("clipPath", {id: "inside"});
    const room = {x: box.left - 6, y: box.top, width: box.right - box.left + 12, height: box.bottom - box.top};
    clip.append(svgElement("rect", room));
    this.svg.replaceChildren(clip, markerDefinitions(), ...this.drawAxes(x, y), ...this.drawLines(lines));
    for (const curve of curves) this.svg.append(this.drawCurve(curve));
    this.cursor = svgElement("g", {class: "cursor"});
    this.svg.append(this.cursor);
    this.read(null);
  }

  drawAxes(x, y) {
    const {left, right, top, bottom} = this.box;
    const out = [];
    for (const tick of this.y.ticks(6)) {
      const at = this.y.place(tick);
      out.push(svgElement("line", {class: "grid", x1: left, x2: right, y1: at, y2: at}));
      out.push(svgElement("text", {x: left - 8, y: at + 4, "text-anchor": "end"}, y.format(tick)));
    }
    for (const tick of this.x.ticks((right - left) / 90)) {
      const at = this.x.place(tick);
      out.push(svgElement("line", {class: "grid", x1: at, x2: at, y1: top, y2: bottom}));
      out.push(svgElement("text", {x: at, y: bottom + 17, "text-anchor": "middle"}, x.format(tick)));
    }
    out.push(svgElement("line", {class: "axis", x1: left, x2: right, y1: bottom, y2: bottom}));
    out.push(svgElement("line", {class: "axis", x1: left, x2: left, y1: top, y2: bottom}));
    const label = {class: "label", "text-anchor": "middle"};
    const middle = (top + bottom) / 2;
    const upright = {x: 13, y: middle, transform: `rotate(-90 13 ${middle})`};
    out.push(svgElement("text", {...label, x: (left + right) / 2, y: bottom + 38}, x.label));
    out.push(svgElement("text", {...label, ...upright}, y.label));
    return out;
  }

  drawLines(lines) {
    const {left, right} = this.box;
    return lines.flatMap(({value, text}) => {
      const at = this.y.place(value);
      return [
        svgElement("line", {class: "target", x1: left, x2: right, y1: at, y2: at}),
        svgElement("text", {class: "target-text", x: left + 6, y: at - 5}, text),
      ];
    });
  }

  drawCurve(curve) {
    const group = svgElement("g", {class: curve.faint ? "curve faint" : "curve", style: curve.style, "clip-path": "url(#inside)"});
    let path = "";
    let pen = "M";
    for (const {x, y, reached} of curve.points) {
      if (y === null) {
        pen = "M";  // a gap
        continue;
      }
      const [cx, cy] = [this.x.place(x).toFixed(1), this.y.place(y).toFixed(1)];
      path += `${pen}${cx} ${cy}`;
      pen = "L";
      if (!curve.faint) group.append(pointElement(curve.marker, curve.points.length > 80 ? "small" : "medium", cx, cy));
      if (reached) group.append(svgElement("circle", {class: "reached", cx, cy, r: curve.faint ? 4 : 6}));
    }
    group.prepend(svgElement("title", {}, curve.name), svgElement("path", {d: path}));
    return group;
  }

  placeOf({clientX}) {
    const {left, width} = this.svg.getBoundingClientRect();
    return ((clientX - left) * this.svg.viewBox.baseVal.width) / width;
  }

  // Reads each readable curve's evaluation that is nearest to a position in the drawing.
  readAt(place) {
    const hits = [];
    for (const curve of this.readable) {
      let nearest = null;
      for (const {x, y} of curve.points) {
        if (y === null) continue;
        const distance = Math.abs(this.x.place(x) - place);
        if (nearest === null || distance < nearest.distance) nearest = {curve, x, y, distance};
      }
      if (nearest !== null) hits.push(nearest);
    }
    if (hits.length === 0) return this.read(null);
    const closest = hits.reduce((a, b) => (a.distance <= b.distance ? a : b));
    this.read({x: closest.x, left: this.x.place(closest.x), hits});
  }

  read(reading) {
    this.reading = reading;
    if (this.cursor) this.cursor.replaceChildren();
    if (reading) {
      const {top, bottom} = this.box;
      this.cursor.append(svgElement("line", {x1: reading.left, x2: reading.left, y1: top, y2: bottom}));
      for (const {curve, x, y} of reading.hits) {
        const [cx, cy] = [this.x.place(x), this.y.place(y)];
        this.cursor.append(svgElement("circle", {cx, cy, r: 4.5, style: curve.style}));
      }
    }
    this.onRead(reading);
  }

  // The arrow keys move the read-out from evaluation to evaluation.
  step(event) {
    const forward = {ArrowRight: true, ArrowLeft: false}[event.key];
    if (event.key === "Escape") this.read(null);
    if (forward === undefined) return;
    event.preventDefault();
    const xs = this.readable.flatMap((curve) => curve.points.map((point) => point.x)).sort((a, b) => a - b);
    const here = this.reading?.x ?? (forward ? -Infinity : Infinity);
    const next = forward ? xs.find((x) => x > here) : xs.findLast((x) => x < here);
    if (next !== undefined) this.readAt(this.x.place(next));
  }
}

// Draws horizontal bars of parts that add up. rows: [{name, total, parts: [{value, kind}], mark?: {value, text}}]
function drawBars(svg, rows, format) {
  const width = Math.max(320, svg.parentElement.clientWidth || 960);
  const [pitch, thick, top] = [26, 16, 4];
  const [characterWidth, margin] = [6.8, 20];
  const longestName = Math.max(...rows.map((row) => row.name.length));
  const left = Math.min(0.4 * width, margin + characterWidth * longestName);
  const most = Math.max(2, Math.round((left - margin) / characterWidth));
  const scale = new Scale(0, Math.max(...rows.flatMap((row) => [row.total, row.mark?.value ?? 0])), left, width - 80);
  svg.setAttribute("viewBox", `0 0 ${width} ${top + pitch * rows.length}`);
  svg.replaceChildren();
  rows.forEach((row, i) => {
    const y = top + pitch * i;
    const group = svgElement("g", {class: "bar"});
    const shown = row.name.length > most ? `${row.name.slice(0, most - 1)}…` : row.name;
    const name = svgElement("text", {x: left - 8, y: y + 13, "text-anchor": "end"}, shown);
    name.append(svgElement("title", {}, row.name));
    group.append(name);
    let sum = 0;
    for (const {value, kind} of row.parts) {
      const from = scale.place(sum);
      sum += value;
      const length = Math.max(0, scale.place(sum) - from);
      const part = svgElement("rect", {class: kind, x: from, y, width: length, height: thick});
      part.append(svgElement("title", {}, `${row.name}: ${kind.replace("-", " ")} ${format(value)}`));
      group.append(part);
    }
    const end = scale.place(Math.max(sum, row.mark?.value ?? 0));
    group.append(svgElement("text", {x: end + 8, y: y + 13}, format(row.total)));
    if (row.mark) {
      const at = scale.place(row.mark.value);
      const mark = svgElement("line", {class: "predicted", x1: at, x2: at, y1: y - 3, y2: y + thick + 3});
      mark.append(svgElement("title", {}, row.mark.text));
      group.append(mark);
    }
    svg.append(group);
  });
}
