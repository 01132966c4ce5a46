// Forms: which game with which options, and who plays a side.

import { attempt, el, get, spaced } from "./api.js";

const OPENSPIEL = "openspiel:";
const START = "start"; // the option of a game for its first position
const MAIN = /simulations|seconds|depth|cycle|^run$/; // options shown at once: who it is and how strong

/** Return the input of one option of a game or player: {name, element, value()}. */
function field({ name, kind, default: otherwise, about, choices, between }, value = otherwise) {
  let input;
  if (kind === "bool") input = el("input", { type: "checkbox", checked: Boolean(value) });
  else if (choices?.length) {
    const listed = otherwise === null ? [null, ...choices] : choices;
    const nameOf = (each) => each === null ? "default" : String(each) || "none";
    input = el("select", {}, listed.map((each) => el("option",
      { value: each ?? "", selected: String(each ?? "") === String(value ?? "") }, nameOf(each))));
  } else if (kind === "int" || kind === "float") {
    const unlimited = name === "seconds" && !otherwise;
    input = el("input", { type: "number", value: unlimited && !value ? "" : value,
      ...(between && { min: between[0], max: between[1] }), step: kind === "int" ? 1 : "any",
      placeholder: unlimited ? "no limit" : "default" });
  } else input = el("input", { type: "text", value: value ?? "", placeholder: "default" });
  const label = el("span", {}, name.replaceAll("_", " "));
  return {
    name,
    element: el("label", { class: kind === "bool" ? "field check" : "field", title: about }, label, input),
    /** Return the value in the form, undefined where it is the default or empty. */
    value() {
      const given = kind === "bool" ? input.checked : input.value.trim();
      if ((given === "" && !choices?.includes("")) || String(given) === String(otherwise)) return undefined;
      return given === "" || typeof given !== "string" || Number.isNaN(Number(given)) ? given : Number(given);
    },
  };
}

const given = (fields) => Object.fromEntries(
  fields.map((each) => [each.name, each.value()]).filter(([, value]) => value !== undefined));

/** Return a list of choices with its name above it. */
const labelled = (name, choice) => el("label", { class: "field" }, el("span", {}, name), choice);

/**
 * Ask for a game and its options. Return {element, value() -> {game, options}}.
 *
 * begins: the first position is asked for elsewhere, so azero's own games have no option `start`.
 */
export function gameChooser(games, name, options = {}, onChange = () => {}, begins = false) {
  const listed = [...games, { name: OPENSPIEL, title: "A game of OpenSpiel …" }];
  const known = name.startsWith(OPENSPIEL) ? OPENSPIEL : name;
  const choice = el("select", {}, listed.map((game) =>
    el("option", { value: game.name, selected: game.name === known }, spaced(game.title))));
  const box = el("div", { class: "fields" });
  const typed = known === OPENSPIEL ? name.slice(OPENSPIEL.length) : "";
  const other = el("input", { value: typed, placeholder: "breakthrough" });
  let fields = [];
  function show(values) {
    const game = games.find((each) => each.name === choice.value);
    const known = (game?.fields ?? []).filter((option) => game.own || !begins || option.name !== START);
    fields = known.map((option) => field(option, values[option.name]));
    const named = choice.value === OPENSPIEL ? [labelled("its name", other)] : [];
    box.replaceChildren(...named, ...fields.map((each) => each.element));
  }
  const value = () => ({ options: given(fields), game: choice.value !== OPENSPIEL ? choice.value
    : OPENSPIEL + (other.value.trim() || other.placeholder) });
  choice.addEventListener("change", () => show({}));
  show(options);
  const element = el("div", { class: "chooser" }, labelled("game", choice), box);
  element.addEventListener("change", () => onChange(value()));
  return { element, value };
}

/** Return the players of a game and its runs' champions. */
export const playersOf = (game, options = {}) =>
  get(`/players?game=${encodeURIComponent(game)}&options=${encodeURIComponent(JSON.stringify(options))}`);

