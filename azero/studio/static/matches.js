// The page Matches: start a match or a tournament between players, and see its table fill.

import { attempt, button, el, get, post, spaced } from "./api.js";
import { field, hold, sayBeside, sayRefusal } from "./fields.js";
import { gameByNumber } from "./gamelist.js";
import { addressOf, card, gameButtons, makeReplay, quiet, stateChip, table } from "./parts.js";
import { makePatience, makeSeats } from "./seats.js";
import { gameChooser, getOffered } from "./sides.js";

const POLL = 1500; // milliseconds between two looks at a match
const MOST_PLAYERS = 8;
const GAMES = { name: "games_of_each_pair", kind: "int", default: 20, between: [2, 10_000],
  about: "An even number, because the players alternate colours." };
const player = (name, options = {}) => ({ kind: "player", name, options });
const address = (id) => addressOf("matches", { id });
const share = (value) => `${(100 * value).toFixed(1)} %`;
const elo = (value) => `${value > 0 ? "+" : ""}${Math.round(value)}`;

/** Return players of a match: those that can play the game; until somebody has chosen, its best against UCT. */
function playersThatFit({ champions }, sides, untouched) {
  const [newest] = champions.map(({ run }) => player("pv_mcts", { run })), other = newest ?? player("random");
  if (untouched && sides.length <= 2) return [other, player("uct")];
  return sides.map((side) => !side.options.run || champions.some(({ run }) => run === side.options.run) ? side : other);
}

/** The form that starts a match. */
async function startForm(offered, runs) {
  const accept = el("button", { class: "primary" }, "Start match"), note = el("p", { class: "quiet", role: "status" });
  const fault = el("p", { class: "fault", role: "alert" }), games = field(GAMES);
  const wait = makePatience(accept, note);
  const seats = makeSeats({ legend: (i) => `Player ${i + 1}`, fit: playersThatFit, wait, machines: true });
  const newest = offered.games.find(({ name }) => name === runs[0]?.play);
  const clear = () => {
    fault.textContent = "";
    seats.clear();
  };
  const chosen = gameChooser(offered, newest?.name ?? "tictactoe", newest ? runs[0].options : {}, (value) => {
    clear();
    seats.follow(value).catch(sayWrong);
  });
  const sayWrong = (error) => sayRefusal(error, { sides: seats.say,
    options: ([option], sentence) => chosen.say(option, sentence),
    games: (_, sentence) => sayBeside([games], games.name, sentence) }, fault);
  const more = button("One player more: a tournament", "plus", () => attempt(async () => {
    await seats.settle(chosen.value());
    seats.add(player("uct"));
    more.hidden = seats.values().length >= MOST_PLAYERS;
  }), { text: "Another player" });
  const begin = async (event) => {
    event.preventDefault();
    clear();
    const release = hold(accept);
    try {
      fault.textContent = await seats.settle(chosen.value());
      if (fault.textContent || ![chosen, seats, games].every((each) => each.check())) return;
      const asked = { ...chosen.value(), players: seats.values(), games: games.value() ?? GAMES.default };
      location.hash = address((await wait(post("/matches", asked))).id);
    } catch (error) {
      sayWrong(error);
    } finally {
      release();
    }
  };
  await seats.follow(chosen.value(), []).catch(sayWrong);
  return el("form", { class: "card start", novalidate: true, onsubmit: begin }, el("h2", {}, "New match"),
    chosen.element, seats.element, el("div", { class: "buttons" }, more), games.element, note, fault,
    el("div", { class: "buttons" }, accept));
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
  return table("Standings", head, rows.map((row, i) => [`${i + 1}  ${names[row.player]}`, elo(row.elo),
    Math.round(row.margin), share(row.points / Math.max(1, row.games)),
    ...rows.map((other) => other.player === row.player ? "" : share(row.scores[other.player]))]));
}

/** Watch a match in an element, and call onChange(match); return a function that ends it. */
function watch(element, id, onChange) {
  const body = el("div", { class: "stack" }), replay = el("div");
  element.append(body, replay);
  let timer, closed = false, shown = "";
  const stop = () => attempt(() => post(`/matches/${id}/stop`)).then(poll);
  const games = makeReplay(replay);
  const open = (number) => games.open(`/matches/${id}/games/${number}`,
    ({ players }) => `Game ${number + 1}: ${players.join(" against ")}`);

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
    games.close();
  };
}

export async function mount(page, { id }) {
  const [offered, { matches }, { runs }] = await Promise.all([getOffered(), get("/matches"), get("/runs")]);
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
