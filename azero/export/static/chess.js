// What a page knows of chess besides its rules: moves as people write them, and why a game is a draw.

const MOVE = /^([KQRBN]?)([a-h]?)([1-8]?)[x-]?([a-h][1-8])(?:[=/]?([QRBNqrbn])|\(([QRBN])\))?$/;
const SIGNS = /[+#!?]+$/, PASSING = /\s*e\.?p\.?$/;
const FIFTY_MOVES = 100; // plies

/**
 * Return the legal actions that a text fits: by their names (e2e4), or by SAN (Nf3, e8=Q, O-O) if `chess`.
 * Several: the text does not say which piece, or what it becomes. `read_san` of azero/games/kit/san.py is its twin.
 */
export function readMove({ symbols }, { legal, names, starts, marks }, typed, chess) {
  const text = typed.replace(SIGNS, "").replace(PASSING, "").replace(SIGNS, "");
  const called = legal.filter((action) => names[action].toLowerCase() === text.toLowerCase());
  if (called.length || !chess) return called;
  const [, letter, column, row, goal, equals, brackets] = MOVE.exec(text) ?? [];
  const becomes = (equals ?? brackets ?? "").toLowerCase(), castling = text.toUpperCase().replaceAll("0", "O");
  return legal.filter((action) => {
    const name = names[action], way = name.charCodeAt(2) - name.charCodeAt(0);
    const piece = symbols[marks[starts[action]]].toUpperCase();
    if (piece === "K" && Math.abs(way) === 2) return castling === (way > 0 ? "O-O" : "O-O-O");
    const start = (column || name[0]) + (row || name[1]);
    return (letter || "P") === piece && start + goal === name.slice(0, 4) &&
      (becomes ? name[4] === becomes : true);
  });
}

/**
 * Return why a game of chess is a draw, as `ending` of azero/games/chess.py does.
 * history: the marks of all its positions as texts. chess: {first, maxPlies}: the first one as FEN, and how long a
 * game may be.
 */
export function drawOf({ symbols }, history, { first, maxPlies }) {
  const letters = (marks) => marks.split(",").map((mark) => symbols[mark].toUpperCase());
  const last = history.at(-1), pawns = (marks) => letters(marks).map((letter) => letter === "P").join();
  const pieces = (marks) => letters(marks).filter((letter) => letter !== symbols[0]).length;
  const [clock, number] = first.split(" ").slice(4).map(Number), plies = history.length - 1;
  if (history.filter((marks) => marks === last).length >= 3) return "by repetition";
  const before = history.at(-1 - FIFTY_MOVES) ?? (plies + clock >= FIFTY_MOVES ? history[0] : null);
  if (before && pieces(before) === pieces(last) && pawns(before) === pawns(last)) return "by the fifty-move rule";
  if (!letters(last).some((letter) => "PRQ".includes(letter))) return "by lack of material";
  return plies + 2 * (number - 1) >= maxPlies ? "by the game's length" : "by stalemate";
}
