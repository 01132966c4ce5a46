// What pages are made of: elements, icons, buttons, switches, sentences for the user.

const SVG = "http://www.w3.org/2000/svg";
const SAYING = 6000; // milliseconds that a sentence stays

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name.replace(/^on/, ""), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return node;
}

/** Return an HTML element. An attribute that is a function listens: {onclick: f}. Children: text or nodes. */
export function el(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** Return an SVG element; arguments as for `el`. */
export function svg(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

const ICONS = {
  first: "M6 5v14M19 5l-9 7 9 7z", back: "M15 5l-8 7 8 7", next: "M9 5l8 7-8 7", more: "M6 9l6 6 6-6",
  last: "M18 5v14M5 5l9 7-9 7z", undo: "M8 5L4 9l4 4M4 9h10a5 5 0 010 10h-3", pause: "M8 5v14M16 5v14",
  hint: "M9 18h6M10 21h4M12 3a6 6 0 00-3 11v1h6v-1a6 6 0 00-3-11z", flag: "M6 21V4h12l-3 4 3 4H6",
  plus: "M12 5v14M5 12h14", swap: "M4 9h15l-4-4M20 15H5l4 4", play: "M7 4l13 8-13 8z",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13", edit: "M4 20l1-5L16 4l4 4L9 19z",
  half: "M12 3a9 9 0 000 18zM12 3a9 9 0 010 18", share: "M12 15V4M8 8l4-4 4 4M5 13v7h14v-7",
  turn: "M8 4v15M4 15l4 4 4-4M16 20V5M12 9l4-4 4 4",
  up: "M12 20V5M6 11l6-6 6 6", again: "M5 12a7 7 0 107-7H6M9 2L6 5l3 3",
};

/** Return an icon of 24 units as SVG. */
export function icon(name) {
  const attributes = { class: "icon-svg", viewBox: "0 0 24 24", "aria-hidden": "true" };
  return svg("svg", attributes, svg("path", { d: ICONS[name] }));
}

/** Return a button with an icon, a text, or both; `title` is its name where it has no text. */
export function button(title, iconName, onclick, { text = "", ...attributes } = {}) {
  const all = { type: "button", class: text ? "" : "icon", title, onclick, ...attributes };
  if (!text) all["aria-label"] = title;
  return el("button", all, iconName && icon(iconName), text && el("span", {}, text));
}

/** Give a button of `button()` another icon and text. */
export function relabel(node, iconName, text) {
  node.querySelector("svg").replaceWith(icon(iconName));
  node.querySelector("span").textContent = text;
}

/** Return a switch with its name. */
export function toggle(name, checked, onChange) {
  const input = el("input", { type: "checkbox", role: "switch", checked });
  input.addEventListener("change", () => onChange(input.checked));
  return el("label", { class: "switch" }, input, el("i"), el("span", {}, name));
}

/** Return a slider over a list of values; say(value) is what stands beside it. */
export function slider(name, values, value, say, onChange) {
  const output = el("output"), at = Math.max(0, values.indexOf(value));
  const input = el("input", { type: "range", min: 0, max: values.length - 1, value: at, "aria-label": name });
  const show = () => {
    output.textContent = say(values[input.value]);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", show);
  input.addEventListener("change", () => onChange(values[input.value]));
  show();
  return el("label", { class: "slider" }, el("span", {}, name), input, output);
}

/** Return a value in [-1, 1] as the percentage of points that it means. */
export const percent = (value) => `${Math.round(50 + 50 * value)} %`;

/** Return the gauge beside the board: {element, show(value for the first player, or null)}; who: that player. */
export function makeGauge(who = () => "the first player") {
  const fill = el("i");
  const element = el("div", { class: "gauge", role: "meter", "aria-label": "Value for the first player",
    "aria-valuemin": 0, "aria-valuemax": 100 }, fill);
  return { element, show(value) {
    element.classList.toggle("unknown", value == null);
    fill.style.setProperty("--share", 0.5 + 0.5 * (value ?? 0));
    element.setAttribute("aria-valuenow", Math.round(50 + 50 * (value ?? 0)));
    element.title = value == null ? "The value is not known yet."
      : `${percent(value)} for ${who()}`;
  } };
}

/** Return the title of a game with a space before its size: "Go 5". */
export const spaced = (title) => title?.replace(/([a-z])(\d+)$/, "$1 $2");

/** Show a sentence for a few seconds; one that refuses something replaces the last of these. */
export function toast(sentence, refuses = false) {
  const box = document.querySelector(".toasts");
  for (const old of [...box.children])
    if (old.textContent === sentence || (refuses && old.matches(".refusal"))) old.remove();
  const said = el("p", refuses ? { class: "refusal" } : {}, sentence);
  box.append(said);
  setTimeout(() => said.remove(), SAYING);
}
