// The tree of the moves played, and the tree of the search as a table.

import { button, el, percent } from "./api.js";
import { given, isMistake } from "./review.js";
import { hasFigures } from "./page/moving.js";

export const SHOWN = 8; // rows of the search table before "all moves"
const RENEW = 1000; // milliseconds between two questions for the children of an open row

/** Return a count in at most five characters. */
export const short = (count) => count < 10000 ? String(count)
  : count < 1e6 ? `${(count / 1000).toFixed(count < 1e5 ? 1 : 0)}k` : `${(count / 1e6).toFixed(1)}M`;

/** Show the variation tree. onGo(node). Return {update(table)}. */
export function moveTree(element, { onGo }) {
  const list = el("div", { class: "move-list", role: "group", "aria-label": "Moves" });
  element.replaceChildren(list);

  /** Scroll to the current move. */
  function showCurrent() {
    const now = list.querySelector("[aria-current]");
    if (now) list.scrollTop += now.getBoundingClientRect().top - list.getBoundingClientRect().top
      - list.clientHeight / 2;
    else list.scrollTop = 0;
  }

  return {
    update({ game, nodes, node: current, line, start }) {
      const focused = list.contains(document.activeElement) && document.activeElement.dataset.node;
      const children = new Map();
      for (const { id, parent, main } of nodes) if (parent !== null) {
        const others = children.get(parent) ?? [];
        children.set(parent, main ? [id, ...others] : [...others, id]);
      }
      const byId = new Map(nodes.map((each) => [each.id, each]));
      const onLine = new Set(line);
      const paired = Boolean(game.board && hasFigures(game.board)); // chess numbers moves of both players
      const [fen] = `${start || game.options.start || ""}`.match(/\d+(?=\s*$)/) ?? [1]; // the number of the first move
      const numberOf = (ply, mover) => {
        if (!paired) return ply;
        return `${Number(fen) - 1 + Math.ceil((ply + (mover ^ (ply + 1) & 1)) / 2)}${mover ? "…" : "."}`;
      };
      list.classList.toggle("paired", paired);
      const chip = (id, ply) => {
        const { shown, glyphs, mover, loss, size, comment } = byId.get(id);
        const gave = isMistake({ size }) ? `, gave away ${given(loss)}` : "";
        const name = `${shown}${glyphs && ` ${glyphs}`}${comment ? ", with a comment" : ""}${gave}`;
        return el("button", { type: "button", title: name, onclick: () => onGo(id), "data-node": id,
          class: `move ${mover ? "second" : "first"}${onLine.has(id) ? " on-line" : ""}`,
          "aria-current": id === current ? "step" : null },
        el("small", {}, numberOf(ply, mover)), el("span", { class: comment ? "has-comment" : "" }, shown,
          glyphs && el("b", { class: "glyphs" }, glyphs)),
        size && el("i", { class: `loss ${size}` }));
      };
      const grow = (from, ply) => {
        const parts = [];
        for (let id = from; id !== undefined; ply++) {
          const siblings = id === from ? [] : children.get(byId.get(id).parent).slice(1);
          parts.push(chip(id, ply));
          for (const other of siblings) parts.push(el("div", { class: "variation" }, grow(other, ply)));
          id = children.get(id)?.[0];
        }
        return parts;
      };
      const first = children.get(nodes[0].id) ?? [];
      list.replaceChildren(...(first.length ? grow(first[0], 1) : []),
        ...first.slice(1).map((id) => el("div", { class: "variation" }, grow(id, 1))));
      if (!first.length) list.append(el("p", { class: "quiet" }, "No moves yet."));
      if (focused) list.querySelector(`[data-node="${focused}"]`)?.focus({ preventScroll: true });
      requestAnimationFrame(showCurrent); // when the page is laid out anyway
    },
  };
}

