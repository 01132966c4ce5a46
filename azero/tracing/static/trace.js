// A traced search, simulation by simulation. `mountTrace(element, record)` draws it into an element and
// returns a function that removes it. The record is that of azero/tracing/record.py.

const SVG = "http://www.w3.org/2000/svg";
const SIDES = ["first", "second"], NOTHING = { visits: 0, sum: 0 };
// Of a board's cell, of a path's tree, between its levels; most nodes of a level, most rows of a table
const CELL = 40, WIDTH = 260, LEVEL = 66, MOST = { wins: 7, mean: 6 }, ROWS = 12;
const WAYS = 5; // arrows on a board

function add(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}
const el = (tag, attributes = {}, ...children) => add(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  add(document.createElementNS(SVG, tag), attributes, children);
const picture = (viewBox, label, ...children) =>
  svg("svg", { viewBox, role: "img", "aria-label": label }, ...children);
const row = cells => cells.map(cell => el("td", {}, String(cell)));
// What may be larger than its place, which the keys can scroll.
const scroller = (label, content) =>
  el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, content);
const headRow = cells => el("thead", {}, el("tr", {}, ...cells.map(cell => el("th", { scope: "col" }, cell))));

function decimal(value, digits = 2) {
  const text = Number.isInteger(value) ? String(value) : value.toFixed(digits);
  return text.replace("-", "−");
}
// A term of a sum, where a small prior matters.
const term = value => (Math.abs(value) < 0.01 && value ? value.toPrecision(2).replace("-", "−") : decimal(value));

