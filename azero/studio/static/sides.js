// Forms: which game with which options, and who plays a side.

import { el, get } from "./api.js";

/** Return the input of one option of a game or player: {element, value()}. */
function field({ name, kind, default: otherwise, about, choices }, value = otherwise) {
  const label = name.replaceAll("_", " ");
  let input;
  if (kind === "bool") input = el("input", { type: "checkbox", checked: Boolean(value) });
  else if (kind === "choice" || choices?.length) {
    input = el("select", {}, choices.map((each) =>
      el("option", { value: each, selected: String(each) === String(value) }, String(each))));
  } else if (kind === "int" || kind === "float") {
    input = el("input", { type: "number", value, step: kind === "int" ? 1 : "any", inputmode: "decimal" });
  } else input = el("input", { type: "text", value: value ?? "" });
  return {
    name,
    element: el("label", { class: kind === "bool" ? "field check" : "field", title: about },
      el("span", {}, label), input),
    /** Return the value in the form, undefined where it is the default or empty. */
    value() {
      const given = kind === "bool" ? input.checked : input.value.trim();
      if (given === "" || String(given) === String(otherwise)) return undefined;
      return kind === "int" || kind === "float" ? Number(given) : given;
    },
  };
}

const given = (fields) => Object.fromEntries(
  fields.map((each) => [each.name, each.value()]).filter(([, value]) => value !== undefined));

/** Return the kind of an option by its default. */
const kindOf = (value) => typeof value === "boolean" ? "bool"
  : typeof value === "number" ? (Number.isInteger(value) ? "int" : "float") : "str";

/** Ask for a game and its options. Return {element, value() -> {game, options}}. */
export function gameChooser(games, name, options = {}, onChange = () => {}) {
  const choice = el("select", { "aria-label": "Game", onchange: () => { show({}); onChange(choice.value); } },
    games.map((game) => el("option", { value: game.name, selected: game.name === name }, game.title)));
  const box = el("div", { class: "fields" });
  let fields = [];
  function show(values) {
    const defaults = games.find((game) => game.name === choice.value)?.options ?? {};
    fields = Object.entries(defaults).map(([option, otherwise]) => field({
      name: option, kind: kindOf(otherwise), default: otherwise, about: "" }, values[option] ?? otherwise));
    box.replaceChildren(...fields.map((each) => each.element));
  }
  show(options);
  return { element: el("div", { class: "chooser" }, el("label", { class: "field" }, el("span", {}, "game"), choice), box),
    value: () => ({ game: choice.value, options: given(fields) }) };
}

const MAIN = /simulations|seconds|depth|cycle/; // options that are shown at once: how strong it is

/** Ask for who plays a side of a game. Return {element, value() -> side}. */
export async function sideChooser(game, side = { kind: "person" }) {
  const { players, champions } = await get(`/players?game=${encodeURIComponent(game)}`);
  const byName = new Map(players.map((player) => [player.name, player]));
  const entries = [{ key: "person", title: "A person", side: { kind: "person" } },
    ...champions.map(({ run }) => ({ key: `champion ${run}`, title: `Champion of ${run}`, run, player: "pv_mcts" })),
    ...players.filter(({ network }) => !network || champions.length).map(({ name }) => ({
      key: name, title: name.replaceAll("_", " "), player: name }))];
  const keyOf = ({ kind, name, options }) => kind === "person" ? "person"
    : name === "pv_mcts" && options?.run ? `champion ${options.run}` : name;
  const choice = el("select", { "aria-label": "Who plays", onchange: () => show({}) },
    entries.map(({ key, title }) => el("option", { value: key, selected: key === keyOf(side) }, title)));
  const about = el("p", { class: "quiet" }), main = el("div", { class: "fields" });
  const rest = el("div", { class: "fields" });
  const details = el("details", { hidden: true }, el("summary", {}, "More options"), rest);
  let fields = [];
  function show(values) {
    const entry = entries.find(({ key }) => key === choice.value);
    const player = byName.get(entry.player);
    const options = [...(player?.options ?? [])].filter(({ name }) => name !== "run" && name !== "cycle");
    const runs = entry.run ? champions.filter(({ run }) => run === entry.run) : champions;
    if (player?.network && !entry.run) {
      options.unshift({ name: "run", kind: "choice", default: "", choices: runs.map(({ run }) => run),
        about: "Whose network" });
    }
    if (entry.run) {
      const cycles = runs[0].networks.map(({ cycle }) => cycle).reverse();
      options.unshift({ name: "cycle", kind: "choice", default: runs[0].cycle, about: "An earlier champion",
        choices: [...new Set([runs[0].cycle, ...cycles])] });
    }
    fields = options.map((option) => field(option, values[option.name] ?? option.default));
    about.textContent = player?.about ?? "";
    main.replaceChildren(...fields.filter(({ name }) => MAIN.test(name) || name === "run").map((each) => each.element));
    rest.replaceChildren(...fields.filter(({ name }) => !MAIN.test(name) && name !== "run").map((each) => each.element));
    details.hidden = !rest.children.length;
  }
  show(side.options ?? {});
  return {
    element: el("div", { class: "chooser" }, el("label", { class: "field" }, el("span", {}, "player"), choice),
      about, main, details),
    value() {
      const entry = entries.find(({ key }) => key === choice.value);
      if (entry.side) return entry.side;
      return { kind: "player", name: entry.player, options: { ...(entry.run ? { run: entry.run } : {}), ...given(fields) } };
    },
  };
}

/** Show a dialog with a form; return what `value()` says on "ok", null when it is closed. */
export function ask(title, content, ok) {
  return new Promise((resolve) => {
    const dialog = el("dialog", { "aria-label": title, onclose: () => {
      const yes = dialog.returnValue === "ok";
      dialog.remove();
      resolve(yes);
    } }, el("form", { method: "dialog" }, el("h2", {}, title), content,
      el("div", { class: "buttons" }, el("button", { value: "cancel", class: "plain", formnovalidate: true }, "Cancel"),
        el("button", { value: "ok", class: "primary" }, ok))));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Ask for a new game. Return {game, options, sides} or null. */
export async function askNewGame(games, { game, options, sides }) {
  const places = [el("div"), el("div")];
  let choosers = [];
  const fill = async (name, players) => {
    choosers = await Promise.all(players.map((side) => sideChooser(name, side)));
    places.forEach((place, i) => place.replaceChildren(choosers[i].element));
  };
  const chooser = gameChooser(games, game, options, (name) => fill(name, choosers.map((each) => {
    const side = each.value();
    return side.options?.run ? { kind: "player", name: "uct" } : side; // a run knows one game
  })));
  await fill(game, sides);
  const content = [chooser.element, el("div", { class: "two" }, places.map((place, i) =>
    el("fieldset", {}, el("legend", {}, el("i", { class: `dot ${i ? "second" : "first"}` }),
      i ? "Second player" : "First player"), place)))];
  if (!await ask("New game", content, "Start")) return null;
  return { ...chooser.value(), sides: choosers.map((each) => each.value()) };
}
