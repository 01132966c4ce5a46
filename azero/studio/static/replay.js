// A game that has been played: its board, the value over it, and buttons to go through it.

import { button, el } from "./api.js";
import { makeBoard } from "./board.js";
import { valueGraph } from "./chart.js";

/** Return the address that opens a game on the page Play. */
export function playAddress({ game, options = {}, moves = [], against }) {
  const pairs = Object.entries(options).map((pair) => pair.join(":")).join(",");
  const query = Object.entries({ game, options: pairs, moves: moves.join("."), against }).filter(([, text]) => text);
  return `#/play?${new URLSearchParams(query)}`;
}

/** Return who won, in words. */
export function outcomeText(outcome, players = ["the first player", "the second player"], resigned = false) {
  if (!outcome) return outcome === 0 ? "draw" : "not finished";
  return `${players[outcome > 0 ? 0 : 1]} won${resigned ? " by resignation" : ""}`;
}

/** Show a game with its positions in an element; return a function that ends it. */
export function showReplay(element, game, title) {
  const holder = el("div", { class: "replay-board" }), graph = el("div");
  const count = el("output", { class: "quiet" });
  let at = 0;
  const known = game.values.some((value) => value !== null);
  const show = (ply) => {
    at = Math.max(0, Math.min(game.positions.length - 1, ply));
    board.show(game.positions[at], false);
    values?.update({ current: at });
    const value = game.values[at];
    count.textContent = `move ${at} of ${game.positions.length - 1}${at ? `: ${game.moves[at - 1]}` : ""}` +
      (value === null ? "" : `, ${Math.round(50 + 50 * value)} % for the first player`);
  };
  element.replaceChildren(el("div", { class: "card replay" },
    el("header", {}, el("h2", {}, title), el("a", { class: "button", href: playAddress(game) }, "Open in Play")),
    el("p", { class: "quiet" }, `${outcomeText(game.outcome, game.players, game.resigned)}, ` +
      `${game.moves.length} moves${game.opening ? `, ${game.opening} of them random at the start` : ""}`),
    holder, graph,
    el("div", { class: "buttons middle" }, button("To the start", "first", () => show(0)),
      button("Back", "back", () => show(at - 1)), count, button("Forward", "next", () => show(at + 1)),
      button("To the end", "last", () => show(Infinity)))));
  const board = makeBoard(holder, game.board, { label: `${title}, position` });
  const values = known ? valueGraph(graph, { values: game.values, onPick: show, height: 70 }) : null;
  show(game.positions.length - 1);
  element.scrollIntoView({ block: "nearest" });
  return () => { values?.close(); board.close?.(); };
}
