// SPDX-License-Identifier: Apache-2.0
"use strict";
// Draws what the capped links did during one run: of each direction the rate below its cap, the longest queue and lost
// frames. The page has a run's series as text, which is read when it is drawn.

const linkRuns = runs.filter((run) => byId(`links-${run.index}`));

function linkHistory(run) {
  run.links ??= JSON.parse(byId(`links-${run.index}`).textContent);
  return run.links;
}

// Returns a path with one step per part of the time.
function steps(values, x, y, part) {
  const at = (i, value) => `${x.place(i * part).toFixed(1)} ${y.place(value).toFixed(1)}`;
  return `M${values.map((value, i) => `${at(i, value)}L${at(i + 1, value)}`).join("L")}`;
}

// Returns the drawing of a direction in the box; the axis of queues is the same for all directions.
function drawDirection(direction, end, box, highestQueue) {
  const part = end / direction.rates.length;
  const x = new Scale(0, end, box.left, box.right);
  const highestRate = Math.max(...direction.rates, ...direction.caps.map(([, rate]) => rate));
  const rate = new Scale(0, 1.08 * (highestRate || 1), box.bottom, box.top);
  const queue = new Scale(0, 1.08 * (highestQueue || 1), box.bottom, box.top);
  const group = svgElement("g", {class: "direction"});
  group.append(svgElement("text", {class: "label", x: box.left, y: box.top - 6}, direction.name));
  for (const tick of rate.ticks(2)) {
    const at = rate.place(tick);
    group.append(svgElement("line", {class: "grid", x1: box.left, x2: box.right, y1: at, y2: at}));
    group.append(svgElement("text", {x: box.left - 8, y: at + 4, "text-anchor": "end"}, short(tick)));
  }
  for (const tick of queue.ticks(2)) {
    group.append(svgElement("text", {x: box.right + 8, y: queue.place(tick) + 4}, short(tick)));
  }
  const outline = steps(direction.rates, x, rate, part);
  group.append(svgElement("path", {class: "rate", d: `${outline}V${box.bottom}H${box.left}Z`}));
  const caps = [...direction.caps, [end, direction.caps.at(-1)?.[1]]];
  const places = caps.slice(1).map(([until], i) => {
    const [from, height] = caps[i];
    return `${x.place(Math.min(from, end))} ${rate.place(height)}H${x.place(Math.min(until, end))}`;
  });
  if (places.length) group.append(svgElement("path", {class: "cap", d: `M${places.join("L")}`}));
  group.append(svgElement("path", {class: "queue", d: steps(direction.queues, x, queue, part)}));
  for (const place of direction.drops) {
    const [cx, cy] = [x.place((place + 0.5) * part), box.bottom - 6];
    group.append(svgElement("path", {class: "lost", d: `M${cx - 3} ${cy - 3}l6 6m0 -6l-6 6`}));
  }
  group.append(svgElement("line", {class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom}));
  return group;
}

// Draws the series of the run with this name, or of the first one.
function drawLinks(name) {
  byId("links").hidden = linkRuns.length === 0;
  if (linkRuns.length === 0) return;
  const run = linkRuns.find((each) => each.name === name) ?? linkRuns[0];
  byId("links-run").value = run.name;
  const {end_s: end, directions} = linkHistory(run);
  const svg = byId("links-chart");
  const width = Math.max(320, svg.parentElement.clientWidth || 960);
  const [first, pitch, thick] = [24, 108, 76];
  const box = (i) => ({left: 58, right: width - 62, top: first + i * pitch, bottom: first + i * pitch + thick});
  const bottom = box(directions.length - 1).bottom;
  const highestQueue = Math.max(...directions.flatMap((direction) => direction.queues));
  svg.setAttribute("viewBox", `0 0 ${width} ${bottom + 46}`);
  svg.replaceChildren(...directions.map((direction, i) => drawDirection(direction, end, box(i), highestQueue)));
  const x = new Scale(0, end, box(0).left, box(0).right);
  for (const tick of x.ticks((box(0).right - box(0).left) / 90)) {
    svg.append(svgElement("text", {x: x.place(tick), y: bottom + 17, "text-anchor": "middle"}, short(tick)));
  }
  const label = {class: "label", "text-anchor": "middle", x: (box(0).left + box(0).right) / 2, y: bottom + 38};
  svg.append(svgElement("text", label, "Time since training began, with evaluations (s)"));
  const kinds = {rate: "rate (Mbit/s, left)", cap: "cap", queue: "longest queue (kB, right)"};
  if (directions.some((direction) => direction.drops.length)) kinds.lost = "lost frames";
  byId("links-note").replaceChildren(...Object.entries(kinds).map(([kind, text]) => element("span", {class: `key ${kind}`}, text)));
  if (data.links_left_out > 0) {
    byId("links-note").append(`The first ${linkRuns.length} runs are here; ${data.links_left_out} others have a series too.`);
  }
}
