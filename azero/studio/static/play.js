// The page Play: a game on the board, its analysis, its variations, and how to share it.

import { attempt, button, el, get, icon, percent, post, remember, remembered, stream, toast } from "./api.js";
import { actionsOfCells, makeBoard } from "./board.js";
import { ask, askNewGame, sideChooser } from "./sides.js";
import { moveTree, searchTable, short } from "./variations.js";

const LEAST_SHARE = 0.01; // of the visits, for a number on the board
const LEAST_LOSS = 0.05; // of the value, to offer another try
const PERSON = { kind: "person" };
const SIMULATIONS = [100, 300, 1000, 3000, 10000, 30000, 100000, 300000, 1000000];
const SECONDS = [0, 1, 2, 5, 10, 20, 30, 60];
const DELAYS = [3, 2, 1, 0.5, 0.25, 0];

/** Return the game's options that differ from its defaults, as text for the address: "rows:5,columns:6". */
const optionsText = (options, defaults) => Object.entries(options)
  .filter(([name, value]) => String(defaults?.[name]) !== String(value)).map((pair) => pair.join(":")).join(",");

/** Return options from the text of an address. */
function optionsFrom(text) {
  const read = (value) => value === "true" ? true : value === "false" ? false
    : value !== "" && !Number.isNaN(Number(value)) ? Number(value) : value;
  return Object.fromEntries((text ?? "").split(",").filter(Boolean).map((pair) => {
    const [name, ...value] = pair.split(":");
    return [name, read(value.join(":"))];
  }));
}

