// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Draws layouts: each element in the colour of the thread that holds it (hue by warp, lightness by lane).
// A layout is [shape, columns of registers, of lanes, of warps, of blocks]; an index contributes the exclusive or of its bits' columns.
"use strict";
function owners([shape, ...dims]) {
  const columns = shape.length > 1 ? shape[shape.length - 1] : shape[0];
  const rows = shape.reduce((a, b) => a * b, 1) / columns;
  const flat = (point) => point.reduce((sum, x, i) => sum * shape[i] + x, 0);
  const held = new Array(rows * columns);
  const bits = dims.map((d) => d.length), total = bits.reduce((a, b) => a + b, 0);
  const every = dims.flat();
  for (let index = 0; index < 2 ** total; ++index) {
    const point = shape.map(() => 0);
    every.forEach((column, bit) => { if (Math.floor(index / 2 ** bit) % 2) column.forEach((x, i) => { point[i] ^= x; }); });
    const cell = flat(point);
    if (held[cell] === undefined) {
      let rest = index;
      held[cell] = bits.map((count) => { const value = rest % 2 ** count; rest = Math.floor(rest / 2 ** count); return value; });
    }
  }
  return { rows, columns, held, warps: 2 ** bits[2], lanes: 2 ** bits[1] };
}
function draw(canvas) {
  const { rows, columns, held, warps, lanes } = owners(layouts[canvas.dataset.layout]);
  const size = Math.max(2, Math.min(14, Math.floor(960 / columns), Math.floor(480 / rows)));
  canvas.width = columns * size;
  canvas.height = rows * size;
  const context = canvas.getContext("2d");
  held.forEach((owner, cell) => {
    if (!owner) return;
    const [, lane, warp] = owner;
    context.fillStyle = `hsl(${(360 * warp) / warps + 210} 60% ${30 + (50 * lane) / Math.max(lanes - 1, 1)}%)`;
    context.fillRect((cell % columns) * size, Math.floor(cell / columns) * size, size > 4 ? size - 1 : size, size > 4 ? size - 1 : size);
  });
  const words = canvas.nextElementSibling;
  words.textContent = "Each colour is a warp, each shade a lane; point at an element.";
  canvas.onpointermove = (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * columns), row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    const owner = held[row * columns + column];
    if (owner) words.textContent = `element [${row}, ${column}]: warp ${owner[2]}, lane ${owner[1]}, register ${owner[0]}` + (owner[3] ? `, block ${owner[3]}` : "");
  };
}
document.querySelectorAll("details.tile").forEach((tile) => tile.addEventListener("toggle", () => {
  const canvas = tile.querySelector("canvas");
  if (tile.open && !canvas.dataset.drawn) { canvas.dataset.drawn = "1"; draw(canvas); }
}));
function reveal() {
  const line = location.hash && document.querySelector(location.hash);
  if (line && line.tagName === "DETAILS") line.open = true;
}
addEventListener("hashchange", reveal);
reveal();