/** Show a search. onPoint(move or null), onPick(actions), ask(path) -> answer. */
export function searchTable(element, { onPoint, onPick, ask }) {
  const body = el("tbody");
  const head = el("tr", {}, ["Move", "Visits", "Value", "Prior", "Exact"].map((name) =>
    el("th", { scope: "col", class: name.toLowerCase() }, name)));
  const more = el("button", { type: "button", class: "link", onclick: () => draw((all = !all)) });
  element.replaceChildren(el("table", { class: "search" }, el("thead", {}, head), body), more);
  let analysis = null, exact = null, all = false, asked = 0;
  const open = new Map(); // path -> its moves
  const rows = new Map(); // path -> the row's parts

  function makeRow(key) {
    const cell = (name) => el("td", { class: name });
    const parts = Object.fromEntries(["visits", "value", "prior", "exact"].map((name) => [name, cell(name)]));
    parts.toggle = button("Show the answers", "more", (event) => {
      event.stopPropagation();
      if (open.delete(key)) return draw();
      open.set(key, []);
      return renew();
    });
    parts.name = el("button", { type: "button", class: "link pick", onclick: (event) => {
      event.stopPropagation();
      onPick(key.split(",").map(Number));
    } });
    parts.row = el("tr", { onclick: () => onPick(key.split(",").map(Number)),
      onpointerenter: () => onPoint(parts.move), onpointerleave: () => onPoint(null),
      onfocusin: () => onPoint(parts.move), onfocusout: () => onPoint(null) },
    el("td", {}, parts.toggle, parts.name), parts.visits, parts.value, parts.prior, parts.exact);
    return parts;
  }

  function fill(moves, parent, depth, list) {
    const most = Math.max(1, ...moves.map(({ visits }) => visits));
    const shown = depth || !all ? moves.slice(0, SHOWN) : moves;
    for (const move of shown) {
      const key = parent ? `${parent},${move.action}` : String(move.action);
      const parts = rows.get(key) ?? makeRow(key);
      rows.set(key, parts);
      parts.move = move;
      parts.name.textContent = move.shown;
      parts.visits.textContent = short(move.visits);
      parts.visits.style.setProperty("--share", (move.visits / most).toFixed(4));
      parts.value.textContent = move.value == null ? "–" : percent(move.value);
      parts.prior.textContent = move.prior == null ? "–" : `${Math.round(100 * move.prior)} %`;
      const known = depth ? undefined : exact?.[move.action];
      parts.exact.textContent = known === undefined ? "" : known > 0 ? "win" : known < 0 ? "loss" : "draw";
      const best = !depth && move.action === analysis.best;
      parts.row.className = depth ? "below" : best ? "best" : "";
      parts.row.style.setProperty("--depth", Math.min(depth, 5));
      parts.toggle.setAttribute("aria-expanded", open.has(key));
      list.push(parts.row);
      if (open.has(key)) fill(open.get(key), key, depth + 1, list);
    }
  }

  function draw() {
    const list = [];
    if (analysis) fill(analysis.moves, "", 0, list);
    if (list.some((row, i) => body.children[i] !== row) || body.children.length !== list.length) {
      const focused = body.contains(document.activeElement) ? document.activeElement : null;
      body.replaceChildren(...list);
      focused?.focus();
    }
    element.classList.toggle("no-prior", !analysis?.moves.some(({ prior }) => prior != null));
    element.classList.toggle("no-exact", !exact);
    more.hidden = !((analysis?.moves.length ?? 0) > SHOWN);
    more.textContent = all ? "Fewer moves" : `All ${analysis?.moves.length} moves`;
  }

  async function renew() {
    asked = Date.now();
    const of = analysis;
    for (const key of open.keys()) {
      const answer = await ask(key).catch(() => ({ moves: [] }));
      if (analysis?.node !== of?.node) return;
      if (open.has(key)) open.set(key, answer.moves);
    }
    draw();
  }

  return {
    update(newAnalysis, newExact = exact) {
      if (newAnalysis?.node !== analysis?.node) {
        open.clear();
        rows.clear();
      }
      [analysis, exact] = [newAnalysis, newExact];
      draw();
      if (open.size && Date.now() - asked > RENEW) renew();
    },
  };
}
