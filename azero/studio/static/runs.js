// The page Runs: all runs, several in one chart, one in detail with its games.

import { attempt, button, el, get, post, toast } from "./api.js";
import { sparkline } from "./chart.js";
import { outcomeText, playAddress, showReplay } from "./replay.js";
import { deleteRun, formatOf, goOn, showCurves, stateChip } from "./train.js";

const address = (query) => `#/runs?${new URLSearchParams(query)}`;
const table = (head, rows) => el("div", { class: "wide" }, el("table", {},
  el("thead", {}, el("tr", {}, head.map((cell) => el("th", { scope: "col" }, cell)))),
  el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell)))))));

/** Show all runs; a mark chooses those to compare. */
function showList(page, runs, chosen) {
  const compare = el("button", { type: "button", onclick: () => {
    location.hash = address({ compare: [...chosen].join(",") });
  } }, "Compare");
  const told = () => {
    compare.disabled = chosen.size < 2;
    compare.textContent = chosen.size < 2 ? "Mark two to compare" : `Compare ${chosen.size}`;
  };
  const tensorboard = el("button", { type: "button", onclick: async () => {
    tensorboard.disabled = true;
    toast("TensorBoard starts; this takes some seconds.");
    const answer = await attempt(() => post("/tensorboard"));
    tensorboard.disabled = false;
    if (answer) tensorboard.replaceWith(el("a", { class: "button", href: answer.url, target: "_blank", rel: "noopener" },
      "Open TensorBoard"));
  } }, "TensorBoard");
  const row = (run) => [
    el("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, checked: chosen.has(run.name), onchange: (event) => {
      chosen[event.target.checked ? "add" : "delete"](run.name);
      told();
    } }),
    el("a", { href: address({ run: run.name }) }, run.name), stateChip(run.state), run.title ?? "", run.cycle ?? "",
    run.strength ?? "", run.spark?.values.length ? sparkline(run.spark.values, run.spark.title) : "", run.size ?? "",
    run.age ?? ""];
  page.append(el("section", { class: "card" }, el("header", {}, el("h2", {}, "Runs"), compare, tensorboard),
    runs.length ? table(["", "run", "state", "game", "cycles", "strength", "", "size", "used"], runs.map(row))
      : el("p", { class: "quiet" }, "There is no run yet. ", el("a", { href: "#/train" }, "Train one."))));
  told();
}

/** Show one run. */
function showRun(page, run) {
  const path = `/runs/${encodeURIComponent(run.name)}`;
  const curves = el("div", { class: "charts" }), replay = el("div"), list = el("div", { class: "games" });
  const doctor = el("p", { class: "quiet" }, "…");
  let closeReplay = () => {};
  const open = (cycle, number) => attempt(async () => {
    const game = await get(`${path}/games/${cycle}/${number}`);
    closeReplay();
    closeReplay = showReplay(replay, game, `Cycle ${cycle}, game ${number}`);
  });
  const choice = el("select", { "aria-label": "Cycle", onchange: () => attempt(showGames) },
    run.games.map((cycle) => el("option", { value: cycle }, `cycle ${cycle}`)));
  async function showGames() {
    const { cycle, games, count } = await get(`${path}/games?cycle=${choice.value}`);
    list.replaceChildren(...games.map(({ number, plies, outcome }) => el("button", { type: "button",
      class: `game ${outcome > 0 ? "first" : outcome < 0 ? "second" : ""}`, title: outcomeText(outcome),
      "aria-label": `Game ${number}, ${plies} moves, ${outcomeText(outcome)}`, onclick: () => open(cycle, number) }, plies)));
    if (count > games.length) list.append(el("span", { class: "quiet" }, `and ${(count - games.length).toLocaleString("en")} more`));
  }
  const working = ["starting", "training", "stopping", "busy"].includes(run.state);
  const facts = [run.title, run.recipe && `recipe ${run.recipe}`, `${run.cycle} cycles in ${run.elapsed}`, run.strength, run.size,
    `used ${run.age}`].filter(Boolean).join(" · ");
  page.append(el("section", { class: "card" }, el("header", {}, el("h2", {}, run.name), stateChip(run.state),
    run.champions.length ? el("a", { class: "button primary-link",
      href: playAddress({ game: run.play, options: run.options, against: run.name }) }, "Play against it") : null,
    el("a", { class: "button", href: `#/train?${new URLSearchParams({ run: run.name })}` }, "Watch"),
    working ? null : button("Go on", "play", () => attempt(async () => {
      if (await goOn(run.name)) location.hash = `#/train?${new URLSearchParams({ run: run.name })}`;
    }), { text: "Go on" }),
    working ? null : button("Delete", "trash", () => attempt(async () => {
      if (await deleteRun(run.name)) location.hash = "#/runs";
    }))), el("p", { class: "quiet" }, facts), run.sentence && el("p", { class: "quiet" }, run.sentence), doctor),
  curves, run.table.rows.length ? el("section", { class: "card" }, el("h2", {}, "Cycles"), table(run.table.head, run.table.rows))
    : null,
  run.games.length ? el("section", { class: "card" }, el("header", {}, el("h2", {}, "Games of self-play"), choice),
    el("p", { class: "quiet" }, "The number is the moves of a game, the colour who won. Choose one to replay it."), list) : null,
  replay);
  const close = showCurves(curves, [run]);
  if (run.games.length) attempt(showGames);
  get(`${path}/doctor`).then(({ findings }) => {
    doctor.textContent = findings.length ? `Doctor: ${findings.map(({ sentence }) => sentence).join(" ")}`
      : "The doctor finds no problems.";
  }, () => doctor.remove());
  return () => { close(); closeReplay(); };
}

/** Show several runs in the same charts. */
function showComparison(page, runs) {
  const curves = el("div", { class: "charts" });
  const head = ["run", "game", "cycles", "strength", "time"];
  page.append(el("section", { class: "card" }, el("header", {}, el("h2", {}, `${runs.length} runs`)),
    table(head, runs.map((run) => [el("a", { href: address({ run: run.name }) }, run.name), run.title, run.cycle, run.strength,
      run.elapsed]))), curves);
  return showCurves(curves, runs);
}

export async function mount(page, { run, compare }) {
  const box = el("div", { class: "stack runs" });
  page.append(box);
  const back = el("a", { href: "#/runs" }, "All runs");
  if (run) {
    const found = await attempt(() => get(`/runs/${encodeURIComponent(run)}`));
    box.append(back);
    return found ? showRun(box, found) : undefined;
  }
  if (compare) {
    const found = await attempt(() => Promise.all(compare.split(",").map((name) => get(`/runs/${encodeURIComponent(name)}`))));
    box.append(back);
    return found ? showComparison(box, found) : undefined;
  }
  const { runs } = await get("/runs");
  showList(box, runs, new Set());
  return undefined;
}
