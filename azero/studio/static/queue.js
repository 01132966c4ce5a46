// Moves on their way to the server: one after another, in the order in which a person made them.

import { sentenceOf, toast } from "./api.js";

/** Return {play(body, text), drop()}. send(body) -> when the move is played; text: what somebody has typed. */
export function makeMoveQueue(send) {
  const waiting = [];
  let sending = false;

  /** Forget the moves that are not sent yet. Say why, and which typed ones are not played. */
  function drop(sentence = "", typed = []) {
    const lost = waiting.splice(0).map(({ text }) => text).filter(Boolean);
    const rest = lost.length ? `Not played: ${[...typed, ...lost].join(", ")}.` : "";
    if (sentence || rest) toast([sentence, rest].filter(Boolean).join(" "), true);
  }

  async function play(body, text = "") {
    waiting.push({ body, text });
    if (sending) return;
    sending = true;
    while (waiting.length) {
      const move = waiting.shift();
      await send(move.body).catch((error) => drop(sentenceOf(error), [move.text].filter(Boolean)));
    }
    sending = false;
  }

  return { play, drop };
}
