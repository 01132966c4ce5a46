// A champion in JavaScript: the position on the board, its evaluation, and the search.
//
// The work is done by azero's own rules and search, compiled to WebAssembly (azero/export/kernels.py). They read
// and write arrays at fixed addresses (`layout.arrays`); this file calls them and copies the results out.

const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, int32: Int32Array, int64: BigInt64Array,
  uint64: BigUint64Array, float32: Float32Array, float64: Float64Array,
};
const WASM_PAGE = 65536;

// Return what a module imports: its memory, its stack, and functions of the C library, which are Math's.
function environment(module, memory, stack) {
  const env = {
    __linear_memory: memory,
    __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, stack),
  };
  const find = (name) => (name === "fmod" ? (x, y) => x % y : Math[name]);
  for (const { name, kind } of WebAssembly.Module.imports(module)) {
    if (kind !== "function") continue;
    const double = find(name), single = name.endsWith("f") && find(name.slice(0, -1));
    env[name] = double || ((...numbers) => Math.fround(single(...numbers)));
  }
  return env;
}

// Return the name of a move by the cells that its piece leaves and enters, -1 for none, and by the symbol of what
// it becomes there, as a2a3 or a7a8q. `page_name` of azero/export/marks.py is its twin.
function moveName({ columns, rows, symbols }, start, goal, before, after) {
  const name = (cell) => cell < 0 ? ""
    : columns[cell % columns.length] + rows[Math.floor(cell / columns.length)];
  const changes = start >= 0 && goal >= 0 && before !== after;
  return name(start) + name(goal) + (changes ? symbols[after].toLowerCase() : "");
}

// Return the engine of a module, with the layout that azero/export/module.py gives it, and its weights.
//
// A search goes on where it was begun, also when moves are played on the board meanwhile.
export async function makeEngine(wasmBytes, layout, weights) {
  const memory = new WebAssembly.Memory({ initial: Math.ceil(layout.bytes / WASM_PAGE) });
  const module = await WebAssembly.compile(wasmBytes);
  const instance = await WebAssembly.instantiate(module, { env: environment(module, memory, layout.stack) });
  const calls = instance.exports, at = {};
  for (const [name, [address, type, length]] of Object.entries(layout.arrays)) {
    at[name] = new ARRAYS[type](memory.buffer, address, length);
  }
  at.weights.set(weights);
  const legalActions = () => Array.from(at.legal.keys()).filter((action) => at.legal[action]);
  let search = "", goesOn = false;

  const engine = {
    arrays: at, // of the module, by name; they change with every call

    // Put the initial position on the board and forget the game.
    reset() {
      calls.restart();
      calls.look();
    },

    // Play a legal action on the board.
    play(action) {
      if (!at.legal[action]) throw new Error(`action ${action} is not legal`);
      calls.play(action);
      calls.look();
    },

    // Return the position on the board.
    position() {
      const legal = legalActions();
      const byAction = (value) => Object.fromEntries(legal.map((action) => [action, value(action)]));
      return {
        marks: at.marks.slice(), // of each cell: 0 empty, 1 of the first player, 2 of the second, 3 …
        toPlay: at.status[0],
        terminal: Boolean(at.status[1]),
        outcome: at.status[2], // for the first player
        legal,
        cells: byAction((action) => at.cells[action]), // where the piece goes; -1: nowhere, as of a pass
        starts: byAction((action) => at.starts[action]), // which cell it leaves; -1: none
        names: byAction((action) => layout.actions ? layout.actions[action] : moveName(layout.board,
          at.starts[action], at.cells[action], at.marks[at.starts[action]], at.arrivals[action])),
      };
    },

    // Return the network's policy over the legal actions and its value, for the player to move.
    evaluate() {
      calls.show();
      calls.infer();
      calls.judge();
      return { policy: at.policy.map((share) => Math.max(0, share)), value: at.value[0] };
    },

    // Begin to search the position on the board, with an algorithm of layout.algorithms.
    begin(algorithm, simulations) {
      if (!layout.algorithms.includes(algorithm)) throw new Error(`no algorithm ${algorithm}`);
      if (at.status[1]) throw new Error("the game is over");
      search = algorithm;
      goesOn = true;
      const most = Math.min(simulations, layout.mostSimulations);
      calls[`prepare_${search}`]?.(most);
      calls.begin(most);
    },

    // Search on for at most `count` evaluations. Return whether simulations are left to do.
    grow(count) {
      for (let done = 0; goesOn && done < count; done++) {
        if (!calls[`advance_${search}`]()) {
          goesOn = false;
          break;
        }
        calls.infer();
        const left = calls.receive();
        if (left < 0) throw new Error("a position has no legal move although the game is not over");
        goesOn = left > 0;
      }
      return goesOn;
    },

    // Return what the search knows. Arrays are by action; values and bounds are for the player to move.
    read() {
      calls[`read_${search}`]();
      return {
        simulations: at.summary[0],
        value: at.summary[1],
        best: at.summary[2], // -1: the search has not begun
        visits: at.visits.slice(),
        values: at.values.slice(), // NaN before the first visit
        priors: at.priors.slice(), // below 0: not legal
        lower: at.lower.slice(),
        upper: at.upper.slice(),
      };
    },
  };
  engine.reset();
  return engine;
}
