// The review of a game: judge its moves, go from mistake to mistake, sum up each side, try again.

import { button, el, relabel } from "./api.js";
import { ownerOf } from "./page/moving.js";
import { sideName } from "./sides.js";

const ROWS = [["Slips", "slip"], ["Mistakes", "mistake"], ["Blunders", "blunder"]];

/** Return what a move gave away in percent. */
export const given = (loss) => `${Math.round(50 * loss)} %`;

/** Return whether a node's move is a slip, a mistake or a blunder. */
export const isMistake = ({ size }) => Boolean(size) && size !== "good";

/** Return [cell, size] of the bad moves on a path whose piece stands where that move has put it. */
export function dotsOf(path, marks) {
  const last = new Map(); // cell -> the last move to it or from it
  for (const node of path) last.set(node.from, node).set(node.cell, node);
  return path.filter((node) => isMistake(node) && last.get(node.cell) === node && marks[node.cell] &&
    ownerOf(marks[node.cell]) === node.mover).map(({ cell, size }) => [cell, size]);
}

/** Return where a better move than a bad one was, with a mark, while its cell is empty. */
export const betterOf = ({ size, from, better_cell: cell }, marks, middle) =>
  isMistake({ size }) && from == null && cell != null && !marks[cell]
    ? [[cell, { class: "better", text: "★", middle }]] : [];

/** Return the letters and shapes that a game's file draws on the board at a node; a figure stays to be seen. */
export const signsOf = ({ signs }, marks, { moves }) =>
  signs.map(([cell, text]) => [cell, { class: "sign", text, middle: !moves || !marks[cell] }]);

