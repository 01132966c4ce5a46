// A board as SVG from its description: squares, crossings, hexagons, or text. No game is known here.

import { el, svg } from "./elements.js";
import { arrow, arrows, figure, figureOf, goes, hasFigures, makeMover, openMenu, ownerOf, pieceName }
  from "./moving.js";
import { drawnSymbol, endMarks, topMoves, tip } from "./marking.js";

const S = 100; // units of a cell
const R = S / Math.sqrt(3); // from a hexagon's centre to its corners
const SMALLEST = 26; // pixels of a cell below which no number is written
const MANY = 0.6; // of the empty cells: then those that are not legal are marked, else those that are
const LEAST_HEAT = 0.002; // share of the visits
const LOOK = 400; // milliseconds that a finger rests on a cell to look at it, without playing
const LAYERS = "under spots heat stones over names numbers legal arrows ends ghosts badges preview labels tip"
  .split(" ");
const PLAYERS = ["", "first", "second"];
const isSign = (badge) => badge?.class === "sign"; // what a file has drawn on a cell

/** Return where cells lie: centres, outlines, the size of the drawing. turned: seen from the other side. */
function geometry({ kind, columns, rows }, turned) {
  const [width, height] = [columns.length, rows.length];
  const hexagons = kind === "hexagons";
  const seen = (number, count) => turned ? count - 1 - number : number;
  const place = (row, column) => hexagons ? [(column + 0.5 + row / 2) * S, R + row * 1.5 * R]
    : [(seen(column, width) + 0.5) * S, (seen(row, height) + 0.5) * S];
  const corner = (cell, number, radius = R) => {
    const [x, y] = centre(cell);
    const angle = (Math.PI / 180) * (60 * number - 30);
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
  };
  const centre = (cell) => place(Math.floor(cell / width), cell % width);
  const outline = (cell, gap) => {
    const [x, y] = centre(cell);
    if (hexagons) return `M${[0, 1, 2, 3, 4, 5].map((n) => corner(cell, n, R - gap).join(" ")).join("L")}Z`;
    const round = gap * 2, side = S - 2 * gap - 2 * round;
    return `M${x - side / 2} ${y - side / 2 - round}h${side}q${round} 0 ${round} ${round}v${side}` +
      `q0 ${round} ${-round} ${round}h${-side}q${-round} 0 ${-round} ${-round}v${-side}` +
      `q0 ${-round} ${round} ${-round}z`;
  };
  return { place, centre, corner, outline, size: hexagons
    ? [(width + (height - 1) / 2) * S, (height * 1.5 + 0.5) * R] : [width * S, height * S] };
}

/** Return the indices of Go's marked lines on a side of that many lines. */
function starLines(count) {
  if (count < 7) return [];
  const edge = count < 12 ? 2 : 3;
  return [...new Set([edge, ...(count % 2 ? [(count - 1) / 2] : []), count - 1 - edge])];
}

