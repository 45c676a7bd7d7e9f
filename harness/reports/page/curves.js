// SPDX-License-Identifier: Apache-2.0
"use strict";
// Loads the curves of the runs to draw: from elements of the page or, if there are many, from files beside it. The files
// are scripts, because a browser lets a page that was opened from disk load nothing else.

const curveFields = ["iteration", "epoch", "train_time_s", "train_loss", "test_loss", "test_accuracy"];
const curves = {asked: new Set(), missing: 0, problem: ""};

const pieceOf = (run) => Math.floor(run.index / data.curves.runs);

// Stores the curves of a piece, which has one list per field for each run.
function takeCurves(piece, columnsOfRuns) {
  columnsOfRuns.forEach((columns, i) => {
    const point = (place) => Object.fromEntries(curveFields.map((field, k) => [field, columns[k][place]]));
    runs[piece * data.curves.runs + i].curve = columns[0].map((unused, place) => point(place));
  });
}

// Loads the curves of these runs if they are missing. Calls `whenTaken` when all files have been loaded.
function getCurves(wanted, whenTaken) {
  const pieces = new Set(wanted.filter((run) => run.curve === null).map(pieceOf));
  for (const piece of pieces) {
    if (curves.asked.has(piece)) continue;
    curves.asked.add(piece);
    const here = byId(`curves-${piece}`);
    if (here) takeCurves(piece, JSON.parse(here.textContent));
    else loadPiece(piece, whenTaken);
  }
}

function loadPiece(piece, whenTaken) {
  const end = (problem) => {
    curves.missing -= 1;
    if (problem) curves.problem = problem;
    if (curves.missing === 0) whenTaken();
  };
  const script = element("script", {src: `${data.curves.folder}/${data.curves.files[piece]}`});
  script.addEventListener("load", () => end(""));
  script.addEventListener("error", () => end(
    `Some curves are missing from the folder ${data.curves.folder} beside this page: keep page and folder together, or ` +
    "write the page again."));
  curves.missing += 1;
  document.head.append(script);
}
