// What can be made to go wrong with Slack, to see what Handraise makes of it.

import { el, sync } from "./dom.js";
import { act } from "./server.js";

const list = document.getElementById("troubles");

export function drawTroubles(troubles) {
  sync(list, troubles, (one) => one.name, trouble);
}

function trouble({ name, label, on }) {
  const make = () => act("/slack/trouble", { name });
  return el("button", { id: `trouble-${name}`, "aria-pressed": String(on), onclick: make }, label);
}