/** Ask for who plays a side of a game. Return {element, value() -> side}. */
export async function sideChooser(game, side = { kind: "person" }, gameOptions = {}, machines = false) {
  const { players, champions } = await playersOf(game, gameOptions);
  const entries = [...(machines ? [] : [{ key: "person", title: "A person" }]),
    ...champions.map((champion) =>
      ({ key: `run ${champion.run}`, title: `Champion of ${champion.run}`, name: "pv_mcts", champion })),
    ...players.filter(({ network }) => !network || champions.length).map(({ name }) =>
      ({ key: name, title: name.replaceAll("_", " "), name }))];
  const wanted = side.kind === "person" ? "person"
    : side.name === "pv_mcts" && side.options?.run ? `run ${side.options.run}` : side.name;
  const choice = el("select", {}, entries.map(({ key, title }) =>
    el("option", { value: key, selected: key === wanted }, title)));
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
    } else if (player?.network) {
      const runs = champions.map(({ run }) => run);
      options.unshift({ name: "run", default: runs[0], choices: runs, about: "Whose network it uses." });
    }
    fields = options.map((option) => field(option, values[option.name]));
    about.textContent = player?.about ?? "";
    main.replaceChildren(...fields.filter(({ name }) => MAIN.test(name)).map((each) => each.element));
    rest.replaceChildren(...fields.filter(({ name }) => !MAIN.test(name)).map((each) => each.element));
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
  };
}

/** Ask in a dialog; resolve to whether the answer is yes. It stays open until onYes() resolves to true. */
export function ask(title, content, yes, onYes = () => true) {
  return new Promise((resolve) => {
    const accept = el("button", { class: "primary" }, yes);
    const submit = async (event) => {
      event.preventDefault();
      accept.disabled = true;
      if (await onYes()) dialog.close("yes");
      accept.disabled = false;
    };
    const dialog = el("dialog", { "aria-label": title }, el("form", { method: "dialog", onsubmit: submit },
      el("h2", {}, title), content, el("div", { class: "buttons" },
        el("button", { type: "button", onclick: () => dialog.close("no") }, "Cancel"), accept)));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector(".primary").focus();
  });
}

/** Ask for a new game and begin({game, options, sides, start}). What it throws is shown, and asked again. */
export async function askNewGame(games, { game, options, sides }, begin) {
  const places = [el("div"), el("div")], fault = el("p", { class: "fault", role: "alert" });
  const position = games.find((each) => each.name === game)?.own ? "" : options?.[START];
  const start = el("input", { type: "text", spellcheck: "false", autocomplete: "off", placeholder: "its own",
    value: position });
  let choosers = [], last = game;
  const fill = async (chosen, seats) => {
    const { champions } = await playersOf(chosen.game, chosen.options);
    const [newest] = champions.map(({ run }) => ({ kind: "player", name: "pv_mcts", options: { run } }));
    const fitting = ({ name, options }, i) => options?.run ? champions.some(({ run }) => run === options.run)
      : !i || name !== "uct" || Object.keys(options ?? {}).length > 0;
    const fit = seats.map((side, i) => fitting(side, i) ? side : newest ?? { kind: "player", name: "uct" });
    const made = await Promise.all(fit.map((side) => sideChooser(chosen.game, side, chosen.options)));
    if (chosen.game !== last) return; // another game was chosen meanwhile
    choosers = made;
    places.forEach((place, i) => place.replaceChildren(choosers[i].element));
  };
  const chooser = gameChooser(games, game, options, (chosen) => {
    if (chosen.game === last) return;
    last = chosen.game; // a run knows one game
    start.value = fault.textContent = "";
    attempt(() => fill(chosen, choosers.map((each) => each.value())));
  }, true);
  await fill({ game, options }, sides);
  const seats = ["first", "second"].map((name, i) => el("fieldset", {},
    el("legend", {}, el("i", { class: `dot ${name}` }), `Plays ${name}`), places[i]));
  const more = el("details", { open: Boolean(position) }, el("summary", {}, "Begin at another position"),
    labelled("position", start),
    el("p", { class: "quiet" }, "FEN in chess; else the rows from the top and who moves, as .../.X./... O"));
  const content = [chooser.element, more, fault, el("div", { class: "two" }, seats)];
  await ask("New game", content, "Start", async () => {
    const sides = choosers.map((each) => each.value()), wanted = start.value.trim();
    fault.textContent = await begin({ ...chooser.value(), sides, start: wanted })
      .then(() => "", (error) => error.message);
    if (fault.textContent && wanted) {
      more.open = true;
      start.focus();
    }
    return !fault.textContent;
  });
}
