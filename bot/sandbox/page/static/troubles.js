// What can be made to go wrong with Slack, to see what Handraise makes of it.

import { el, sync } from "./dom.js";
import { act } from "./server.js";

const list = document.getElementById("troubles");
const expected = document.getElementById("expect");

export function drawTroubles(troubles) {
  sync(list, troubles, (one) => one.name, trouble);
}

function trouble({ name, label, on, expect }) {
  const make = async () => {
    list.closest("details").open = false;
    if ((await act("/slack/trouble", { name })).ok) tell(on ? null : { label, expect });
  };
  return el("button", { id: `trouble-${name}`, "aria-pressed": String(on), onclick: make }, label);
}

/** What is to be seen now; `null` where a trouble is over. */
function tell(trouble) {
  expected.hidden = trouble === null;
  if (trouble === null) return;
  const away = el("button", { class: "x", "aria-label": "Dismiss", onclick: () => tell(null) }, "×");
  expected.replaceChildren(el("span", {}, el("b", {}, trouble.label, ". "), trouble.expect), away);
}
