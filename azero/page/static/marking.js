// What is drawn over a board's stones: how the game has ended, numbers beside a cell, X and O.

import { svg } from "./elements.js";

const BIG = 13; // rows or columns from which on only the best moves have circles and numbers
const TOP = 10; // such moves
const FONT = 13; // pixels
const OWNERS = ["", "first", "second"];

/** Return the actions with a circle and numbers: all, on a big board `chosen` and those of the largest shares. */
export function topMoves({ rows, columns }, shares, chosen) {
  if (Math.max(rows.length, columns.length) < BIG) return { has: () => true };
  return new Set([...[...shares].sort((a, b) => b[1] - a[1]).slice(0, TOP).map(([action]) => action), chosen]);
}

/** Return an X or an O in a cell of 100 units around 0, 0. */
export const drawnSymbol = (player) => player ? svg("circle", { class: "symbol", r: 27 })
  : svg("path", { class: "symbol", d: "M-25 -25L25 25M-25 25L25 -25" });

/** Return marks of the cells that have won, and of the territory at the end. */
export function endMarks(board, { winning, territory }, { centre, outline }, radius) {
  const stones = ["coloured", "classic"].includes(board.stones);
  const owned = [...territory.entries()].filter(([, owner]) => owner).map(([cell, owner]) => {
    const [x, y] = centre(cell);
    return svg("rect", { class: `owned ${OWNERS[owner]}`, x: x - 14, y: y - 14, width: 28, height: 28, rx: 4 });
  });
  return [...owned, ...winning.flatMap((cell) => {
    const [cx, cy] = centre(cell);
    if (!stones) return [svg("path", { class: "won", d: outline(cell, 4.5) })];
    return ["won under", "won"].map((name) => svg("circle", { class: name, cx, cy, r: radius - 5 }));
  })];
}

/** Return texts in a box above a point, or below it at the top. scale: units of the picture for a pixel. */
export function tip(lines, [x, y], [left, top, width], scale, gap = 54) {
  const text = lines.join(" · "), size = FONT * scale, wide = text.length * size * 0.56 + size * 1.2;
  const middle = Math.max(left + wide / 2, Math.min(left + width - wide / 2, x));
  const up = y - gap - size * 2 > top, at = up ? y - gap - size : y + gap + size;
  const box = { x: middle - wide / 2, y: at - size, width: wide, height: size * 2, rx: size * 0.5 };
  return svg("g", { class: "tip" }, svg("rect", box), svg("text", { x: middle, y: at, dy: "0.35em", "font-size": size }, text));
}
