// The page Matches: start a match or a tournament between players, and see its table fill.

import { attempt, button, el, get, post, spaced } from "./api.js";
import { gameByNumber } from "./gamelist.js";
import { addressOf, card, gameButtons, quiet, showReplay, stateChip, table } from "./parts.js";
import { gameChooser, playersOf, sideChooser } from "./sides.js";

const POLL = 1500; // milliseconds between two looks at a match
const MOST_PLAYERS = 8;
const player = (name, options = {}) => ({ kind: "player", name, options });
const address = (id) => addressOf("matches", { id });
const share = (value) => `${(100 * value).toFixed(1)} %`;
const elo = (value) => `${value > 0 ? "+" : ""}${Math.round(value)}`;

/** The form that starts a match. */
async function startForm(offered, runs) {
  const players = el("div", { class: "two" });
  const count = el("input", { type: "number", min: 2, step: 2, value: 20 });
  let choosers = [];
  const add = async (side) => {
    const place = choosers.length, { game, options } = chosen.value();
    choosers[place] = await sideChooser(game, side, options, true);
    players.append(el("fieldset", {}, el("legend", {}, `Player ${place + 1}`), choosers[place].element));
    more.hidden = choosers.length >= MOST_PLAYERS;
  };
  const start = async () => {
    const { game, options } = chosen.value(), { champions } = await playersOf(game, options);
    const [champion] = champions;
    choosers = [];
    players.replaceChildren();
    await add(champion ? player("pv_mcts", { run: champion.run }) : player("random"));
    await add(player("uct"));
  };
  const newest = offered.games.find(({ name }) => name === runs[0]?.play);
  const options = newest ? runs[0].options : {};
  const chosen = gameChooser(offered, newest?.name ?? "tictactoe", options, () => attempt(start));
  const more = button("One player more: a tournament", "plus", () => attempt(() => add(player("uct"))),
    { text: "Another player" });
  await start();
  const begin = (event) => {
    event.preventDefault();
    if (![chosen, ...choosers].every((each) => each.check())) return;
    attempt(async () => {
      const players = choosers.map((each) => each.value());
      const asked = { ...chosen.value(), players, games: Number(count.value) };
      location.hash = address((await post("/matches", asked)).id);
    });
  };
  return el("form", { class: "card start", novalidate: true, onsubmit: begin }, el("h2", {}, "New match"), chosen.element,
    players, el("div", { class: "buttons" }, more),
    el("label", { class: "field" }, el("span", {}, "games of each pair"), count),
    el("div", { class: "buttons" }, el("button", { class: "primary" }, "Start match")));
}

/** Return the result of two players: a bar of wins, draws and losses, and the numbers. */
function pairing(names, { one, other, wins, draws, losses, ...pair }) {
  const counts = `${wins} wins, ${draws} draws, ${losses} losses`;
  const parts = [["win", wins], ["draw", draws], ["loss", losses]].filter(([, n]) => n).map(([name, n]) => {
    const part = el("span", { class: name }, n);
    part.style.flexGrow = n;
    return part;
  });
  return el("div", { class: "pairing" }, el("p", {}, `${names[one]} against ${names[other]}`),
    el("div", { class: "bar", role: "img", "aria-label": counts }, parts),
    quiet(`${counts} · score ${share(pair.score)}, 95 % interval ${share(pair.low)} to ${share(pair.high)}` +
      ` · Elo ${elo(pair.elo)} (${elo(pair.elo_low)} to ${elo(pair.elo_high)}) · ` +
      `${pair.distinct} distinct games`));
}

/** Return the table of a tournament, best first. */
function standings(names, rows) {
  const head = ["player", "Elo", "± 95 %", "score", ...rows.map((_, i) => i + 1)];
  return table(head, rows.map((row, i) => [`${i + 1}  ${names[row.player]}`, elo(row.elo),
    Math.round(row.margin), share(row.points / Math.max(1, row.games)),
    ...rows.map((other) => other.player === row.player ? "" : share(row.scores[other.player]))]));
}

/** Watch a match in an element, and call onChange(match); return a function that ends it. */
function watch(element, id, onChange) {
  const body = el("div", { class: "stack" }), replay = el("div");
  element.append(body, replay);
  let timer, closed = false, shown = "", closeReplay = () => {};
  const stop = () => attempt(() => post(`/matches/${id}/stop`)).then(poll);
  const open = (number) => attempt(async () => {
    const game = await get(`/matches/${id}/games/${number}`);
    closeReplay();
    closeReplay = showReplay(replay, game, `Game ${number + 1}: ${game.players.join(" against ")}`);
  });

  function show(match) {
    const playing = match.state === "playing", names = match.players;
    body.replaceChildren(card(`${spaced(match.title)}, match ${Number(id)}`,
      [stateChip(match.state), playing && button("Stop", "pause", stop, { text: "Stop" })],
      el("progress", { max: match.total, value: match.done, hidden: !playing, "aria-label": "Games played" }),
      quiet(`${match.done} of ${match.total} games, started ${match.age}. ${match.sentence}`),
      playing && !match.done ? quiet(match.lines.at(-1) ?? "The players get ready.") : "",
      names.length > 2 && match.standings.length ? standings(names, match.standings) : "",
      ...match.pairings.map((pair) => pairing(names, pair))),
    match.list.length
      ? card("Games", null, el("div", { class: "games" }, gameButtons(match.list, open)),
        match.done > match.list.length && gameByNumber(open, 1)) : "");
  }

  async function poll() {
    clearTimeout(timer);
    const match = await attempt(() => get(`/matches/${id}`));
    if (closed) return;
    const text = JSON.stringify(match);
    if (match && text !== shown) {
      show(match);
      onChange(match);
    }
    shown = text;
    clearTimeout(timer);
    if (match?.state === "playing") timer = setTimeout(poll, POLL);
  }

  poll();
  return () => {
    closed = true;
    clearTimeout(timer);
    closeReplay();
  };
}

export async function mount(page, { id }) {
  const [offered, { matches }, { runs }] = await Promise.all(["/games", "/matches", "/runs"].map(get));
  const view = el("div", { class: "watched" }), items = new Map();
  const entry = (match) => [el("a", { href: address(match.id), "aria-current": match.id === id && "true" },
    `${spaced(match.title)}: ${match.players.slice(0, 3).join(", ")}`), " ", stateChip(match.state),
  el("small", { class: "quiet" }, ` ${match.done} games, ${match.age}`)];
  for (const match of matches) items.set(match.id, el("li", {}, entry(match)));
  const list = el("ul", { class: "matches-list" }, [...items.values()]);
  page.append(el("div", { class: "workshop" }, el("div", { class: "stack" }, await startForm(offered, runs),
    matches.length > 0 && card("Matches", null, list)), view));
  const shown = id ?? matches[0]?.id;
  if (shown) return watch(view, shown, (match) => items.get(match.id)?.replaceChildren(...entry(match)));
  view.append(el("p", { class: "sorry" }, "Choose two players and start; the table fills as the games end."));
  return undefined;
}
