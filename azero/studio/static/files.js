// Games and files on the page: what is said of a game, comments, several games in a file, paste and drop, undo.

import { attempt, button, el, post, Sentence, sentenceOf, spaced, toast } from "./api.js";
import { ask, shortTitle } from "./sides.js";

const MOST_BYTES = 1_000_000; // of a file
const TYPING = 800; // milliseconds without a key before a comment is sent
const UNDO = 10_000; // milliseconds that an offer to undo stays

/** Return the names of two players as people write them; "" if neither has one. otherwise: a side's without one. */
export const pairText = ([first, second], otherwise = ["Person", "Person"]) =>
  first || second ? `${first || otherwise[0]} – ${second || otherwise[1]}` : "";

/** Return the same for a table, on which a machine has a name of its own. */
const pairOf = ({ about, sides }) => pairText(about.players, sides.map((side) =>
  side.kind === "person" ? "Person" : shortTitle(side)));

export const movesText = (count) => `${count} move${count === 1 ? "" : "s"}`;

/** Show a sentence with a button that takes back what it says. */
export function undoToast(sentence, undo) {
  let timer;
  const close = () => { clearTimeout(timer); said.remove(); };
  const wait = () => { clearTimeout(timer); timer = setTimeout(close, UNDO); };
  const stay = () => clearTimeout(timer);
  const said = el("p", { class: "with-undo", onpointerenter: stay, onpointerleave: wait,
    onfocusin: ({ target }) => target.matches(":focus-visible") && stay(), onfocusout: wait }, el("span", {}, sentence),
  el("button", { type: "button", onclick: () => { close(); attempt(undo); } }, "Undo"));
  for (const old of document.querySelectorAll(".toasts .with-undo")) old.remove(); // its Undo would mean another
  document.querySelector(".toasts").append(said);
  wait();
}

/** Make the card that says whose game it is. desk: {table, act(verb, body)}. Return {element, update(table)}. */
export function makeAbout(desk) {
  const title = el("h2"), facts = el("p", { class: "quiet" }), fault = el("p", { class: "fault", role: "alert" });
  const edit = button("Change names, event, date or result", "edit", () => attempt(change));
  const element = el("section", { class: "card about" }, el("header", {}, title, edit), facts, fault);

  async function change() {
    const { about, sides } = desk.table, [first, second] = about.players;
    const titles = sides.map((side) => side.kind === "person" ? "" : shortTitle(side));
    const input = (name, value, placeholder = "") => [name, el("input", { type: "text", value, placeholder,
      maxlength: 200, autocomplete: "off" })];
    const inputs = Object.fromEntries([input("name", about.name), input("first", first, titles[0]),
      input("second", second, titles[1]), input("event", about.event), input("date", about.date, "2026-11-28"),
      input("result", about.said, "1–0, by resignation")]);
    const labels = { first: "first player", second: "second player" };
    const content = el("div", { class: "fields about-fields" }, Object.entries(inputs).map(([name, each]) =>
      el("label", { class: "field" }, el("span", {}, labels[name] ?? name), each)));
    const wrong = el("p", { class: "fault", role: "alert" }), { id } = desk.table;
    await ask("About this game", [content, wrong], "Save", async () => {
      const { first: one, second: two, ...words } = Object.fromEntries(Object.entries(inputs)
        .map(([name, each]) => [name, each.value]));
      const asked = { ...words, players: [one, two] };
      if (asked.result === about.said) delete asked.result; // the rules may say it
      const error = await post(`/tables/${id}/about`, asked).then(() => null, (failure) => failure);
      wrong.textContent = error ? sentenceOf(error) : "";
      return !error;
    });
  }

  const restore = () => attempt(() => post(`/library/${desk.table.id}/restore`));

  return { element, update(table) {
    const { about, game, unkept, nodes, in_trash: deleted } = table;
    title.textContent = about.name || pairOf(table) || spaced(game.title);
    const kept = deleted ? el("span", {}, "Deleted from My games; a move keeps it again. ",
      el("button", { type: "button", class: "link", onclick: restore }, "Undo"))
      : nodes.length > 1 && !unkept && el("a", { href: "#/games" }, "Kept in My games");
    const said = [about.name && pairOf(table), about.event, about.date, about.said, kept];
    facts.replaceChildren(...said.filter(Boolean).flatMap((each, i) => i ? [" · ", each] : [each]));
    fault.textContent = unkept;
  } };
}

