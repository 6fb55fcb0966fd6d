// The strip of agents: what each waits for, and what it got.

import { clock, el, sync } from "./dom.js";
import { act } from "./server.js";
import { drawSteps, opened } from "./steps.js";

const cards = document.getElementById("agents");
const asks = document.getElementById("asks");
const RUNGS = 4;
const NAMES = { slack: "Slack", email: "mail", pagerduty: "pager" };
const ON_TO = { slack: "on to Slack", email: "on to mail", pagerduty: "on to the pager" };
const AGAIN = { slack: "once more in Slack", email: "once more by mail", pagerduty: "once more on the pager" };

export function drawAgents({ samples, agents }) {
  sync(asks, samples, (one) => one.name, sample);
  drawSteps(samples, agents);
  sync(cards, agents.length ? agents : [{ number: 0 }], (one) => one.number, card);
}

function sample({ name, label, question }) {
  const ask = async (event) => {
    const button = event.currentTarget;
    button.disabled = true; // an agent needs a moment to come up
    await act("/ask", { sample: name });
    setTimeout(() => { button.disabled = false; }, 1500);
  };
  return el("button", { title: question, onclick: ask }, label);
}

function card(one) {
  if (!one.number) return el("p", { class: "empty" }, "No agent has asked anything yet.");
  return el(
    "article",
    { class: "card", "data-state": one.state },
    el("header", {}, el("b", {}, one.agent), el("span", { class: "ref" }, one.ref ?? "")),
    el("p", { class: "question" }, one.question),
    one.result ? outcome(one) : waiting(one),
  );
}

function outcome({ result, got }) {
  const told = Object.entries(got).filter(([name, value]) => value !== null && !["event", "seconds", "state"].includes(name));
  return el(
    "div",
    { class: got.resolution === "responded" ? "result good" : "result" },
    el("p", {}, result.replace(/^agent /, "")),
    el(
      "details",
      { ontoggle: opened },
      el("summary", {}, "the callback"),
      el("dl", {}, told.map(([name, value]) => [el("dt", {}, name), el("dd", {}, JSON.stringify(value))])),
    ),
  );
}

function waiting({ ref, ladder, on_it: onIt }) {
  const isFast = ladder.length > 1 && new Date(ladder[1].due_at) - new Date(ladder[0].due_at) < 120_000;
  const rungs = ladder.slice(0, RUNGS).map((rung) => {
    const when = !rung.asked && el("time", {}, clock(rung.due_at, isFast));
    return el("li", { class: rung.asked ? "asked" : "" }, NAMES[rung.channel] ?? rung.channel, when);
  });
  return el(
    "div",
    { class: "waiting" },
    el("ol", { class: "ladder" }, rungs, ladder.length > RUNGS && el("li", {}, "…")),
    el("p", {}, onIt ? `taken by ${onIt}` : "waiting for an answer"),
    ladder.length > 0 && silence(ref, ladder),
  );
}

/** Lets this question's time pass until its next step, and leads there. */
function silence(ref, ladder) {
  const now = ladder.findLast((rung) => rung.asked)?.channel;
  const next = ladder.find((rung) => !rung.asked)?.channel;
  const then = !next ? "its time is up" : (next === now ? AGAIN : ON_TO)[next] ?? `on to ${next}`;
  const pass = async (event) => {
    event.currentTarget.disabled = true;
    const said = await act("/silence", { ref });
    if (said.ok && next) document.dispatchEvent(new CustomEvent("follow", { detail: next }));
  };
  const button = { class: "nobody", title: "Lets the time until its next step pass, for this question alone", onclick: pass };
  return el("button", button, `nobody answers: ${then} ▸`);
}
