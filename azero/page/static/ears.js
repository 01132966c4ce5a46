// Sentences for those who hear the page.

/** Say a sentence to those who use a screen reader. */
export function say(sentence) {
  const place = document.querySelector(".spoken");
  if (place && sentence) place.textContent = sentence.trim();
}

/** Return what is said when a player has played a move; then: what follows. */
export const playedText = (name, move, then) => `${name} plays ${move}. ${then}`;

/** Return what is said when another position of a game is shown: after whose move, none at the start. */
export const shownText = (whose, move, then) => move ? `At ${whose} move ${move}. ${then}` : `At the start. ${then}`;
