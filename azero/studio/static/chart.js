// Charts as SVG: curves, sparklines, the value over a game. Pointer and arrow keys read the numbers.

import { el, percent, svg } from "./api.js";
import { tip } from "./page/marking.js";

const EDGE = { left: 50, right: 12, top: 8, bottom: 22 }; // pixels around a plot
export const STYLES = 8; // colours with dashes, series-0 to series-7 in studio.css
const SWINGS = 3; // the largest losses that a value graph marks

/** Return about `count` round numbers within [low, high]. */
export function ticks(low, high, count = 5) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => +((first + i) * step).toPrecision(12));
}

/** Return the class of a line, by its colour or else its place. */
const styleOf = ({ colour }, i) => `series series-${(colour ?? i) % STYLES}`;

/** Return a short line in the colour of a number. */
export const swatch = (colour) => svg("svg", { class: styleOf({ colour }), width: 18, height: 8,
  "aria-hidden": "true" }, svg("path", { d: "M0 4L18 4" }));

/** Return a number with three significant digits, and commas from 1,000 on. */
export function shortNumber(value) {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(3));
}

/** Call draw(width) now and whenever the element's width changes; return a function that ends it. */
function followWidth(element, draw) {
  let width = 0;
  const observer = new ResizeObserver(() => {
    if (element.clientWidth && element.clientWidth !== width) draw((width = element.clientWidth));
  });
  observer.observe(element);
  return () => observer.disconnect();
}

