// The search of the position on the board: heat and numbers, its tree as a table, exact values, the gauge.

import { attempt, button, el, get, percent, relabel, remember, remembered, slider, toast, toggle }
  from "./api.js";
import { labelled, select } from "./fields.js";
import { actionsOfCells } from "./page/board.js";
import { playerName } from "./page/moving.js";
import { nameAmong, playersOf } from "./sides.js";
import { SHOWN, searchTable, short } from "./variations.js";

const LEAST_SHARE = 0.01; // of the visits, for a number on the board
const REDRAW = 250; // milliseconds between two drawings of a search, which take its cores
const SIMULATIONS = [100, 300, 1000, 3000, 10000, 30000, 100000, 200000];
const SECONDS = [0, 1, 2, 5, 10, 20, 30, 60];
const START = { player: "auto", simulations: 10000, seconds: 0, kind: "" };
const KINDS = [["", "PUCT"], ["gumbel", "Gumbel"]];
const EXACT = { 1: ["win", "W"], 0: ["draw", "D"], "-1": ["loss", "L"] };

/** Make the card. desk: {table, board, act(verb, body), showBadges()}; onValue(first player's value). */
export function makeAnalysis(desk, onValue) {
  const settings = { ...START, ...remembered("analysis", {}) };
  let on = false, exactOn = false, found = null, exact = null, pointed = null, kept = { id: null, rows: 0 };
  let drawn = 0; // when the search was last drawn

  const summary = el("p", { class: "summary" }), line = el("p", { class: "line quiet" });
  const box = el("div", { class: "search-box" });
  const search = searchTable(box, {
    onPoint: (move) => point(move),
    onPick: (actions) => desk.act("go", { node: desk.table.node, actions }),
    ask: (path) => get(`/tables/${desk.table.id}/search?path=${path}`),
  });
  const choice = (name, key, pairs) => {
    const list = select(pairs, settings[key], { onchange: () => change({ [key]: list.value }) });
    return labelled(name, list);
  };
  const engines = el("div", { class: "fields" });
  const stop = button("Stop or go on", "pause", () => ask(!running()), { text: "Stop" });
  const sayTime = (value) => value ? `${value} s` : "no limit";
  const body = el("div", { class: "analysis-body" }, summary, line, box, el("details", {},
    el("summary", {}, "Search settings"), engines,
    slider("Simulations", SIMULATIONS, settings.simulations, short, (simulations) => change({ simulations })),
    slider("Time", SECONDS, settings.seconds, sayTime, (seconds) => change({ seconds }))));
  const analysisSwitch = toggle("Analysis", false, (checked) => {
    on = checked;
    ask(on);
    show();
  });
  const exactSwitch = toggle("Exact", false, (checked) => {
    exactOn = checked;
    askExact();
  });
  exactSwitch.title = "Exact values of the moves, where a solver knows them";
  [[analysisSwitch, "analysis"], [exactSwitch, "exact"]].forEach(([each, name]) => {
    each.firstChild.dataset.do = name;
  });
  const header = el("header", {}, analysisSwitch, exactSwitch, stop);
  const element = el("section", { class: "card analysis" }, header, body);

  const running = () => Boolean(desk.table?.analysis?.on && !desk.table.analysis.done);

  function ask(start) {
    const [player, run] = settings.player.split(" ");
    return desk.act("analyse", !start ? { on: false } :
      { ...settings, player, ...(run && { run }), on: true });
  }

  function change(setting) {
    remember("analysis", Object.assign(settings, setting));
    if (on) ask(true);
  }

  async function askExact() {
    exact = null;
    const { id, node, position } = desk.table;
    if (exactOn && !position.over) {
      const answer = await attempt(() => get(`/tables/${id}/exact`));
      if (!exactOn || node !== desk.table.node || id !== desk.table.id) return;
      if (answer && !answer.known) toast(answer.why ?? "The exact values of this position are not known.");
      exact = answer?.known ? answer.values : null;
    }
    desk.showBadges();
    show();
  }

  /** Show what would follow a move that someone points at; null: nothing. */
  function point(move) {
    pointed = move;
    desk.board.ghosts(move?.line_cells ?? [], desk.table.position.to_play, move?.from ?? null);
    showLine();
  }

  /** Write the line of the best move, or of the one that someone points at. */
  function showLine() {
    const moves = on && found ? found.moves : [], best = moves.find(({ action }) => action === found.best);
    const names = moves.length ? (pointed ?? best)?.line ?? [] : [];
    line.hidden = !on;
    line.replaceChildren(el("b", {}, names[0] ?? ""), ` ${names.slice(1).join(" ")}`);
  }

  /** Keep the room of the table's rows: its height changes only with the game. */
  function keepHeight() {
    const { id, position } = desk.table;
    if (kept.id !== id) kept = { id, rows: 0 };
    kept.rows = Math.max(kept.rows, Math.min(SHOWN, position.moves.length));
    box.style.setProperty("--rows", kept.rows);
  }

  function show() {
    const { table, board } = desk;
    if (!board) return;
    const shown = on ? found : null, moves = shown?.moves ?? [];
    const sum = moves.reduce((total, { visits }) => total + visits, 0) || 1;
    const least = Math.min(LEAST_SHARE, 1 / moves.length); // a search of many moves spreads its visits
    const written = moves.filter(({ visits }) => visits / sum >= least);
    board.heat(new Map(moves.map(({ action, visits }) => [action, visits / sum])), shown?.best ?? null);
    board.numbers(new Map(written.map(({ action, value, visits, prior }) =>
      [action, [value == null ? "–" : percent(value), short(visits),
        ...(prior == null ? [] : [`${Math.round(100 * prior)} %`])]])));
    if (shown && !pointed) board.ghosts([], 0); // a hint of before
    if (pointed && shown) {
      const again = moves.find(({ action }) => action === pointed.action);
      if (again && pointed.line_cells?.[0] === again.cell) point(again);
    }
    showLine();
    keepHeight();
    const bare = table.position.moves.map((move) => ({ ...move, visits: 0, value: null, prior: null }));
    search.update(shown ?? (exact && { node: table.node, best: null, moves: bare }), exact);
    analysisSwitch.firstChild.checked = on;
    body.hidden = !on && !exact;
    summary.hidden = !on;
    stop.hidden = !on || table.position.over;
    stop.disabled = Boolean(table.analysis?.on && table.analysis.done);
    relabel(stop, running() ? "pause" : "play", stop.disabled ? "Done" : running() ? "Stop" : "Go on");
    summary.replaceChildren(...(shown ? [el("b", {}, percent(shown.value)),
      ` for ${playerName(table.game.board, table.position.to_play, true)} · `,
      `${short(shown.simulations)} simulations`, running() ? ` · ${short(shown.per_second)}/s` : "",
      el("small", {}, [shown.by, shown.busy].filter(Boolean).join(" · "))]
      : [table.position.over ? "The game is over." : "Searching …"]));
    const now = table.nodes.find(({ id }) => id === table.node);
    onValue(table.position.over && table.position.outcome !== null ? table.position.outcome
      : shown ? shown.value * (table.position.to_play ? -1 : 1) : now.value);
  }

  return {
    element,
    /** Take up another table: what it searches, and who can search its game. */
    async open() {
      on = desk.table.analysis?.on ?? on;
      if (on && !desk.table.analysis) ask(true);
      const game = desk.table.game;
      const { champions } = await playersOf(game.name, game.options).catch(() => ({ champions: [] }));
      const names = [["auto", "automatic"], ["uct", "UCT, random games"],
        ...champions.map(({ run }) => [`pv_mcts ${run}`, `champion of ${nameAmong(champions, run)}`])];
      if (!names.some(([value]) => value === settings.player)) settings.player = "auto";
      engines.replaceChildren(choice("player", "player", names),
        champions.length ? choice("search kind", "kind", KINDS) : "");
    },
    /** Return whether the board shows what the analysis has found. */
    shows: () => on && found !== null,
    /** A message of the stream. */
    receive(message) {
      if (message.node !== desk.table.node) return;
      const waits = found && message.running && performance.now() - drawn < REDRAW;
      found = message; // what is not drawn now is by the next one, or by the table's end of the search
      if (!on || waits) return;
      drawn = performance.now();
      show();
    },
    /** The table has changed; moved: so has the position. */
    update(moved) {
      if (moved) [found, exact, pointed] = [null, null, null];
      if (moved && exactOn) askExact();
      show();
    },
    /** Someone points at a move on the board, or away from it. */
    pointAt: (action) => point(on && action !== null
      ? found?.moves.find((move) => move.action === action) ?? null : null),
    /** Return badges of exact values: Map cell -> {class, text}. */
    badges: () => new Map([...actionsOfCells(desk.table.game.board, desk.table.position.moves)]
      .filter(([, action]) => exact?.[action] !== undefined)
      .map(([cell, action]) => {
        const [name, text] = EXACT[Math.sign(exact[action])];
        return [cell, { class: name, text }];
      })),
  };
}
