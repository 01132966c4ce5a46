// Pieces that move: how they look, how one is chosen and taken to its goal, and arrows for moves.

import { el, svg } from "./elements.js";

const DRAG = 6; // pixels that a pointer goes before the piece follows it
const ARROWS = 6; // moves at most
const LEAST_ARROW = 0.02; // share of the visits

/** Return who owns a mark: 0 for the first player, 1 for the other. */
export const ownerOf = (mark) => (mark - 1) % 2;

/** Return the name of how a mark looks, "stone" or a figure. */
export const figureOf = (board, mark) => board.figures[(mark - 1) >> 1] ?? "stone";

/** Return whether a board has pieces that are not stones. */
export const hasFigures = (board) => board.figures.some((figure) => board.shapes[figure]);

/** Return what a player of a board is called at the beginning of a sentence, or within one. */
export const playerName = ({ players }, player, within = false) =>
  players?.[player] ?? `${within ? "the" : "The"} ${player ? "second" : "first"} player`;

/** Return what a mark of a cell is called: "white pawn", or a stone's symbol, or "empty". */
export function pieceName(board, mark) {
  if (!mark) return "empty";
  const owner = board.players?.[ownerOf(mark)].toLowerCase() ?? `${playerName(board, ownerOf(mark))}'s`;
  return board.shapes[figureOf(board, mark)] ? `${owner} ${figureOf(board, mark)}` : board.symbols[mark];
}

/** Return a figure in a cell of 100 units around 0, 0. */
export const figure = (paths) => svg("g", { class: "figure" },
  paths.map((d) => svg("path", { class: d.endsWith("Z") ? "area" : "detail", d })));

/** Return whether a move takes a piece from one cell to another. */
export const goes = ({ from, cell }) => from != null && cell != null;

/**
 * Return what moves a piece by clicks, by dragging and by keys.
 *
 * cellAt(event): the cell below a pointer, or null. onHold(cell or null, its moves). onCarry(cell, event): its
 * piece follows the pointer; event null: it goes back. onChoose(moves to one cell, cell, whether by dragging).
 * onIllegal(cell, from).
 */
export function makeMover({ cellAt, onHold, onCarry, onChoose, onIllegal }) {
  let moves = new Map(), held = null, press = null;
  const to = (cell) => (moves.get(held) ?? []).filter((move) => move.cell === cell);

  const isPressed = () => press !== null && held !== null && press.cell === held;

  function hold(cell) {
    held = cell;
    onHold(cell, moves.get(cell) ?? []);
  }

  function go(cell, dragged = false) {
    const found = to(cell), from = held;
    hold(null);
    if (found.length) onChoose(found, cell, dragged);
    else if (cell !== null && cell !== from) onIllegal(cell, from);
    return found.length > 0;
  }

  /** A cell is clicked, or chosen by a key. */
  function enter(cell) {
    if (moves.has(cell) && cell !== held && !to(cell).length) hold(cell);
    else go(cell);
  }

  return {
    enter,
    /** Show the moves of a position. */
    show(list) {
      moves = Map.groupBy(list.filter(goes), ({ from }) => from);
      press = null;
      hold(null);
    },
    /** Let go of the piece; return whether there was one. */
    release() {
      const was = held !== null;
      if (press?.dragged) onCarry(held, null);
      press = null;
      hold(null);
      return was;
    },
    down(event) {
      const cell = cellAt(event), fresh = moves.has(cell) && cell !== held && !to(cell).length;
      press = { cell, fresh, x: event.clientX, y: event.clientY, dragged: false };
      if (fresh) hold(cell);
    },
    /** Return whether a pointer is down on the piece that is held. */
    isPressed,
    /** Return whether a piece follows the pointer. */
    move(event) {
      if (!isPressed()) return false;
      press.dragged ||= Math.hypot(event.clientX - press.x, event.clientY - press.y) > DRAG;
      if (press.dragged) onCarry(held, event);
      return press.dragged;
    },
    /** Return whether that was a drag, or has chosen a piece, so that it is not a click as well. */
    up(event) {
      const cell = cellAt(event), { fresh = false, dragged = false } = press ?? {}, piece = held;
      press = null;
      if (dragged && (cell === piece || !go(cell, true))) onCarry(piece, null);
      return dragged || fresh;
    },
  };
}