/** Return the "d" of a path through pixels; a null in between breaks the line. */
function pathThrough(points) {
  let pen = "M";
  return points.map((point) => {
    if (!point) { pen = "M"; return ""; }
    const text = `${pen}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    pen = "L";
    return text;
  }).join("");
}

/** Move an index by the arrow keys, Home and End; call go(index) with the new one. */
function followKeys(target, count, current, go) {
  target.addEventListener("keydown", (event) => {
    const at = current() ?? count() - 1;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: count() - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (to >= 0 && to < count()) go(to);
  });
}

/**
 * Draw curves into an element. series: [{name, points: [[x, y or null], …], colour}]; format(y) -> text.
 * Return {close()}. The legend shows the values under the pointer.
 */
export function lineChart(element, options) {
  const { series, xLabel = "", yLabel = "", format = shortNumber, height = 180 } = options;
  let width = 0, at = null, picture = null;
  const legend = el("div", { class: "chart-legend", "aria-live": "polite" });
  const plot = el("div", { class: "chart-plot" });
  element.classList.add("chart");
  element.replaceChildren(legend, plot);
  let xs = [], scale = null;

  function measure() {
    xs = [...new Set(series.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
    const ys = series.flatMap(({ points }) => points.map(([, y]) => y)).filter((y) => y !== null);
    let [low, high] = ys.length ? [Math.min(...ys), Math.max(...ys)] : [0, 1];
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    [low, high] = [low >= 0 && low < room * 6 ? 0 : low - room, high + room];
    const [x0, x1] = xs.length > 1 ? [xs[0], xs.at(-1)] : [(xs[0] ?? 1) - 1, (xs[0] ?? 0) + 1];
    const right = width - EDGE.right, bottom = height - EDGE.bottom;
    scale = {
      low, high, x0, x1, right, bottom,
      x: (x) => EDGE.left + ((x - x0) / (x1 - x0)) * (right - EDGE.left),
      y: (y) => bottom - ((y - low) / (high - low)) * (bottom - EDGE.top),
    };
  }

  function draw(newWidth) {
    width = newWidth;
    measure();
    const { x, y, right, bottom } = scale;
    const whole = xs.every(Number.isInteger);
    const across = ticks(scale.x0, scale.x1, Math.max(3, Math.floor(width / 60)));
    picture = svg("svg", { class: "chart-svg", viewBox: `0 0 ${width} ${height}`, width, height,
      tabindex: "0", role: "img", "aria-label": `${yLabel}: ${series.map(({ name }) => name).join(", ")}. ` +
        "Arrow keys read the values." },
    ...ticks(scale.low, scale.high).map((value) => svg("g", {},
      svg("line", { class: "chart-grid", x1: EDGE.left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { class: "chart-tick", x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" },
        format(value)))),
    ...across.filter((value) => !whole || Number.isInteger(value)).map((value) =>
      svg("text", { class: "chart-tick", x: x(value), y: bottom + 15, "text-anchor": "middle" },
        shortNumber(value))),
    svg("line", { class: "chart-axis", x1: EDGE.left, x2: right, y1: bottom, y2: bottom }),
    ...series.map(({ points, ...line }, i) => svg("g", { class: styleOf(line, i) },
      svg("path", { d: pathThrough(points.map(([px, py]) => py === null ? null : [x(px), y(py)])) }),
      ...(points.length > 40 ? [] : points.filter(([, py]) => py !== null).map(([px, py]) =>
        svg("circle", { cx: x(px), cy: y(py), r: 2.5 }))))),
    svg("line", { class: "chart-cursor", y1: EDGE.top, y2: bottom, visibility: "hidden" }));
    picture.addEventListener("pointermove", (event) => {
      const pixel = ((event.clientX - picture.getBoundingClientRect().left) * width) / picture.clientWidth;
      read(nearest(pixel));
    });
    picture.addEventListener("pointerleave", () => read(null));
    picture.addEventListener("blur", () => read(null));
    followKeys(picture, () => xs.length, () => at, read);
    const focused = plot.contains(document.activeElement);
    plot.replaceChildren(picture);
    if (focused) picture.focus();
    read(at !== null && at < xs.length ? at : null);
  }

  function nearest(pixel) {
    let best = null;
    xs.forEach((value, i) => {
      if (best === null || Math.abs(scale.x(value) - pixel) < Math.abs(scale.x(xs[best]) - pixel)) best = i;
    });
    return best;
  }

  function read(index) {
    at = index;
    const cursor = picture.querySelector(".chart-cursor");
    cursor.setAttribute("visibility", index === null ? "hidden" : "visible");
    if (index !== null) for (const side of ["x1", "x2"]) cursor.setAttribute(side, scale.x(xs[index]));
    const entries = series.map(({ name, points, colour = i }) => {
      const value = index === null ? points.findLast(([, y]) => y !== null)?.[1]
        : xs[index] > points.at(-1)?.[0] ? undefined : points.findLast(([x]) => x <= xs[index])?.[1];
      return el("span", { class: "chart-entry" },
        swatch(colour),
        `${name} `, el("b", {}, value === undefined || value === null ? "–" : format(value)));
    });
    const place = index === null ? "" : `${xLabel} ${shortNumber(xs[index])}`.trim();
    legend.replaceChildren(el("span", { class: "chart-title" }, [yLabel, place].filter(Boolean).join(", ")),
      ...entries);
  }

  return { close: followWidth(plot, draw) };
}

/** Return a small SVG curve of values; nulls are left out. */
export function sparkline(values, label = "") {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const y = (value) => (high > low ? 20 - (16 * (value - low)) / (high - low) : 12);
  const points = known.map((value, i) => [2 + (76 * i) / Math.max(1, known.length - 1), y(value)]);
  const end = points.at(-1);
  const span = known.length ? `from ${shortNumber(known[0])} to ${shortNumber(known.at(-1))}` : "no values";
  return svg("svg", { class: "sparkline series series-0", viewBox: "0 0 82 24", width: 82, height: 24,
    role: "img", "aria-label": label || span },
  svg("path", { d: pathThrough(points) }), end ? svg("circle", { cx: end[0], cy: end[1], r: 2.5 }) : "");
}

/**
 * Draw the value over a game: values[ply] in [-1, 1] for the first player or null, ply 0 is the start.
 * losses[ply] is what the move to that ply gave away, or null, and sizes[ply] how bad it was: slip and so on.
 * onPick(ply) on click and arrow keys.
 * Return {update(options), close()}.
 */
export function valueGraph(element, options) {
  let { values, current = 0, losses = [], sizes = [], onPick = () => {}, height = 90 } = options;
  let width = 0;
  const picture = svg("svg", { class: "value-graph", tabindex: "0", role: "slider",
    "aria-label": "Value over the game for the first player" });
  element.replaceChildren(picture);
  const margin = 8;
  const x = (ply) => margin + ((width - 2 * margin) * ply) / Math.max(1, values.length - 1);
  const y = (value) => height / 2 - value * (height / 2 - margin);

  function draw(newWidth) {
    width = newWidth;
    const points = values.map((value, ply) => (value === null ? null : [x(ply), y(value)]));
    const areas = [];
    for (let from = 0; from < points.length; from++) {
      let to = from;
      while (points[to + 1] && points[from]) to++;
      if (to > from) {
        const line = pathThrough(points.slice(from, to + 1)).slice(1);
        areas.push(`M${x(from).toFixed(1)} ${y(0)}L${line}L${x(to).toFixed(1)} ${y(0)}Z`);
        from = to;
      }
    }
    const worst = [...losses.keys()].filter((ply) => sizes[ply] && sizes[ply] !== "good")
      .sort((a, b) => losses[b] - losses[a]).slice(0, SWINGS);
    const clips = [["first", 0], ["second", height / 2]].map(([name, top]) =>
      svg("clipPath", { id: `value-${name}` }, svg("rect", { x: 0, y: top, width, height: height / 2 })));
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height,
      "aria-valuemin": 0, "aria-valuemax": values.length - 1, "aria-valuenow": current,
      "aria-valuetext": `move ${current}` + (values[current] == null ? ""
        : `, ${Math.round(50 + 50 * values[current])} % for the first player`) }))
      picture.setAttribute(name, value);
    picture.replaceChildren(svg("defs", {}, ...clips),
      ...["first", "second"].map((name) =>
        svg("path", { class: `value-${name}`, d: areas.join(""), "clip-path": `url(#value-${name})` })),
      svg("line", { class: "chart-axis", x1: margin, x2: width - margin, y1: y(0), y2: y(0) }),
      svg("path", { class: "value-line", d: pathThrough(points) }),
      ...worst.map((ply) => svg("line", { class: `value-swing ${sizes[ply]}`,
        x1: x(ply), x2: x(ply), y1: margin, y2: height - margin })),
      svg("line", { class: "chart-cursor", x1: x(current), x2: x(current), y1: 0, y2: height }),
      ...points.map((point, ply) => point && svg("circle", { class: `value-dot ${sizes[ply] ?? ""}`,
        cx: point[0], cy: point[1], r: ply === current ? 4 : 2.5 })).filter(Boolean));
  }

  const plyAt = (event) => {
    const place = (event.clientX - picture.getBoundingClientRect().left - margin) / (width - 2 * margin);
    return Math.max(0, Math.min(values.length - 1, Math.round(place * (values.length - 1))));
  };
  const read = (ply) => {
    picture.querySelector(".tip")?.remove();
    if (ply !== null && values[ply] != null)
      picture.append(tip([`move ${ply}`, percent(values[ply])], [x(ply), 3], [0, 0, width], 1, 0));
  };
  picture.addEventListener("pointermove", (event) => read(plyAt(event)));
  picture.addEventListener("pointerleave", () => read(null));
  picture.addEventListener("click", (event) => onPick(plyAt(event)));
  followKeys(picture, () => values.length, () => current, (ply) => onPick(ply));
  const stop = followWidth(element, draw);
  return {
    update(changed) {
      ({ values, current, losses, sizes, onPick, height } =
        { values, current, losses, sizes, onPick, height, ...changed });
      if (width) draw(width);
    },
    close: stop,
  };
}
