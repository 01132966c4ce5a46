// How a game has ended, from the marks on its board: the twins of azero/games/kit/ends.py.

import { drawOf } from "./chess.js";

const WAYS = [[0, 1], [1, 0], [1, 1], [1, -1]];
const BESIDE = [[-1, 0], [0, -1], [0, 1], [1, 0]], BESIDE_HEXAGON = [...BESIDE, [-1, 1], [1, -1]];

// Return the cells beside one, on a board of so many rows and columns.
function besides(cell, rows, columns, ways) {
  const [row, column] = [Math.floor(cell / columns), cell % columns];
  return ways.map(([down, right]) => [row + down, column + right])
    .filter(([r, c]) => r >= 0 && r < rows && c >= 0 && c < columns).map(([r, c]) => r * columns + c);
}

// The cells of all lines of `count` or more pieces of one player.
function lineCells(marks, rows, columns, count) {
  const found = new Set();
  marks.forEach((mark, cell) => WAYS.forEach((way) => {
    const line = [cell];
    while (line.length < count && marks[line.at(-1)]) {
      const [next] = besides(line.at(-1), rows, columns, [way]);
      if (next === undefined || marks[next] !== mark) return;
      line.push(next);
    }
    if (mark) line.forEach((each) => found.add(each));
  }));
  return [...found];
}

// The shortest chain of hexagons between the edges of a player, from the first one's top or the other's left.
function chainCells(marks, rows, columns) {
  for (const owner of [1, 2]) {
    const along = (cell) => owner === 1 ? Math.floor(cell / columns) : cell % columns;
    const own = [...marks.keys()].filter((cell) => marks[cell] === owner);
    const before = new Map(own.filter((cell) => !along(cell)).map((cell) => [cell, null]));
    for (const cell of before.keys()) { // grows meanwhile
      if (along(cell) === (owner === 1 ? rows : columns) - 1) {
        const path = [];
        for (let at = cell; at !== null; at = before.get(at)) path.unshift(at);
        return path;
      }
      for (const near of besides(cell, rows, columns, BESIDE_HEXAGON))
        if (marks[near] === owner && !before.has(near)) before.set(near, cell);
    }
  }
  return [];
}

// The pieces that have reached the last row.
const goalCells = (marks, rows, columns) => [...marks.keys()].filter((cell) =>
  (marks[cell] === 1 && cell < columns) || (marks[cell] === 2 && cell >= (rows - 1) * columns));

// Whose each empty cell is: 0 nobody's, 1, 2.
function territoryOf(marks, rows, columns) {
  const owners = marks.map(() => 0), known = new Set();
  marks.forEach((mark, start) => {
    if (mark || known.has(start)) return;
    const region = new Set([start]), borders = new Set();
    for (const cell of region) for (const near of besides(cell, rows, columns, BESIDE))
      (marks[near] ? borders : region).add(marks[near] || near);
    for (const cell of region) {
      known.add(cell);
      if (borders.size === 1) [owners[cell]] = borders;
    }
  });
  return owners;
}

/**
 * Return what a page shows of marks, and of the end if it is one: {winning, territory, alert, score}.
 * outcome: of the end for the first player; history, chess: see `drawOf` of chess.js.
 */
export function endOf(board, marks, over, outcome, history, chess = null) {
  const { rows: { length: rows }, columns: { length: columns }, ends, figures } = board;
  const count = (list, owner) => list.filter((mark) => mark === owner).length;
  const king = marks.indexOf(1 + 2 * figures.indexOf("king") + (outcome > 0 ? 1 : 0));
  const shown = { winning: [], territory: [], score: "",
    alert: over && outcome && chess ? king : null };
  if (over && chess) shown.score = outcome ? "by checkmate" : drawOf(board, history, chess);
  if ("count" in ends) shown.score = `${count(marks, 1)} : ${count(marks, 2)}`;
  if (!over) return shown;
  if ("inline" in ends) shown.winning = lineCells(marks, rows, columns, ends.inline);
  if ("chain" in ends) shown.winning = chainCells(marks, rows, columns);
  if ("goal" in ends) shown.winning = goalCells(marks, rows, columns);
  if ("area" in ends) {
    shown.territory = territoryOf(marks, rows, columns);
    const all = shown.territory.map((owner, cell) => owner || marks[cell]);
    const lead = Math.abs(count(all, 1) - count(all, 2) - ends.area);
    shown.score = lead ? `by ${lead} point${lead === 1 ? "" : "s"}` : "";
  }
  return shown;
}
