// SPDX-License-Identifier: Apache-2.0
"use strict";
// Creates elements of the page. Inserts text only as text, never as markup: labels are the user's own words.

const byId = (id) => document.getElementById(id);

window.addEventListener("error", (event) => {
  byId("error").hidden = false;
  byId("error").textContent = `This page's script failed: ${event.message}`;
});

function element(name, attributes = {}, ...children) {
  const out = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
  out.append(...children);
  return out;
}

function svgElement(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
