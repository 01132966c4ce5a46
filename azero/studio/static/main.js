// The shell: six pages chosen by the address (#/play?game=…), loaded when first asked for; light or dark.

import { el, icon, remember, remembered, sentenceOf, toast } from "./api.js";
import { listenStudioKeys } from "./keys.js";

const PAGES = { play: "Play", games: "My games", train: "Train", runs: "Runs", matches: "Matches", learn: "Learn" };
const SCHEMES = ["auto", "light", "dark"];

const page = document.getElementById("page");
let unmount = () => {};
let turn = 0; // counts openings: a slow import must not overwrite a newer page

/** Return the page's name and its parameters from the address. */
function address() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: path in PAGES ? path : "play", parameters: Object.fromEntries(new URLSearchParams(query)) };
}

async function open() {
  const mine = ++turn;
  const { name, parameters } = address();
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${PAGES[name]} – azero studio`;
  unmount();
  unmount = () => {};
  page.className = `page-${name}`;
  page.replaceChildren();
  try {
    const module = await import(`./${name}.js`);
    if (mine !== turn) return;
    const close = (await module.mount(page, parameters)) ?? (() => {});
    if (mine === turn) unmount = close;
    else close();
    if (mine === turn) nameHeading(PAGES[name]);
  } catch (error) {
    const sentence = `The page ${PAGES[name]} could not be opened. ${sentenceOf(error)}`;
    if (mine === turn) page.replaceChildren(el("p", { class: "sorry", role: "alert" }, sentence));
  }
}

/** Give a page without a heading its name as one, for those who do not see it. */
function nameHeading(name) {
  if (!page.querySelector("h1")) page.prepend(el("h1", { class: "unseen" }, name));
}

function chooseScheme(scheme) {
  if (scheme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = scheme;
  const choice = document.querySelector(".theme");
  choice.title = { auto: "Colours: as the system", light: "Colours: light", dark: "Colours: dark" }[scheme];
  choice.replaceChildren(icon("half"));
  remember("theme", scheme);
}

document.querySelector(".tabs").append(...Object.entries(PAGES).map(([name, title]) =>
  el("a", { href: `#/${name}`, "data-page": name, "data-do": `page-${name}` },
    title.includes(" ") && el("span", {}, "My "), title.split(" ").at(-1))));
chooseScheme(remembered("theme", "auto"));
document.querySelector(".theme").addEventListener("click", () =>
  chooseScheme(SCHEMES[(SCHEMES.indexOf(remembered("theme", "auto")) + 1) % SCHEMES.length]));
document.querySelector(".ask-keys").addEventListener("click", listenStudioKeys(PAGES));
for (const event of ["error", "unhandledrejection"]) {
  window.addEventListener(event, ({ error, reason }) => { // a warning of the browser has neither
    if (error || reason) toast(sentenceOf(error ?? reason));
  });
}
window.addEventListener("hashchange", open);
open();