export function mountTrace(element, record) {
  const { nodes, simulations, sides, board } = record;
  const childOf = nodes.map(() => new Map());
  nodes.forEach(node => node.parent !== null && childOf[node.parent].set(node.action, node));
  const history = nodes.map(() => []); // of each node: [simulation's index, visits, sum]
  simulations.forEach((each, at) => each.backup.forEach(({ node, visits, sum }) =>
    history[node].push([at, visits[1], sum[1]])));
  const last = simulations.length; // the stop after the last simulation: the chosen move
  let at = 0;

  // ---- words

  const name = id => (id ? nodes[id].name : "the root");
  const mover = id => sides[nodes[id].to_play]; // who chooses at a node
  const begins = words => words[0].toUpperCase() + words.slice(1);
  const wins = record.statistic === "wins";
  function statAt(id, index) {
    const known = history[id].filter(each => each[0] <= index).pop();
    return known ? { visits: known[1], sum: known[2] } : NOTHING;
  }
  function statText({ visits, sum }) {
    if (wins) return `${decimal(sum, 1)}/${visits}`;
    return `q ${visits ? decimal(sum / visits) : "–"} · n ${visits}`;
  }
  const listed = words => (words.length < 2 ? words.join("") :
    `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`);
  const ruleOf = choice => record.rules[choice.rule];

  function selectText({ number, path, added, choices }) {
    if (number === 0) return "Before the first simulation the root itself is evaluated.";
    const old = added === null ? path : path.slice(0, -1);
    const steps = old.slice(1).map((id, place) => `${mover(old[place])} chooses ${name(id)}`);
    const best = "each time the move with the best score";
    const begin = steps.length ? `From the root ${listed(steps)}: ${best}. ` : "";
    const end = old[old.length - 1];
    if (added === null) return begin + (steps.length ? "" : "The path is the root alone.");
    const child = choices[choices.length - 1].children.find(each => each.action === nodes[added].action);
    const reason = child.score === null ? `has a move that was not tried: ${name(added)}`
      : `chooses ${name(added)}, which is not in the tree yet`;
    return `${begin}${end ? `There ${mover(end)}` : `At the root ${mover(0)}`} ${reason}.`;
  }
  function expandText({ path, added, expanded }) {
    const leaf = path[path.length - 1];
    const moves = id => `${nodes[id].moves.length} ${nodes[id].moves.length === 1 ? "move" : "moves"}`;
    const words = [];
    if (expanded !== null && expanded !== added) {
      words.push(`The ${moves(expanded)} of ${name(expanded)} are listed.`);
    }
    if (added !== null) words.push(`${name(added)} becomes a node of the tree.`);
    if (expanded !== null && expanded === added) words.push(`It gets ${moves(added)} with a prior P.`);
    if (nodes[leaf].result) words.push(`The game is over there: ${nodes[leaf].result}.`);
    if (added === null && !nodes[leaf].result && expanded === null) {
      const why = wins ? "has had too few visits to be expanded" : "is proven";
      words.push(`Nothing is added: ${name(leaf)} ${why}.`);
    }
    return words.join(" ");
  }
  function evaluateText({ path, evaluation }) {
    const value = wins ? `${decimal(evaluation.value)} for ${sides[0]}`
      : `${decimal(evaluation.value)} for ${sides[evaluation.to_play]}, who is to move there`;
    if (evaluation.kind === "network") return `The network says: ${value}. (−1 is lost, 1 is won.)`;
    if (evaluation.kind === "end") {
      return `${evaluation.result || "Proven"}: ${value}. Nothing is played.`;
    }
    const count = evaluation.moves.length, moves = evaluation.moves.join(" ");
    const played = count > 12 ? `${count} random moves.` : `Random ${count === 1 ? "move" : "moves"}: ${moves}.`;
    return `${played} Result: ${evaluation.result}. The value is ${value}.`;
  }
  function backupText({ backup }) {
    const parts = backup.map(({ node, visits, sum }) => {
      const stat = statText({ visits: visits[1], sum: sum[1] });
      return `${name(node)} (${stat.replace(" · ", ", ")})`;
    });
    const turn = wins ? "" : " Its sign turns where the side to move changes.";
    return `The value goes up the path, and each node gets one more visit: ${listed(parts)}.${turn}`;
  }

  // ---- boards

  function centre(cell) {
    const columns = board.columns.length, row = Math.floor(cell / columns), column = cell % columns;
    if (board.kind !== "hexagons") return [(column + 0.5) * CELL, (row + 0.5) * CELL];
    return [(column + 0.5 + row / 2) * CELL + 4, (1.5 * row + 1) * CELL / Math.sqrt(3) + 4];
  }
  function corner(cell, number) {
    const [x, y] = centre(cell), angle = (Math.PI / 180) * (60 * number - 30), radius = CELL / Math.sqrt(3);
    return `${(x + radius * Math.cos(angle)).toFixed(1)},${(y + radius * Math.sin(angle)).toFixed(1)}`;
  }
  function shape(cell, attributes) {
    const [x, y] = centre(cell);
    if (board.kind === "hexagons") {
      const corners = [0, 1, 2, 3, 4, 5].map(each => corner(cell, each));
      return svg("polygon", { ...attributes, points: corners.join(" ") });
    }
    return svg("rect", { ...attributes, x: x - CELL / 2, y: y - CELL / 2, width: CELL, height: CELL });
  }
  function goals() { // each edge of a board of hexagons in the colour of the side that connects it
    const width = board.columns.length, height = board.rows.length, edges = [];
    const edge = (cells, corners, side) => cells.forEach(cell => edges.push(svg("polyline",
      { class: `goal ${side}`, points: corners.map(each => corner(cell, each)).join(" ") })));
    const across = [...Array(width).keys()], down = [...Array(height).keys()];
    edge(across, [4, 5, 0], "first");
    edge(across.map(column => (height - 1) * width + column), [1, 2, 3], "first");
    edge(down.map(row => row * width), [2, 3, 4], "second");
    edge(down.map(row => row * width + width - 1), [5, 0, 1], "second");
    return edges;
  }
  const shapeOf = mark => board.shapes[board.figures[(mark - 1) >> 1]];
  const stones = board !== null && ["coloured", "classic"].includes(board.stones); // else X and O
  const chequered = board !== null && Object.keys(board.shapes).length > 0;
  function cellClass(cell) { // the first cell of the last row is dark
    const columns = board.columns.length, row = board.rows.length - 1 - Math.floor(cell / columns);
    return !chequered ? "cell" : (row + cell % columns) % 2 === 0 ? "cell dark" : "cell pale";
  }
  function arrow(from, cell, share) {
    const [[x1, y1], [x2, y2]] = [centre(from), centre(cell)], width = 2 + 5 * share;
    const turn = Math.atan2(y2 - y1, x2 - x1) * 180 / Math.PI, tip = Math.hypot(x2 - x1, y2 - y1) - 2;
    const half = width / 2, neck = tip - 8 - width / 2, wing = half + 4;
    return svg("path", { class: "way", "fill-opacity": (0.3 + 0.6 * share).toFixed(2),
      transform: `translate(${x1} ${y1}) rotate(${turn})`,
      d: `M8 ${-half}H${neck}V${-wing}L${tip} 0L${neck} ${wing}V${half}H8Z` });
  }
  function piece(cell, mark, fresh) {
    const [x, y] = centre(cell), symbol = board.symbols[mark], r = 11, side = SIDES[(mark - 1) % 2];
    const kind = `piece ${side}${fresh ? " fresh" : ""}`;
    if (shapeOf(mark)) {
      return svg("g", { class: `figure ${side}`, transform: `translate(${x} ${y}) scale(${CELL / 95})` },
        ...shapeOf(mark).map(d => svg("path", { d, class: d.endsWith("Z") ? "area" : "detail" })));
    }
    if (stones) {
      return svg("circle", { class: `stone ${side}${fresh ? " fresh" : ""}`, cx: x, cy: y, r: CELL * 0.41 });
    }
    const shapes = {
      X: ["path", { d: `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}` }],
      O: ["circle", { cx: x, cy: y, r: r + 1 }],
    };
    const [tag, attributes] = shapes[symbol] || ["text", { x, y: y + 8 }];
    return svg(tag, { class: kind, ...attributes }, ...(shapes[symbol] ? [] : [symbol]));
  }
  // names: cells to texts; numbers: the same, over a colour by their share; before: marks, to see what is new;
  // ways: moves from cell to cell with their share of the visits of the best one
  function boardPicture(position, label, overlay) {
    const { names, numbers = new Map(), lastCell = null, lastFrom = null, before = null, ways = [] } = overlay;
    if (!board) return el("pre", { class: "board", "aria-label": label }, position.text);
    const cells = position.marks.map((_, cell) => cell);
    const columns = board.columns.length, rows = board.rows.length, hexagons = board.kind === "hexagons";
    const width = columns * CELL, height = rows * CELL;
    const [across, down] = hexagons
      ? [width + height / 2 + 8, (1.5 * rows + 0.5) * CELL / Math.sqrt(3) + 8] : [width, height];
    const drawing = picture(`-3 -3 ${across + 6} ${down + 6}`, label);
    drawing.setAttribute("class", `board ${board.kind} ${columns > 5 ? "wide" : ""}`);
    if (board.kind === "crossings") {
      const line = (x1, y1, x2, y2) => drawing.append(svg("line", { class: "grid", x1, y1, x2, y2 }));
      const half = CELL / 2;
      drawing.append(svg("rect", { class: "cell", width, height }));
      board.columns.forEach((_, at) => line(half + at * CELL, half, half + at * CELL, height - half));
      board.rows.forEach((_, at) => line(half, half + at * CELL, width - half, half + at * CELL));
    } else {
      drawing.append(...(hexagons ? goals() : []), ...cells.map(cell => shape(cell, { class: cellClass(cell) })));
    }
    if (lastFrom !== null) {
      drawing.append(...[lastFrom, lastCell].map(cell => shape(cell, { class: "was" })));
    }
    const total = [...numbers.values()].reduce((sum, each) => sum + each, 0);
    for (const cell of cells) {
      const [x, y] = centre(cell), mark = position.marks[cell], number = numbers.get(cell);
      const label = number !== undefined ? String(number) : mark ? undefined : names?.get(cell);
      if (number) drawing.append(shape(cell, { class: "heat", "fill-opacity": 0.6 * number / total }));
      if (mark) drawing.append(piece(cell, mark, before && before[cell] !== mark && cell !== lastCell));
      if (label !== undefined) {
        drawing.append(svg("text", { class: number === undefined ? "name" : "number", x, y: y + 5 }, label));
      }
    }
    drawing.append(...(position.winning ?? []).map(cell => shape(cell, { class: "won" })));
    drawing.append(...ways.map(({ from, cell, share }) => arrow(from, cell, share)));
    if (lastCell !== null && lastFrom === null) {
      const [cx, cy] = centre(lastCell), r = CELL * (stones && position.marks[lastCell] ? 0.2 : 0.46);
      drawing.append(svg("circle", { class: "last", cx, cy, r }));
    }
    return drawing;
  }
  const onBoard = id => nodes[id].moves.filter(move => move.cell !== null && move.from === null);
  const namesOf = id => new Map(onBoard(id).map(move => [move.cell, move.name]));
  function visitsOf(index) { // of the root's moves, by cell
    return new Map(onBoard(0).map(move => {
      const child = childOf[0].get(move.action);
      return [move.cell, child ? statAt(child.id, index).visits : 0];
    }));
  }
  function waysOf(index) { // the most visited of the root's moves from cell to cell, the best one last
    const moves = nodes[0].moves.filter(move => move.cell !== null && move.from !== null).map(move => {
      const child = childOf[0].get(move.action);
      return { ...move, visits: child ? statAt(child.id, index).visits : 0 };
    }).filter(({ visits }) => visits).sort((a, b) => b.visits - a.visits).slice(0, WAYS).reverse();
    return moves.map(move => ({ ...move, share: move.visits / moves[moves.length - 1].visits }));
  }

  // ---- trees

  function circle(x, y, kind, label, stat, ring) {
    const lines = stat ? stat.split(" · ") : [];
    return svg("g", { class: `node ${kind}` },
      ring ? svg("circle", { class: "ring", cx: x, cy: y, r: 18 }) : null,
      svg("circle", { cx: x, cy: y, r: 14 }),
      svg("text", { x, y: y + 4, class: label.length > 3 ? "small" : null }, label),
      ...lines.map((line, place) => svg("text", { x, y: y + 25 + 10 * place, class: "halo small" }, line)));
  }
  const entriesOf = (parent, exists) => nodes[parent].moves.map(move => {
    const child = childOf[parent].get(move.action);
    return { move, id: child && exists(child) ? child.id : null };
  });
  function crop(entries, keep) { // the kept one and the most visited of the others, in their order
    const most = MOST[record.statistic];
    if (entries.length <= most) return [entries, 0];
    const weight = ({ id }) => (id === null ? -1 : id === keep ? Infinity : statAt(id, at).visits);
    const kept = new Set([...entries].sort((a, b) => weight(b) - weight(a)).slice(0, most - 1));
    return [entries.filter(entry => kept.has(entry)), entries.length - kept.size];
  }
  // The path with all children of its nodes. step: "select", "expand", "evaluate" or "backup".
  function pathTree(simulation, step) {
    const { number, path, added, evaluation } = simulation, before = step === "select";
    const shown = before && added !== null ? path.slice(0, -1) : path;
    const known = before ? number - 1 : number; // the last simulation that the picture shows
    const exists = node => node.parent === null || node.added <= known;
    const isOpen = id => nodes[id].expanded !== null && nodes[id].expanded <= known;
    const index = step === "backup" ? at : at - 1;
    const lower = svg("g"), upper = svg("g"), spots = [[WIDTH / 2, 24]];
    const root = shown.length === 1 && step !== "select" && number === 0;
    upper.append(circle(...spots[0], "path", "root", statText(statAt(0, index)), root && step === "expand"));
    let deepest = 24;
    const line = (from, to, kind) => lower.append(svg("line",
      { class: `edge ${kind}`, x1: from[0], y1: from[1], x2: to[0], y2: to[1] }));
    const skipped = Math.max(0, shown.length - 5); // of a long path, the nodes after the root
    let row = 0;
    for (let depth = 0; depth < shown.length; depth += 1) {
      const next = shown[depth + 1] ?? null;
      if (depth > 0 && depth <= skipped) {
        if (depth === 1) {
          row += 1;
          const spot = [WIDTH / 2, 24 + LEVEL * row];
          line(spots[0], spot, "path");
          upper.append(svg("text", { class: "halo", x: spot[0], y: spot[1] }, `… ${skipped} more …`));
        }
        spots[depth] = [WIDTH / 2, 24 + LEVEL * row];
        if (depth < skipped) continue;
      } else if (skipped && depth === 0) continue;
      if (!isOpen(shown[depth]) || (next === null && step === "evaluate")) continue;
      const [entries, more] = crop(entriesOf(shown[depth], exists), next);
      const count = entries.length + (more ? 1 : 0), y = 24 + LEVEL * (row += 1);
      const gap = Math.min(70, WIDTH / count);
      const middle = Math.min(Math.max(spots[depth][0], gap * count / 2), WIDTH - gap * count / 2);
      entries.forEach(({ move, id }, place) => {
        const spot = [middle + (place - (count - 1) / 2) * gap, y], onPath = id !== null && id === next;
        if (onPath) spots[depth + 1] = spot;
        line(spots[depth], spot, onPath ? "path" : id === null ? "untried" : "");
        const side = SIDES[nodes[shown[depth]].to_play];
        const kind = `${side} ${onPath ? "path" : ""} ${id === null ? "untried" : ""}`;
        const stat = id === null ? "" : statText(statAt(id, index));
        upper.append(circle(...spot, kind, move.name, stat.includes("–") || stat.endsWith("/0") ? "" : stat,
          step === "expand" && id !== null && id === added));
      });
      const end = middle + (count - 1) / 2 * gap;
      if (more) upper.append(svg("text", { class: "halo", x: end, y: y + 4 }, `+${more}`));
      deepest = y;
    }
    const leaf = spots[shown.length - 1];
    if (step === "evaluate") {
      const visited = statAt(shown[shown.length - 1], index).visits > 0;
      const top = deepest + 72, y = leaf[1] + (visited ? (wins ? 28 : 38) : 15), wave = (top - y) / 6;
      const x = Math.min(Math.max(leaf[0], 82), WIDTH - 82);
      const text = evaluation.result || `value ${decimal(evaluation.value)}`;
      const waves = [9, -9, 9, -9, 9, -9].map(bend => `q ${bend} ${wave / 2} 0 ${wave}`).join(" ");
      const way = evaluation.kind === "rollout" ? waves : `V${top}`;
      lower.append(svg("path", { class: "edge roll", d: `M${leaf[0]} ${y} ${way}` }));
      upper.append(svg("rect", { class: "verdict", x: x - 80, y: top, width: 160, height: 24, rx: 6 }),
        svg("text", { x, y: top + 16 }, text));
      deepest = top - 10;
    }
    if (step === "backup") { // an arrow upwards at the middle of each edge of the path
      for (let depth = 1; depth < shown.length; depth += 1) {
        const [[x0, y0], [x1, y1]] = [spots[depth], spots[depth - 1]];
        if (y0 === y1) continue;
        const turn = Math.atan2(y1 - y0, x1 - x0) * 180 / Math.PI;
        const transform = `translate(${(x0 + x1) / 2} ${(y0 + y1) / 2}) rotate(${turn})`;
        upper.append(svg("path", { class: "arrow", d: "M8 0L-6 -7L-6 7Z", transform }));
      }
    }
    const label = `${step}: the path ${path.map(name).join(", ")} and its siblings`;
    return picture(`0 0 ${WIDTH} ${deepest + 46}`, label, lower, upper);
  }

  // The whole tree from left to right: its nodes after a simulation, and the moves that are not tried yet.
  function layOut(id, depth, number, rows) {
    const mine = { id, depth, label: name(id), below: [] };
    if (nodes[id].expanded !== null && nodes[id].expanded <= number) {
      const entries = entriesOf(id, child => child.added <= number);
      const untried = entries.filter(entry => entry.id === null), few = untried.length <= 4;
      const leaf = label =>
        mine.below.push({ id: null, depth: depth + 1, label, below: [], row: rows.next++ });
      for (const entry of entries) {
        if (entry.id !== null) mine.below.push(layOut(entry.id, depth + 1, number, rows));
        else if (few) leaf(entry.move.name);
      }
      if (!few) leaf(`${untried.length} not tried`);
    }
    const { below } = mine;
    mine.row = below.length ? (below[0].row + below[below.length - 1].row) / 2 : rows.next++;
    return mine;
  }
  function wholeTree(index) {
    const path = new Set(index < last ? simulations[index].path : []), rows = { next: 0 };
    const root = layOut(0, 0, simulations[Math.min(index, last - 1)].number, rows);
    const lower = svg("g"), upper = svg("g"), step = wins ? 120 : 160;
    const spotOf = ({ depth, row }) => [20 + step * depth, 18 + 24 * row];
    let width = 0, focus = spotOf(root)[1];
    const draw = (entry, above) => {
      const tried = entry.id !== null, [x, y] = spotOf(entry), onPath = tried && path.has(entry.id);
      width = Math.max(width, x + step);
      if (onPath) focus = y;
      if (above) {
        const [left, from] = spotOf(above);
        lower.append(svg("path", { class: `edge ${onPath ? "path" : tried ? "" : "untried"}`,
          d: `M${left} ${from} C${left + 50} ${from} ${x - 60} ${y} ${x} ${y}` }));
      }
      const side = above ? SIDES[nodes[above.id].to_play] : "", stat = tried ? statAt(entry.id, index) : null;
      const label = tried ? `${entry.label}: ${statText(stat)}` : entry.label;
      upper.append(svg("g", { class: `node ${side} ${onPath ? "path" : ""} ${tried ? "" : "untried"}` },
        svg("circle", { cx: x, cy: y, r: tried ? Math.min(9, 4 + Math.log2(1 + stat.visits)) : 4 }),
        svg("text", { class: "halo left", x: x + 13, y: y + 4 }, label)));
      entry.below.forEach(each => draw(each, entry));
    };
    draw(root, null);
    const height = 36 + 24 * (rows.next - 1);
    const drawing = picture(`0 0 ${width} ${height}`, "the tree", lower, upper);
    return [add(drawing, { width, height }, []), focus];
  }

  // ---- tables

  function arithmetic(choice, child) {
    const rule = ruleOf(choice);
    if (child.score === null) return `${rule.untried}: comes first`;
    const values = { ...choice.shared, ...child.terms, n: child.visits, w: child.sum };
    const sum = rule.arithmetic.replace(/\{(\w+)\}/g, (_, key) => term(values[key]));
    return `${sum.replace("+ −", "− ")} = ${decimal(child.score, 3)}`;
  }
  function table(simulation, place) {
    const choice = simulation.choices[place], rule = ruleOf(choice);
    const before = simulation.path.slice(1, place + 1).map(name).join(" ");
    const shared = Object.entries(choice.shared).map(([key, value]) =>
      (key === "wanted" ? `moves with n = ${value} are in this round` : `${key} = ${decimal(value)}`)).join(", ");
    const head = ["move", "n", ...rule.columns.map(column => column[1]), rule.title, `${rule.formula}`];
    const rank = child => (child.action === choice.chosen ? Infinity : child.score ?? Number.MAX_VALUE);
    const more = Math.max(0, choice.children.length - ROWS);
    const kept = new Set([...choice.children].sort((a, b) => rank(b) - rank(a)).slice(0, ROWS));
    const body = choice.children.filter(child => kept.has(child)).map(child => {
      const terms = { ...child.terms, w: child.sum };
      const shown = rule.columns.map(([key]) => (key in terms ? term(terms[key]) : ""));
      const score = child.score === null ? "–" : decimal(child.score, 3);
      return el("tr", { class: child.action === choice.chosen ? "chosen" : null },
        ...row([child.name, child.visits, ...shown, score]),
        el("td", { class: "sum" }, child.note || arithmetic(choice, child)));
    });
    const title = `${begins(mover(choice.node))} chooses ${place ? `after ${before}` : "at the root"}`;
    return el("div", { class: "card" },
      scroller(title, el("table", {},
        el("caption", {}, shared ? `${title}: ${shared}` : title), headRow(head), el("tbody", {}, ...body))),
      more ? el("p", {}, `… and ${more} more moves.`) : null,
      el("p", { class: "muted" }, rule.about));
  }

  // ---- the page

  function stepCard(number, title, text, ...pictures) {
    return el("li", { class: "card" }, el("h3", {}, `${number} ${title}`), el("p", {}, text), ...pictures);
  }
  function steps(simulation) {
    const { path, added, evaluation } = simulation, leaf = path[path.length - 1];
    const old = added === null || path.length < 2 ? leaf : path[path.length - 2];
    const boardOf = (id, label) =>
      boardPicture(nodes[id].position, label,
        { names: namesOf(id), lastCell: nodes[id].cell, lastFrom: nodes[id].from });
    const rollout = evaluation.kind === "rollout", { position, cell, from } = nodes[leaf];
    const end = rollout ? boardPicture(evaluation.end, "the end of the rollout",
      { before: position.marks, lastCell: from === null ? cell : null })
      : boardOf(leaf, "the evaluated position");
    return el("ol", { class: "steps" },
      stepCard(1, "Select", selectText(simulation), pathTree(simulation, "select"),
        boardOf(old, "the position where the path ends")),
      stepCard(2, "Expand", expandText(simulation), pathTree(simulation, "expand"),
        boardOf(leaf, "the position of the last node")),
      stepCard(3, rollout ? "Evaluate: rollout" : "Evaluate", evaluateText(simulation),
        pathTree(simulation, "evaluate"), end),
      stepCard(4, "Back up", backupText(simulation), pathTree(simulation, "backup"),
        boardPicture(nodes[0].position, "visits of each move at the root",
          { numbers: visitsOf(at), ways: waysOf(at) })));
  }
  function finalCard() {
    const { action, name: move, visits, of, why } = record.chosen;
    const chosen = nodes[0].moves.find(each => each.action === action);
    const body = nodes[0].moves.map(each => {
      const child = childOf[0].get(each.action);
      const { visits: n, sum } = child ? statAt(child.id, last) : NOTHING;
      return el("tr", { class: each.action === action ? "chosen" : null },
        ...row([each.name, n, n ? decimal(sum / n) : "–"]));
    });
    const head = ["move", "visits n", wins ? `mean w/n for ${sides[0]}` : "mean q"];
    return el("div", { class: "card final" },
      el("div", {}, el("h3", {}, `${begins(mover(0))} plays ${move}`),
        el("p", {}, `${visits} of ${of} visits: ${why}.${record.ended ? ` ${record.ended}` : ""}`),
        scroller("the moves of the root", el("table", {}, headRow(head), el("tbody", {}, ...body)))),
      boardPicture(nodes[0].position, `visits of each move; ${move} is chosen`,
        { numbers: visitsOf(last), ways: waysOf(last), lastCell: chosen.from === null ? chosen.cell : null }));
  }
  const isExpansion = each => each.expanded !== null && each.expanded !== 0;
  const nextExpansion = () => simulations.findIndex((each, index) => index > at && isExpansion(each));

  const from = record.start ? ` of ${record.start}` : "";
  const begin = record.moves.length ? `After the moves ${record.moves.join(" ")}${from},` : `At the start${from}`;
  const button = label => el("button", { type: "button" }, label);
  const back = button("‹ Back"), forward = button("Next ›"), jump = button("Next expansion »");
  const count = simulations[last - 1].number;
  const simulated = `${count} ${count === 1 ? "simulation" : "simulations"}`;
  const slider = el("input", { type: "range", min: 0, max: last, step: 1, "aria-label": "simulation" });
  const where = el("output", { "aria-live": "polite" }), stage = el("div");
  const content = el("div", {},
    el("h2", {}, `${record.title}, step by step: ${record.heading ?? record.game}`),
    el("p", {}, `${begin} ${mover(0)} is to move. The search runs ${simulated} of four steps each, then `,
      `${mover(0)} plays. Dashed circles are moves that are not in the tree yet.`),
    el("p", { class: "muted" }, record.about),
    el("div", { class: "bar" }, back, forward, jump, slider, where), stage);

  function show(which) {
    at = Math.max(0, Math.min(last, which));
    slider.value = at;
    back.disabled = at === 0;
    forward.disabled = at === last;
    jump.disabled = nextExpansion() < 0;
    const simulation = simulations[at];
    where.textContent = simulation ? `simulation ${simulation.number} of ${count}` : "the move";
    slider.setAttribute("aria-valuetext", where.textContent);
    const choices = simulation ? simulation.choices.map((_, place) => table(simulation, place)) : [];
    const [tree, focus] = wholeTree(at), scroll = scroller("the tree", tree);
    stage.replaceChildren(simulation ? steps(simulation) : finalCard(),
      el("div", { class: "tables" }, ...choices),
      el("div", { class: "card" }, el("h3", {}, simulation ? "The tree after this simulation" : "The tree"),
        scroll));
    scroll.scrollTop = focus - scroll.clientHeight / 2;
  }
  function onKey(event) {
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.matches(".scroll") && event.target.scrollWidth > event.target.clientWidth) return;
    const stops = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last };
    if (!(event.key in stops)) return;
    event.preventDefault();
    show(stops[event.key]);
  }
  back.onclick = () => show(at - 1);
  forward.onclick = () => show(at + 1);
  jump.onclick = () => show(nextExpansion());
  slider.oninput = () => show(Number(slider.value));
  document.addEventListener("keydown", onKey);
  element.classList.add("azero-trace");
  if (board) element.dataset.stones = board.stones;
  element.replaceChildren(content);
  show(0);
  return () => {
    document.removeEventListener("keydown", onKey);
    content.remove();
    element.classList.remove("azero-trace");
    delete element.dataset.stones;
  };
}
