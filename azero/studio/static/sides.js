// Forms: which game with which options, and who plays a side.

import { el, get, spaced, toast } from "./api.js";
import { playerName } from "./page/moving.js";
import { checkAll, field, given, hold, labelled, sayBeside, select } from "./fields.js";

const OPENSPIEL = "openspiel:";
export const START = "start"; // the option of a game for its first position
const MAIN = /simulations|seconds|depth|cycle|^run$/; // options shown at once: who it is and how strong
const SIDES = ["size", "rows", "columns"]; // options that a choice of sizes sets
const OTHER = "another size";
const OWN_NUMBERS = "own numbers"; // the level of a champion that is none of those with a name
const PLIES = { name: "max_plies", kind: "int", default: null, between: [1, 100000],
  about: "A longer game is a draw. OpenSpiel's own bound where it is empty." };
const PARAMETERS = { name: "parameters", kind: "str", default: "",
  about: "OpenSpiel's own, such as rows=6,columns=6." };

/** Return the parts of a name such as "openspiel:breakthrough(rows=6)". */
function partsOf(name) {
  const [, kind = "", parameters = ""] = name.match(/^openspiel:(\w*)(?:\((.*)\))?$/) ?? [];
  return { kind, parameters };
}

/** Return the answer of GET /games; say which files of the user's cannot be read. */
export async function getOffered() {
  const offered = await get("/games");
  if (offered.damaged.length) toast(offered.damaged.join(" "));
  return offered;
}

/** Return a select of texts. */
const selectText = (texts, chosen) => select(texts.map((text) => [text, text.replaceAll("_", " ")]), chosen);

/**
 * Ask for a game, its size and its options. Return {element, value() -> {game, options}, check(), say()}.
 *
 * offered: the answer of GET /games. onChange(value) when all fields are right.
 * begins: the first position is asked for elsewhere, so azero's own games have no option `start`.
 */
export function gameChooser({ games, openspiel }, name, options = {}, onChange = () => {}, begins = false) {
  const listed = [...games, ...(openspiel.length ? [{ name: OPENSPIEL, title: "A game of OpenSpiel …" }] : [])];
  const isOther = name.startsWith(OPENSPIEL);
  const choice = select(listed.map((game) => [game.name, spaced(game.title)]), isOther ? OPENSPIEL : name);
  const box = el("div", { class: "fields" });
  let fields = [], kind = null;

  function showOpenSpiel(values, { kind: chosen = "breakthrough", parameters } = {}) {
    kind = selectText(openspiel, chosen);
    const own = Object.entries(values).filter(([name, value]) => name !== PLIES.name && typeof value === "number");
    fields = [field(PARAMETERS, parameters || own.map((pair) => pair.join("=")).join(",")),
      field(PLIES, values.max_plies)];
    kind.addEventListener("change", () => fields.forEach((each) => each.set())); // they were of another game
    box.replaceChildren(labelled("its name", kind), ...fields.map((each) => each.element));
  }

  /** Choose among sizes, which set other options too; another one is written as numbers. */
  function sizeChoice({ sizes, options: otherwise }, values) {
    const sides = fields.filter((each) => SIDES.includes(each.name));
    const same = ({ options }) => sides.every(({ name }) => options[name] === (values[name] ?? otherwise[name]));
    const size = selectText([...sizes.map(({ title }) => title), OTHER], sizes.find(same)?.title ?? OTHER);
    const fold = () => sides.forEach(({ element }) => { element.hidden = size.value !== OTHER; });
    size.addEventListener("change", () => {
      const chosen = sizes.find(({ title }) => title === size.value);
      if (chosen) fields.forEach((each) => each.set(chosen.options[each.name]));
      fold();
    });
    fold();
    return labelled("size", size);
  }

  function show(values, parts) {
    kind = null;
    if (choice.value === OPENSPIEL) return showOpenSpiel(values, parts);
    const game = games.find((each) => each.name === choice.value);
    const known = (game?.fields ?? []).filter((option) => game.own || !begins || option.name !== START);
    fields = known.map((option) => field(option, values[option.name]));
    box.replaceChildren(game?.sizes.length ? sizeChoice(game, values) : "", ...fields.map((each) => each.element));
    return undefined;
  }

  function value() {
    if (!kind) return { game: choice.value, options: given(fields) };
    const { parameters, ...rest } = given(fields);
    return { game: OPENSPIEL + kind.value + (parameters ? `(${parameters})` : ""), options: rest };
  }

  choice.addEventListener("change", () => show({}));
  show(options, isOther ? partsOf(name) : {});
  const element = el("div", { class: "chooser" }, labelled("game", choice), box);
  element.addEventListener("change", () => fields.every((each) => each.check()) && onChange(value()));
  return { element, value, check: () => checkAll(fields),
    say: (option, sentence) => sayBeside(fields, option, sentence), focus: () => choice.focus() };
}

