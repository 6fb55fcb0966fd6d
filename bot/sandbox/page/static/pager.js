// The pager: incidents that one acknowledges, annotates and resolves.

import { el, sync, time } from "./dom.js";
import { link } from "./mrkdwn.js";
import { act } from "./server.js";

const list = document.getElementById("incidents");

/** Draw it; returns how many nobody has acknowledged. */
export function drawPager(incidents) {
  sync(list, incidents.length ? incidents : [{ id: "none" }], (one) => one.id, incident);
  return incidents.filter((one) => one.status === "triggered").length;
}

function incident(one) {
  if (one.id === "none") return el("p", { class: "empty" }, "All quiet. The last reminder comes here, or ask “On the pager” above.");
  const by = one.status === "acknowledged" && one.acknowledged_by.length ? ` by ${one.acknowledged_by.join(", ")}` : "";
  return el(
    "article",
    { class: `incident ${one.status}` },
    el("header", {}, el("span", { class: "status" }, one.status + by), el("span", {}, `#${one.number} · ${one.severity}`), time(one.at)),
    el("h3", {}, one.title),
    details(one),
    one.notes.length > 0 && el("ul", { class: "notes" }, one.notes.map(note)),
    doing(one),
  );
}

function details({ details: told, links }) {
  const rows = Object.entries(told.context ?? {}).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  const action = told["Exactly this will run"];
  return el(
    "div",
    { class: "details" },
    told.risk && el("p", {}, el("b", {}, "Risk: "), told.risk),
    rows.length > 0 && el("dl", {}, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    action && [el("b", {}, "Exactly this will run"), el("pre", { tabindex: 0 }, action)],
    told.choices && el("ul", { class: "choices" }, told.choices.map((choice) => el("li", {}, choice))),
    told.if_nobody_answers && el("p", { class: "silence" }, told.if_nobody_answers),
    told.how_to_answer && el("details", {}, el("summary", {}, "How to answer"), el("p", {}, told.how_to_answer)),
    links.map((one) => el("p", {}, link(one.href, one.text))),
  );
}

function note({ by, text, at }) {
  return el("li", {}, el("b", {}, by), time(at), el("span", {}, text));
}

/** A note can be added to one that is resolved too, as in PagerDuty. */
function doing({ id, status }) {
  const text = el("input", { id: `note-${id}`, placeholder: "Add a note …", "aria-label": "A note", autocomplete: "off" });
  const add = async (event) => {
    event.preventDefault();
    const said = text.value.trim();
    text.value = "";
    if (said) await act(`/pager/${id}/note`, { text: said });
  };
  return el(
    "div",
    { class: "doing" },
    el("form", { onsubmit: add }, text, el("button", {}, "Note")),
    status !== "resolved" && [
      el("button", { id: `ack-${id}`, class: "ack", disabled: status === "acknowledged", onclick: () => act(`/pager/${id}/acknowledge`) }, "Acknowledge"),
      el("button", { onclick: () => act(`/pager/${id}/resolve`) }, "Resolve"),
    ],
  );
}
