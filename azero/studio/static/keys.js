// Keys. One table for keys and buttons: a key presses the button whose data-do has the name beside it.

import { el } from "./api.js";

const WAIT = 500; // milliseconds in which a second letter makes a move of the first
const FIELDS = "input:not([type=checkbox]), select, textarea, [contenteditable], [role=slider], dialog";

const key = (name, doing, about, shown = name) => ({ name, doing, about, shown });
const GAME = [
  key("ArrowLeft", "back", "one move back", "←"), key("ArrowRight", "next", "one move forward", "→"),
  key("Home", "first", "to the start"), key("End", "last", "to the end"),
];
const KEYS = {
  play: [...GAME,
    key("n", "new", "new game"), key("h", "hint", "hint"), key("u", "undo", "take back"),
    key("a", "analysis", "analysis on or off"), key("e", "exact", "exact values on or off"),
    key("r", "review", "review the game"), key("x", "next-mistake", "to the next mistake"),
    key("f", "turn", "turn the board"), key("s", "swap-sides", "swap sides"),
    key("p", "pause", "pause, or go on"), key(".", "step", "one move of a machine"),
    key("m", "type", "type a move"),
  ],
  runs: GAME,
  matches: GAME,
};
const ON_BOARD = [["Tab", "to the board"], ["arrows", "from cell to cell"],
  ["Enter", "play there; where pieces move, choose a piece and then its goal"], ["Escape", "let a piece go"]];

/** Return the keys of the page that is open. */
const keysHere = () => KEYS[document.getElementById("page").className.replace("page-", "")] ?? [];

/** Return what is on the page for a name of the table; undefined where it cannot be used now. */
const find = (doing) => [...document.querySelectorAll(`#page [data-do="${doing}"]`)]
  .find((node) => !node.disabled && node.checkVisibility());

/** Use what has a name of the table; return whether there is such a thing. */
function use(doing) {
  const node = find(doing);
  if (node?.matches(FIELDS)) node.focus();
  else node?.click();
  return Boolean(node);
}

/** Show the keys of the page in a dialog. */
export function showKeys() {
  const list = (pairs) => el("dl", { class: "keys" }, pairs.map(([shown, about]) =>
    el("div", {}, el("dt", {}, el("kbd", {}, shown)), el("dd", {}, about))));
  const onPlay = keysHere() === KEYS.play;
  const here = [...keysHere().map(({ shown, about }) => [shown, about]), ["?", "this list"]];
  if (onPlay) here.push(["Ctrl + V", "open moves, a FEN, PGN or SGF"]);
  const dialog = el("dialog", { "aria-label": "Keys", onclose: () => dialog.remove() }, el("form",
    { method: "dialog" }, el("h2", {}, "Keys"), list(here),
    onPlay && [el("h3", {}, "With the focus on the board"), list(ON_BOARD),
      el("p", { class: "quiet" }, "A move can be typed at once: its letters and figures go to their field. " +
        "Resigning and deleting have no key; Tab leads to them.")],
    el("div", { class: "buttons" }, el("button", { class: "primary" }, "Close"))));
  document.body.append(dialog);
  dialog.showModal();
}

/** Let keys press buttons from now on. */
export function listenKeys() {
  let waiting = null; // a letter of the table that may begin a move instead: {entry, timer}
  const release = () => {
    const { entry, timer } = waiting;
    clearTimeout(timer);
    waiting = null;
    return entry;
  };
  document.addEventListener("keydown", (event) => {
    const { key: pressed, target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || target.closest(FIELDS)
      || document.querySelector("dialog[open]")) return;
    const field = find("type"), isText = field && /^[a-z0-9]$/i.test(pressed);
    if (waiting) {
      const { name, doing } = release();
      if (isText) {
        field.value = name;
        field.focus(); // this key lands there too
        return;
      }
      use(doing);
    }
    const entry = keysHere().find(({ name }) => name === pressed);
    if (pressed === "?") showKeys();
    else if (entry && field?.dataset.begins?.includes(pressed)) {
      waiting = { entry, timer: setTimeout(() => use(release().doing), WAIT) };
    } else if (!entry || !use(entry.doing)) {
      if (isText && !entry) field.focus(); // the key itself lands in the field
      return;
    }
    event.preventDefault();
  });
}
