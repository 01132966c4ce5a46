// What happens in a game, as sentences for those who hear the page.

import { playedText, shownText } from "./page/ears.js";

/** Return how a player of a board is called. */
const nameOf = ({ players, symbols }, player) => players?.[player] ?? symbols[player + 1];

/** Return what changed from one state of a table to the next, as sentences; "" for nothing of interest. */
export function changeOf(before, now) {
  const { board } = now.game, node = now.nodes.find(({ id }) => id === now.node);
  const news = now.message !== before?.message ? now.message : "";
  if (!before || before.id !== now.id || before.node === now.node) return news;
  const end = now.position.over ? now.message : now.state === "your move" ? "Your move." : "";
  if (node.parent !== before.node) return shownText(`${nameOf(board, node.mover)}'s`, node.shown, end);
  const { kind } = now.sides[node.mover], alone = now.sides.some((side) => side.kind !== "person");
  if (kind === "person" && alone) return now.position.over ? end : ""; // the person's own move
  return playedText(nameOf(board, node.mover), node.shown, end);
}
