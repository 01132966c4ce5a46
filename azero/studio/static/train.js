// The page Train: start a run by one click, and watch it learn.

import { attempt, button, el, get, post } from "./api.js";
import { makeBoard } from "./page/board.js";
import { showCurves } from "./curves.js";
import { checkAll, field, hold, labelled, sayBeside, sayRefusal } from "./fields.js";
import { addressOf, pathOf, playAddress, quiet, stateChip } from "./parts.js";
import { ask, gameChooser, getOffered } from "./sides.js";

const POLL = 1000; // milliseconds between two questions about a run
const MOST_MINUTES = 100_000;
const STAGES = ["self-play", "train", "evaluate"];
const AT_WORK = ["starting", "training", "stopping"];

/** Return the share of a run that is done, by its cycles or else its minutes; undefined: nobody knows. */
function shareOf({ cycle, cycles, stage, done, total, seconds_left: left, doing }, minutes) {
  const now = total && !doing ? Math.min(1, done / total) : 0;
  if (cycle && cycles < 1000) return (cycle - 1 + (Math.max(0, STAGES.indexOf(stage)) + now) / 3) / cycles;
  return minutes && left != null ? Math.max(0, 1 - left / (60 * minutes)) : undefined;
}

/** Ask whether to delete a run, with what goes; return whether it is gone. */
export async function deleteRun(name) {
  const { folders } = await post(`${pathOf(name)}/delete`);
  const content = [el("p", {}, "These folders go, with its networks, its games and its curves:"),
    el("ul", {}, folders.map(({ path, size }) => el("li", {}, el("code", {}, path), ` ${size}`)))];
  if (!await ask(`Delete run ${name}?`, content, "Delete", undefined, { harmful: true })) return false;
  await post(`${pathOf(name)}/delete`, { confirm: true });
  return true;
}

/** Return the field of a number of minutes; a placeholder says what an empty one means. */
function minutesField(name, placeholder) {
  return field({ name, kind: "float", default: null, between: [0, MOST_MINUTES], placeholder });
}

/** Ask for how long to go on with a run, and do so; return whether it goes on. */
export async function goOn(name) {
  const minutes = minutesField("more_minutes", "as long again"), fault = el("p", { class: "fault", role: "alert" });
  return ask(`Go on with run ${name}`, [minutes.element, fault], "Go on", async () => {
    fault.textContent = "";
    if (!checkAll([minutes])) return false;
    return post(`${pathOf(name)}/go_on`, { minutes: minutes.value() }).then(() => true,
      (error) => sayRefusal(error, { minutes: (_, sentence) => sayBeside([minutes], minutes.name, sentence) }, fault));
  });
}

/** The form that starts a run. */
async function startForm(shown) {
  const offered = await getOffered(), { recipes, games } = offered;
  const own = games.find((game) => game.own);
  const what = el("select", { "aria-label": "What to train", onchange: choose },
    el("optgroup", { label: "Recipes" }, recipes.map(({ name }) => el("option", { value: name,
      selected: name === (own ? "" : shown ?? "tictactoe") }, name.replaceAll("_", " ")))),
    el("optgroup", { label: "Without a recipe" },
      el("option", { value: "", selected: Boolean(own) }, "any game…")));
  const chooser = own ? gameChooser(offered, own.name) : gameChooser(offered, "hex", { size: 5, swap: false });
  const about = quiet();
  const minutes = minutesField("minutes_at_most", "no limit");
  const name = field({ name: "name_of_the_run", kind: "str", default: null, placeholder: "chosen for you" });
  const fault = el("p", { class: "fault", role: "alert" });
  const forecast = el("ul", { class: "forecast", hidden: true, "aria-live": "polite" });
  const foresee = (lines) => {
    forecast.hidden = !lines.length;
    forecast.replaceChildren(...lines.map((line) => el("li", {}, line)));
  };
  const asked = () => ({ ...(what.value ? { recipe: what.value } : chooser.value()),
    minutes: minutes.value() });
  const check = () => {
    fault.textContent = "";
    name.say("");
    return checkAll([minutes]) && (what.value || chooser.check());
  };
  const sayWrong = (error) => sayRefusal(error, {
    minutes: (_, sentence) => sayBeside([minutes], minutes.name, sentence),
    name: (_, sentence) => sayBeside([name], name.name, sentence),
    options: ([option], sentence) => chooser.say(option, sentence) }, fault);
  function choose() {
    const recipe = recipes.find((each) => each.name === what.value);
    chooser.element.hidden = Boolean(recipe);
    about.textContent = recipe?.about ?? "Plain settings, which suit a game of your own.";
    minutes.input.placeholder = recipe?.minutes ?? "no limit";
    fault.textContent = "";
    foresee([]);
  }
  const start = el("button", { class: "primary" }, "Start training");
  const begin = async (event) => {
    event.preventDefault();
    if (!check()) return;
    const release = hold(start);
    await post("/train", { ...asked(), name: name.value() }).then(({ run }) => {
      location.hash = addressOf("train", { run });
    }, sayWrong);
    release();
  };
  const estimate = el("button", { type: "button", onclick: async () => {
    if (!check()) return;
    estimate.disabled = true;
    foresee(["Trying a few moves and training steps; this takes about half a minute…"]);
    const answer = await post("/estimate", asked()).catch(sayWrong);
    estimate.disabled = false;
    foresee(answer?.lines ?? []);
  } }, "How long will it take?");
  choose();
  return el("form", { class: "card start", novalidate: true, onsubmit: begin }, el("h2", {}, "Train"),
    labelled("recipe", what), about, chooser.element,
    el("div", { class: "fields" }, minutes.element, name.element), fault,
    el("div", { class: "buttons" }, start, estimate), forecast);
}

