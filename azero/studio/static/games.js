// The page My games: the games that the studio keeps, to be searched, opened, renamed and deleted.

import { attempt, button, el, get, post, spaced } from "./api.js";
import { listenForFiles, movesText, openRecords, pairText, undoToast } from "./files.js";
import { addressOf, quiet } from "./parts.js";
import { ask } from "./sides.js";

const TYPING = 200; // milliseconds without a key before a search begins

/** Return how long ago a moment was, given in seconds. */
function agoText(moment, now = Date.now() / 1000) {
  const steps = [[86_400 * 7, null], [86_400, "day"], [3600, "hour"], [60, "minute"]];
  const age = now - moment, [size, name] = steps.find(([size]) => age >= size) ?? [1, ""];
  if (name === null) return new Date(1000 * moment).toLocaleDateString("en", { dateStyle: "medium" });
  const count = Math.floor(age / size);
  return name ? `${count} ${name}${count > 1 ? "s" : ""} ago` : "just now";
}

const titleOf = ({ name, players, title, size, id }) =>
  name || pairText(players) || [spaced(title), size].filter(Boolean).join(" ") || id;

/** Ask for another name of a game; return whether it has one. */
async function rename(game) {
  const input = el("input", { type: "text", value: game.name, maxlength: 200, placeholder: titleOf(game),
    autocomplete: "off" });
  const content = el("label", { class: "field" }, el("span", {}, "name"), input);
  const asked = ask("Rename the game", content, "Rename");
  input.select();
  if (!await asked) return false;
  await post(`/library/${game.id}/rename`, { name: input.value });
  return true;
}

export async function mount(page) {
  let shown = [], skip = 0, deleted = false, asked = 0, timer;
  const openTable = ({ id }) => { location.hash = addressOf("play", { table: id }); };
  const search = el("input", { type: "search", placeholder: "Search: a name, a game, a year, a comment",
    "aria-label": "Search my games", "data-do": "search", autocomplete: "off", spellcheck: "false", oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => attempt(renew), TYPING);
    } });
  const file = el("input", { type: "file", accept: ".sgf,.pgn,.json,.jsonl", hidden: true, onchange: () =>
    attempt(async () => {
      const [chosen] = file.files;
      if (chosen) await openRecords(chosen, openTable);
      file.value = "";
    }) });
  const list = el("ul", { class: "kept-games" }), count = el("p", { class: "quiet", role: "status" });
  const more = el("button", { type: "button", hidden: true, onclick: () => attempt(() => load(shown.length)) },
    "Show more");
  const trash = el("button", { type: "button", class: "link", hidden: true, onclick: () => {
    deleted = !deleted;
    attempt(renew);
  } });
  const heading = el("h1", {}, "My games");
  page.append(el("div", { class: "stack runs" }, el("section", { class: "card" },
    el("header", {}, heading, button("Open a file: SGF, PGN or JSON", "plus", () => file.click(),
      { text: "Open a file" }), file), search, count, list, el("div", { class: "buttons" }, more, trash))));

  const lost = () => document.activeElement === document.body;

  /** Put the focus on a game's row, on the button for `doing` if it has one; else below the list. */
  function focusOn(id, doing) {
    const found = [...list.children].find((each) => each.dataset.id === id);
    const control = found?.querySelector(`[data-row="${doing}"]`) ?? found?.querySelector("a, button");
    (control ?? (trash.hidden ? search : trash)).focus();
  }

  const restore = async ({ id }) => {
    await post(`/library/${id}/restore`);
    await renew();
    if (lost()) focusOn(id);
  };
  async function remove(game) {
    await post(`/library/${game.id}/delete`);
    await renew();
    undoToast(`Deleted: ${titleOf(game)}.`, () => restore(game));
    document.querySelector(".toasts .with-undo button").focus();
  }

  function row(game) {
    const title = titleOf(game), { id, damaged } = game;
    const picture = el("span", { class: "kept-picture" }, !damaged && !deleted && el("img", { alt: "",
      src: `/api/library/${id}/picture?${game.changed}`, loading: "lazy", onerror: () => picture.replaceChildren() }));
    const facts = damaged ? [damaged] : [game.name && pairText(game.players),
      title.startsWith(spaced(game.title)) ? "" : [spaced(game.title), game.size].join(" ").trim(), game.event,
      game.said, movesText(game.moves), game.date, agoText(game.changed)];
    const name = damaged || deleted ? el("strong", {}, title)
      : el("a", { href: addressOf("play", { table: id }) }, title);
    const act = (label, iconName, work, text) =>
      button(`${label} ${title}`, iconName, () => attempt(() => work(game)), { text, "data-row": label });
    return el("li", { class: damaged ? "damaged" : "", "data-id": id }, picture,
      el("span", { class: "kept-facts" }, name, quiet(facts.filter(Boolean).join(" · "))),
      deleted ? act("Bring back", "undo", restore, "Bring back") : [
        !damaged && act("Rename", "edit", async (each) => await rename(each) && renew()),
        act("Delete", "trash", remove)]);
  }

  async function load(from) {
    const mine = ++asked, query = new URLSearchParams({ search: search.value, skip: from, ...(deleted && { deleted }) });
    const answer = await get(`/library?${query}`);
    if (mine !== asked) return; // a later question is on its way
    shown = [...shown.slice(0, from), ...answer.games];
    const focused = list.contains(document.activeElement) ? document.activeElement : null;
    const { id } = focused?.closest("li").dataset ?? {};
    list.replaceChildren(...shown.map(row));
    heading.textContent = deleted ? "Deleted games" : "My games";
    const none = deleted ? "No game was deleted in the last 30 days."
      : "No games yet. Each game that you play is kept here; drop or paste a file to open one.";
    const found = search.value.trim() ? `${answer.count} of ${answer.all} games` : `${answer.count} games`;
    count.textContent = !answer.all ? none : answer.count === 1 && !search.value.trim() ? "1 game" : found;
    more.hidden = shown.length >= answer.count;
    trash.hidden = !deleted && !answer.trash;
    trash.textContent = deleted ? "Back to my games" : `Deleted games (${answer.trash}, kept for 30 days)`;
    if (focused) focusOn(id, focused.dataset.row);
  }
  const renew = () => load(0);

  await renew();
  return listenForFiles(openTable);
}
