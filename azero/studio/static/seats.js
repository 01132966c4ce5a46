// Who plays in a form: the players follow the form's game, and its button waits for them.

import { el } from "./api.js";
import { hold } from "./fields.js";
import { chooserOf, playersOf } from "./sides.js";

const WAIT = 1000; // milliseconds before a form says what it waits for
const COMPILING = "Compiling this game, once on this machine …";
const CHANGED = "The players have changed with the game. Look at them and start again.";

/** Return wait(promise): while the promise takes long, the button is disabled and an element says why. */
export function makePatience(accept, note) {
  let waits = 0;
  const count = (by) => {
    waits += by;
    note.textContent = waits ? COMPILING : "";
  };
  return async (promise) => {
    let release = null;
    const timer = setTimeout(() => {
      release = hold(accept);
      count(1);
    }, WAIT);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      release?.();
      if (release) count(-1);
    }
  };
}

/**
 * Make the fieldsets of the players.
 *
 * legend(i): what stands above a player. fit(known, sides, untouched): which sides can play, of a game whose
 * players are `known`; untouched: nobody has changed one. wait: see makePatience. machines: no person plays.
 */
export function makeSeats({ legend, fit, wait, machines = false }) {
  const element = el("div", { class: "two" });
  let seats = [], known = null, turn = 0, filling = Promise.resolve(), failed = false, untouched = true;
  element.addEventListener("change", () => { untouched = false; });

  const values = () => seats.map(({ chooser }) => chooser.value());
  const clear = () => seats.forEach(({ fault }) => { fault.textContent = ""; });

  function add(side) {
    const chooser = chooserOf(known, side, machines), fault = el("p", { class: "fault", role: "alert" });
    const box = el("fieldset", { "data-stones": known.stones ?? "" },
      el("legend", {}, legend(seats.length)), chooser.element, fault);
    seats.push({ chooser, fault });
    element.append(box);
  }

  /** Ask who can play the game, and show its players; only the newest call counts. sides: else as they are. */
  async function fill({ game, options }, sides) {
    const mine = ++turn;
    element.classList.add("waits");
    element.inert = true;
    const found = await wait(playersOf(game, options)).catch((error) => {
      if (mine === turn) throw error;
    });
    if (mine !== turn) return;
    const fitting = fit(found, sides ?? values(), untouched);
    [known, seats] = [found, []];
    element.replaceChildren();
    fitting.forEach(add);
    if (!found.champions.length && found.others?.length) element.append(el("p", { class: "quiet across" },
      `No champion plays this. Those of other sizes or rules: ${found.others.join(", ")}.`));
    element.classList.remove("waits");
    element.inert = false;
  }

  /** Let the players follow a game with its options. The promise fails where the server refuses the game. */
  function follow(chosen, sides) {
    failed = false;
    filling = fill(chosen, sides);
    filling.catch(() => { failed = true; });
    return filling;
  }

  /** Wait until the players are those of the game. Return a sentence if they are not those that were shown. */
  async function settle(chosen) {
    const shown = JSON.stringify(values());
    if (failed) follow(chosen);
    for (let awaited = null; awaited !== filling;) await (awaited = filling);
    return JSON.stringify(values()) === shown ? "" : CHANGED;
  }

  return {
    element, add, clear, follow, settle, values,
    check: () => seats.every(({ chooser }) => chooser.check()),
    /** Say what is wrong with player i, beside its option if it has that; return whether there is such a player. */
    say([i, option], sentence) {
      const seat = seats[i];
      if (seat && !seat.chooser.say(option, sentence)) seat.fault.textContent = sentence;
      return Boolean(seat);
    },
  };
}
