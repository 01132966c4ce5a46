// The page Matches: start a match or a tournament between players, and see its table fill.

import { attempt, button, el, get, post } from "./api.js";
import { outcomeText, showReplay } from "./replay.js";
import { gameChooser, sideChooser } from "./sides.js";
import { stateChip } from "./train.js";

const POLL = 1500; // milliseconds between two looks at a match
const MOST_PLAYERS = 8;
const UCT = { kind: "player", name: "uct", options: {} };
const address = (id) => `#/matches?${new URLSearchParams({ id })}`;
const share = (value) => `${(100 * value).toFixed(1)} %`;
const elo = (value) => `${value > 0 ? "+" : ""}${Math.round(value)}`;

/** The form that starts a match. */
async function startForm(games, runs) {
  const players = el("div", { class: "two" }), count = el("input", { type: "number", min: 2, step: 2, value: 20 });
  let choosers = [];
  const add = async (side = UCT) => {
    const place = choosers.length, { game, options } = chosen.value();
    const chooser = await sideChooser(game, side, options, true);
    choosers[place] = chooser;
    players.append(el("fieldset", {}, el("legend", {}, `Player ${place + 1}`), chooser.element));
    more.hidden = choosers.length >= MOST_PLAYERS;
  };
  const fill = async (sides) => {
    choosers = [];
    players.replaceChildren();
    for (const side of sides) await add(side);
  };
  const start = async () => {
    const { champions } = await get(`/players?game=${encodeURIComponent(chosen.value().game)}`);
    const { run } = champions[0] ?? {};
    await fill([run ? { kind: "player", name: "pv_mcts", options: { run } } : { ...UCT, name: "random" }, UCT]);
  };
  const newest = games.find(({ name }) => name === runs[0]?.play);
  const chosen = gameChooser(games, newest?.name ?? "tictactoe", {}, () => attempt(start));
  const more = button("One player more: a tournament", "plus", () => attempt(add), { text: "Another player" });
  await start();
  return el("form", { class: "card start", onsubmit: (event) => {
    event.preventDefault();
    attempt(async () => {
      const asked = { ...chosen.value(), players: choosers.map((each) => each.value()), games: Number(count.value) };
      location.hash = address((await post("/matches", asked)).id);
    });
  } }, el("h2", {}, "New match"), chosen.element, players, el("div", { class: "buttons" }, more),
  el("label", { class: "field" }, el("span", {}, "games of each pair"), count),
  el("div", { class: "buttons" }, el("button", { class: "primary" }, "Start match")));
}

/** Watch a match in an element; return a function that ends it. */
function watch(element, id) {
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
    const pair = ({ one, other, wins, draws, losses, score, low, high, elo: gap, elo_low, elo_high, distinct }) =>
      el("div", { class: "pairing" }, el("p", {}, `${names[one]} against ${names[other]}`),
        el("div", { class: "bar", role: "img", "aria-label": `${wins} wins, ${draws} draws, ${losses} losses` },
          [["win", wins], ["draw", draws], ["loss", losses]].filter(([, n]) => n).map(([name, n]) => {
            const part = el("span", { class: name }, n);
            part.style.flexGrow = n;
            return part;
          })),
        el("p", { class: "quiet" }, `${wins} wins, ${draws} draws, ${losses} losses · score ${share(score)}, 95 % interval ` +
          `${share(low)} to ${share(high)} · Elo ${elo(gap)} (${elo(elo_low)} to ${elo(elo_high)}) · ${distinct} distinct games`));
    const standings = names.length > 2 && match.standings.length ? el("div", { class: "wide" }, el("table", {},
      el("thead", {}, el("tr", {}, ["player", "Elo", "± 95 %", "score", ...match.standings.map((_, i) => i + 1)].map((head) =>
        el("th", { scope: "col" }, head)))),
      el("tbody", {}, match.standings.map((row, i) => el("tr", {}, el("td", {}, `${i + 1}  ${names[row.player]}`),
        el("td", {}, elo(row.elo)), el("td", {}, Math.round(row.margin)), el("td", {}, share(row.points / Math.max(1, row.games))),
        match.standings.map(({ player }) => el("td", {}, player === row.player ? "" : share(row.scores[player])))))))) : null;
    body.replaceChildren(el("section", { class: "card" }, el("header", {}, el("h2", {}, `${match.title}, match ${Number(id)}`),
      stateChip(match.state), playing ? button("Stop", "pause", stop, { text: "Stop" }) : null),
    el("progress", { max: match.total, value: match.done, hidden: !playing, "aria-label": "Games played" }),
    el("p", { class: "quiet" }, `${match.done} of ${match.total} games, started ${match.age}. ${match.sentence}`),
    playing && !match.done ? el("p", { class: "quiet" }, match.lines.at(-1) ?? "The players get ready.") : null,
    standings, match.pairings.map(pair)),
    match.list.length ? el("section", { class: "card" }, el("h2", {}, "Games"), el("div", { class: "games" },
      match.list.map(({ number, players, outcome, plies }) => el("button", { type: "button",
        class: `game ${outcome > 0 ? "first" : outcome < 0 ? "second" : ""}`,
        title: `${names[players[0]]} against ${names[players[1]]}: ${outcomeText(outcome)}`,
        "aria-label": `Game ${number + 1}, ${plies} moves, ${outcomeText(outcome)}`, onclick: () => open(number) }, plies)))) : null);
  }

  async function poll() {
    clearTimeout(timer);
    const match = await attempt(() => get(`/matches/${id}`));
    if (closed) return;
    const text = JSON.stringify(match);
    if (match && text !== shown) show(match);
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
  const [{ games }, { matches }, { runs }] = await Promise.all([get("/games"), get("/matches"), get("/runs")]);
  const view = el("div", { class: "watched" });
  const list = matches.length ? el("section", { class: "card" }, el("h2", {}, "Matches"), el("ul", { class: "matches-list" },
    matches.map((match) => el("li", {}, el("a", { href: address(match.id), "aria-current": match.id === id },
      `${match.title}: ${match.players.slice(0, 3).join(", ")}`), " ", stateChip(match.state),
    el("small", { class: "quiet" }, ` ${match.done} games, ${match.age}`))))) : null;
  page.append(el("div", { class: "workshop" }, el("div", { class: "stack" }, await startForm(games, runs), list), view));
  const shown = id ?? matches[0]?.id;
  if (shown) return watch(view, shown);
  view.append(el("p", { class: "sorry" }, "Choose two players and start; the table fills as the games end."));
  return undefined;
}
