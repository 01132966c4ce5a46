// Run an exported module for a test: node wasm_runner.mjs FOLDER < job, the answer as JSON.
//
// FOLDER has engine.mjs, module.wasm and layout.json. A job has `weights`, `games` (each a list of actions) and,
// for searches of the positions after them, `algorithm` and `simulations`.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const folder = path.resolve(process.argv[2]);
const { makeEngine } = await import(pathToFileURL(path.join(folder, "engine.mjs")));
const layout = JSON.parse(readFileSync(path.join(folder, "layout.json"), "utf8"));
const job = JSON.parse(readFileSync(0, "utf8"));
const engine = await makeEngine(readFileSync(path.join(folder, "module.wasm")), layout, job.weights);

// Return a digest of all positions of a game: what the rules say of them, and what a page shows.
function digest(actions) {
  const hash = createHash("sha256");
  const addPosition = () => {
    const { state, key, repetition_key, planes } = engine.arrays;
    const { marks, toPlay, terminal, outcome, legal, cells, starts, names } = engine.position();
    engine.evaluate();
    for (const array of [state, key, repetition_key, planes, marks]) {
      hash.update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    }
    const ofLegal = (values) => legal.map((action) => values[action]);
    hash.update(JSON.stringify([toPlay, terminal, outcome, legal, ...[cells, starts, names].map(ofLegal)]));
  };
  engine.reset();
  addPosition();
  for (const action of actions) {
    engine.play(action);
    addPosition();
  }
  return hash.digest("hex");
}

function search(actions) {
  engine.reset();
  actions.forEach((action) => engine.play(action));
  const { policy, value } = engine.evaluate();
  engine.begin(job.algorithm, job.simulations);
  while (engine.grow(job.slice ?? 1e9));
  const found = Object.entries(engine.read()).map(([name, content]) => [name, numbers(content)]);
  return { ...Object.fromEntries(found), policy: numbers(policy), networkValue: value };
}

const numbers = (content) => (content.length === undefined ? content : Array.from(content));
console.log(JSON.stringify(job.games.map(job.algorithm ? search : digest)));
