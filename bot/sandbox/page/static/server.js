// Talking to the sandbox: what there is to see, and what the person does.

import { toast } from "./dom.js";

const EVERY_MS = 400;
const HIDDEN_MS = 2000;

let etag = "";
let draw = () => {};
let timer;
let looking = Promise.resolve();

/** Call `onWorld` with everything there is to see, now and whenever it has changed. */
export function watch(onWorld) {
  draw = onWorld;
  look();
}

function look() {
  clearTimeout(timer);
  looking = looking.then(refresh).finally(() => {
    clearTimeout(timer);
    timer = setTimeout(look, document.hidden ? HIDDEN_MS : EVERY_MS);
  });
  return looking;
}

async function refresh() {
  try {
    const response = await fetch("/world", { cache: "no-store", headers: etag ? { "If-None-Match": etag } : {} });
    if (response.status === 403) return toast("This page is closed. Open the URL that the terminal has printed.");
    document.body.classList.remove("gone");
    if (response.status !== 200) return;
    etag = response.headers.get("ETag");
    draw(await response.json());
  } catch (problem) {
    if (!(problem instanceof TypeError)) throw problem;
    document.body.classList.add("gone"); // the demo has ended
  }
}

/** Do something as the person. Returns what came of it; a failure has been said already. */
export async function act(path, what = {}) {
  let said;
  try {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(what) });
    said = await response.json();
  } catch {
    said = { ok: false, message: "The demo does not answer." };
  }
  if (said.message) toast(said.message);
  await look();
  return said;
}
