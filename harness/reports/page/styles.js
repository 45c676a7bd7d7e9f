// SPDX-License-Identifier: Apache-2.0
"use strict";
// The colour, marker and dash of each method: the same as in the figures (plotting/shared/method_style.py), by the same table.

const looks = JSON.parse(byId("method-styles").textContent);

// Returns the FNV-1a hash of the name, in 32 bits.
function hashOf(name) {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value;
}

// Returns the colour with this share of another one.
function mixed(colour, other, share) {
  const channel = (text, at) => parseInt(text.slice(at, at + 2), 16);
  const mix = (one, two) => Math.floor(one + (two - one) * share + 0.5).toString(16).padStart(2, "0");
  return `#${[1, 3, 5].map((at) => mix(channel(colour, at), channel(other, at))).join("")}`;
}

// Returns each method's colour, marker and dash by its name. A method that the table lacks has one of the remaining colours,
// chosen by a hash of its name, and a marker: the next free one if another such method on the page has both.
function looksOf(methods) {
  const {colours, markers} = looks.others;
  const found = new Map();
  const taken = new Set();
  for (const method of [...new Set(methods)].sort()) {
    let look = Object.hasOwn(looks.methods, method) ? looks.methods[method] : null;
    if (look === null) {
      const place = hashOf(method);
      const first = Math.floor(place / colours.length);
      const candidates = markers.map((_, step) => ({
        colour: colours[place % colours.length], marker: markers[(first + step) % markers.length],
      }));
      look = candidates.find(({colour, marker}) => !taken.has(colour + marker)) ?? candidates[0];
      look.dash = first % looks.variants.dashes.length;
      taken.add(look.colour + look.marker);
    }
    found.set(method, look);
  }
  return found;
}

// Returns the look of a method's variant: colours of the light and the dark page, marker, fill and dash.
function variantOf({colour, marker, dash: first}, place) {
  const {filled, shades, dashes} = looks.variants;
  const {share, towards} = shades[Math.floor(place / filled.length) % shades.length];
  const shaded = (page) => mixed(looks.colours[colour][page], towards[page], share);
  const dash = dashes[(first + place) % dashes.length];
  return {light: shaded("light"), dark: shaded("dark"), marker, filled: filled[place % filled.length], dash};
}

// Returns the style of each curve by its label. `methods` has the method of each label, as [label, method].
function stylesOf(methods) {
  const byMethod = new Map();
  for (const [label, method] of methods) byMethod.set(method, (byMethod.get(method) ?? new Set()).add(label));
  const base = looksOf(byMethod.keys());
  const styles = new Map();
  for (const [method, labels] of byMethod) {
    [...labels].sort().forEach((label, place) => styles.set(styleKey(label, method), variantOf(base.get(method), place)));
  }
  return styles;
}

const styleKey = (label, method) => JSON.stringify([label, method]);