/** Return a circle's path, for holes. */
const hole = ([x, y], r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;

/** Return what lies under the stones and what lies over them: the board without pieces. */
function face(board, { place, centre, corner, outline, size }) {
  const { kind, columns, rows, by_column: byColumn } = board, [w, h] = size;
  const cells = [...Array(columns.length * rows.length).keys()];
  if (byColumn) {
    const d = [`M-8 0q0 -8 8 -8h${w}q8 0 8 8v${h}q0 8 -8 8h${-w}q-8 0 -8 -8z`,
      ...cells.map((cell) => hole(centre(cell), 41))].join("");
    return [[svg("rect", { class: "hole", x: 0, y: 0, width: w, height: h })],
      [svg("path", { class: "frame", "fill-rule": "evenodd", d })]];
  }
  const tiles = (gap) => cells.map((cell) => svg("path", { class: "tile", d: outline(cell, gap) }));
  if (kind === "squares" && hasFigures(board)) return [cells.map((cell) => {
    const [x, y] = centre(cell), row = rows.length - 1 - Math.floor(cell / columns.length);
    const dark = (row + cell % columns.length) % 2 === 0; // a1 is
    return svg("rect", { class: dark ? "dark" : "light", x: x - S / 2, y: y - S / 2, width: S, height: S });
  }), []];
  if (kind === "squares") return [[svg("rect",
    { class: "mat", x: -3, y: -3, width: w + 6, height: h + 6, rx: 6 }), ...tiles(2.5)], []];
  if (kind === "crossings") {
    const lines = [
      ...rows.map((_, row) => [place(row, 0), place(row, columns.length - 1)]),
      ...columns.map((_, column) => [place(0, column), place(rows.length - 1, column)]),
    ].map(([[x1, y1], [x2, y2]]) => svg("line", { class: "line", x1, y1, x2, y2 }));
    const onMiddle = (at, count) => 2 * at === count - 1; // small boards have no star in the middle of a side
    const stars = starLines(rows.length).flatMap((row) => starLines(columns.length).filter((column) =>
      rows.length > 15 || onMiddle(row, rows.length) === onMiddle(column, columns.length)).map((column) => {
      const [cx, cy] = place(row, column);
      return svg("circle", { class: "star", cx, cy, r: 9 });
    }));
    const field = svg("rect", { class: "ground", x: 0, y: 0, width: w, height: h, rx: 12 });
    return [[field, ...lines, ...stars], []];
  }
  const last = rows.length - 1, width = columns.length;
  const edge = (player, list, corners, end) => {
    const points = list.flatMap((cell) => corners.map((n) => corner(cell, n)));
    const d = `M${[...points, corner(list.at(-1), end)].join("L")}`;
    return ["rim", player].map((name) => svg("path", { class: `edge ${name}`, d }));
  };
  return [[
    ...edge("first", columns.map((_, column) => column), [4, 5], 0),
    ...edge("first", columns.map((_, column) => last * width + column), [3, 2], 1),
    ...edge("second", rows.map((_, row) => row * width), [4, 3], 3),
    ...edge("second", rows.map((_, row) => row * width + width - 1), [0, 1], 1),
    ...tiles(0),
  ], []];
}

/** Return the labels of rows (left) and columns (below). */
function labels({ kind, columns, rows, by_column: byColumn }, { place, size: [, h] }, font) {
  const at = (x, y, text) => svg("text", { x, y, dy: "0.35em", "font-size": font }, text);
  const [slant, edge] = kind === "hexagons" ? [S / 4, S * 0.1] : [0, byColumn ? 8 : 0]; // a frame is wider
  const below = h + edge / 2 + font * 0.9, before = S / 2 + edge + font * 0.9;
  const left = (row) => kind === "hexagons" ? place(row, 0)[0] : S / 2; // of any board's left
  return [...rows.map((name, row) => at(left(row) - before, place(row, 0)[1], name)),
    ...columns.map((name, column) => at(place(rows.length - 1, column)[0] + slant, below, name))];
}

/** Return a cell's name, its column and row. */
const nameOf = ({ columns, rows }, cell) =>
  `${columns[cell % columns.length]}${rows[Math.floor(cell / columns.length)]}`;

/** Return whether a board can be seen from the other side: that of a game with a direction, such as chess. */
export const canTurn = (board) => ["squares", "crossings"].includes(board.kind) &&
  (board.moves || hasFigures(board));

/** Return the moves that a board does not offer, each with a `label` for a button beside it. */
export function movesBeside(board, moves) {
  const onBoard = new Set(actionsOfCells(board, moves).values());
  return moves.filter((move) => !onBoard.has(move.action) && !(board.moves && goes(move))).map((move) =>
    ({ ...move, label: board.words[move.move] ?? move.move[0].toUpperCase() + move.move.slice(1) }));
}

/** Return the action that a click on each cell plays: the one named as the cell, or the only one there. */
export function actionsOfCells(board, moves) {
  const chosen = new Map();
  const ofCells = moves.filter((move) => move.cell !== null && !(board.moves && goes(move)) &&
    !(move.move in board.words));
  for (const [cell, here] of Map.groupBy(ofCells, (move) => move.cell)) {
    const move = here.length === 1 ? here[0] : here.find((each) => each.move === nameOf(board, cell));
    if (move) chosen.set(cell, move.action);
  }
  return chosen;
}

/**
 * Draw a board into an element. onMove(action), onIllegal(cell, the cell that a piece leaves or null),
 * onPoint(action or null). A small board shows only stones, a turned one is seen from the second player's
 * side. Maps of heat and numbers are by action, those of marks by cell.
 */
export function makeBoard(element, board, options = {}) {
  const { onMove, onIllegal = () => {}, onPoint = () => {}, label = "Board", small = false } = options;
  const turned = Boolean(options.turned) && canTurn(board);
  if (board.kind === "text") return makeText(element, label);
  const layout = geometry(board, turned);
  const [width, height] = [board.columns.length, board.rows.length];
  const [w, h] = layout.size;
  const font = small ? 0 : Math.max(w, h) * (innerWidth < 600 ? 0.03 : 0.019) + 3;
  const radius = board.by_column ? 41 : { squares: 39, crossings: 47, hexagons: 36 }[board.kind];
  const pad = small ? 6 : 14, left = pad + font * 1.7, tray = board.by_column && !small ? S * 0.94 : pad;
  const box = [-left, -tray, w + left + pad, h + tray + (small ? pad : font * 1.9)];
  const layers = Object.fromEntries(LAYERS.map((name) =>
    [name, svg("g", { class: name, "aria-hidden": "true" })]));
  const [under, over] = face(board, layout);
  layers.under.append(...under);
  layers.over.append(...over);
  if (!small) layers.labels.append(...labels(board, layout, font));
  // without a tabindex its listeners make it a stop of Tab
  const hits = svg("g", { class: "hits", role: onMove && "rowgroup", tabindex: "-1" });
  const root = svg("svg", {
    class: ["board", board.kind, board.by_column && "column", board.moves && "moving", small && "small"]
      .filter(Boolean).join(" "), "data-stones": board.stones,
    viewBox: box.map((each) => each.toFixed(1)).join(" "), role: onMove ? "grid" : "img", "aria-label": label,
  }, ...Object.values(layers), hits);
  element.replaceChildren(root);
  element.style.setProperty("--ratio", (box[2] / box[3]).toFixed(4));

  let position = null, actions = new Map(), active = false, pointed = null, pressed = null, since = 0,
    focusCell = null;
  let shares = new Map(), chosen = null, written = new Map(), badges = new Map(), shown = new Set();
  let drawn = []; // arrows of a file, each two cells
  let pixels = 0; // of a cell on the screen; 0: not yet known
  let held = null, goals = new Map(), movable = new Set(), closeMenu = () => {}, dropped = null;
  const stones = new Map(); // cell -> {mark, node}
  const cells = []; // the elements that take clicks and focus
  const mark = () => position.to_play + 1; // of the first kind of pieces, of who is to move
  const seen = (cell) => turned ? width * height - 1 - cell : cell; // by its place on the screen, and back
  const put = (node, [x, y]) => node.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);

  function stone(cell, of, extra = "") {
    const shape = board.shapes[figureOf(board, of)];
    const node = svg("g", { class: `stone ${PLAYERS[ownerOf(of) + 1]} ${extra}` }, svg("g", { class: "body" },
      shape ? figure(shape) : board.stones === "drawn" ? drawnSymbol(ownerOf(of))
        : [["disc", 1], ["ring", 0.62], ["pip", 0.2]].map(([name, part]) =>
          svg("circle", { class: name, r: radius * part }))));
    put(node, layout.centre(cell));
    return node;
  }

  /** Return the cell that a click on this cell means: in a column, where the piece will lie. */
  const target = (cell) => !board.by_column || cell === null ? cell
    : [...actions.keys()].find((each) => each % width === cell % width) ?? cell;

  function point(cell) {
    const aim = cell === null ? null : target(cell);
    if (aim === pointed) return;
    pointed = aim;
    drawPreview();
    drawTip();
    onPoint(aim === null ? null : actions.get(aim) ?? null);
  }

  let handColumn = Math.floor((width - 1) / 2);
  function drawPreview() {
    layers.preview.replaceChildren();
    if (!active || !onMove) return;
    if (board.by_column) {
      if (pointed !== null) handColumn = pointed % width;
      const hand = stone(handColumn, mark(), "hand");
      hand.setAttribute("transform", `translate(${(handColumn + 0.5) * S} ${-S * 0.47})`);
      layers.preview.append(hand);
    }
    if (pointed !== null && actions.has(pointed)) layers.preview.append(stone(pointed, mark(), "soft"));
  }

  /** Write the numbers of the cell that someone points at beside it. */
  function drawTip() {
    const lines = pointed === null || small ? null : written.get(actions.get(pointed));
    layers.tip.replaceChildren(...(lines && pixels ? [tip(lines, layout.centre(pointed), box, S / pixels)] : []));
  }

  function play(cell) {
    const aim = target(cell);
    if (actions.has(aim)) onMove(actions.get(aim));
    else if (board.moves && active) pieces.enter(aim);
    else onIllegal(aim, null);
  }

  const cellAt = (event) => {
    const under = document.elementFromPoint(event.clientX, event.clientY)?.closest?.("[data-cell]");
    return under && root.contains(under) ? Number(under.dataset.cell) : null;
  };

  /** Play the one of some moves to a cell; if there are several, ask which. */
  function choose(found, cell, dragged) {
    const playMove = ({ action, from }) => {
      dropped = dragged ? cell : null;
      if (dragged) put(stones.get(from).node, layout.centre(cell));
      // a move that is refused leaves the piece where it was
      Promise.resolve(onMove(action)).finally(() => stones.has(from) && putBack(from));
    };
    if (found.length === 1) return playMove(found[0]);
    if (dragged) putBack(found[0].from);
    const [x, y] = layout.centre(cell), edge = y < h / 2 ? -S / 2 : S / 2;
    const place = { x: (x - S / 2 - box[0]) / box[2], y: (y + edge - box[1]) / box[3], size: S / box[2],
      down: edge < 0 };
    closeMenu = openMenu(element, board, position.to_play, found, place, (move) => {
      closeMenu = () => {};
      moveFocus(cell, true);
      if (move) playMove(move);
    });
    return undefined;
  }

  function putBack(cell) {
    const { node } = stones.get(cell);
    put(node, layout.centre(cell));
    node.classList.remove("carried");
  }

  /** Let the piece of a cell follow a pointer; without an event it goes back. */
  function carry(cell, event) {
    if (!stones.has(cell)) return;
    if (!event) return putBack(cell);
    const { node } = stones.get(cell), { x, y } = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(root.getScreenCTM().inverse());
    if (!node.classList.contains("carried")) {
      node.classList.add("carried");
      layers.stones.append(node); // over all others
      root.setPointerCapture(event.pointerId);
    }
    put(node, [x, y]);
    const below = cellAt(event);
    for (const [goal, spot] of goals) spot.classList.toggle("below", goal === below);
    return undefined;
  }

  const pieces = makeMover({ cellAt, onCarry: carry, onChoose: choose, onIllegal, onHold(cell, moves) {
    held = cell;
    goals = new Map(moves.map((move) => [move.cell, null]));
    if (!position) return;
    for (const draw of [drawSpots, drawLegal, describe]) draw();
  } });

  function listen() {
    root.addEventListener("pointerdown", (event) => {
      if (event.button > 0) return;
      since = event.timeStamp;
      point(pressed = cellAt(event));
      if (active) pieces.down(event);
    });
    root.addEventListener("pointermove", (event) => pieces.move(event) || point(cellAt(event)));
    // a finger on a piece moves that, not the page; browsers do not heed touch-action inside an SVG
    root.addEventListener("touchstart", (event) => pieces.isPressed() && event.preventDefault(),
      { passive: false });
    root.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && point(null));
    root.addEventListener("contextmenu", (event) => event.pointerType === "touch" && event.preventDefault());
    root.addEventListener("pointercancel", () => { pressed = null; point(null); pieces.release(); });
    root.addEventListener("pointerup", (event) => {
      const released = cellAt(event), done = pieces.up(event);
      const looks = event.pointerType !== "mouse" && written.size > 0 && event.timeStamp - since > LOOK;
      const meant = !done && !looks && pressed !== null && released !== null
        && (board.by_column || released === pressed);
      pressed = null;
      if (event.pointerType !== "mouse" && !looks) point(null);
      if (meant) play(released);
    });
    hits.addEventListener("focusin", (event) => {
      if (!event.target.matches("[role=gridcell]")) return;
      moveFocus(Number(event.target.dataset.cell), false);
      if (event.target.matches(":focus-visible")) point(focusCell);
    });
    hits.addEventListener("focusout", () => point(null));
    hits.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const [row, column] = [Math.floor(seen(focusCell) / width), seen(focusCell) % width];
      const to = {
        ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column],
        ArrowDown: [row + 1, column], Home: [row, 0], End: [row, width - 1],
      }[event.key];
      if (event.key === "Enter" || event.key === " ") play(focusCell);
      else if (event.key === "Escape") pieces.release() || event.target.blur(); // then arrows go through the game
      else if (!to) return;
      else if (to[0] in board.rows && to[1] in board.columns) moveFocus(seen(to[0] * width + to[1]), true);
      event.preventDefault();
      event.stopPropagation();
    });
  }

  function moveFocus(cell, take) {
    if (focusCell !== null) cells[focusCell].setAttribute("tabindex", "-1");
    focusCell = cell;
    cells[cell].setAttribute("tabindex", "0");
    if (take) cells[cell].focus();
  }

  if (onMove && !small) {
    for (let row = 0; row < height; row++) {
      hits.append(svg("g", { role: "row" }, [...Array(width).keys()].map((column) => {
        const cell = seen(row * width + column);
        cells[cell] = svg("path", { class: "hit", role: "gridcell", tabindex: "-1", "data-cell": cell,
          d: layout.outline(cell, 0.01) });
        return cells[cell];
      })));
    }
    if (board.by_column) hits.append(...board.columns.map((_, column) => svg("rect",
      { class: "hit", "data-cell": column, x: column * S, y: -tray, width: S, height: tray })));
    moveFocus((board.by_column ? 0 : Math.floor(height / 2) * width) + Math.floor(width / 2), false);
    listen();
  }

  function drawStones() {
    const fresh = position.marks.filter((mark, cell) => mark && stones.get(cell)?.mark !== mark).length;
    const moving = !small && (fresh === 1 || (stones.size > 0 && fresh < position.marks.length / 3));
    position.marks.forEach((mark, cell) => {
      const old = stones.get(cell);
      if ((old?.mark ?? 0) === mark) return;
      old?.node.remove();
      stones.delete(cell);
      if (!mark) return;
      const slides = board.moves && cell === position.last && position.last_from !== null;
      const how = !moving || (slides && dropped === cell) ? "" : slides ? "slide"
        : board.by_column ? "fall" : board.moves ? "" : old ? "turn" : "arrive";
      const node = stone(cell, mark, how);
      if (how === "slide") slideFrom(node, position.last_from, cell);
      if (how === "fall") node.style.setProperty("--fall", `${-(Math.floor(cell / width) + 1) * S}px`);
      layers.stones.append(node);
      stones.set(cell, { mark, node });
    });
    for (const [cell, { node }] of stones) node.classList.toggle("last", cell === position.last);
    dropped = null;
  }

  function slideFrom(node, from, cell) {
    const [[x1, y1], [x2, y2]] = [layout.centre(from), layout.centre(cell)];
    node.style.setProperty("--dx", `${x1 - x2}px`);
    node.style.setProperty("--dy", `${y1 - y2}px`);
  }

  /** Colour the cells of the last move, of a warning, of the piece that is held and of its goals. */
  function drawSpots() {
    const gap = hasFigures(board) ? 0.01 : 2.5;
    const spot = (cell, name) => svg("path", { class: name, d: layout.outline(cell, gap) });
    const { last, last_from: from, alert } = position;
    const moved = board.moves && from !== null ? [[from, "was"], [last, "was"]]
      : board.stones === "drawn" ? [[last, "was"]] : [];
    const named = [...moved, [alert, "alert"], [held, "held"]].filter(([cell]) => cell != null);
    for (const cell of goals.keys()) goals.set(cell, spot(cell, "goal"));
    layers.spots.replaceChildren(...named.map(([cell, name]) => spot(cell, name)), ...goals.values());
  }

  function describe() {
    cells.forEach((hit, cell) => {
      const words = [nameOf(board, cell), pieceName(board, position.marks[cell])];
      if (actions.has(cell) || goals.has(cell)) words.push("can be played");
      if (cell === held) words.push("chosen");
      else if (movable.has(cell)) words.push("can move");
      if (cell === position.last) words.push("last move");
      if (cell === position.alert) words.push("in danger");
      if (position.winning.includes(cell)) words.push("winning");
      if (isSign(badges.get(cell))) words.push(badges.get(cell).text);
      words.push(...drawn.filter(([from]) => from === cell).map(([, to]) => `arrow to ${nameOf(board, to)}`));
      hit.setAttribute("aria-label", words.join(", "));
      hit.classList.toggle("can", active && (actions.has(target(cell)) || goals.has(cell)));
      hit.classList.toggle("movable", active && movable.has(cell));
    });
    const plain = small || board.by_column || board.moves;
    const named = plain ? [] : position.moves.filter(({ action, cell, move }) =>
      actions.get(cell) === action && move !== nameOf(board, cell)); // else the labels say what to type
    layers.names.replaceChildren(...named.map(({ cell, move }) => {
      const [x, y] = layout.centre(cell);
      return svg("text", { x, y: y + 38, dy: "0.35em", "font-size": 14 }, move);
    }));
  }

  function drawLegal() {
    layers.legal.replaceChildren();
    if (!active || small || !onMove) return;
    if (board.moves) {
      layers.legal.append(...[...goals.keys()].map((cell) => {
        const [cx, cy] = layout.centre(cell);
        return svg("circle", { cx, cy, ...(position.marks[cell] ? { class: "taken", r: 43 } : { r: 14 }) });
      }));
      if (!actions.size) return;
    }
    if (shares.size) return;
    const empty = [...position.marks.keys()].filter((cell) => !position.marks[cell]);
    const few = actions.size < empty.length * MANY;
    layers.legal.append(...empty.filter((cell) => actions.has(cell) === few).map((cell) => {
      const [x, y] = layout.centre(cell);
      return few ? svg("circle", { cx: x, cy: y, r: 7 })
        : svg("path", { d: `M${x - 9} ${y - 9}l18 18m0 -18l-18 18` });
    }));
  }

  function drawHeat() {
    layers.heat.replaceChildren();
    layers.arrows.replaceChildren(...(board.moves ? arrows(position.moves, shares, layout.centre, chosen) : []),
      ...drawn.map((ends) => arrow(...ends.map(layout.centre), 10, { class: "drawn" })));
    const best = Math.max(0, ...shares.values()) || 1; // at first no move has a visit
    shown = topMoves(board, shares, chosen);
    for (const [cell, action] of actions) {
      if (!shown.has(action)) continue;
      const share = shares.get(action) ?? 0;
      if ((share < LEAST_HEAT && action !== chosen) || position.marks[cell]) continue;
      const [cx, cy] = layout.centre(cell);
      const round = board.by_column || board.kind === "crossings";
      const attributes = { class: (chosen === null ? share === best : action === chosen) ? "best" : "", "data-of": action,
        "fill-opacity": (0.06 + 0.84 * (share / best) ** 0.9 * (0.35 + 0.65 * share ** 0.4)).toFixed(3) };
      layers.heat.append(round ? svg("circle", { cx, cy, r: board.by_column ? 41 : 45, ...attributes })
        : svg("path", { d: layout.outline(cell, 2.5), ...attributes }));
    }
    drawLegal();
  }

  function drawNumbers() {
    layers.numbers.replaceChildren();
    drawTip();
    if (pixels < SMALLEST || !written.size) return;
    const most = pixels < 42 ? 1 : pixels < 68 ? 2 : 3;
    const size = (Math.max(9.5, Math.min(24, pixels * 0.22)) * S) / pixels;
    for (const [at, action] of actions) {
      if (!shown.has(action)) continue;
      const badge = badges.get(at)?.text;
      const lines = written.get(action)?.slice(0, badge ? Math.min(2, most) : most);
      if (!lines || position.marks[at]) continue;
      const [x, y] = layout.centre(at);
      const rise = (lines.length - 1) * size * 0.45 - (badge ? 12 : 0); // a badge lies above the numbers
      layers.numbers.append(...lines.map((line, i) => svg("text", { class: i ? "minor" : "major", x,
        y: y - rise + i * size * 0.92, dy: "0.35em", "font-size": i ? size * 0.76 : size }, line)));
    }
  }

  const observer = new ResizeObserver(() => { // asked only here, where the browser has laid out the page
    const drawn = root.getBoundingClientRect();
    pixels = Math.min(drawn.width / box[2], drawn.height / box[3]) * S;
    if (position) drawNumbers();
  });
  observer.observe(root);

  return {
    element: root,
    turned,
    /** Show a position of a table; active: whether a click plays. */
    show(given, canPlay = !given.over) {
      position = { last: null, last_from: null, alert: null, moves: [], winning: [], territory: [], ...given };
      actions = actionsOfCells(board, position.moves);
      active = canPlay;
      closeMenu();
      const moves = board.moves && onMove ? position.moves : [];
      movable = new Set(moves.filter(goes).map(({ from }) => from));
      [shares, written, badges, drawn] = [new Map(), new Map(), new Map(), []];
      root.classList.toggle("active", active && Boolean(onMove));
      this.ghosts([], 0);
      layers.badges.replaceChildren();
      layers.ends.replaceChildren(...endMarks(board, position, layout, radius));
      for (const draw of [drawStones, drawHeat, drawNumbers, drawPreview]) draw();
      pieces.show(moves); // draws the rest
    },
    /** Colour cells by share of visits: Map action -> share in [0, 1]; best: the action that the search plays. */
    heat: (map, best = null) => drawHeat([shares, chosen] = [map, best]),
    /** Write into cells: Map action -> lines of text, the most important first. */
    numbers: (map) => drawNumbers(written = map),
    /**
     * Show numbered stones to come, the players by turns; an empty list ends it. Where pieces move, an arrow
     * shows the first move, which leaves the cell `from`.
     */
    ghosts(list, firstMover, from = null) {
      root.classList.toggle("ghosting", list.length > 0);
      if (board.moves) {
        const shown = from === null || list[0] == null ? []
          : [arrow(layout.centre(from), layout.centre(list[0]), 18, { class: "pointed" })];
        layers.ghosts.replaceChildren(...shown);
        return;
      }
      const seen = new Set();
      layers.ghosts.replaceChildren(...list.flatMap((cell, i) => {
        if (cell === null || seen.has(cell)) return [];
        seen.add(cell);
        const node = stone(cell, ((firstMover + i) % 2) + 1, "ghost");
        node.append(svg("text", { class: "count", dy: "0.35em", "font-size": 38 }, i + 1));
        return [node];
      }));
    },
    /** Put a badge on cells: Map cell -> {class, text, middle}. */
    marks(map) {
      const off = board.kind === "squares" && !board.by_column ? 33 : 26;
      layers.badges.replaceChildren(...[...map].map(([cell, mark]) => {
        const [x, y] = layout.centre(cell);
        const [right, up] = mark.middle ? [0, 0] : mark.text && !isSign(mark) ? [0, 28] : [off, off];
        const place = `translate(${x + right} ${y - up})`;
        const [r, size] = !isSign(mark) ? [15, 18] : mark.middle ? [31, 52 - 9 * mark.text.length] : [17, 24];
        return svg("g", { class: `badge ${mark.class ?? mark}`, transform: place }, svg("circle", { r }),
          mark.text && svg("text", { dy: "0.35em", "font-size": size }, mark.text));
      }));
      const signs = [...badges.values(), ...map.values()].some(isSign);
      badges = map;
      drawNumbers();
      if (signs) describe();
    },
    /** Draw the arrows of a file: [[from, to]]. */
    arrows(list) {
      if (list === drawn || !list.length && !drawn.length) return;
      drawn = list;
      drawHeat();
      describe();
    },
    close() {
      observer.disconnect();
      closeMenu();
    },
  };
}

/** A game without cells: its text; moves are buttons beside it. */
function makeText(element, label) {
  const text = el("pre", { class: "board-text", "aria-label": label });
  element.replaceChildren(text);
  const [show, nothing] = [(position) => { text.textContent = position.text; }, () => {}];
  const names = ["heat", "numbers", "ghosts", "marks", "arrows", "close"];
  return { turned: false, show, ...Object.fromEntries(names.map((name) => [name, nothing])) };
}