/** Make the review. desk: {table, act(verb, body)}; go(node) puts a node on the board. */
export function makeReview(desk, go) {
  let byId = new Map(), tried = null; // the node of the move that someone wants to better
  let asked = false; // someone wants to read what is said of a move

  const start = button("Judge every move", "again", () => desk.act("review", { on: !running() }),
    { text: "Review", "data-do": "review" });
  const next = button("Go to the next mistake", "next", nextMistake,
    { text: "Next mistake", "data-do": "next-mistake" });
  const bar = el("progress", { "aria-label": "Moves judged" });
  const state = el("p", { class: "quiet", "aria-live": "polite" });
  const again = el("p", { class: "again", "aria-live": "polite" });
  const report = el("div", { class: "report" });
  const element = el("div", { class: "review" }, bar, el("div", { class: "review-row" }, state, next), again,
    report);

  const running = () => Boolean(desk.table?.review?.on);
  const link = (text, onclick, attributes = {}) =>
    el("button", { type: "button", class: "link", onclick, ...attributes }, text);
  const plyOf = (node) => {
    let ply = 0;
    for (let at = node; at.parent !== null; at = byId.get(at.parent)) ply++;
    return ply;
  };

  /** Return a move with its place in the list, as its name alone may be a number; "14. 2" were chess's 27th. */
  const numbered = (node) => `Move ${plyOf(node)}: ${node.shown}`;

  /** Go to the next slip, mistake or blunder of the line reviewed; after the last one to the first. */
  function nextMistake() {
    const line = desk.table.report?.line ?? [];
    let at = byId.get(desk.table.node);
    while (at.parent !== null && !line.includes(at.id)) at = byId.get(at.parent);
    [tried, asked] = [null, true];
    const wrong = line.filter((id) => isMistake(byId.get(id)));
    const found = wrong.find((id) => line.indexOf(id) > line.indexOf(at.id)) ?? wrong[0];
    if (found !== undefined) go(found);
  }

  /** Put the position before a move on the board, to try again there. */
  function tryAgain(id) {
    [tried, asked] = [id, true];
    const before = byId.get(id).parent;
    if (before === desk.table.node) showAgain();
    else go(before);
  }

  /** Return the node after the one before a bad move, on the way to the board; undefined: it is elsewhere. */
  function tryOf(bad) {
    let at = byId.get(desk.table.node);
    while (at && at.parent !== bad.parent) at = byId.get(at.parent);
    return at;
  }

  /** Say what the last move gave away, or how the other try was. */
  function showAgain() {
    const now = byId.get(desk.table.node), bad = byId.get(tried), other = bad && tryOf(bad);
    if (bad && now.id === bad.parent) say(`${numbered(bad)} gave away ${given(bad.loss)}. `,
      "Find a better one. ", following(bad));
    else if (bad && other && other !== bad) say(
      other.loss == null ? `${numbered(other)} is not judged yet. ` : isMistake(other)
        ? `${numbered(other)} gives away ${given(other.loss)}, ${bad.shown} gave away ${given(bad.loss)}. `
        : `${numbered(other)} is good. `,
      link("Try again", () => tryAgain(bad.id)), " ", following(bad));
    else if (isMistake(now)) say(`${numbered(now)} gave away ${given(now.loss)}`,
      now.better && tried !== now.id ? `; ${now.better} was best. ` : ". ", link("Try again from here", () => tryAgain(now.id)));
    else say();
  }

  function say(...parts) {
    again.hidden = !parts.length;
    again.replaceChildren(...parts.filter(Boolean));
    if (asked && parts.length) again.scrollIntoView({ block: "nearest" });
    asked = false;
  }

  /** Return a link to the next costly move of the same side. */
  function following(bad) {
    const worst = desk.table.report?.sides[bad.mover].worst ?? [], after = worst[worst.indexOf(bad.id) + 1];
    return worst.includes(bad.id) && after !== undefined ? link("Next one", () => tryAgain(after)) : "";
  }

  function showState() {
    const { review, analysis, line } = desk.table, waits = analysis?.on && !analysis.done;
    relabel(start, running() ? "pause" : "again", running() ? "Stop" : "Review");
    start.title = running() ? "Stop the review" : "Judge every move";
    start.disabled = !running() && line.length < 2;
    bar.hidden = !running();
    bar.max = review?.of ?? 1;
    bar.value = review?.done ?? 0;
    const count = review && `${review.done} of ${review.of}`;
    state.hidden = !review;
    if (review) state.replaceChildren(...(review.on
      ? [waits ? `${count} moves judged; the analysis goes first.` : `${count} moves judged.`]
      : review.why ? [`${review.why} `, el("a", { href: "#/train" }, "Train one")]
        : [review.done < review.of ? `Stopped after ${count} moves. ` : "",
          review.by ? `Judged by ${review.by}.` : ""]));
  }

  function showReport() {
    const sides = desk.table.report?.sides;
    report.hidden = !sides;
    next.hidden = !sides?.some(({ worst }) => worst.length);
    if (!sides) return;
    const row = (name, cells) => el("tr", {}, el("th", { scope: "row" }, name),
      cells.map((cell) => el("td", {}, cell)));
    const costly = ({ worst }) => worst.map((id) => {
      const node = byId.get(id), ply = plyOf(node);
      return link([el("i", { class: `loss ${node.size}` }), numbered(node),
        el("small", {}, `−${given(node.loss)}`)], () => tryAgain(id),
      { "aria-label": `Try again before move ${ply}, ${node.shown}, which gave away ${given(node.loss)}`,
        "data-try": id });
    });
    const moves = sides.map(({ judged, moves: all }) => judged === all ? all : `${judged} of ${all}`);
    const focused = report.contains(document.activeElement) && document.activeElement.dataset.try;
    report.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, el("td"),
      ["first", "second"].map((side, player) => el("th", { scope: "col" },
        el("i", { class: `dot ${side}` }), ` ${sideName(desk.table, player)}`)))),
    el("tbody", {}, row("Accuracy", sides.map(({ accuracy }) =>
      el("b", {}, accuracy == null ? "–" : `${Math.round(accuracy)} %`))), row("Moves judged", moves),
    ROWS.map(([name, size]) => row(name, sides.map(({ sizes }) => sizes[size]))))),
    ...(next.hidden ? [] : [el("p", { class: "quiet" }, "Try again before the costliest moves:"),
      el("div", { class: "costly" }, sides.map((side) => el("div", {}, costly(side))))]));
    if (focused) report.querySelector(`[data-try="${focused}"]`)?.focus({ preventScroll: true });
  }

  return {
    element, start,
    /** The table has changed. */
    update() {
      byId = new Map(desk.table.nodes.map((node) => [node.id, node]));
      if (!byId.has(tried)) tried = null;
      showState();
      showAgain();
      showReport();
    },
    /** Another table is shown. */
    forget() {
      tried = null;
    },
  };
}
