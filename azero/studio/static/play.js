// The page Play: a game on the board, who plays it, its moves, and how to share it.

import { attempt, button, copy, el, get, icon, makeGauge, percent, post, relabel, remember, remembered,
  sentenceOf, slider, spaced, stream, toast } from "./api.js";
import { makeAnalysis } from "./analysis.js";
import { changeOf } from "./ears.js";
import { canTurn, makeBoard, movesBeside } from "./page/board.js";
import { say } from "./page/ears.js";
import { hasFigures, playerName } from "./page/moving.js";
import { valueGraph } from "./chart.js";
import { listenForFiles, makeAbout, makeComment, movesText, openRecords, undoToast } from "./files.js";
import { sayRefusal } from "./fields.js";
import { askNewGame } from "./newgame.js";
import { makeMoveQueue } from "./queue.js";
import { betterOf, dotsOf, makeReview, signsOf } from "./review.js";
import { optionsFrom, optionsText } from "./parts.js";
import { makePatience } from "./seats.js";
import { ask, chooserOf, getOffered, playersOf, shortTitle, sideName } from "./sides.js";
import { moveTree } from "./variations.js";

const DELAYS = [3, 2, 1, 0.5, 0.25, 0]; // seconds between the moves of machines
const PERSON = { kind: "person" };

/** Return a side as the server reads it. */
const bare = ({ title, level, ...side }) => side;

/** Return the nodes from the start to a table's current node. */
function pathTo({ nodes, node }) {
  const byId = new Map(nodes.map((each) => [each.id, each]));
  const path = [];
  for (let at = byId.get(node); at; at = byId.get(at.parent)) path.unshift(at);
  return path;
}

/** Return the whole line of a table as an address has it, and how much of it is on the board. */
function lineOf({ nodes, line, node }) {
  const byId = new Map(nodes.map((each) => [each.id, each])), at = line.indexOf(node);
  return { moves: line.slice(1).map((id) => byId.get(id).move), ply: at < line.length - 1 ? at : undefined };
}

/** Return all that a page shows of a table as text. */
const textOf = (table) => JSON.stringify({ ...table, version: 0 });

/** Show whether a button waits for its answer. */
function showBusy(control, busy) {
  control.ariaBusy = String(busy);
  control.disabled = busy;
}

/** Give the focus of a control that can no longer be used to another one. */
function passFocus(from, to) {
  if ((from.disabled || from.hidden) && [from, document.body].includes(document.activeElement)) to.focus();
}