/** Return the ends of names without what all of them begin with; a name where nothing would be left. */
export function endings(names) {
  let common = 0;
  while (names.every((name) => name[common] !== undefined && name[common] === names[0][common])) common++;
  return names.map((name) => name.slice(common) || name);
}

/** Return the figure that a text is the symbol of, for a player; undefined: none is. */
function figureNamed(board, text, player) {
  const mark = board.symbols.findIndex((symbol, i) =>
    i > 0 && ownerOf(i) === player && symbol.toLowerCase() === text.toLowerCase());
  return mark < 0 ? undefined : figureOf(board, mark);
}

/**
 * Offer moves in a menu. place: {x, y, size} of the cell, in shares of the element, and whether it hangs down.
 * onPick(move or null). Return a function that closes it.
 */
export function openMenu(element, board, player, moves, { x, y, size, down }, onPick) {
  const texts = endings(moves.map(({ move }) => move));
  let touched = false; // a tap opens the menu under the finger, and its click comes after that
  const pick = (move) => {
    close();
    onPick(move);
  };
  const items = moves.map((move, i) => {
    const named = figureNamed(board, texts[i], player), shape = board.shapes[named];
    const face = shape ? svg("svg", { viewBox: "-50 -50 100 100", "aria-hidden": "true",
      class: `stone ${player ? "second" : "first"}` }, figure(shape)) : texts[i];
    return el("button", { type: "button", role: "menuitem", title: move.shown ?? move.move,
      "aria-label": shape ? named : texts[i],
      onclick: ({ detail }) => (touched || !detail) && pick(move) }, face); // keys have no detail
  });
  const menu = el("div", { class: `choose-move ${down ? "down" : "up"}`, role: "menu",
    "aria-label": "Which move?" }, items);
  for (const [name, share] of [["--x", x], ["--y", y], ["--size", size]])
    menu.style.setProperty(name, `${(100 * share).toFixed(3)}%`);
  menu.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const at = items.indexOf(document.activeElement);
    if (step) items[(at + step + items.length) % items.length].focus();
    else if (event.key === "Escape") pick(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const outside = (event) => {
    touched = menu.contains(event.target);
    if (!touched) pick(null);
  };
  const close = () => {
    document.removeEventListener("pointerdown", outside, true);
    menu.remove();
  };
  document.addEventListener("pointerdown", outside, true);
  element.append(menu);
  items[0].focus();
  return close;
}

/** Return an arrow between two points. */
export function arrow([x1, y1], [x2, y2], width, attributes) {
  const length = Math.hypot(x2 - x1, y2 - y1), head = 16 + width;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const at = (along, aside) =>
    `${(x1 + ux * along - uy * aside).toFixed(1)} ${(y1 + uy * along + ux * aside).toFixed(1)}`;
  const half = width / 2, tip = length - 4, neck = tip - head, wing = half + head * 0.42;
  const points = [at(20, half), at(neck, half), at(neck, wing), at(tip, 0), at(neck, -wing), at(neck, -half),
    at(20, -half)];
  return svg("path", { ...attributes, d: `M${points.join("L")}Z` });
}

/**
 * Return arrows for the best moves by their shares of visits, Map action -> share, the best one on top.
 * chosen: the action that the search plays, which is the best one then; null: the most visited is.
 */
export function arrows(moves, shares, centre, chosen = null) {
  const ways = [...Map.groupBy(moves.filter(goes), ({ from, cell }) => `${from} ${cell}`).values()];
  const found = ways.map((same) => ({ ...same[0],
    share: same.reduce((sum, { action }) => sum + (shares.get(action) ?? 0), 0),
    played: shares.size > 0 && same.some(({ action }) => action === chosen) }));
  const shown = found.filter(({ share, played }) => share >= LEAST_ARROW || played)
    .sort((a, b) => b.played - a.played || b.share - a.share).slice(0, ARROWS).reverse();
  const most = Math.max(...shown.map(({ share }) => share)) || 1; // at first no move has a visit
  return shown.map((way) => arrow(centre(way.from), centre(way.cell), 4 + 14 * way.share / most,
    { class: (chosen === null ? way.share === most : way.played) ? "best" : "", "data-of": way.action,
      "fill-opacity": (0.25 + 0.6 * way.share / most).toFixed(3) }));
}
