// The page Learn: a search that grows simulation by simulation, on any position of any game.

import { mountTrace } from "./trace/trace.js";
import { button, el, get, sentenceOf, slider, toast } from "./api.js";
import { labelled, select } from "./fields.js";
import { optionsFrom, optionsText } from "./parts.js";
import { gameChooser, getOffered } from "./sides.js";

const KINDS = { uct: "UCT: random games", puct: "PUCT: a network guides", gumbel: "Gumbel: a network guides" };
const SIMULATIONS = [5, 10, 20, 50, 100, 200];
const EXAMPLE = { game: "tictactoe", moves: "0.4.8.2.6.3" }; // one move wins, one draws, one loses

function chooser(name, choices, value, onChange) {
  const list = select(Object.entries(choices), value,
    { "aria-label": name, onchange: () => onChange(list.value) });
  return labelled(name, list);
}

export async function mount(element, parameters) {
  const asked = { ...(parameters.game ? {} : EXAMPLE), kind: "uct", simulations: 20, ...parameters };
  const stage = el("div", { class: "trace-stage" });
  if (!document.querySelector("link[href$='trace.css']")) {
    document.head.append(el("link", { rel: "stylesheet", href: "/static/trace/trace.css" }));
  }
  let unmount = () => {}, turn = 0;

  async function show() {
    const mine = turn += 1;
    const known = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
    history.replaceState(null, "", `#/learn?${known}`);
    try {
      if (asked.options) known.set("options", JSON.stringify(optionsFrom(asked.options)));
      const record = await get(`/trace?${known}`);
      if (mine !== turn) return; // another search was asked for, or the page has been left
      unmount();
      unmount = mountTrace(stage, record) ?? (() => {});
    } catch (error) {
      toast(sentenceOf(error));
    }
  }
  const change = (key) => (value) => {
    asked[key] = value;
    show();
  };
  const choose = ({ game, options }) => {
    if (game !== asked.game) moves.value = asked.moves = game === EXAMPLE.game ? EXAMPLE.moves : "";
    asked.options = optionsText(options);
    change("game")(game);
  };
  const games = gameChooser(await getOffered(), asked.game, optionsFrom(asked.options), choose);
  const moves = el("input", { value: asked.moves ?? "", "aria-label": "Moves before the search", size: 12,
    placeholder: "such as 4.4", spellcheck: "false" });
  moves.addEventListener("change", () => change("moves")(moves.value.trim().replace(/[\s,]+/g, ".")));
  element.append(
    el("section", { class: "card learn-head" },
      el("p", {}, "A tree search tries moves in its head. Step through it: it selects a path, expands the tree by "
        + "one position, evaluates that, and passes the result back up."),
      el("form", { class: "learn-form", onsubmit: (event) => event.preventDefault() },
        games.element,
        labelled("Moves before", moves),
        chooser("Search", KINDS, asked.kind, change("kind")),
        slider("Simulations", SIMULATIONS, Number(asked.simulations), String, change("simulations")),
        button("Set up this position on the board", "edit", () => {
          const there = new URLSearchParams({ game: asked.game, moves: asked.moves ?? "", ...(asked.options
            && { options: asked.options }) });
          location.hash = `#/play?${there}`;
        }, { text: "On the board" }))),
    stage);
  await show();
  return () => {
    turn += 1;
    unmount();
  };
}
