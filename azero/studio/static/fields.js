// Fields of forms: one for each option of a game or player. A mistake is said beside the field it concerns.

import { el, sentenceOf } from "./api.js";

const holds = new WeakMap(); // of a button: how many disable it
let count = 0; // of the ids that join a field and what is said about it

/** Return a name of an option as a label shows it. */
const wordsOf = (name) => name.replaceAll("_", " ");

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** Return a list of choices with its name above it. */
export const labelled = (name, choice) => el("label", { class: "field" }, el("span", {}, name), choice);

/** Return a select of choices, [value, text] each; attributes as for `el`. */
export const select = (choices, chosen, attributes = {}) => el("select", attributes,
  choices.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));

/** Return what a number may be, in words: "a whole number from 2 to 19". */
function wanted(kind, between) {
  const [low, high] = (between ?? []).map((bound) => bound.toLocaleString("en"));
  return `${kind === "int" ? "a whole number" : "a number"}${between ? ` from ${low} to ${high}` : ""}`;
}

function inputOf({ name, kind, default: otherwise, choices, between, placeholder = "default" }, value) {
  if (kind === "bool") return el("input", { type: "checkbox", checked: Boolean(value) });
  if (choices?.length) {
    const listed = otherwise === null ? [null, ...choices] : choices;
    const nameOf = (each) => each === null ? "default" : String(each) || "none";
    return select(listed.map((each) => [String(each ?? ""), nameOf(each)]), String(value ?? ""));
  }
  if (kind !== "int" && kind !== "float") {
    return el("input", { type: "text", value: value ?? "", placeholder });
  }
  const unlimited = name === "seconds" && !otherwise;
  return el("input", { type: "number", value: unlimited && !value ? "" : value,
    ...(between && { min: between[0], max: between[1] }), step: kind === "int" ? 1 : "any",
    placeholder: unlimited ? "no limit" : placeholder });
}

/** Return the field of an option: {name, element, input, value(), set(value), say(sentence), check()}. */
export function field(option, value = option.default) {
  const { name, kind, default: otherwise, about, choices, between } = option;
  const input = inputOf(option, value), id = `fault-${++count}`;
  const fault = el("p", { class: "fault", id, role: "alert" });
  const label = el("label", { class: kind === "bool" ? "field check" : "field", title: about },
    el("span", {}, wordsOf(name)), input);
  const say = (sentence) => {
    fault.textContent = sentence;
    input.toggleAttribute("aria-invalid", Boolean(sentence));
    if (sentence) input.setAttribute("aria-describedby", id);
    else input.removeAttribute("aria-describedby");
  };
  const show = () => {
    const folded = input.closest("details");
    if (folded) folded.open = true;
    input.focus();
  };
  input.addEventListener("input", () => say("")); // at once: a click on a button must not meet a moved page
  input.addEventListener("change", () => check());

  /** Say what is wrong with the value, if anything; return whether it is right. */
  function check() {
    const { validity } = input;
    say(validity.valid ? "" : `${capital(wordsOf(name))} must be ${wanted(kind, between)}.`);
    return validity.valid;
  }

  return {
    name, element: el("div", { class: "field-box" }, label, fault), input, check, show, say,
    /** Return the value in the form, undefined where it is the default or empty. */
    value() {
      const given = kind === "bool" ? input.checked : input.value.trim();
      if ((given === "" && !choices?.includes("")) || String(given) === String(otherwise)) return undefined;
      const isText = kind === "str" || given === "" || typeof given !== "string" || Number.isNaN(Number(given));
      return isText ? given : Number(given);
    },
    set(next = otherwise) {
      if (kind === "bool") input.checked = Boolean(next);
      else input.value = next ?? "";
      check();
    },
  };
}

/** Return the options that fields hold, without those that are the default. */
export const given = (fields) => Object.fromEntries(
  fields.map((each) => [each.name, each.value()]).filter(([, value]) => value !== undefined));

/** Check fields; lead a person to the first one that is wrong. Return whether all are right. */
export function checkAll(fields) {
  const wrong = fields.filter((each) => !each.check());
  wrong[0]?.show();
  return !wrong.length;
}

/** Say a sentence beside the field of that name and lead there; return whether there is such a field. */
export function sayBeside(fields, name, sentence) {
  const found = fields.find((each) => each.name === name);
  found?.say(sentence);
  found?.show();
  return Boolean(found);
}

/**
 * Say what the server refuses beside the field that it concerns, else in the element `otherwise`.
 *
 * places: by the first part of the field's name, say(the other parts, sentence) -> whether that has a place.
 */
export function sayRefusal(error, places, otherwise) {
  const [group, ...rest] = (error.field ?? "").split("."), sentence = sentenceOf(error);
  if (!places[group]?.(rest, sentence)) otherwise.textContent = sentence;
}

/** Disable a button until the function returned is called; several may disable it at once. */
export function hold(button) {
  const change = (by) => {
    holds.set(button, (holds.get(button) ?? 0) + by);
    button.disabled = holds.get(button) > 0;
  };
  change(1);
  return () => change(-1);
}
