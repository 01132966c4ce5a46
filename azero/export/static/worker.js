// The worker of the page: it holds the engine and thinks, so that the page never freezes.

import { makeEngine } from "./engine.js";
import { decodeWeights } from "./weights.js";

const SLICE = 25; // milliseconds of thinking before it looks for a newer question
const REPORT = 100; // milliseconds between two reports

let engine = null, latest = null;

/** Return the bytes that `squeeze` of page.py has written, numbers of `width` bytes. */
async function unpack(base64, width) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const parts = new Uint8Array(await new Response(stream).arrayBuffer());
  const bytes = new Uint8Array(parts.length), count = parts.length / width;
  for (let i = 0; i < parts.length; i++) bytes[(i % count) * width + Math.floor(i / count)] = parts[i];
  return bytes;
}

/** Play moves, actions or their names, from the start as far as they are legal; return where they lead, and how. */
function replay(moves) {
  engine.reset();
  const played = [], playedNames = [], movers = [], captured = [0, 0]; // the pieces that each player has taken
  let position = engine.position(), last = null, lastFrom = null;
  const history = [String(position.marks)];
  for (const move of moves) {
    const action = position.legal.find((each) => each === move || position.names[each] === move);
    if (position.terminal || action === undefined) break;
    [last, lastFrom] = [position.cells[action], position.starts[action]];
    played.push(action);
    playedNames.push(position.names[action]);
    movers.push(position.toPlay);
    engine.play(action);
    const before = position;
    position = engine.position();
    history.push(String(position.marks));
    before.marks.forEach((mark, cell) => {
      if (mark && !position.marks[cell]) captured[mark % 2] += 1;
    });
  }
  return { ...position, last, lastFrom, played, playedNames, captured, history,
    movers: [...movers, position.toPlay] };
}

/** Answer {id, moves, search}: what the search finds; without one, the position and the network's opinion. */
async function answer({ id, moves, search }) {
  const position = replay(moves);
  if (!search) return postMessage({ id, position, network: position.terminal ? null : engine.evaluate() });
  const began = performance.now();
  let reported = began, more = true;
  engine.begin(search.kind, search.simulations);
  while (more) {
    const slice = performance.now();
    do more = engine.grow(1); while (more && performance.now() - slice < SLICE);
    const now = performance.now();
    if (search.seconds && now - began >= search.seconds * 1000) more = false;
    if (!more || now - reported >= REPORT) {
      reported = now;
      postMessage({ id, search: engine.read(), done: !more, milliseconds: now - began });
    }
    await new Promise((resume) => { setTimeout(resume); });
    if (latest !== id) return undefined; // there is a newer question, which has the engine now
  }
  return undefined;
}

async function start({ wasm, weights, width, layout, packing }) {
  const numbers = decodeWeights(await unpack(weights, width), packing);
  engine = await makeEngine(await unpack(wasm, 1), layout, numbers);
  postMessage({ ready: true });
}

onmessage = async ({ data }) => {
  latest = data.id;
  try {
    await (data.wasm ? start(data) : answer(data));
  } catch (error) {
    console.error(error);
    postMessage({ failed: true });
  }
};
