// What every page of the studio uses: requests, the stream of a table, what the browser remembers.

import { toast } from "./page/elements.js";

export * from "./page/elements.js";

/** An error whose message is a sentence for a person. */
export class Sentence extends Error {}

/** Return what to say of an error: its sentence, or one for an error of this page itself. */
export function sentenceOf(error) {
  if (error instanceof Sentence) return error.message;
  console.error(error);
  return "Something on this page went wrong. Reload it to go on.";
}

async function request(path, options) {
  let answer;
  try {
    answer = await fetch(`/api${path}`, options);
  } catch {
    throw new Sentence("The studio does not answer. Is it still running?");
  }
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return body;
  const error = new Sentence(body.error ?? `The studio answered with error ${answer.status}.`);
  Object.assign(error, { status: answer.status, field: body.field });
  throw error;
}

/** Return the answer to GET /api…; a Sentence has the server's, `status`, and the form's `field` it concerns. */
export const get = (path) => request(path);

/** Return the answer to POST /api… with a JSON body, or with a file as it is. keepalive: sent though the page goes. */
export function post(path, body = {}, { keepalive = false } = {}) {
  const headers = { "Content-Type": "application/json" };
  const text = body instanceof Blob ? body : JSON.stringify(body);
  return request(path, { method: "POST", headers, body: text, keepalive });
}

/** Run an asynchronous function; show the sentence of its error. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    toast(sentenceOf(error), true);
    return undefined;
  }
}

/** Copy a text. */
export const copy = (text) => navigator.clipboard.writeText(text).catch(() => {
  throw new Sentence(`The browser does not let this page copy. Copy it yourself: ${text}`);
});

/** Call onMessage for every message of a WebSocket; reconnect with back-off. onLost runs when it ends. */
export function stream(path, onMessage, onLost = () => {}) {
  let socket, timer, wait = 250, closed = false;
  const offline = document.querySelector(".offline");
  function connect() {
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api${path}`);
    socket.onmessage = (event) => {
      const said = JSON.parse(event.data);
      if (said.type !== "error") wait = 250; // a refusal ends the connection; the next one waits longer
      offline.hidden = true;
      onMessage(said);
    };
    socket.onclose = () => {
      if (closed) return;
      offline.hidden = wait < 500; // a single break is not worth a word
      onLost();
      timer = setTimeout(connect, wait);
      wait = Math.min(8000, wait * 2);
    };
  }
  connect();
  return {
    close() {
      closed = true;
      offline.hidden = true;
      clearTimeout(timer);
      socket.close();
    },
  };
}

/** Return what this browser remembers under a name, or the default. */
export function remembered(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`azero.${name}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Remember a value under a name in this browser. */
export function remember(name, value) {
  try {
    localStorage.setItem(`azero.${name}`, JSON.stringify(value));
  } catch { /* a private window may refuse; nothing depends on it */ }
}
