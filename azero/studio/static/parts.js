// What pages share: addresses, tables, lists of games and their replay.

import { attempt, button, el, get } from "./api.js";
import { makeBoard } from "./page/board.js";
import { valueGraph } from "./chart.js";
import { playerName } from "./page/moving.js";

/** Return the address of a page of the studio. */
export const addressOf = (page, query) => `#/${page}?${new URLSearchParams(query)}`;

/** Return the path of a run for requests. */
export const pathOf = (run) => `/runs/${encodeURIComponent(run)}`;

/** Return the options that differ from a game's defaults, as text for the address: "rows:5,columns:6". */
export const optionsText = (options, defaults = {}) => Object.entries(options).filter(([name, value]) =>
  String(defaults[name]) !== String(value)).map((pair) => pair.join(":")).join(",");

/** Return options from the text of an address. */
export function optionsFrom(text = "") {
  const words = { true: true, false: false };
  const read = (value) => words[value] ?? (Number.isNaN(Number(value)) ? value : Number(value));
  return Object.fromEntries(text.split(",").filter(Boolean).map((pair) => {
    const [name, ...value] = pair.split(":");
    return [name, read(value.join(":"))];
  }));
}

/** Return the address that opens a game on the page Play. */
export function playAddress({ game, options = {}, moves = [], against }) {
  const query = Object.entries({ game, options: optionsText(options), moves: moves.join("."), against });
  return addressOf("play", query.filter(([, text]) => text));
}

/** Return a text that stays in the background. */
export const quiet = (...text) => el("p", { class: "quiet" }, ...text);

/** Return a card with a title; `beside` stands in its first line. */
export const card = (title, beside, ...content) =>
  el("section", { class: "card" }, el("header", {}, el("h2", {}, title), beside), ...content);

/** Return a chip that says what a run or a match is doing. */
export const stateChip = (state) => el("span", { class: `chip ${state}` }, state);

/** Return a table that scrolls, by keys too, where it is too wide. */
export const table = (name, head, rows) => el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": name },
  el("table", {},
  el("thead", {}, el("tr", {}, head.map((cell) => el("th", { scope: "col" }, cell)))),
  el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell)))))));

/** Return a button for each game: its number of moves, in the winner's colour. open(number) on a click. */
export const gameButtons = (games, open) => games.map(({ number, plies, outcome }) => el("button", {
  type: "button", class: `game ${outcome > 0 ? "first" : outcome < 0 ? "second" : ""}`,
  title: outcomeText(outcome), "aria-label": `Game ${number}, ${plies} moves, ${outcomeText(outcome)}`,
  onclick: () => open(number) }, plies));

/** Return who won, in words. */
function outcomeText(outcome, players = ["the first player", "the second player"]) {
  if (!outcome) return outcome === 0 ? "draw" : "not finished";
  return `${players[outcome > 0 ? 0 : 1]} won`;
}

/**
 * Replay one game after another in an element. Return {open(path, titleOf), close()}.
 *
 * path: of a game, for GET. titleOf(game): its heading.
 */
export function makeReplay(element) {
  let turn = 0, end = () => {};
  const open = (path, titleOf) => attempt(async () => {
    const mine = turn += 1, game = await get(path);
    if (mine !== turn) return; // another game was chosen meanwhile, or the page has been left
    end();
    end = showReplay(element, game, titleOf(game));
  });
  const close = () => {
    turn += 1;
    end();
  };
  return { open, close };
}

/** Show a game with its positions in an element; return a function that ends it. */
export function showReplay(element, game, title) {
  const holder = el("div", { class: "replay-board" }), graph = el("div");
  const count = el("output", { class: "quiet", "aria-live": "polite" });
  let at = 0;
  const players = game.players ?? [0, 1].map((player) => playerName(game.board, player, true));
  const known = game.values.filter((value) => value !== null).length > 1;
  const show = (ply) => {
    at = Math.max(0, Math.min(game.positions.length - 1, ply));
    board.show(game.positions[at], false);
    values?.update({ current: at });
    const value = game.values[at], { result, score, captured } = game.positions[at];
    const said = [result || score, captured && `captured ${captured.join(" : ")}`].filter(Boolean).join(" · ");
    count.textContent = `move ${at} of ${game.positions.length - 1}${at ? `: ${game.shown[at - 1]}` : ""}` +
      (value === null ? "" : `, ${Math.round(50 + 50 * value)} % for ${playerName(game.board, 0, true)}`) +
      (said && `; ${said}`);
  };
  const key = (name, doing, onclick) => button(name, doing, onclick, { "data-do": doing });
  const shown = card(title, el("a", { class: "button", href: playAddress(game) }, "Open in Play"),
    quiet(`${outcomeText(game.outcome, players)}, ${game.moves.length} moves` +
      (game.opening ? `, ${game.opening} of them random at the start` : "")), holder, graph,
    el("div", { class: "buttons middle" }, key("To the start", "first", () => show(0)),
      key("Back", "back", () => show(at - 1)), count, key("Forward", "next", () => show(at + 1)),
      key("To the end", "last", () => show(Infinity))));
  shown.classList.add("replay");
  element.replaceChildren(shown);
  const board = makeBoard(holder, game.board, { label: `${title}, position` });
  const values = known ? valueGraph(graph, { values: game.values, onPick: show, height: 70 }) : null;
  show(game.positions.length - 1);
  element.scrollIntoView({ block: "nearest" });
  return () => { values?.close(); board.close?.(); };
}
