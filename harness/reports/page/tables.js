// SPDX-License-Identifier: Apache-2.0
"use strict";
// Sorts a table by the column whose heading is clicked. At first, tables are in the order of the runs.

const longest = 200;  // rows shown of a long table, as in page.css

// Returns the cell's value if the column has several units; otherwise the number that its text begins with, after the
// sign of a bound.
const numberOf = (cell) => Number(cell.dataset.value ?? parseFloat(cell.textContent.replace(/^[≥≤] /, "")));

function compareTexts(a, b) {
  return a.textContent.localeCompare(b.textContent, "en", {numeric: true});
}

// Words, such as "failed", come after numbers.
function compareNumbers(a, b) {
  const [x, y] = [numberOf(a), numberOf(b)];
  return Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) - Number.isNaN(y) : x - y;
}

function sortBy(table, column, ascending) {
  const body = table.tBodies[0];
  const compareCells = "numbers" in table.tHead.rows[0].cells[column].dataset ? compareNumbers : compareTexts;
  const isEmpty = (row) => row.cells[column].textContent === "-";
  const sign = ascending ? 1 : -1;
  const order = (a, b) => isEmpty(a) - isEmpty(b) || sign * compareCells(a.cells[column], b.cells[column]);
  body.append(...[...body.rows].sort(order));
  [...table.tHead.rows[0].cells].forEach((cell, i) => {
    if (i === column) cell.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  });
}

function shorten(table) {
  const count = table.tBodies[0].rows.length;
  if (count <= longest) return;
  table.classList.add("long");
  const button = element("button", {type: "button", class: "whole"}, `Show all ${count} rows`);
  button.addEventListener("click", () => {
    table.classList.remove("long");
    button.remove();
  });
  table.parentElement.after(button);
}

// Turns the headings into buttons, and shows the first rows of a long table.
function makeSortable(table) {
  shorten(table);
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const button = element("button", {type: "button", title: cell.title}, cell.textContent);
    button.addEventListener("click", () => sortBy(table, column, cell.getAttribute("aria-sort") !== "ascending"));
    cell.replaceChildren(button);
  });
}
