// The dialog New game: which game, at which position, and who plays it.

import { el } from "./api.js";
import { labelled, sayRefusal } from "./fields.js";
import { makePatience, makeSeats } from "./seats.js";
import { ask, gameChooser, START } from "./sides.js";

/** Return sides that can play a game: a champion of another game gives its place to the newest of this one. */
function sidesThatFit({ champions, rival, rivals }, sides) {
  const [newest] = champions.map(({ run }) => ({ kind: "player", name: "pv_mcts", options: { run } }));
  const fits = ({ name, options: own }, i) => own?.run ? champions.some(({ run }) => run === own.run)
    : !i || !rivals.includes(name) || Object.keys(own ?? {}).length > 0;
  return sides.map((side, i) => fits(side, i) ? side : newest ?? { kind: "player", name: rival });
}

/** Ask for a new game and begin({game, options, sides, start}). What it throws is shown, and asked again. */
export async function askNewGame(offered, { game, options, sides }, begin) {
  const accept = el("button", { class: "primary" }, "Start"), note = el("p", { class: "quiet", role: "status" });
  const [startFault, fault] = [0, 1].map(() => el("p", { class: "fault", role: "alert" }));
  const position = offered.games.find((each) => each.name === game)?.own ? "" : options?.[START];
  const start = el("input", { type: "text", spellcheck: "false", autocomplete: "off", placeholder: "its own",
    value: position });
  const more = el("details", { open: Boolean(position) }, el("summary", {}, "Begin at another position"),
    labelled("position", start), startFault,
    el("p", { class: "quiet" }, "FEN in chess; else the rows from the top and who moves, as .../.X./... O"));
  const wait = makePatience(accept, note);
  const seats = makeSeats({ fit: sidesThatFit, wait,
    legend: (i) => [el("i", { class: `dot ${["first", "second"][i]}` }), `Plays ${["first", "second"][i]}`] });
  let last = game;

  const clear = () => {
    startFault.textContent = fault.textContent = "";
    seats.clear();
  };
  const sayStart = (_, sentence) => {
    startFault.textContent = sentence;
    more.open = true;
    start.focus();
    return true;
  };
  const sayWrong = (error) => sayRefusal(error,
    { start: sayStart, sides: seats.say, options: ([option], sentence) => chooser.say(option, sentence) }, fault);
  const chooser = gameChooser(offered, game, options, (chosen) => {
    if (chosen.game !== last) start.value = ""; // a position of another game
    last = chosen.game;
    clear();
    seats.follow(chosen).catch(sayWrong);
  }, true);
  await seats.follow({ game, options }, sides);
  await ask("New game", [chooser.element, more, seats.element, note, fault], accept, async () => {
    clear();
    try {
      fault.textContent = await seats.settle(chooser.value());
      if (fault.textContent || !chooser.check() || !seats.check()) return false;
      await wait(begin({ ...chooser.value(), sides: seats.values(), start: start.value.trim() }));
      return true;
    } catch (error) {
      return sayWrong(error);
    }
  }, { focus: chooser.focus });
}
