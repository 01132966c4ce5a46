// The page of an exported champion: the board, who plays, how strongly, and what the network thinks.

import { button, el, makeGauge, percent, slider, toast } from "./elements.js";
import { canTurn, makeBoard, movesBeside } from "./board.js";
import { playedText, say, shownText } from "./ears.js";
import { readMove } from "./chess.js";
import { endOf } from "./ends.js";
import { key, listenKeys, showKeys, stepKeys } from "./keys.js";
import { hasFigures, playerName } from "./moving.js";

const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15,
  253, 98, 11]; // the smallest module with a vector
const TOO_OLD = "This browser cannot run the page. It needs WebAssembly with SIMD and Web Workers, as Chrome, " +
  "Edge, Firefox and Safari have them since 2024.";
const SIMULATIONS = [1, 10, 30, 100, 400, 1000, 3000];
const SECONDS = [1, 3, 10];
const HINT = 400; // simulations
const ANALYSIS = 10000; // simulations
const PAUSE = 300; // milliseconds from a move to the answer, so that the eye sees both
const LEAST_SHARE = 0.01; // of the visits or the policy, for a number on the board
const BOTH = 2; // as `you`: a person plays both sides
const SIDES = ["first", "second", "both"];
const VIEWS = ["nothing", "network", "search"];
const KEYS = [...stepKeys("take back", "forward"), key("n", "new", "new game"), key("h", "hint", "hint"),
  key("f", "turn", "turn the board"), key("m", "type", "type a move")];
const TYPED = "A move can be typed at once: its letters and figures go to their field.";

const textOf = (id) => document.getElementById(id).textContent;
const short = (count) => count < 1000 ? count : `${(count / 1000).toFixed(count < 9950 ? 1 : 0)}k`;

/** Return the worker, with the engine on its way. */
function startWorker({ layout, packing, width }) {
  const source = new Blob([textOf("worker")], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(source));
  worker.postMessage({ wasm: textOf("wasm"), weights: textOf("weights"), layout, packing, width });
  return worker;
}

/** Return radio buttons in a row; onChange(value). `show(value)` checks one. */
function choice(name, values, onChange) {
  const inputs = values.map((value) => el("input", { type: "radio", name, onchange: () => onChange(value) }));
  const element = el("fieldset", { class: "choice" }, el("legend", {}, name),
    values.map((value, i) => el("label", {}, inputs[i], el("span", {}, value))));
  return { element, show(value) { inputs[values.indexOf(value)].checked = true; } };
}

