// Games of a run or a match to choose from: page by page, or any of them by its number.

import { attempt, button, el } from "./api.js";
import { gameButtons } from "./parts.js";

/** Return a form that opens a game by its number; least: of the first one. */
export function gameByNumber(open, least = 0) {
  const number = el("input", { type: "number", min: least, step: 1, required: true, inputmode: "numeric" });
  const submit = (event) => {
    event.preventDefault();
    open(Number(number.value) - least);
  };
  return el("form", { class: "by-number", onsubmit: submit },
    el("label", {}, el("span", {}, "Game number "), number), el("button", {}, "Open"));
}

/** Return pages of games, the first one shown. ask(first) -> {games, first, most, count}; open(number). */
export function gamePages(ask, open) {
  const list = el("div", { class: "games" }), count = el("output", { class: "quiet" });
  let shown = { first: 0, most: 0 };
  const turn = async (first) => {
    shown = await ask(first);
    const { games, count: all, most } = shown, [from, to] = [first + 1, first + games.length];
    const [low, high, whole] = [from, to, all].map((each) => each.toLocaleString("en"));
    count.textContent = games.length ? `games ${low} to ${high} of ${whole}` : "no games";
    list.replaceChildren(...gameButtons(games, open));
    back.disabled = first === 0;
    next.disabled = to >= all;
    back.hidden = next.hidden = all <= most;
  };
  const step = (by) => attempt(() => turn(Math.max(0, shown.first + by * shown.most)));
  const back = button("Games before", "back", () => step(-1));
  const next = button("Games after", "next", () => step(1));
  step(0);
  return el("div", {}, list, el("div", { class: "buttons game-pages" }, back, count, next, gameByNumber(open)));
}
