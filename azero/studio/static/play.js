// The page Play: a game on the board, who plays it, its moves, and how to share it.

import { attempt, button, el, get, icon, makeGauge, percent, post, relabel, remember, remembered, slider, spaced,
  stream, toast } from "./api.js";
import { makeAnalysis } from "./analysis.js";
import { canTurn, makeBoard, movesBeside } from "./page/board.js";
import { coloursOf, hasFigures, ownerOf } from "./page/moving.js";
import { lossClass, valueGraph } from "./chart.js";
import { ask, askNewGame, playersOf, sideChooser } from "./sides.js";
import { moveTree } from "./variations.js";

const LEAST_LOSS = 0.05; // of the value, to offer another try
const DELAYS = [3, 2, 1, 0.5, 0.25, 0]; // seconds between the moves of machines
const PERSON = { kind: "person" };
const UCT = { kind: "player", name: "uct", options: {} };

/** Return the options that differ from a game's defaults, as text for the address: "rows:5,columns:6". */
const optionsText = (options, defaults = {}) => Object.entries(options).filter(([name, value]) =>
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

/** Return a side as the server reads it. */
const bare = ({ title, ...side }) => side;

/** Return the nodes from the start to a table's current node. */
function pathTo({ nodes, node }) {
  const byId = new Map(nodes.map((each) => [each.id, each]));
  const path = [];
  for (let at = byId.get(node); at; at = byId.get(at.parent)) path.unshift(at);
  return path;
}

const namesTo = (table) => pathTo(table).slice(1).map(({ move }) => move);

export function mount(page, parameters) {
  const desk = { table: null, board: null, act, showBadges };
  let boardKey = "", socket = null, games = [], graph = null, closed = false, flipped = false;

  // ---- what is on the page ----
  const waiting = el("p", { class: "quiet waiting" }, "Setting up the board …");
  const holder = el("div", { class: "holder" }, waiting);
  const gauge = makeGauge();
  const analysis = makeAnalysis(desk, gauge.show);
  const seats = [0, 1].map((player) => {
    const name = el("strong"), goal = el("small");
    const edit = button("Change who plays", "edit", () => changeSide(player));
    const strip = el("div", { class: "side" }, el("i", { class: `dot ${player ? "second" : "first"}` }),
      el("span", { class: "who" }, name, goal), el("i", { class: "thinking", "aria-hidden": "true" }), edit);
    return { name, goal, strip };
  });
  const message = el("p", { class: "message", "aria-live": "polite" });
  const textButton = (title, iconName, onclick, text = title, attributes = {}) =>
    button(title, iconName, onclick, { text, ...attributes });
  const advice = el("p", { class: "quiet", hidden: true }, "No champion yet: ",
    el("a", { href: "#/train" }, "train one"));
  const controls = {
    first: button("To the start", "first", () => step(-Infinity)),
    back: button("Back", "back", () => step(-1)), next: button("Forward", "next", () => step(1)),
    last: button("To the end", "last", () => step(Infinity)),
    undo: textButton("Take back", "undo", () => act("undo")),
    hint: textButton("Hint", "hint", showHint),
    resign: textButton("Resign", "flag", () => act("resign")),
    pause: textButton("Pause or go on", "pause", () => act("play", { paused: !desk.table.paused }), "Pause"),
    one: textButton("One move", "next", () => act("step"), "Step"),
    swap: textButton("Swap sides", "swap", () =>
      act("sides", { sides: [...desk.table.sides].reverse().map(bare) })),
    fresh: textButton("New game", "plus", newGame, "New game", { class: "primary" }),
    review: textButton("Judge every move with a short search", "again", () => act("review"), "Review"),
    turn: button("Turn the board", "turn", () => {
      flipped = !flipped;
      showAll();
    }),
    drop: button("Delete from here on", "trash", () => act("delete", { node: desk.table.node })),
  };
  const typed = el("input", { class: "typed", placeholder: "type a move", "aria-label": "Type a move",
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "go" });
  const typing = el("form", { class: "typing", onsubmit: (event) => {
    event.preventDefault();
    if (typed.value.trim()) act("move", { move: typed.value.trim() });
    typed.value = "";
  } }, typed);
  const others = el("div", { class: "others" });
  const sayDelay = (delay) => delay ? `${delay} s` : "fastest";
  const speed = slider("Speed", DELAYS, remembered("delay", 0.5), sayDelay, (delay) => {
    remember("delay", delay);
    act("play", { delay });
  });
  const machines = el("div", { class: "machines" }, controls.pause, controls.one, speed);
  const graphBox = el("div", { class: "graph" }), again = el("p", { class: "again" }), treeBox = el("div");
  const tree = moveTree(treeBox, { onGo: go });
  const links = el("div", { class: "links" });
  const file = el("input", { type: "file", accept: ".sgf,.pgn,.json", hidden: true, onchange: load });
  page.replaceChildren(el("div", { class: "play loading" },
    el("section", { class: "stage" }, el("div", { class: "board-row" }, gauge.element, holder)),
    el("aside", { class: "panel" },
      el("section", { class: "card match" }, seats.map(({ strip }) => strip), message, advice,
        el("div", { class: "controls" }, controls.fresh, controls.swap), machines, others,
        el("div", { class: "controls" }, controls.undo, controls.hint, controls.resign),
        el("div", { class: "controls" }, el("span", { class: "nav" },
          controls.first, controls.back, controls.next, controls.last), controls.turn, typing)),
      analysis.element,
      el("section", { class: "card moves" },
        el("header", {}, el("h2", {}, "Moves"), controls.review, controls.drop), graphBox, again, treeBox),
      el("details", { class: "card share" },
        el("summary", {}, icon("share"), "Share and load"), links, file))));
  const root = page.firstChild;

  // ---- what a user does ----
  function act(verb, body) {
    const { id } = desk.table;
    return attempt(async () => {
      const answer = await post(`/tables/${id}/${verb}`, body);
      if (desk.table.id === id) accept(answer); // else it comes late, from the game before
    });
  }

  function go(node) {
    if (node != null && node !== desk.table.node) act("go", { node });
  }

  function step(by) {
    const { line, node } = desk.table;
    go(line[Math.max(0, Math.min(line.length - 1, line.indexOf(node) + by))]);
  }

  async function showHint() {
    const { table } = desk;
    const hint = await attempt(() => post(`/tables/${table.id}/hint`));
    if (!hint || table.id !== desk.table.id || table.node !== desk.table.node) return;
    toast(`Hint: ${hint.move}${hint.value == null ? "" : `, ${percent(hint.value)} for you`}.`);
    desk.board.ghosts(hint.cell === null ? [] : [hint.cell], table.position.to_play, hint.from);
  }

  async function newGame() {
    const { game, sides } = desk.table ?? { game: games[0], sides: [PERSON, PERSON] };
    await attempt(() =>
      askNewGame(games, { game: game.name, options: game.options, sides: sides.map(bare) }, start));
  }

  async function changeSide(player) {
    const { game, sides } = desk.table;
    const chooser = await attempt(() => sideChooser(game.name, bare(sides[player]), game.options));
    const question = player ? "Who plays second?" : "Who plays first?";
    if (!chooser || !await ask(question, chooser.element, "Change")) return;
    const seated = desk.table.sides.map((side, i) => i === player ? chooser.value() : bare(side));
    await act("sides", { sides: seated });
  }

  async function load() {
    const [chosen] = file.files;
    if (!chosen) return;
    await attempt(async () => follow(await post("/records", chosen)));
    file.value = "";
  }

  // ---- tables ----
  async function start({ game, options = {}, sides, moves = [], start: position = "" }) {
    message.textContent = "Setting up the game …";
    advice.hidden = true;
    root.classList.add("busy");
    try {
      follow(await post("/tables", { game, options, sides, moves, start: position }));
    } finally {
      root.classList.remove("busy");
      if (desk.table) showMatch();
    }
    remember("game", { game, options, sides });
    const delay = remembered("delay", desk.table.delay);
    if (delay !== desk.table.delay) act("play", { delay });
  }

  function follow(table) {
    if (closed) return;
    socket?.close();
    desk.table = null;
    accept(table);
    analysis.open();
    socket = stream(`/tables/${table.id}/stream`, (said) => {
      if (said.type === "table") accept(said.table);
      else if (said.table === desk.table.id) analysis.receive(said);
    }, lost);
  }

  /** A table that the server has forgotten comes back from what this page knows. */
  async function lost() {
    const { id, game, sides, start: position } = desk.table, moves = namesTo(desk.table);
    const error = await get(`/tables/${id}`).then(() => null, (failure) => failure);
    if (error?.status !== 404 || closed || desk.table.id !== id) return;
    const known = { game: game.name, options: game.options, sides: sides.map(bare), moves, start: position };
    await attempt(() => start(known));
  }

  function accept(answer) {
    const before = desk.table;
    if (!answer?.nodes || closed || (before?.id === answer.id && answer.version < before.version)) return;
    desk.table = answer;
    root.classList.remove("loading");
    const moved = before?.id !== answer.id || before.node !== answer.node || before.state !== answer.state;
    if (before?.id !== answer.id) flipped = false;
    if (moved || isTurned() !== desk.board?.turned) showBoard();
    showMatch();
    tree.update(answer);
    showLine();
    analysis.update(before?.id !== answer.id || before.node !== answer.node);
    showBadges();
    showLinks();
    showAddress();
  }

  // ---- showing ----
  /** Return whether the second player's side is below: where a person has only that side, unless it is turned. */
  function isTurned() {
    const { game: { board }, sides } = desk.table;
    const only = sides[1].kind === "person" && sides[0].kind !== "person";
    return canTurn(board) && (hasFigures(board) && only) !== flipped;
  }

  function showAll() {
    showBoard();
    showMatch();
    analysis.update(false);
    showBadges();
  }

  function showBoard() {
    const { game, position, state } = desk.table, turned = isTurned();
    const key = JSON.stringify([game.board, turned]);
    if (key !== boardKey) {
      boardKey = key;
      desk.board?.close();
      desk.board = makeBoard(holder, game.board, { label: `${spaced(game.title)}, board`, turned,
        onMove: (action) => act("move", { action }), onIllegal: (cell, from) => act("move", { cell, from }),
        onPoint: analysis.pointAt });
      document.body.dataset.stones = coloursOf(game.board);
      gauge.element.classList.toggle("turned", turned);
    }
    desk.board.show(position, !position.over && state !== "thinking");
  }

  function showMatch() {
    const { game, position, sides, state, line, node, paused } = desk.table;
    const people = sides.filter(({ kind }) => kind === "person").length;
    sides.forEach(({ title }, player) => {
      const { strip, name, goal } = seats[player];
      name.textContent = people < 2 ? title : player ? "Second player" : "First player";
      goal.textContent = game.board.goals?.[player] ?? "";
      strip.classList.toggle("to-move", !position.over && position.to_play === player);
      strip.classList.toggle("busy", state === "thinking" && position.to_play === player);
      strip.classList.toggle("winner", position.over && (position.outcome ?? 0) * (player ? -1 : 1) > 0);
    });
    const sentences = { "your move": people === 2 ? "" : "Your move.", over: "The game is over.",
      paused: "Paused. Play a move for it, or let it go on." };
    message.textContent = desk.table.message || (sentences[state] ?? "");
    const at = line.indexOf(node), yours = state === "your move";
    controls.first.disabled = controls.back.disabled = controls.drop.disabled = at <= 0;
    controls.next.disabled = controls.last.disabled = at === line.length - 1;
    controls.undo.hidden = controls.resign.hidden = !people;
    controls.undo.disabled = at <= 0;
    controls.resign.disabled = !yours;
    controls.hint.disabled = position.over;
    machines.hidden = position.over || (people > 0 && state !== "paused");
    speed.hidden = people > 0;
    relabel(controls.pause, paused ? "play" : "pause", paused ? "Go on" : "Pause");
    controls.turn.hidden = !canTurn(game.board);
    const rest = movesBeside(game.board, position.moves);
    others.replaceChildren(...rest.map(({ action, move }) =>
      el("button", { type: "button", onclick: () => act("move", { action }) }, move)));
    others.hidden = !rest.length;
  }

  /** The graph of the value, and another try after a bad move. */
  function showLine() {
    const { nodes, line, node, reviewing } = desk.table;
    const byId = new Map(nodes.map((each) => [each.id, each]));
    const values = line.map((id) => byId.get(id).value), now = byId.get(node);
    relabel(controls.review, "again", reviewing ? `${reviewing} left` : "Review");
    controls.review.disabled = Boolean(reviewing) || line.length < 2;
    again.hidden = !(now.loss >= LEAST_LOSS);
    again.replaceChildren(`${now.move} gave away ${Math.round(now.loss * 50)} %. `,
      el("button", { type: "button", class: "link", onclick: () => go(now.parent) }, "Try again from here"));
    graphBox.hidden = values.filter((value) => value !== null).length < 2;
    const picture = { values, losses: line.map((id) => byId.get(id).loss), current: line.indexOf(node),
      onPick: (ply) => go(desk.table.line[ply]) };
    if (graph) graph.update(picture);
    else graph = valueGraph(graphBox, picture);
  }

  /** Dots on stones that gave much away, and exact values on empty cells. */
  function showBadges() {
    const { marks } = desk.table.position;
    const dots = pathTo(desk.table).filter(({ cell, loss, mover }) =>
      cell != null && loss >= LEAST_LOSS && marks[cell] && ownerOf(marks[cell]) === mover);
    const losses = dots.map(({ cell, loss }) => [cell, lossClass(loss)]);
    desk.board.marks(new Map([...losses, ...analysis.badges()]));
  }

  function showLinks() {
    const { id } = desk.table;
    if (links.dataset.table === id) return;
    links.dataset.table = id;
    const copy = () => attempt(async () => {
      await navigator.clipboard.writeText(location.href);
      toast("Copied. The address holds the game and its moves.");
    });
    const copyPosition = () => attempt(async () => {
      await navigator.clipboard.writeText(desk.table.position.line);
      toast(`Copied: ${desk.table.position.line}`);
    });
    const isChess = desk.table.game.name === "chess";
    links.replaceChildren(textButton("Copy address", "share", copy),
      ...(desk.table.position.line ? [textButton("Copy position", "share", copyPosition)] : []),
      ...[isChess ? "pgn" : "sgf", "json", "svg", "png"].map((format) => el("a", { class: "button", download: true,
        href: `/api/tables/${id}/record?format=${format}` }, format.toUpperCase())),
      textButton("Load SGF, PGN or JSON", "plus", () => file.click()));
  }

  function showAddress() {
    const { game, id, start: position } = desk.table;
    const options = optionsText(game.options, games.find(({ name }) => name === game.name)?.options);
    const moves = namesTo(desk.table).join(".");
    const parts = { game: game.name, ...(options && { options }), ...(position && { start: position }),
      ...(moves && { moves }), table: id };
    const query = new URLSearchParams(parts).toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
    history.replaceState(null, "", `#/play?${query}`);
    document.querySelector(".tabs [data-page=play]").href = location.hash; // the way back to this game
  }

  // ---- keyboard ----
  function onKey(event) {
    const field = event.target.closest("input, select, textarea, dialog, [role=slider]");
    if (field || event.ctrlKey || event.altKey || event.metaKey || !desk.table) return;
    const way = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (way) {
      event.preventDefault();
      step(way);
    } else if (/^[a-z0-9]$/i.test(event.key)) typed.focus(); // the key itself lands in the field
  }
  document.addEventListener("keydown", onKey);

  // ---- the first table ----
  async function first() {
    ({ games } = await get("/games"));
    const { table: id, game, against } = parameters;
    const memory = remembered("game", null);
    const known = id && await get(`/tables/${id}`).catch(() => null);
    if (known) return follow(known);
    const champion = (run) => ({ kind: "player", name: "pv_mcts", options: { run } });
    const own = games.find((each) => each.own);
    if (game) {
      const sides = against ? [PERSON, champion(against)]
        : id && memory?.game === game ? memory.sides : [PERSON, PERSON];
      const moves = (parameters.moves ?? "").split(".").filter(Boolean);
      const asked = start({ game, options: optionsFrom(parameters.options), sides, moves,
        start: parameters.start });
      if (await asked.then(() => true, (error) => toast(error.message))) return;
    } else if (memory && !own && await start(memory).then(() => true, () => false)) return;
    const { runs } = own ? { runs: [] } : await get("/runs");
    const trained = runs.find(({ cycle, play }) => cycle > 0 && games.some(({ name }) => name === play));
    const name = own?.name ?? trained?.play ?? "connect_four", options = trained?.options;
    const { champions: [best] } = await playersOf(name, options);
    await start({ game: name, options, sides: [PERSON, best ? champion(best.run) : UCT] });
    advice.hidden = Boolean(best);
  }

  attempt(first);
  return () => {
    closed = true;
    socket?.close();
    graph?.close();
    desk.board?.close();
    delete document.body.dataset.stones;
    document.removeEventListener("keydown", onKey);
  };
}