export function mount(page, parameters) {
  const desk = { table: null, board: null, act, showBadges };
  let boardKey = "", socket = null, offered = { games: [], openspiel: [] }, graph = null, closed = false, flipped = false;
  let aim = null, going = false; // the node that keys lead to, until it is shown; whether the server is asked
  let hinting = false; // a hint is searched for

  // ---- what is on the page ----
  const waiting = el("p", { class: "quiet waiting" }, "Setting up the board …");
  const holder = el("div", { class: "holder" }, waiting);
  const gauge = makeGauge(() => playerName(desk.table.game.board, 0, true));
  const analysis = makeAnalysis(desk, gauge.show);
  const seats = [0, 1].map((player) => {
    const name = el("strong"), goal = el("small");
    const edit = button("Change who plays", "edit", () => changeSide(player));
    const strip = el("div", { class: "side" }, el("i", { class: `dot ${player ? "second" : "first"}` }),
      el("span", { class: "who" }, name, goal), el("i", { class: "thinking", "aria-hidden": "true" }), edit);
    return { name, goal, strip };
  });
  const heading = el("h1", { class: "game-title" }), score = el("p", { class: "score" });
  const message = el("p", { class: "message" }), note = el("p", { class: "quiet note" });
  const textButton = (title, iconName, onclick, text = title, attributes = {}) =>
    button(title, iconName, onclick, { text, ...attributes });
  const advice = el("p", { class: "quiet", hidden: true }, "No champion yet: ",
    el("a", { href: "#/train" }, "train one"));
  const controls = {
    first: button("To the start", "first", () => step(-Infinity), { "data-do": "first" }),
    back: button("Back", "back", () => step(-1), { "data-do": "back" }),
    next: button("Forward", "next", () => step(1), { "data-do": "next" }),
    last: button("To the end", "last", () => step(Infinity), { "data-do": "last" }),
    undo: textButton("Take back", "undo", () => act("undo"), "Take back", { "data-do": "undo" }),
    hint: textButton("Hint", "hint", showHint, "Hint", { "data-do": "hint" }),
    resign: textButton("Resign", "flag", resign),
    pause: textButton("Pause or go on", "pause", () => act("play", { paused: !desk.table.paused }), "Pause",
      { "data-do": "pause" }),
    one: textButton("One move", "next", () => act("step"), "Step", { "data-do": "step" }),
    swap: textButton("Exchange the players", "swap", () =>
      act("sides", { sides: [...desk.table.sides].reverse().map(bare) }), "Exchange players",
    { "data-do": "swap-sides" }),
    fresh: textButton("New game", "plus", newGame, "New game", { class: "primary", "data-do": "new" }),
    turn: button("Turn the board", "turn", () => {
      flipped = !flipped;
      showAll();
    }, { "data-do": "turn" }),
    drop: button("Delete from here on", "trash", deleteMoves, { "data-do": "delete" }),
    restore: button("Bring back what was deleted", "undo", restoreMoves),
    promote: button("Make this the main line", "up", () => act("promote", { node: desk.table.node })),
  };
  const typed = el("input", { class: "typed", "data-do": "type", placeholder: "type a move", "aria-label": "Type a move",
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "go" });
  const typing = el("form", { class: "typing", onsubmit: (event) => {
    event.preventDefault();
    const move = typed.value.trim();
    if (move) queue.play({ move }, move);
    typed.value = "";
  } }, typed);
  const others = el("div", { class: "others" });
  const sayDelay = (delay) => delay ? `${delay} s` : "fastest";
  const speed = slider("Speed", DELAYS, remembered("delay", 0.5), sayDelay, (delay) => {
    remember("delay", delay);
    act("play", { delay });
  });
  const machines = el("div", { class: "machines" }, controls.pause, controls.one, speed);
  const graphBox = el("div", { class: "graph" }), treeBox = el("div");
  const review = makeReview(desk, go);
  const tree = moveTree(treeBox, { onGo: go });
  const comment = makeComment(), about = makeAbout(desk);
  const links = el("div", { class: "links" });
  const file = el("input", { type: "file", accept: ".sgf,.pgn,.json", hidden: true, onchange: load });
  page.replaceChildren(el("div", { class: "play loading" },
    el("section", { class: "stage" }, el("div", { class: "board-row" }, gauge.element, holder)),
    el("aside", { class: "panel" },
      el("section", { class: "card match" }, heading, seats.map(({ strip }) => strip), message, score, note, advice,
        el("div", { class: "controls" }, controls.fresh, controls.swap), machines, others,
        el("div", { class: "controls" }, controls.undo, controls.hint, controls.resign),
        el("div", { class: "controls" }, el("span", { class: "nav" },
          controls.first, controls.back, controls.next, controls.last), controls.turn, typing)),
      analysis.element,
      el("section", { class: "card moves" },
        el("header", {}, el("h2", {}, "Moves"), review.start, controls.promote, controls.restore, controls.drop),
        graphBox, review.element, treeBox, comment.element),
      about.element,
      el("details", { class: "card share" },
        el("summary", {}, icon("share"), "Share and load"), links, file))));
  const root = page.firstChild;

  // ---- what a user does ----
  /** Ask the server to do something with the game; a Sentence says why it refuses. */
  async function send(verb, body) {
    const { id } = desk.table;
    if (body?.node !== aim) aim = null; // steps that are not sent yet would undo this
    const answer = await post(`/tables/${id}/${verb}`, body).catch(async (error) => {
      if (error.status !== 404 || verb !== "move") throw error;
      await lost(); // the server was started anew
      return post(`/tables/${desk.table.id}/move`, body);
    });
    if (desk.table.id === id) accept(answer); // else it comes late, from the game before
  }

  const queue = makeMoveQueue((body) => send("move", body));

  /** Do the same, and show why the server refuses. Before there is a game, do nothing. */
  async function act(verb, body) {
    if (desk.table) await attempt(() => send(verb, body));
  }

  /** Put a node on the board. While the server is asked for one, only the latest of the others waits. */
  async function go(node) {
    if (node == null || node === (aim ?? desk.table.node)) return;
    aim = node;
    showSteps();
    if (going) return;
    going = true;
    for (let sent = null; aim !== null && aim !== sent;) {
      sent = aim;
      await act("go", { node: sent });
    }
    [aim, going] = [null, false];
    if (desk.table) showSteps();
  }

  /** Return the place in the line of the node that keys lead to, else of the one that is shown. */
  function placeInLine() {
    const { line, node } = desk.table;
    return line.indexOf(line.includes(aim) ? aim : node);
  }

  function step(by) {
    if (!desk.table) return; // the board is being set up
    const { line } = desk.table;
    go(line[Math.max(0, Math.min(line.length - 1, placeInLine() + by))]);
  }

  async function deleteMoves() {
    const { id, nodes: { length } } = desk.table;
    await act("delete", { node: desk.table.node });
    passFocus(controls.drop, controls.restore);
    const gone = length - desk.table.nodes.length;
    if (desk.table.id === id && gone > 0)
      undoToast(`Deleted: ${movesText(gone)}.`, async () => {
        const answer = await post(`/tables/${id}/restore`);
        if (desk.table.id === id) accept(answer);
      });
  }

  async function resign() {
    const { id } = desk.table;
    await act("resign");
    if (desk.table.id === id && desk.table.position.over)
      undoToast("Resigned.", async () => {
        const answer = await post(`/tables/${id}/resign`, { undo: true });
        if (desk.table.id === id) accept(answer);
      });
  }

  async function restoreMoves() {
    await act("restore");
    passFocus(controls.restore, controls.drop);
  }

  /** Show whether a hint is searched for, as for a player that thinks. */
  function showHinting(busy) {
    hinting = busy;
    showBusy(controls.hint, busy);
    relabel(controls.hint, "hint", busy ? "Searching …" : "Hint");
    if (desk.table) showMatch();
  }

  async function showHint() {
    const { table } = desk;
    showHinting(true);
    const hint = await attempt(() => post(`/tables/${table.id}/hint`));
    showHinting(false);
    if (!hint || table.id !== desk.table.id || table.node !== desk.table.node) return;
    toast(`Hint: ${hint.shown}${hint.value == null ? "" : `, ${percent(hint.value)} for you`} (${hint.by}).`);
    if (!analysis.shows()) // else its best move is on the board
      desk.board.ghosts(hint.cell === null ? [] : [hint.cell], table.position.to_play, hint.from);
  }

  async function newGame() {
    const { game, sides } = desk.table ?? { game: offered.games[0], sides: [PERSON, PERSON] };
    await attempt(() =>
      askNewGame(offered, { game: game.name, options: game.options, sides: sides.map(bare) }, start));
  }

  async function changeSide(player) {
    const { game, sides } = desk.table;
    const known = await attempt(() => playersOf(game.name, game.options));
    if (!known) return;
    const chooser = chooserOf(known, bare(sides[player])), fault = el("p", { class: "fault", role: "alert" });
    const accept = el("button", { class: "primary" }, "Change"), note = el("p", { class: "quiet", role: "status" });
    const say = ([i, option], sentence) => Number(i) === player && chooser.say(option, sentence);
    const wait = makePatience(accept, note);
    await ask(player ? "Who plays second?" : "Who plays first?", [chooser.element, note, fault], accept, async () => {
      fault.textContent = "";
      if (!chooser.check()) return false;
      const seated = desk.table.sides.map((side, i) => i === player ? chooser.value() : bare(side));
      return wait(send("sides", { sides: seated })).then(() => true,
        (error) => sayRefusal(error, { sides: say }, fault));
    });
  }

  async function load() {
    const [chosen] = file.files;
    if (!chosen) return;
    await attempt(() => openRecords(chosen, follow, desk.table?.id));
    file.value = "";
  }

  // ---- tables ----
  async function start({ game, options = {}, sides, moves = [], ply, start: position = "" }) {
    message.textContent = "Setting up the game …";
    advice.hidden = true;
    root.classList.add("busy");
    try {
      follow(await post("/tables", { game, options, sides, moves, ply, start: position }));
    } finally {
      root.classList.remove("busy");
      if (desk.table) showMatch();
    }
    if (closed) return; // the person has left while the board was set up
    window.scrollTo(0, 0);
    remember("game", { game, options, sides });
    const delay = remembered("delay", desk.table.delay);
    if (delay !== desk.table.delay) act("play", { delay });
  }

  function follow(table) {
    if (closed) return;
    socket?.close();
    queue.drop(); // they were of another game
    desk.table = aim = null;
    review.forget();
    accept(table);
    analysis.open();
    socket = stream(`/tables/${table.id}/stream`, (said) => {
      if (said.type === "table") accept(said.table);
      else if (said.table === desk.table.id) analysis.receive(said);
    }, lost);
  }

  /** A table that the server has forgotten comes back as it was kept, else from what this page knows. */
  async function lost() {
    const { id, game, sides, start: position } = desk.table, line = lineOf(desk.table);
    const error = await get(`/tables/${id}`).then(() => null, (failure) => failure);
    if (error?.status !== 404 || closed || desk.table.id !== id) return;
    const kept = await openKept(id, line);
    if (closed || desk.table.id !== id) return;
    const known = { game: game.name, options: game.options, sides: sides.map(bare), ...line, start: position };
    if (kept) accept(kept);
    else await start(known).catch((failure) => {
      toast(sentenceOf(failure), true);
      const isFinal = failure.status >= 400 && failure.status < 500 && failure.status !== 429;
      if (isFinal && desk.table?.id === id) socket.close(); // it would ask for ever
    });
  }

  /** Return a kept game on its table, null if there is none; what the line has and it lacks is added. */
  const openKept = (id, asked) => post(`/library/${encodeURIComponent(id)}/open`, asked).catch((error) => {
    if (error.status !== 404) toast(error.message);
    return null;
  });

  function accept(answer) {
    const before = desk.table, same = before?.id === answer?.id && before.opened === answer.opened;
    if (!answer?.nodes || closed || (same && answer.version < before.version)) return;
    desk.table = answer;
    if (same && textOf(answer) === textOf(before)) return; // it is on the page already
    say(changeOf(before, answer));
    root.classList.remove("loading");
    const moved = !same || before.node !== answer.node || before.state !== answer.state;
    if (before?.id !== answer.id) flipped = false;
    if (moved || isTurned() !== desk.board?.turned) showBoard();
    showMatch();
    tree.update(answer);
    showLine();
    comment.update(answer);
    about.update(answer);
    analysis.update(!same || before.node !== answer.node);
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
        onMove: (action) => queue.play({ action }), onIllegal: (cell, from) => queue.play({ cell, from }),
        onPoint: analysis.pointAt });
      document.body.dataset.stones = game.board.stones;
      gauge.element.classList.toggle("turned", turned);
    }
    desk.board.show(position, !position.over && state !== "thinking");
  }

  function showMatch() {
    const { game, position, sides, state, line, node, paused, about: { players } } = desk.table;
    const people = sides.filter(({ kind }) => kind === "person").length;
    sides.forEach((side, player) => {
      const { strip, name, goal } = seats[player];
      const isMachine = side.kind !== "person", called = sideName(desk.table, player);
      name.textContent = called;
      name.title = [players[player], isMachine && side.title].filter(Boolean).join(" · ") || called;
      goal.textContent = [isMachine && players[player] && shortTitle(side),
        people < 2 && game.board.players?.[player], game.board.goals[player], position.captured && `${position.captured[player]} captured`].filter(Boolean).join(" · ");
      strip.classList.toggle("to-move", !position.over && position.to_play === player);
      const busy = state === "thinking" || hinting;
      strip.classList.toggle("busy", busy && position.to_play === player);
      strip.classList.toggle("winner", position.over && (position.outcome ?? 0) * (player ? -1 : 1) > 0);
    });
    const sentences = { "your move": people === 2 ? "" : "Your move.", over: "The game is over.",
      paused: "Paused. Play a move for it, or let it go on." };
    message.textContent = desk.table.message || (sentences[state] ?? "");
    heading.textContent = game.heading;
    document.title = `${game.heading} – azero studio`;
    score.textContent = position.over ? "" : position.score;
    note.textContent = position.note;
    const at = line.indexOf(node), yours = state === "your move";
    showSteps();
    controls.drop.disabled = at <= 0;
    controls.restore.hidden = !desk.table.deleted;
    controls.promote.hidden = pathTo(desk.table).every(({ main }) => main);
    controls.undo.hidden = controls.resign.hidden = !people;
    controls.undo.disabled = at <= 0 && !position.over; // a resignation before the first move
    controls.resign.disabled = !yours;
    controls.hint.disabled = position.over || controls.hint.ariaBusy === "true";
    machines.hidden = position.over || (people > 0 && state !== "paused");
    speed.hidden = people > 0;
    relabel(controls.pause, paused ? "play" : "pause", paused ? "Go on" : "Pause");
    controls.turn.hidden = !canTurn(game.board);
    typed.dataset.begins = [...new Set(position.moves.map(({ move }) => move.slice(0, 2)))].join(" ");
    const rest = movesBeside(game.board, position.moves);
    const forced = rest.length === 1 && position.moves.length === 1;
    const stay = position.over && others.children.length; // the row keeps its place when the game has ended
    for (const each of stay ? others.children : []) each.disabled = true;
    if (!stay) others.replaceChildren(...rest.map(({ action, move, label }) => el("button", { type: "button", title: move,
      class: forced || move in game.board.words ? "primary" : "", onclick: () => queue.play({ action }) },
    forced ? `${label}: there is no other move` : label)));
    others.hidden = !rest.length && !stay;
  }

  function showSteps() {
    const at = placeInLine();
    controls.first.disabled = controls.back.disabled = at <= 0;
    controls.next.disabled = controls.last.disabled = at === desk.table.line.length - 1;
  }

  /** The graph of the value, and the review. */
  function showLine() {
    const { nodes, line, node } = desk.table;
    const byId = new Map(nodes.map((each) => [each.id, each])), shown = line.map((id) => byId.get(id));
    const values = shown.map(({ value }) => value);
    review.update();
    graphBox.hidden = values.filter((value) => value !== null).length < 2;
    const picture = { values, losses: shown.map(({ loss }) => loss), sizes: shown.map(({ size }) => size),
      current: line.indexOf(node), onPick: (ply) => go(desk.table.line[ply]) };
    if (graph) graph.update(picture);
    else graph = valueGraph(graphBox, picture);
  }

  /** Dots on stones that gave much away, exact values on empty cells, and the signs and arrows of a file. */
  function showBadges() {
    const path = pathTo(desk.table), { game, position: { marks } } = desk.table;
    desk.board.marks(new Map([...dotsOf(path, marks), ...betterOf(path.at(-1), marks, !analysis.shows()),
      ...analysis.badges(), ...signsOf(path.at(-1), marks, game.board)]));
    desk.board.arrows(path.at(-1).arrows);
  }

  function showLinks() {
    const { id } = desk.table;
    if (links.dataset.table === id) return;
    links.dataset.table = id;
    const copyAddress = () => attempt(async () => {
      await copy(location.href);
      toast("Copied. The address holds the game and its moves.");
    });
    const copyPosition = () => attempt(async () => {
      await copy(desk.table.position.line);
      toast(`Copied: ${desk.table.position.line}`);
    });
    const isChess = desk.table.game.name === "chess";
    links.replaceChildren(textButton("Copy address", "share", copyAddress, "Copy address", { "data-do": "copy" }),
      ...(desk.table.position.line ? [textButton("Copy position", "share", copyPosition)] : []),
      ...[isChess ? "pgn" : "sgf", "json", "svg", "png"].map((format) => el("a", { class: "button", download: true,
        href: `/api/tables/${id}/record?format=${format}` }, format.toUpperCase())),
      textButton("Load SGF, PGN or JSON", "plus", () => file.click()),
      el("p", { class: "quiet" }, "Moves, a position (FEN), PGN or SGF can be pasted anywhere on this page."));
  }

  function showAddress() {
    const { game, id, start: position } = desk.table;
    const options = optionsText(game.options, offered.games.find(({ name }) => name === game.name)?.options);
    const { moves, ply } = lineOf(desk.table);
    const parts = { game: game.name, ...(options && { options }), ...(position && { start: position }),
      ...(moves.length && { moves: moves.join(".") }), ...(ply !== undefined && { ply }), table: id };
    const query = new URLSearchParams(parts).toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
    const address = `#/play?${query}`; // unless somebody goes to another page just now
    if (location.hash !== address && !/^#\/(?!play)/.test(location.hash)) history.replaceState(null, "", address);
    document.querySelector(".tabs [data-page=play]").href = address; // the way back to this game
  }

  // ---- the first table ----
  async function first() {
    offered = await getOffered();
    const { games } = offered;
    const { table: id, game, against } = parameters;
    const memory = remembered("game", null);
    const moves = (parameters.moves ?? "").split(".").filter(Boolean);
    const ply = /^[0-9]{1,5}$/.test(parameters.ply) ? Number(parameters.ply) : undefined;
    const known = id && await openKept(id, { moves, ply, paused: !parameters.moves });
    if (known) return follow(known);
    const options = optionsFrom(parameters.options), position = parameters.start;
    if (game && moves.length && !against) { // the same line again is the same game
      const found = await post("/library/find", { game, options, moves, ply, start: position });
      if (found.id) return follow(found);
    }
    const champion = (run) => ({ kind: "player", name: "pv_mcts", options: { run } });
    const own = games.find((each) => each.own);
    if (game) {
      const sides = against ? [PERSON, champion(against)]
        : id && memory?.game === game ? memory.sides : [PERSON, PERSON];
      const asked = start({ game, options, sides, moves, ply, start: position });
      if (await asked.then(() => true, (error) => toast(sentenceOf(error)))) return;
    } else if (memory && !own && await start(memory).then(() => true, () => false)) return;
    const { runs } = own ? { runs: [] } : await get("/runs");
    const trained = runs.find(({ cycle, play }) => cycle > 0 && games.some(({ name }) => name === play));
    const name = own?.name ?? trained?.play ?? "connect_four";
    const { champions: [best], rival } = await playersOf(name, trained?.options);
    const without = { kind: "player", name: rival, options: {} };
    await start({ game: name, options: trained?.options, sides: [PERSON, best ? champion(best.run) : without] });
    advice.hidden = Boolean(best);
  }

  attempt(first);
  const stopFiles = listenForFiles(follow, () => desk.table?.id);
  return () => {
    comment.close();
    stopFiles();
    closed = true;
    socket?.close();
    graph?.close();
    desk.board?.close();
    delete document.body.dataset.stones;
  };
}
