// Curves of runs: those of one run by its metrics, or one metric of several runs, over what a person chooses.

import { el, remember, remembered } from "./api.js";
import { lineChart, shortNumber, STYLES } from "./chart.js";
import { labelled, select } from "./fields.js";

const AXES = { cycles: "cycle", minutes: "minutes of training", simulations: "simulations of self-play" };

/** The most runs in one comparison: each has a colour of its own. */
export const MOST_COMPARED = STYLES;

/** Return how charts write a value of a unit. */
const formatOf = (unit) => unit === "%" ? (value) => `${shortNumber(100 * value)} %` : shortNumber;

/** Return a choice of the axis; onChange(). */
function axisChoice(axes, onChange) {
  const choice = select(axes.map((axis) => [axis, AXES[axis]]), remembered("axis", "cycles"));
  choice.addEventListener("change", () => {
    remember("axis", choice.value);
    onChange();
  });
  return choice;
}

/** Return the points of a curve over an axis of its run. */
const along = ({ axes }, points, axis) => points.filter(([cycle]) => cycle in axes[axis])
  .map(([cycle, y]) => [axes[axis][cycle], y]);

/** Return the charts of one run: [{title, unit, series}]; series: [{name, run, points, colour}]. */
const chartsOf = (run) => run.curves.map(({ title, unit, series }) => ({ title, unit,
  series: series.map((line, colour) => ({ ...line, run, colour })) }));

/** Return a chart for each metric of several runs, by name; a run has one colour in all of them. */
function comparisonOf(runs) {
  const charts = new Map();
  runs.forEach((run, colour) => run.curves.forEach(({ title, unit, series }) =>
    series.forEach(({ tag, name, points }) => {
      const chart = charts.get(tag) ?? { title: `${title}: ${name}`, unit, series: [] };
      chart.series.push({ name: run.name, run, points, colour });
      charts.set(tag, chart);
    })));
  return [...charts.values()];
}

/** Draw charts with a choice of what they are drawn over; return a function that ends them. */
function drawCharts(element, runs, charts) {
  const axes = Object.keys(AXES).filter((axis) => runs.every((run) => Object.keys(run.axes[axis]).length));
  let drawn = [];
  const close = () => drawn.forEach((chart) => chart.close());
  const choice = axisChoice(axes, draw), boxes = charts.map(() => el("div", { class: "card" }));
  function draw() {
    close();
    drawn = charts.map(({ title, unit, series }, i) => lineChart(boxes[i], { height: 170, yLabel: title,
      xLabel: AXES[choice.value], format: formatOf(unit),
      series: series.map((line) => ({ ...line, points: along(line.run, line.points, choice.value) })) }));
  }
  element.replaceChildren(...(charts.length ? [el("div", { class: "axis" }, labelled("drawn over", choice)),
    el("div", { class: "charts" }, boxes)] : []));
  draw();
  return close;
}

/** Draw the curves of a run into an element; return a function that ends them. */
export const showCurves = (element, run) => drawCharts(element, [run], chartsOf(run));

/** Draw the curves of several runs, metric by metric; return a function that ends them. */
export const compareCurves = (element, runs) => drawCharts(element, runs, comparisonOf(runs));