/** A slider over a list of values. Return {element, value()}. */
function slider(title, values, value, say, onChange) {
  const at = values.findLastIndex((each) => values[0] > values.at(-1) ? each >= value : each <= value);
  const output = el("output");
  const input = el("input", { type: "range", min: 0, max: values.length - 1, value: Math.max(0, at),
    "aria-label": title, oninput: () => tell(), onchange: () => onChange(values[input.value]) });
  const tell = () => {
    output.textContent = say(values[input.value]);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  tell();
  return { element: el("label", { class: "slider" }, el("span", {}, title), input, output),
    value: () => values[input.value] };
}

/** A switch with a label. */
const toggle = (title, checked, onChange) => {
  const input = el("input", { type: "checkbox", role: "switch", checked, onchange: () => onChange(input.checked) });
  return el("label", { class: "switch" }, input, el("i"), el("span", {}, title));
};

export async function mount(page, parameters) {
  let table = null, analysis = null, exact = null, board = null, boardKey = "", socket = null, games = [];
  let pointed = null, graph = null, closed = false;
  let analysing = sessionStorage.getItem("azero.analysing") === "yes", exactOn = false;
  const settings = remembered("analysis", { player: "auto", simulations: 10000, seconds: 0, kind: "" });

  // ---- what is on the page ----
  const holder = el("div", { class: "holder" });
  const fill = el("i"), gauge = el("div", { class: "gauge", role: "meter", "aria-label": "Value for the first player",
    "aria-valuemin": 0, "aria-valuemax": 100 }, fill, el("b"));
  const strips = [0, 1].map((player) => {
    const parts = { name: el("strong"), goal: el("small"), edit: button("Change who plays", "edit", () => changeSide(player)) };
    parts.strip = el("div", { class: "side" }, el("i", { class: `dot ${player ? "second" : "first"}` }),
      el("span", { class: "who" }, parts.name, parts.goal), el("i", { class: "thinking", "aria-hidden": "true" }), parts.edit);
    return parts;
  });
  const message = el("p", { class: "message", "aria-live": "polite" });
  const act = (path, body) => attempt(async () => accept(await post(`/tables/${table.id}/${path}`, body)));
  const go = (node) => node != null && node !== table.node && act("go", { node });
  const step = (by) => go(by === -Infinity ? table.line[0] : by === Infinity ? table.line.at(-1)
    : table.line[table.line.indexOf(table.node) + by]);
  const controls = {
    first: button("To the start", "first", () => step(-Infinity)), back: button("Back", "back", () => step(-1)),
    next: button("Forward", "next", () => step(1)), last: button("To the end", "last", () => step(Infinity)),
    undo: button("Take back", "undo", () => act("undo"), { text: "Take back" }),
    hint: button("Hint", "hint", showHint, { text: "Hint" }),
    resign: button("Resign", "flag", () => act("resign"), { text: "Resign" }),
  };
  const typed = el("input", { class: "typed", placeholder: "type a move", "aria-label": "Type a move",
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "go" });
  const typing = el("form", { class: "typing", onsubmit: (event) => {
    event.preventDefault();
    const move = typed.value.trim();
    typed.value = "";
    if (move) playNamed(move);
  } }, typed, button("Play the typed move", "next", () => {}, { type: "submit" }));
  const others = el("div", { class: "others" });
  const pause = button("Pause", "pause", () => act("play", { paused: !table.paused }), { text: "Pause" });
  const speed = slider("Speed", DELAYS, remembered("delay", 0.5), (delay) => delay ? `${delay} s` : "fastest", (delay) => {
    remember("delay", delay);
    act("play", { delay });
  });
  const machines = el("div", { class: "machines" }, pause, button("One move", "next", () => act("step"), { text: "Step" }),
    speed.element);

  const summary = el("p", { class: "summary", "aria-live": "off" }), tableBox = el("div", { class: "search-box" });
  const runButton = button("Stop the search", "pause", () => analyse(!analysis?.running), { text: "Stop" });
  const search = searchTable(tableBox, { onPoint: (move) => pointAt(move?.action ?? null, move),
    onPick: (actions) => act("go", { node: table.node, actions }),
    ask: (path) => get(`/tables/${table.id}/search?path=${path}`) });
  const engine = el("select", { "aria-label": "Who analyses", onchange: () => changed({ player: engine.value }) });
  const kind = el("select", { "aria-label": "Search kind", onchange: () => changed({ kind: kind.value }) },
    [["", "as the run"], ["puct", "PUCT"], ["gumbel", "Gumbel"]].map(([value, text]) =>
      el("option", { value, selected: value === settings.kind }, text)));
  const analysisSwitch = toggle("Analysis", analysing, (on) => {
    analysing = on;
    sessionStorage.setItem("azero.analysing", on ? "yes" : "no");
    analyse(on);
    showAnalysis();
  });
  const details = el("div", { class: "analysis-body" }, summary, tableBox,
    el("details", {}, el("summary", {}, "Search settings"), el("div", { class: "fields" },
      el("label", { class: "field" }, el("span", {}, "player"), engine),
      el("label", { class: "field" }, el("span", {}, "search kind"), kind)),
    slider("Simulations", SIMULATIONS, settings.simulations, short, (simulations) => changed({ simulations })).element,
    slider("Time", SECONDS, settings.seconds, (s) => s ? `${s} s` : "no limit", (seconds) => changed({ seconds })).element));
  const analysisCard = el("section", { class: "card analysis" }, el("header", {}, analysisSwitch,
    toggle("Exact", false, (on) => { exactOn = on; askExact(); }), runButton), details);

  const graphBox = el("div", { class: "graph" }), again = el("p", { class: "again", hidden: true });
  const treeBox = el("div"), tree = moveTree(treeBox, { onGo: go });
  const drop = button("Delete this move and what follows", "trash", () => act("delete", { node: table.node }));
  const review = button("Judge every move with a short search", "again", async () => {
    review.disabled = true;
    await act("review", { simulations: 200 });
    review.disabled = false;
  }, { text: "Review" });
  const moves = el("section", { class: "card moves" }, el("header", {}, el("h2", {}, "Moves"), review, drop), graphBox, again, treeBox);

  const links = el("div", { class: "links" });
  const file = el("input", { type: "file", accept: ".sgf,.json", hidden: true, onchange: load });
  const share = el("details", { class: "card share" }, el("summary", {}, icon("share"), "Share and load"), links, file);

  page.replaceChildren(el("div", { class: "play" },
    el("section", { class: "stage" }, el("div", { class: "board-row" }, gauge, holder)),
    el("aside", { class: "panel" },
      el("section", { class: "card match" }, ...strips.map((parts) => parts.strip), message,
        el("div", { class: "buttons" },
          button("New game", "plus", newGame, { text: "New game", class: "primary" }),
          button("Swap sides", "swap", () => act("sides", { sides: [...table.sides].reverse().map(bare) }), { text: "Swap" })),
        machines, others, el("div", { class: "controls" }, controls.undo, controls.hint, controls.resign),
        el("div", { class: "controls" }, el("span", { class: "nav" }, controls.first, controls.back, controls.next, controls.last),
          typing)),
      analysisCard, moves, share)));
  const root = page.firstChild;

  // ---- what a user does ----
  const bare = ({ title, ...side }) => side;

  function playAction(action) {
    if (action === undefined) return;
    if (table.state === "paused" && !table.position.over) act("go", { node: table.node, actions: [action] });
    else act("move", { action });
  }

  function playNamed(name) {
    const move = table.position.moves.find((each) => each.move === name.toLowerCase());
    if (move) playAction(move.action);
    else act("move", { move: name });
  }

  async function showHint() {
    const hint = await attempt(() => post(`/tables/${table.id}/hint`));
    if (!hint) return;
    const move = table.position.moves.find(({ action }) => action === hint.action);
    toast(`Hint: ${hint.move}${hint.value == null ? "" : `, ${percent(hint.value)} for you`}.`);
    if (move?.cell != null) board.ghosts([move.cell], table.position.to_play);
  }

  async function newGame() {
    const current = table ? { game: table.game.name, options: table.game.options, sides: table.sides.map(bare) }
      : { game: games[0].name, options: {}, sides: [PERSON, PERSON] };
    const chosen = await attempt(() => askNewGame(games, current));
    if (chosen) await attempt(() => start(chosen));
  }

  async function changeSide(player) {
    const chooser = await attempt(() => sideChooser(table.game.name, bare(table.sides[player])));
    if (!chooser || !await ask(player ? "Second player" : "First player", [chooser.element], "Change")) return;
    const sides = table.sides.map(bare);
    sides[player] = chooser.value();
    await act("sides", { sides });
  }

  async function load() {
    const [chosen] = file.files;
    file.value = "";
    if (!chosen) return;
    await attempt(async () => {
      const answer = await fetch("/api/records", { method: "POST", body: await chosen.text() });
      const loaded = await answer.json();
      if (!answer.ok) throw new Error(loaded.error);
      follow(loaded);
    });
  }

  // ---- tables ----
  async function start({ game, options = {}, sides, moves: played = [] }) {
    follow(await post("/tables", { game, options, sides, moves: played }));
    remember("game", { game, options, sides });
  }

  function follow(newTable) {
    if (closed) return;
    socket?.close();
    [table, analysis, exact] = [null, null, null];
    accept(newTable);
    fillEngines();
    socket = stream(`/tables/${newTable.id}/stream`, receive, lost);
    if (analysing) analyse(true);
  }

  function receive(said) {
    if (said.type === "table") accept(said.table);
    else if (said.type === "analysis" && said.table === table.id && said.node === table.node) {
      analysis = said;
      if (analysing) showAnalysis();
    }
  }

  /** A table that the server has lost comes back from what this page knows. */
  async function lost() {
    const [id, known] = [table.id, table];
    try {
      await get(`/tables/${id}`);
    } catch (error) {
      if (error.status !== 404 || closed || table.id !== id) return;
      await attempt(() => start({ game: known.game.name, options: known.game.options, sides: known.sides.map(bare),
        moves: movesTo(known) }));
    }
  }

  /** Return the names of the moves up to a table's current node. */
  function movesTo({ nodes, node }) {
    const byId = new Map(nodes.map((each) => [each.id, each]));
    const names = [];
    for (let at = byId.get(node); at.parent !== null; at = byId.get(at.parent)) names.unshift(at.move);
    return names;
  }

  function accept(answer) {
    if (!answer?.nodes || closed || (table?.id === answer.id && answer.version < table.version)) return;
    const before = table;
    table = answer;
    if (before?.node !== table.node || before?.id !== table.id) {
      analysis = exact = pointed = null;
      if (exactOn) askExact();
    }
    show();
  }

  // ---- showing ----
  function show() {
    const { game, position, sides, state } = table;
    const key = JSON.stringify(game.board);
    if (key !== boardKey) {
      boardKey = key;
      board?.close();
      board = makeBoard(holder, game.board, { label: `${game.title}, board`, onMove: playAction,
        onIllegal: (cell) => act("move", { cell }), onPoint: (action) => pointAt(action) });
      root.dataset.stones = game.board.kind === "crossings" ? "classic" : "colour";
    }
    board.show(position, !position.over && state !== "thinking");
    sides.forEach((side, player) => {
      const { strip, name, goal } = strips[player];
      name.textContent = side.title;
      goal.textContent = game.board.goals?.[player] ?? "";
      strip.classList.toggle("to-move", !position.over && position.to_play === player);
      strip.classList.toggle("busy", state === "thinking" && position.to_play === player);
      strip.classList.toggle("winner", position.over && (position.outcome ?? 0) * (player ? -1 : 1) > 0);
    });
    const persons = sides.filter((side) => side.kind === "person").length;
    message.textContent = table.message || { "your move": persons === 2 ? "" : "Your move.", thinking: "", over: "The game is over.",
      paused: persons ? "You are looking around: play any move, or go on from here." : "Paused." }[state];
    const at = table.line.indexOf(table.node);
    controls.first.disabled = controls.back.disabled = at <= 0;
    controls.next.disabled = controls.last.disabled = at === table.line.length - 1;
    controls.undo.hidden = controls.resign.hidden = !persons;
    controls.undo.disabled = at <= 0;
    controls.resign.disabled = controls.hint.disabled = position.over;
    machines.hidden = (persons > 0 && state !== "paused") || position.over;
    pause.querySelector("span").textContent = table.paused || state === "paused" ? "Go on" : "Pause";
    pause.firstChild.replaceWith(icon(table.paused || state === "paused" ? "play" : "pause"));
    showOthers();
    tree.update(table);
    drop.disabled = table.node === table.nodes[0].id;
    showGraph();
    showAnalysis();
    showLinks();
    showAddress();
  }

  /** Moves without a cell of their own are buttons. */
  function showOthers() {
    const onBoard = new Set(actionsOfCells(table.game.board, table.position.moves).values());
    const rest = table.position.moves.filter(({ action }) => !onBoard.has(action));
    others.replaceChildren(...rest.map(({ action, move }) =>
      el("button", { type: "button", onclick: () => playAction(action) }, move)));
    others.hidden = !rest.length;
  }

  async function showGraph() {
    const byId = new Map(table.nodes.map((each) => [each.id, each]));
    const line = table.line.map((id) => byId.get(id));
    const values = line.map(({ value }) => value);
    graphBox.hidden = values.filter((value) => value !== null).length < 2;
    const now = byId.get(table.node);
    again.hidden = !(now.loss >= LEAST_LOSS);
    if (!again.hidden) again.replaceChildren(`${now.move} gave away ${Math.round(now.loss * 50)} %. `,
      el("button", { type: "button", class: "link", onclick: () => go(now.parent) }, "Try again from here"));
    if (graphBox.hidden) return;
    const picture = { values, losses: line.map(({ loss }) => loss), current: table.line.indexOf(table.node),
      onPick: (ply) => go(table.line[ply]) };
    if (graph) return graph.update(picture);
    const charts = await import("./chart.js").catch(() => null);
    if (charts && !closed && !graph) graph = charts.valueGraph(graphBox, picture);
  }

  function showAnalysis() {
    const shown = analysing ? analysis : null;
    const { position } = table ?? { position: { to_play: 0, over: true } };
    analysisCard.classList.toggle("on", analysing);
    details.hidden = !analysing && !exactOn;
    runButton.hidden = !analysing || position.over;
    if (!board) return;
    const sum = shown?.moves.reduce((total, { visits }) => total + visits, 0) || 1;
    const heat = new Map(), numbers = new Map();
    for (const { action, visits, value, prior } of shown?.moves ?? []) {
      heat.set(action, visits / sum);
      if (visits / sum < LEAST_SHARE) continue;
      numbers.set(action, [value == null ? "–" : percent(value), short(visits), prior == null ? "" : `${Math.round(100 * prior)} %`]);
    }
    board.heat(heat);
    board.numbers(numbers);
    if (pointed) pointAt(pointed.action, shown?.moves.find(({ action }) => action === pointed.action) ?? null);
    search.update(shown ?? (exactOn && exact ? { node: table.node, moves: table.position.moves.map((move) =>
      ({ ...move, visits: 0, value: null, prior: null })), best: null } : null), exactOn ? exact : null);
    runButton.querySelector("span").textContent = shown?.running ? "Stop" : "Go on";
    runButton.firstChild.replaceWith(icon(shown?.running ? "pause" : "play"));
    summary.hidden = !analysing;
    summary.replaceChildren(...(!shown ? [position.over ? "The game is over." : "Searching…"]
      : [el("b", {}, percent(shown.value)), ` for ${position.to_play ? "the second player" : "the first player"} · `,
        `${short(shown.simulations)} simulations`, shown.running ? ` · ${short(Math.round(shown.per_second))}/s` : "",
        el("small", {}, shown.by)]));
    showGauge(shown);
  }

  function showGauge(shown) {
    const now = table.nodes.find(({ id }) => id === table.node);
    const value = table.position.over && table.position.outcome !== null ? table.position.outcome
      : shown ? shown.value * (table.position.to_play ? -1 : 1) : now.value;
    gauge.classList.toggle("unknown", value == null);
    fill.style.setProperty("--share", 0.5 + 0.5 * (value ?? 0));
    gauge.lastChild.textContent = value == null ? "" : Math.round(50 + 50 * value);
    gauge.setAttribute("aria-valuenow", Math.round(50 + 50 * (value ?? 0)));
    gauge.title = value == null ? "No value yet: switch on the analysis." : `${percent(value)} for the first player`;
  }

  /** Show what would follow a move that someone points at. */
  function pointAt(action, move = analysing ? analysis?.moves.find((each) => each.action === action) : null) {
    pointed = action === null || !move ? null : { action };
    board?.ghosts(pointed && move.line_cells ? move.line_cells : [], table.position.to_play);
  }

  function showLinks() {
    const link = (format, text) => el("a", { class: "button", download: true,
      href: `/api/tables/${table.id}/record?format=${format}` }, text);
    if (links.dataset.table === table.id) return;
    links.dataset.table = table.id;
    links.replaceChildren(
      button("Copy the address of this game", "share", async () => {
        await attempt(() => navigator.clipboard.writeText(location.href));
        toast("The address holds the game and its moves. It is copied.");
      }, { text: "Copy address" }),
      link("sgf", "SGF"), link("json", "JSON"), link("svg", "SVG"), link("png", "PNG"),
      button("Load a game from an SGF or JSON file", "plus", () => file.click(), { text: "Load a file" }));
  }

  function showAddress() {
    const { game, id } = table;
    const defaults = games.find(({ name }) => name === game.name)?.options;
    const parts = new URLSearchParams({ game: game.name });
    const options = optionsText(game.options, defaults);
    if (options) parts.set("options", options);
    const played = movesTo(table).join(".");
    if (played) parts.set("moves", played);
    parts.set("table", id);
    history.replaceState(null, "", `#/play?${parts.toString().replaceAll("%3A", ":").replaceAll("%2C", ",")}`);
  }

  // ---- analysis ----
  function analyse(on) {
    if (!table) return;
    const [player, run] = settings.player.split(" ");
    const body = on ? { ...settings, on, player, ...(run ? { run } : {}) } : { on };
    if (analysis) analysis.running = on;
    attempt(() => post(`/tables/${table.id}/analyse`, body));
  }

  function changed(setting) {
    Object.assign(settings, setting);
    remember("analysis", settings);
    if (analysing) analyse(true);
  }

  async function fillEngines() {
    const { champions } = await get(`/players?game=${encodeURIComponent(table.game.name)}`).catch(() => ({ champions: [] }));
    engine.replaceChildren(...[["auto", "automatic"], ["uct", "UCT, random games"],
      ...champions.map(({ run }) => [`pv_mcts ${run}`, `champion of ${run}`])].map(([value, text]) =>
      el("option", { value, selected: value === settings.player }, text)));
    kind.closest("label").hidden = !champions.length;
    if (engine.value !== settings.player) settings.player = engine.value;
  }

  async function askExact() {
    exact = null;
    const node = table.node;
    if (exactOn && !table.position.over) {
      const answer = await attempt(() => get(`/tables/${table.id}/exact`));
      if (node !== table.node || !answer) return;
      if (!answer.known) toast(answer.why ?? "The exact values of this position are not known.");
      exact = answer.known ? answer.values : null;
    }
    const words = { 1: ["win", "W"], 0: ["draw", "D"], "-1": ["loss", "L"] };
    board.marks(new Map([...actionsOfCells(table.game.board, table.position.moves)].flatMap(([cell, action]) => {
      const value = exact?.[action];
      if (value === undefined) return [];
      const [name, text] = words[Math.sign(value)];
      return [[cell, { class: name, text }]];
    })));
    showAnalysis();
  }

  // ---- keyboard ----
  function onKey(event) {
    const inField = event.target.closest("input, select, textarea, dialog, [role=slider]");
    if (inField || event.ctrlKey || event.altKey || event.metaKey || !table) return;
    const way = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (way !== undefined) step(way);
    else if (/^[a-z0-9]$/i.test(event.key)) typed.focus(); // the key itself lands in the field
    else return;
    if (way !== undefined) event.preventDefault();
  }
  document.addEventListener("keydown", onKey);

  // ---- the first table ----
  async function first() {
    ({ games } = await get("/games"));
    const { table: id, game } = parameters;
    const memory = remembered("game", null);
    if (id) {
      const known = await get(`/tables/${id}`).catch(() => null);
      if (known) return follow(known);
    }
    if (game) {
      const sides = memory?.game === game && id ? memory.sides : [PERSON, PERSON];
      const chosen = { game, options: optionsFrom(parameters.options), sides: sidesFrom(parameters) ?? sides };
      return start({ ...chosen, moves: (parameters.moves ?? "").split(".").filter(Boolean) });
    }
    if (memory && games.some(({ name }) => name === memory.game)) return start(memory);
    const chosen = games.find(({ own }) => own) ?? games.find(({ name }) => name === "connect_four") ?? games[0];
    const { champions } = await get(`/players?game=${encodeURIComponent(chosen.name)}`);
    const opponent = champions.length ? { kind: "player", name: "pv_mcts", options: { run: champions[0].run } }
      : { kind: "player", name: "uct", options: {} };
    return start({ game: chosen.name, options: {}, sides: [PERSON, opponent] });
  }

  /** `against=RUN` in the address is a game with the newest champion of that run. */
  function sidesFrom({ against }) {
    return against ? [PERSON, { kind: "player", name: "pv_mcts", options: { run: against } }] : null;
  }

  showAnalysis();
  await attempt(first);
  return () => {
    closed = true;
    socket?.close();
    graph?.close();
    board?.close();
    document.removeEventListener("keydown", onKey);
  };
}
