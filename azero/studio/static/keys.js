// The keys of each page of the studio.

import { key, listenKeys, showKeys, stepKeys } from "./page/keys.js";

const STEPS = stepKeys("one move back", "one move forward");
const KEYS = {
  play: [...STEPS,
    key("n", "new", "new game"), key("h", "hint", "hint"), key("u", "undo", "take back"),
    key("a", "analysis", "analysis on or off"), key("e", "exact", "exact values on or off"),
    key("r", "review", "review the game"), key("x", "next-mistake", "to the next mistake"),
    key("f", "turn", "turn the board"), key("s", "swap-sides", "swap sides"),
    key("p", "pause", "pause, or go on"), key(".", "step", "one move of a machine"),
    key("m", "type", "type a move"), key("c", "comment", "comment on the position"),
    key("l", "copy", "copy the address"), key("Delete", "delete", "delete from here on"),
    key("paste", "", "open moves, a FEN, PGN or SGF", "Ctrl + V"), // files.js hears it
  ],
  games: [key("/", "search", "search")],
  runs: STEPS,
  matches: STEPS,
  learn: stepKeys("one simulation back", "one simulation forward"), // trace.js hears these itself
};
const NOTE = "A move can be typed at once: its letters and figures go to their field. " +
  "Resigning has no key; Tab leads to it.";

/** Let keys press buttons from now on. pages: name -> title. Return a function that lists the keys. */
export function listenStudioKeys(pages) {
  const goKeys = Object.entries(pages).map(([name, title]) =>
    key(`g ${name[0]}`, `page-${name}`, title, `g, ${name[0]}`));
  const open = () => document.getElementById("page").className.replace("page-", "");
  const here = () => [...KEYS[open()] ?? [], ...goKeys];
  const list = () => showKeys(here(), open() === "play" ? NOTE : null);
  listenKeys(here, list);
  return list;
}