/** Return the name of a run without the folder of azero's own. */
const shortRun = (run) => run.replace(/^shipped\//, "");

/** Return the name of a run, the short one unless another champion has it. */
export const nameAmong = (champions, run) =>
  champions.some((each) => each.run === shortRun(run)) ? run : shortRun(run);

/** Return who plays a side for a narrow place: of a champion the level and the run. */
export const shortTitle = ({ title, level, options }) => level ? `${level} · ${shortRun(options.run)}`
  : title.replace(/^champion of shipped\//, "champion of ");

/** Return what a side of a table is called: by a person, else as a machine, else by its place in the game. */
export function sideName({ about, game, sides }, player) {
  const isPair = sides.every(({ kind }) => kind === "person");
  return about.players[player] || (isPair ? playerName(game.board, player) : shortTitle(sides[player]));
}

/** Return the players of a game and its runs' champions. */
export const playersOf = (game, options = {}) =>
  get(`/players?game=${encodeURIComponent(game)}&options=${encodeURIComponent(JSON.stringify(options))}`);

/** Return the choice of a champion's level, in words; it sets the fields that hold its numbers. */
function levelChoice(levels, fields, values) {
  const numbers = fields.filter(({ name }) => Object.values(levels).some((options) => name in options));
  const names = Object.keys(levels), strongest = names.at(-1);
  const is = (name) => numbers.every((each) => String(each.value() ?? "") === String(levels[name][each.name] ?? ""));
  const set = (name) => numbers.forEach((each) => each.set(levels[name][each.name]));
  if (!numbers.some(({ name }) => name in values)) set(strongest);
  const level = selectText([...names, OWN_NUMBERS], names.find(is) ?? OWN_NUMBERS);
  level.addEventListener("change", () => level.value !== OWN_NUMBERS && set(level.value));
  const follow = () => { level.value = names.find(is) ?? OWN_NUMBERS; };
  numbers.forEach(({ element }) => element.addEventListener("change", follow));
  return labelled("level", level);
}

/** Ask for who plays a side, of the answer of `playersOf`. Return {element, value() -> side, check(), say()}. */
export function chooserOf({ players, champions, levels }, side, machines = false) {
  const entries = [...(machines ? [] : [{ key: "person", title: "A person" }]),
    ...champions.map((champion) =>
      ({ key: `run ${champion.run}`, title: `Champion of ${nameAmong(champions, champion.run)}`,
        name: "pv_mcts", champion })),
    ...players.filter(({ network }) => network !== "must" || champions.length).map(({ name }) =>
      ({ key: name, title: name.replaceAll("_", " "), name }))];
  const wanted = side.kind === "person" ? "person"
    : side.name === "pv_mcts" && side.options?.run ? `run ${side.options.run}` : side.name;
  const choice = select(entries.map(({ key, title }) => [key, title]), wanted);
  const about = el("p", { class: "quiet" }), rest = el("div", { class: "fields" });
  const main = el("div", { class: "fields" });
  const details = el("details", {}, el("summary", {}, "More options"), rest);
  let fields = [], entry = null;

  function show(values) {
    entry = entries.find(({ key }) => key === choice.value);
    const player = players.find(({ name }) => name === entry.name);
    const options = (player?.options ?? []).filter(({ name }) => name !== "run" && name !== "cycle");
    if (entry.champion) {
      const { cycle, cycles = [cycle] } = entry.champion;
      options.unshift({ name: "cycle", default: cycle, choices: [...cycles].reverse(),
        about: "Which of the run's champions plays." });
    } else if (player?.network && champions.length) {
      const runs = champions.map(({ run }) => run);
      options.unshift({ name: "run", default: runs[0], choices: runs, about: "Whose network it uses." });
    }
    fields = options.map((option) => field(option, values[option.name]));
    const inWords = entry.champion && !machines; // then numbers are details
    const isMain = ({ name }) => inWords ? name === "cycle" : MAIN.test(name);
    about.textContent = player?.about ?? "";
    main.replaceChildren(inWords ? levelChoice(levels, fields, values) : "",
      ...fields.filter(isMain).map((each) => each.element));
    rest.replaceChildren(...fields.filter((each) => !isMain(each)).map((each) => each.element));
    details.hidden = !rest.children.length;
  }

  choice.addEventListener("change", () => show({}));
  show(side.options ?? {});
  return {
    element: el("div", { class: "chooser" }, labelled("player", choice), about, main, details),
    value() {
      if (!entry.name) return { kind: "person" };
      const run = entry.champion ? { run: entry.champion.run } : {};
      return { kind: "player", name: entry.name, options: { ...run, ...given(fields) } };
    },
    check: () => checkAll(fields),
    say: (option, sentence) => sayBeside(fields, option, sentence),
  };
}

/**
 * Ask in a dialog; resolve to whether the answer is yes. It stays open until onYes() resolves to true.
 *
 * yes: what the button says, or the button.
 * The dialog opens at its top; focus() takes the focus, else the button for yes has it, or if yes is harmful
 * the one for no: then Enter does not say yes.
 */
export function ask(title, content, yes, onYes = () => true, { focus = null, harmful = false } = {}) {
  return new Promise((resolve) => {
    const accept = yes instanceof Element ? yes : el("button", { class: "primary" }, yes);
    const submit = async (event) => {
      event.preventDefault();
      const release = hold(accept);
      if (await onYes()) dialog.close("yes");
      release();
    };
    const dialog = el("dialog", { "aria-label": title }, el("form", { method: "dialog", novalidate: true,
      onsubmit: submit }, el("h2", {}, title), content, el("div", { class: "buttons" },
      el("button", { type: "button", onclick: () => dialog.close("no") }, "Cancel"), accept)));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
    if (focus) focus();
    else (harmful ? dialog.querySelector(".buttons button") : accept).focus({ preventScroll: true });
    dialog.scrollTop = 0;
  });
}
