"use strict";
// Tables that sort by the column whose heading is pressed. The page's are in the order of the runs at first.

function compareCells(a, b) {
  const [x, y] = [a.dataset.value, b.dataset.value];
  if (x !== undefined && y !== undefined) return Number(x) - Number(y);
  return a.textContent.localeCompare(b.textContent, "en", {numeric: true});
}

function sortBy(table, column, ascending) {
  const body = table.tBodies[0];
  const isEmpty = (row) => row.cells[column].textContent === "-";
  const sign = ascending ? 1 : -1;
  const order = (a, b) => isEmpty(a) - isEmpty(b) || sign * compareCells(a.cells[column], b.cells[column]);
  body.append(...[...body.rows].sort(order));
  [...table.tHead.rows[0].cells].forEach((cell, i) => {
    if (i === column) cell.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  });
}

// Turns the headings into buttons.
function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const button = element("button", {type: "button", title: cell.title}, cell.textContent);
    button.addEventListener("click", () => sortBy(table, column, cell.getAttribute("aria-sort") !== "ascending"));
    cell.replaceChildren(button);
  });
}
