// The page Runs: all runs, several in one chart, one in detail with its games.

import { attempt, button, el, get, post, spaced, toast } from "./api.js";
import { sparkline, swatch } from "./chart.js";
import { select } from "./fields.js";
import { gamePages } from "./gamelist.js";
import {
  addressOf, card, makeReplay, pathOf, playAddress, quiet, stateChip, table,
} from "./parts.js";
import { compareCurves, MOST_COMPARED, showCurves } from "./curves.js";
import { deleteRun, goOn } from "./train.js";

const linkTo = (run) => el("a", { href: addressOf("runs", { run }) }, run);

/** Show all runs; a mark chooses those to compare. */
function showList(page, runs) {
  const chosen = new Set();
  const compare = el("button", { type: "button", onclick: () => {
    location.hash = addressOf("runs", { compare: [...chosen].join(",") });
  } });
  const count = () => {
    compare.disabled = chosen.size < 2 || chosen.size > MOST_COMPARED;
    compare.textContent = chosen.size < 2 ? "Mark two to compare"
      : chosen.size > MOST_COMPARED ? `Mark at most ${MOST_COMPARED}` : `Compare ${chosen.size}`;
  };
  const tensorboard = el("button", { type: "button", onclick: async () => {
    tensorboard.disabled = true;
    toast("TensorBoard starts; this takes some seconds.");
    const answer = await attempt(() => post("/tensorboard"));
    tensorboard.disabled = false;
    const link = { class: "button", href: answer?.url, target: "_blank", rel: "noopener" };
    if (answer) tensorboard.replaceWith(el("a", link, "Open TensorBoard"));
  } }, "TensorBoard");
  const mark = ({ name }) => {
    const change = ({ target }) => { chosen[target.checked ? "add" : "delete"](name); count(); };
    return el("input", { type: "checkbox", "aria-label": `Compare ${name}`, onchange: change });
  };
  const named = ({ name, sentence }) => sentence ? [linkTo(name), quiet(sentence)] : linkTo(name);
  const row = (run) => [mark(run), named(run), run.strength, run.cycle, stateChip(run.state),
    spaced(run.title), run.spark?.values.length ? sparkline(run.spark.values, run.spark.title) : "", run.size, run.age];
  const unseen = (text) => el("span", { class: "unseen" }, text);
  const head = [unseen("compare"), "run", "strength", "cycles", "state", "game", unseen("trend"), "size", "used"];
  page.classList.add("run-list");
  page.append(card("Runs", [compare, tensorboard], runs.length ? table("Runs", head, runs.map(row))
    : quiet("There is no run yet. ", el("a", { href: "#/train" }, "Train one."))));
  count();
}

/** Show one run. */
function showRun(page, run) {
  const path = pathOf(run.name), watching = addressOf("train", { run: run.name });
  const curves = el("div"), replay = el("div"), list = el("div");
  const doctor = quiet("…");
  const games = makeReplay(replay);
  const open = (cycle, number) =>
    games.open(`${path}/games/${cycle}/${number}`, () => `Cycle ${cycle}, game ${number}`);
  const choice = select(run.games.map((cycle) => [cycle, `cycle ${cycle}`]), run.games[0],
    { "aria-label": "Cycle", onchange: () => showGames() });
  const showGames = () => list.replaceChildren(gamePages(
    (first) => get(`${path}/games?cycle=${choice.value}&first=${first}`),
    (number) => open(choice.value, number)));
  const idle = !["starting", "training", "stopping", "busy"].includes(run.state);
  const facts = [spaced(run.title), run.recipe && `recipe ${run.recipe}`,
    `${run.cycle} cycles in ${run.elapsed}`, run.strength, run.size, `used ${run.age}`];
  const play = playAddress({ game: run.play, options: run.options, against: run.name });
  page.append(card(run.name, [stateChip(run.state),
    run.champions.length > 0 && el("a", { class: "button primary-link", href: play }, "Play against it"),
    el("a", { class: "button", href: watching }, "Watch"),
    idle && button("Go on", "play", () => attempt(async () => {
      if (await goOn(run.name)) location.hash = watching;
    }), { text: "Go on" }),
    idle && button("Delete", "trash", () => attempt(async () => {
      if (await deleteRun(run.name)) location.hash = "#/runs";
    }))], quiet(facts.filter(Boolean).join(" · ")), run.sentence && quiet(run.sentence), doctor), curves);
  if (run.table.rows.length) page.append(card("Cycles", null, table("Cycles", run.table.head, run.table.rows)));
  if (run.games.length) {
    const about = "The number is the moves of a game, the colour who won. Choose one to replay it.";
    page.append(card("Games of self-play", choice, quiet(about), list), replay);
    showGames();
  }
  const close = showCurves(curves, run);
  get(`${path}/doctor`).then(({ findings }) => {
    doctor.textContent = findings.length ? `Doctor: ${findings.map(({ sentence }) => sentence).join(" ")}`
      : "The doctor finds no problems.";
  }, () => doctor.remove());
  return () => { close(); games.close(); };
}

/** Show several runs in the same charts, each in one colour. */
function showComparison(page, runs) {
  const curves = el("div", { class: "stack" });
  const row = (run, i) => [swatch(i), linkTo(run.name), spaced(run.title), run.cycle, run.strength, run.elapsed];
  page.append(card(`${runs.length} runs`, null,
    table("Runs", [el("span", { class: "unseen" }, "colour"), "run", "game", "cycles", "strength", "time"],
      runs.map(row))), curves);
  return compareCurves(curves, runs);
}

export async function mount(page, { run, compare }) {
  const box = el("div", { class: "stack runs" });
  page.append(box);
  if (!run && !compare) return showList(box, (await get("/runs")).runs);
  box.append(el("a", { href: "#/runs" }, "All runs"));
  const names = run ? [run] : compare.split(",");
  const found = await attempt(() => Promise.all(names.map((name) => get(pathOf(name)))));
  return found && (run ? showRun(box, found[0]) : showComparison(box, found));
}
