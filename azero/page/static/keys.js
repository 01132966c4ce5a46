// Keys. One table for keys and buttons: a key presses the button whose data-do has the name beside it.

import { el } from "./elements.js";

const WAIT = 500; // milliseconds in which a second letter makes a move of the first
const WAIT_SECOND = 1500; // milliseconds for the second key of a pair such as "g p"
const FIELDS = "input:not([type=checkbox]), select, textarea, [contenteditable], [role=slider], [role=menu], dialog";
const ON_BOARD = [["Tab", "to the board"], ["arrows", "from cell to cell"],
  ["Enter", "play there; where pieces move, choose a piece and then its goal"], ["Escape", "let a piece go; else leave the board"]];

/** Return an entry of a table of keys, one or two of them ("g p"); shown: how the list calls it. */
export const key = (name, doing, about, shown = name) => ({ name, doing, about, shown });

/** Return the keys that go through a game. */
export const stepKeys = (back, next) => [key("ArrowLeft", "back", back, "←"), key("ArrowRight", "next", next, "→"),
  key("Home", "first", "to the start"), key("End", "last", "to the end")];

/** Return what is on the page for a name of the table; undefined where it cannot be used now. */
const find = (doing) => [...document.querySelectorAll(`[data-do="${doing}"]`)]
  .find((node) => !node.disabled && (node.closest("details") ?? node).checkVisibility({ visibilityProperty: true }));

/** Use what has a name of the table; return whether there is such a thing. */
function use(doing) {
  const node = find(doing);
  if (node?.matches(FIELDS)) node.focus();
  else node?.click();
  return Boolean(node);
}

/** Show keys in a dialog, with those of a board where there is a note on it, which may be empty. */
export function showKeys(keys, note = null) {
  const list = (pairs) => el("dl", { class: "keys" }, pairs.map(([shown, about]) =>
    el("div", {}, el("dt", {}, el("kbd", {}, shown)), el("dd", {}, about))));
  const dialog = el("dialog", { "aria-label": "Keys", onclose: () => dialog.remove() }, el("form",
    { method: "dialog" }, el("h2", {}, "Keys"),
    list([...keys.map(({ shown, about }) => [shown, about]), ["?", "this list"]]),
    note !== null && [el("h3", {}, "With the focus on the board"), list(ON_BOARD), el("p", { class: "quiet" }, note)],
    el("div", { class: "buttons" }, el("button", { class: "primary" }, "Close"))));
  document.body.append(dialog);
  dialog.showModal();
}

/** Let keys press buttons from now on. here(): the table of the page that is open; list() shows it. */
export function listenKeys(here, list) {
  let waiting = null; // a key that may begin a pair, or a move: {text, entry, timer}
  const entryOf = (name) => here().find((each) => each.name === name);
  const fieldOf = () => find("type");
  const beginsMove = (text) => ` ${fieldOf()?.dataset.begins ?? ""}`.includes(` ${text}`);

  function type(text) {
    const field = fieldOf();
    if (!field) return;
    field.value = text;
    field.focus();
  }

  /** End the waiting; return what waited. */
  function release() {
    const { timer, ...before } = waiting ?? {};
    clearTimeout(timer);
    waiting = null;
    return before;
  }

  function wait(text, entry, time) {
    const end = () => {
      release();
      if (entry) use(entry.doing);
      else if (beginsMove(text)) type(text);
    };
    waiting = { text, entry, timer: setTimeout(end, time) };
  }

  /** Return whether a key was used. */
  function press(pressed) {
    const isText = Boolean(fieldOf()) && /^[a-z0-9]$/i.test(pressed), { text, entry: before } = release();
    if (text) {
      const pair = entryOf(`${text} ${pressed}`);
      if (pair && !beginsMove(text + pressed)) return use(pair.doing);
      if (isText) {
        type(text); // this key lands there too
        return false;
      }
      if (before) use(before.doing);
    }
    const entry = entryOf(pressed), isFirst = here().some(({ name }) => name.startsWith(`${pressed} `));
    if (pressed === "?") list();
    else if (isFirst || (entry && beginsMove(pressed))) wait(pressed, entry, isFirst ? WAIT_SECOND : WAIT);
    else if (entry) return use(entry.doing);
    else {
      if (isText) fieldOf().focus(); // the key itself lands in the field
      return false;
    }
    return true;
  }

  document.addEventListener("keydown", (event) => {
    const { key: pressed, target, ctrlKey, altKey, metaKey, defaultPrevented } = event;
    const free = !ctrlKey && !altKey && !metaKey && !defaultPrevented && !target.closest(FIELDS) &&
      !document.querySelector("dialog[open]");
    if (free && press(pressed)) event.preventDefault();
  });
}