/** Watch a run in an element; return a function that ends it. */
function watch(element, name) {
  const path = pathOf(name);
  const chip = el("span"), title = el("h2", {}, name), stats = quiet();
  const says = el("p", { class: "quiet", "aria-live": "polite" });
  const bar = el("progress", { max: 1, value: 0, "aria-label": "Progress of the run" });
  const boards = el("div", { class: "live-boards" }), boardsTitle = el("h2", {}, "Games");
  const curves = el("div"), findings = el("ul", { class: "findings" });
  const act = (work) => attempt(work).then(poll);
  const stop = button("Stop: finish what is in hand and save", "pause", () => act(() => post(`${path}/stop`)),
    { text: "Stop" });
  const more = button("Go on", "play", () => act(() => goOn(name)), { text: "Go on" });
  const play = el("a", { class: "button primary-link", hidden: true }, "Play against it");
  const remove = button("Delete", "trash", () => attempt(async () => {
    if (await deleteRun(name)) location.hash = "#/train";
  }));
  const doctor = el("section", { class: "card", hidden: true },
    el("h2", {}, "What the doctor says"), findings);
  const games = el("section", { class: "card", hidden: true }, boardsTitle, boards);
  element.replaceChildren(
    el("section", { class: "card progress" }, el("header", {}, title, chip, play, stop, more,
      el("a", { class: "button", href: addressOf("runs", { run: name }) }, "Details"), remove),
    bar, says, stats), games, curves, doctor);
  let timer, closed = false, finished = -1, minutes, small = [], said = [], kind = "", close = () => {};

  function show(live) {
    const working = AT_WORK.includes(live.state);
    chip.replaceChildren(stateChip(live.state));
    stop.hidden = !working || live.state === "stopping";
    more.hidden = remove.hidden = working || live.state === "busy";
    play.hidden = !live.champion;
    if (live.game) play.href = playAddress({ ...live, moves: [], against: name });
    const cycle = live.cycle && `cycle ${live.cycle}${live.cycles < 1000 ? ` of ${live.cycles}` : ""}`;
    const [count, total] = [live.done, live.total].map((each) => each?.toLocaleString("en"));
    const done = live.doing || (live.total && `${count} of ${total} ${live.unit}`);
    bar.hidden = !working;
    const share = shareOf(live, minutes);
    if (share === undefined) bar.removeAttribute("value");
    else bar.value = share;
    const now = [cycle, live.stage, done, live.left].filter(Boolean).join(" · ");
    says.textContent = working && live.stage ? now
      : live.state === "starting" ? "It starts; the first time this compiles for a minute."
        : live.sentence || `${live.cycles_done ?? 0} cycles are finished.`;
    stats.textContent = working ? (live.stats ?? []).join(" · ") : "";
    showBoards(live);
    if (live.cycles_done > 0 && live.cycles_done !== finished) {
      finished = live.cycles_done;
      attempt(showCycles);
    }
  }

  function showBoards(live) {
    games.hidden = !live.boards?.length;
    if (games.hidden) return;
    boardsTitle.textContent = live.in_flight ? "Games of self-play, as they are played"
      : "Newest games of self-play";
    if (kind !== JSON.stringify(live.board) || small.length < live.boards.length) {
      kind = JSON.stringify(live.board);
      small.forEach((board) => board.close?.());
      const places = live.boards.map(() => el("div"));
      said = live.boards.map(() => el("small", { class: "quiet" }));
      boards.replaceChildren(...places.map((place, i) => el("figure", {}, place, el("figcaption", {}, said[i]))));
      small = places.map((place, i) => makeBoard(place, live.board, { small: true, label: `Game ${i + 1}` }));
    }
    live.boards.forEach((position, i) => {
      small[i].show(position, false);
      said[i].textContent = position.result || position.score;
    });
  }

  async function showCycles() {
    const [run, found] = await Promise.all([get(path), get(`${path}/doctor`)]);
    if (closed) return;
    close();
    close = showCurves(curves, run);
    doctor.hidden = !found.findings.length;
    findings.replaceChildren(...found.findings.map(({ about, sentence }) =>
      el("li", {}, el("b", {}, about), ` ${sentence}`)));
  }

  async function poll() {
    clearTimeout(timer);
    const live = await attempt(() => get(`${path}/live`));
    if (live?.stage) minutes ??= await get(path).then((run) => run.minutes ?? 0, () => undefined);
    if (closed) return;
    if (live) show(live);
    clearTimeout(timer);
    timer = setTimeout(poll, !live || !AT_WORK.includes(live.state) || document.hidden ? 3 * POLL : POLL);
  }

  poll();
  return () => {
    closed = true;
    clearTimeout(timer);
    small.forEach((board) => board.close?.());
    close();
  };
}

export async function mount(page, parameters) {
  const { runs } = await get("/runs");
  const working = runs.filter(({ state }) => AT_WORK.includes(state));
  const name = parameters.run ?? working[0]?.name;
  const view = el("div", { class: "watched" });
  const others = working.filter((each) => each.name !== name).map((each) =>
    el("a", { class: "button", href: addressOf("train", { run: each.name }) }, each.name,
      stateChip(each.state)));
  const form = await startForm(runs.find((run) => run.name === name)?.recipe || undefined);
  page.append(el("div", { class: "workshop" }, el("div", { class: "stack" }, form, others.length > 0 &&
    el("section", { class: "card stack" }, el("h2", {}, "Also training"), others)), view));
  if (name) return watch(view, name);
  const first = "Choose a recipe and start. Tic-tac-toe takes about a minute and becomes perfect.";
  view.append(el("p", { class: "sorry" }, first));
  return undefined;
}
