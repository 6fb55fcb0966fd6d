// What there is to see in ten seconds: three steps, ticked off as the visitor does them.

import { el, sync } from "./dom.js";

const intro = document.getElementById("intro");
const gist = document.getElementById("gist");
const list = document.getElementById("steps");
const LOOKED = "handraise: looked at a callback";
const DONE = "That is Handraise. Ask something else, answer it otherwise, or make trouble in Slack.";

/** The agents are all that is known, so that a page that is opened anew shows what was done before. */
export function drawSteps(samples, agents) {
  intro.hidden = samples.length === 0;
  const climbed = agents.some((one) => one.ladder.filter((rung) => rung.asked).length > 1);
  const answered = agents.some((one) => one.got?.resolution === "responded");
  const looked = sessionStorage.getItem(LOOKED) !== null;
  const isOpen = agents.some((one) => one.state !== "resumed");
  const steps = [
    { done: climbed, text: isOpen || climbed ? "Stay silent: press “nobody answers”." : "Ask again, and press “nobody answers”." },
    { done: answered, text: "Answer: in Slack, by mail or by pager." },
    { done: looked, text: "See what the agent got: “the callback”." },
  ];
  const current = steps.findIndex((one) => !one.done);
  if (current === -1) gist.textContent = DONE;
  sync(list, steps.map((one, number) => ({ ...one, number, now: number === current })), (one) => one.number, step);
}

function step({ number, text, done, now }) {
  const looks = { class: done ? "done" : "", "aria-current": now && "step" };
  return el("li", looks, el("b", {}, done ? "✓" : number + 1), el("span", {}, text, done && el("i", { class: "aside" }, " Done.")));
}

/** Somebody has opened a callback. */
export function opened(event) {
  if (!event.currentTarget.open) return;
  sessionStorage.setItem(LOOKED, "yes");
  document.dispatchEvent(new Event("redraw"));
}