function start(main, about) {
  const { board: described, layout, title, heading, chess } = about;
  const { algorithms: [own], simulations, mostSimulations } = layout;
  const anytime = layout.algorithms.at(-1); // can end at any time
  const dotted = layout.actions?.some((name) => name.includes(".")); // then the address has numbers
  const worker = startWorker(about);
  const levels = [...new Set([...SIMULATIONS, simulations])].sort((a, b) => a - b).map(String)
    .concat(SECONDS.map((seconds) => `${seconds}s`));
  let moves = [], you = 0, level = String(simulations), view = VIEWS[0];
  let line = [], turns = []; // the game with what was taken back; who moves before each of its moves, and after
  let id = 0, position = null, network = null, found = null, hinting = false, waiting = true, asked = 0;
  let board = null, flipped = false, arrived = () => {};

  // ---- what is on the page ----
  const holder = el("div", { class: "holder" }), gauge = makeGauge(() => playerName(described, 0, true));
  const seats = [0, 1].map((player) => {
    const name = el("strong"), note = el("small");
    const strip = el("div", { class: "side" }, el("i", { class: `dot ${player ? "second" : "first"}` }),
      el("span", { class: "who" }, name, note), el("i", { class: "thinking", "aria-hidden": "true" }));
    return { name, note, strip };
  });
  const message = el("p", { class: "message" }, "Setting up the board …");
  const score = el("p", { class: "score" });
  const opinion = el("p", { class: "quiet opinion" });
  const typed = el("input", { class: "typed", "data-do": "type", placeholder: "type a move",
    "aria-label": "Type a move", autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "go" });
  const typing = el("form", { class: "typing", hidden: !described.moves, onsubmit: playTyped }, typed);
  const others = el("div", { class: "others" }), list = el("ol", { class: "moves" });
  const toStart = button("To the start", "first", () => stepTo(yourTurn(0)), { "data-do": "first" });
  const undo = button("Take back", "undo", () => stepTo(lastTurn()), { text: "Take back", "data-do": "back" });
  const next = button("Forward", "next", () => stepTo(nextTurn()), { text: "Forward", "data-do": "next" });
  const toEnd = button("To the end", "last", () => stepTo(line.length), { "data-do": "last" });
  const hint = button("Hint", "hint", askHint, { text: "Hint", "data-do": "hint" });
  const turn = button("Turn the board", "turn", () => {
    flipped = !flipped;
    if (ready()) go(moves);
  }, { hidden: !canTurn(described), "data-do": "turn" });
  const keys = KEYS.filter(({ doing }) => !{ type: typing, turn }[doing]?.hidden);
  const listKeys = () => showKeys(keys, described.moves ? TYPED : "");
  const askKeys = el("button", { type: "button", class: "icon ask-keys", title: "Keys", "aria-label": "Keys",
    onclick: listKeys }, "?");
  const fresh = button("New game", "plus", () => begin([]), { text: "New game", class: "primary", "data-do": "new" });
  const sayLevel = (text) => `${parseInt(text, 10).toLocaleString("en")} ` +
    `${text.endsWith("s") ? "second" : "simulation"}${parseInt(text, 10) === 1 ? "" : "s"}`;
  const strength = slider("Strength", levels, level, sayLevel, (value) => { level = value; go(moves); });
  const sides = choice("You play", SIDES, (side) => { you = SIDES.indexOf(side); go(moves); });
  const views = choice("Show", VIEWS, (value) => { view = value; go(moves); });
  main.replaceChildren(
    el("section", { class: "stage" }, el("div", { class: "board-row" }, gauge.element, holder)),
    el("aside", { class: "panel" },
      el("header", {}, el("h1", {}, heading), turn, askKeys,
        el("p", { class: "quiet" }, "azero taught itself this game from the rules.")),
      el("section", { class: "card match" }, seats.map(({ strip }) => strip), message, score, others, typing,
        el("div", { class: "controls" }, fresh, hint),
        el("div", { class: "controls steps" }, toStart, undo, next, toEnd)),
      el("section", { class: "card settings" }, sides.element, strength, views.element, opinion),
      el("section", { class: "card played" }, el("h2", {}, "Moves"), list),
      el("details", { class: "card about" }, el("summary", {}, "About this player"),
        el("dl", {}, about.facts.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])),
        el("p", { class: "quiet" }, "This page is one file. It needs no network and sends nothing. " +
          "Its address holds the game: keep it, share it or reload it."))));
  document.body.dataset.stones = described.stones;

  // ---- what happens ----
  const ready = () => position !== null && !waiting;
  const yours = () => you === BOTH || position.toPlay === you;
  const isYou = (mover) => you === BOTH || mover === you;
  /** Return the place in the line of your first turn that is not before one; at the latest the line's end. */
  function yourTurn(from) {
    const at = turns.findIndex((mover, place) => place >= from && isYou(mover));
    return at < 0 ? line.length : at;
  }
  const lastTurn = () => turns.findLastIndex((mover, at) => at < moves.length && isYou(mover));
  const nextTurn = () => yourTurn(moves.length + 1);
  const budget = () => level.endsWith("s")
    ? { kind: anytime, simulations: mostSimulations, seconds: parseInt(level, 10) }
    : { kind: own, simulations: Number(level) };

  function refuse(cell, from) {
    if (!ready()) return;
    toast(position.terminal ? "The game is over." : !yours() ? "It is azero's turn."
      : described.moves && from === null ? "Choose one of your pieces that can move, then the cell where it goes."
        : "That move is not legal.", true);
  }

  /** Play the move that is in the field, such as e2e4 or Nf3. */
  function playTyped(event) {
    event.preventDefault();
    const text = typed.value.trim();
    if (!text) return;
    if (!ready() || position.terminal || !yours()) return refuse();
    const fits = readMove(described, position, text, chess), names = fits.map((action) => position.names[action]);
    if (!fits.length) return toast(`${text} is not a legal move here.`, true);
    if (fits.length > 1) return toast(`${text} can be ${names.slice(0, -1).join(", ")} or ${names.at(-1)}.`, true);
    typed.value = "";
    go([...moves, fits[0]]);
  }

  /** Make the board, seen from the side of who plays second with figures, unless someone has turned it. */
  function showBoard() {
    const turned = canTurn(described) && (you === 1 && hasFigures(described)) !== flipped;
    if (board?.turned === turned) return;
    board?.close();
    board = makeBoard(holder, described, { label: `${title}, board`, turned, onIllegal: refuse,
      onMove: (action) => ready() && yours() ? go([...moves, action]) : refuse() });
    gauge.element.classList.toggle("turned", turned);
  }

  /** Ask the worker for a position, and for a search of it. */
  function ask(thinking) {
    worker.postMessage({ id: ++id, moves, search: thinking });
    asked = performance.now();
  }

  /** Put a game on the board: the actions from the start, or their names. Return a promise of when it is there. */
  function go(played) {
    [moves, found, hinting, waiting] = [played, null, false, true];
    ask(null);
    return new Promise((resolve) => { arrived = resolve; });
  }

  /** Put another game on the board. */
  function begin(played) {
    line = [];
    go(played);
  }

  /** Put as many moves of the line on the board. */
  function stepTo(count) {
    if (ready()) go(line.slice(0, count));
  }

  function askHint() {
    if (!ready()) return undefined;
    if (found) return showHint();
    hinting = true;
    return ask({ kind: own, simulations: HINT });
  }

  function showHint() {
    hinting = false;
    const { best, values } = found;
    toast(`Hint: ${position.names[best]}${Number.isNaN(values[best]) ? "" : `, ${percent(values[best])} for you`}.`);
    const cell = position.cells[best];
    board.ghosts(cell < 0 ? [] : [cell], position.toPlay, cellOrNull(position.starts[best]));
  }

  /** A position: show it, then let azero move, or look on. */
  function arrive(answer) {
    const before = position;
    ({ position, network } = answer);
    waiting = false;
    moves = position.played; // those of an address may not be legal
    if (moves.some((move, at) => move !== line[at])) [line, turns] = [moves, position.movers];
    show();
    if (before) say(changeOf(before));
    writeAddress();
    arrived();
    if (position.terminal) return;
    if (!yours()) ask(budget());
    else if (view === "search") ask({ kind: anytime, simulations: Math.min(ANALYSIS, mostSimulations) });
  }

  function fail() {
    message.textContent = `The player could not ${position ? "go on" : "start; the file may be damaged"}.`;
    say(message.textContent);
  }

  function receive({ data }) {
    if (data.failed) return fail();
    if (data.ready) return readAddress();
    if (data.id !== id) return undefined;
    if (data.position) return arrive(data);
    found = data.search;
    showOpinion();
    if (!data.done) return undefined;
    if (hinting) return showHint();
    if (yours()) return undefined;
    const wait = Math.max(0, PAUSE - (performance.now() - asked));
    return setTimeout(() => id === data.id && go([...moves, found.best]), wait);
  }

  // ---- what is shown ----
  const cellOrNull = (cell) => cell < 0 ? null : cell;

  function show() {
    const { names, cells, starts } = position;
    const legal = position.legal.map((action) => ({ action, move: names[action],
      cell: cellOrNull(cells[action]), from: cellOrNull(starts[action]) }));
    const last = position.last >= 0 && position.marks[position.last] ? position.last : null;
    showBoard();
    const playable = position.terminal ? [] : legal, marks = [...position.marks];
    const { terminal: over, outcome, history } = position;
    const end = endOf(described, marks, over, outcome, history, chess);
    board.show({ marks, moves: playable, to_play: position.toPlay, last, ...end,
      last_from: position.lastFrom === null ? null : cellOrNull(position.lastFrom) },
      !position.terminal && yours());
    const rest = yours() ? movesBeside(described, playable) : [];
    others.replaceChildren(...rest.map(({ action, move, label }) => el("button", { type: "button", title: move,
      class: playable.length === 1 || move in described.words ? "primary" : "",
      onclick: () => ready() && go([...moves, action]) },
    playable.length === 1 ? `${label}: there is no other move` : label)));
    const winner = position.terminal && position.outcome ? (position.outcome > 0 ? 0 : 1) : null;
    seats.forEach(({ name, note, strip }, player) => {
      const person = you === BOTH || player === you;
      name.textContent = you === BOTH ? playerName(described, player) : person ? "You" : "azero";
      note.textContent = [you !== BOTH && described.players?.[player], described.goals[player],
        described.captures && `${position.captured[player]} captured`, !person && sayLevel(level)]
        .filter(Boolean).join(" · ");
      strip.classList.toggle("to-move", !position.terminal && position.toPlay === player);
      strip.classList.toggle("busy", !position.terminal && position.toPlay === player && !yours());
      strip.classList.toggle("winner", winner === player);
    });
    const how = end.score && ` ${end.score}`;
    score.textContent = position.terminal ? "" : end.score;
    message.textContent = position.terminal ? winner === null ? `A draw${how}.`
      : winner === you ? `You win${how}.` : `${seats[winner].name.textContent} wins${how}.`
      : you === BOTH ? "" : yours() ? "Your move." : "azero is thinking …";
    toStart.disabled = moves.length <= yourTurn(0);
    undo.disabled = lastTurn() < 0;
    next.disabled = toEnd.disabled = moves.length >= line.length;
    hint.disabled = position.terminal || !yours();
    fresh.disabled = !line.length;
    typed.dataset.begins = [...new Set(playable.map(({ move }) => move.slice(0, 2)))].join(" ");
    list.parentElement.hidden = !moves.length;
    list.replaceChildren(...position.playedNames.map((name) => el("li", {}, name)));
    showOpinion();
  }

  /** Return what has changed since a position, as sentences. */
  function changeOf({ played }) {
    const { length: count } = moves, mover = position.movers.at(-2), own = you !== BOTH && mover === you;
    const name = position.playedNames.at(-1), then = position.terminal ? message.textContent
      : you !== BOTH && yours() ? "Your move." : "";
    const follows = played.every((move, at) => move === moves[at]);
    if (follows && count === played.length) return "";
    if (!follows || count > played.length + 1 || !count)
      return shownText(own ? "your" : `${seats[mover]?.name.textContent}'s`, name, then);
    return own ? position.terminal && then : playedText(seats[mover].name.textContent, name, then);
  }

  /** Colour the board by the network's policy or the search's visits; the value beside it. */
  function showOpinion() {
    const searched = found && (view === "search" || !yours());
    const sum = searched && found.visits.reduce((total, visits) => total + visits, 0);
    const shown = position.terminal ? null : searched ? Array.from(found.visits, (visits) => visits / sum)
      : view === "network" ? network.policy : null;
    const shares = new Map(shown ? [...position.legal].map((action) => [action, shown[action]]) : []);
    const written = view === "nothing" ? [] : [...shares].filter(([, share]) => share >= LEAST_SHARE);
    board.element.classList.toggle("light", view === "nothing");
    board.heat(shares, searched && found.best >= 0 ? found.best : null);
    board.numbers(new Map(written.map(([action, share]) => [action, searched
      ? [percent(found.values[action]), short(found.visits[action])] : [`${Math.round(100 * share)} %`]])));
    const value = position.terminal ? null : searched ? found.value : network.value;
    const first = position.terminal ? position.outcome : value * (position.toPlay ? -1 : 1);
    gauge.show(view === "nothing" && !position.terminal ? null : first);
    const whom = you === BOTH ? playerName(described, position.toPlay, true) : yours() ? "you" : "azero";
    opinion.textContent = view === "nothing" ? "" : position.terminal ? "The game is over."
      : searched ? `Search: ${percent(value)} for ${whom} after ${sayLevel(String(found.simulations))}.`
        : `Network alone: ${percent(value)} for ${whom}.`;
  }

  // ---- the address ----
  function writeAddress() {
    const parts = { moves: (dotted ? moves : position.playedNames).join("."), you: you ? SIDES[you] : "",
      strength: level === String(simulations) ? "" : level, show: view === VIEWS[0] ? "" : view };
    const query = new URLSearchParams(Object.entries(parts).filter(([, text]) => text)).toString();
    history.replaceState(null, "", query ? `#${query}` : location.href.split("#")[0]);
  }

  function readAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const one = (name, values, otherwise) => values.includes(asked.get(name)) ? asked.get(name) : otherwise;
    you = SIDES.indexOf(one("you", SIDES, SIDES[0]));
    view = one("show", VIEWS, VIEWS[0]);
    level = one("strength", levels, String(simulations));
    sides.show(SIDES[you]);
    views.show(view);
    const range = strength.querySelector("input");
    range.value = levels.indexOf(level);
    range.dispatchEvent(new Event("input")); // writes the number beside it
    begin((asked.get("moves") ?? "").split(".").filter(Boolean).map((word) => dotted ? Number(word) : word));
  }

  worker.onmessage = receive;
  worker.onerror = fail;
  addEventListener("hashchange", readAddress);
  listenKeys(() => keys, listKeys);
}

const main = document.querySelector("main");
if (typeof Worker === "undefined" || typeof WebAssembly === "undefined" || !Map.groupBy ||
  !WebAssembly.validate(new Uint8Array(SIMD))) main.replaceChildren(el("p", { class: "sorry" }, TOO_OLD));
else start(main, JSON.parse(textOf("about")));