/** Make the field of the comment on the position shown. Return {element, update(table), close()}. */
export function makeComment() {
  let table = null, node = null, saved = "", timer;
  const element = el("textarea", { class: "comment", "data-do": "comment", rows: 2, maxlength: 20_000, onblur: save,
    placeholder: "Write a comment", oninput: () => { clearTimeout(timer); timer = setTimeout(save, TYPING); } });

  const leave = () => save({ keepalive: true });
  addEventListener("pagehide", leave);

  function save({ keepalive } = {}) {
    clearTimeout(timer);
    if (node === null || element.value === saved) return;
    const before = saved, text = saved = element.value, of = node;
    post(`/tables/${table}/comment`, { node, text }, { keepalive }).catch((error) => {
      toast(error.message);
      if (node === of) saved = before;
    });
  }

  const close = () => {
    removeEventListener("pagehide", leave);
    save();
  };

  return { element, close, update({ id, node: now, nodes }) {
    const { comment, shown } = nodes.find((each) => each.id === now);
    const moved = id !== table || now !== node;
    if (moved) save();
    else if (element.value !== saved) return; // somebody writes
    [table, node, saved] = [id, now, comment];
    if (element.value !== comment) element.value = comment;
    element.setAttribute("aria-label", shown ? `Comment on ${shown}` : "Comment on the start");
  } };
}

/** Ask which game of a file to open; resolve to its number, or null. */
async function chooseGame({ games, refused }) {
  const list = el("select", { size: 12, class: "games-of-file", "aria-label": "Games of the file",
    ondblclick: () => list.closest("form").requestSubmit() });
  const line = ({ number, title, players, event, date, said, moves }) => [`${number}.`,
    pairText(players) || title, said, movesText(moves), date, event].filter(Boolean).join(" · ")
    .replace(" · ", " ");
  const show = () => {
    const words = search.value.toLowerCase().split(" ");
    const found = games.filter((game) => words.every((word) => line(game).toLowerCase().includes(word)));
    list.replaceChildren(...found.map((game, i) =>
      el("option", { value: game.number, selected: !i }, line(game))));
  };
  const search = el("input", { type: "text", placeholder: "Search", "aria-label": "Search in the file",
    oninput: show });
  show();
  const lost = refused.map((sentence) => el("p", { class: "fault" }, sentence));
  const yes = await ask(`The file has ${games.length} games`, [search, list, lost], "Open");
  return yes && list.value ? Number(list.value) : null;
}

/**
 * Open a file of records or a position, a Blob: show(table). Of several games one is chosen first.
 *
 * table: the number of the table that the page shows; a position may be of its game.
 */
export async function openRecords(file, show, table = "") {
  if (file.size > MOST_BYTES) throw new Sentence("The file is larger than 1,000 kB; open a part of it.");
  let answer = await post(`/records?${new URLSearchParams({ table })}`, file);
  if (answer.games) {
    const number = await chooseGame(answer);
    if (number === null) return;
    answer = await post(`/records?game=${number}`, file);
  } else for (const sentence of answer.refused) toast(`Another game could not be read: ${sentence}`);
  await show(answer);
}

/** Let games be pasted and dropped on the page: show(table). Return a function that ends it. here(): its table. */
export function listenForFiles(show, here = () => undefined) {
  const open = (file) => attempt(() => openRecords(file, show, here()));
  const typing = (target) => target.closest?.("input, textarea, select, dialog, [contenteditable]");
  const withFile = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (on) => document.body.classList.toggle("dropping", on);
  const listeners = {
    paste(event) {
      const [file] = event.clipboardData.files, text = event.clipboardData.getData("text/plain");
      if (typing(event.target) || (!file && !text.trim())) return;
      event.preventDefault();
      open(file ?? new Blob([text]));
    },
    dragover(event) {
      if (!withFile(event)) return;
      event.preventDefault();
      mark(true);
    },
    dragleave: (event) => event.relatedTarget || mark(false),
    drop(event) {
      mark(false);
      if (!withFile(event)) return;
      event.preventDefault();
      if (event.dataTransfer.files.length) open(event.dataTransfer.files[0]);
    },
  };
  for (const [name, listen] of Object.entries(listeners)) document.addEventListener(name, listen);
  return () => {
    mark(false);
    for (const [name, listen] of Object.entries(listeners)) document.removeEventListener(name, listen);
  };
}
