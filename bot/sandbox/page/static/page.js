// Puts the page together: what changes is drawn, and what is unread is counted.

import { drawAgents } from "./agents.js";
import { drawMail, openNext } from "./mail.js";
import { drawPager } from "./pager.js";
import { watch } from "./server.js";
import { drawSlack } from "./slack.js";
import { drawTroubles } from "./troubles.js";

const PANES = { slack: "slack", email: "mail", pagerduty: "pager" };
const tabs = [...document.querySelectorAll(".tabs button")];
let last = null;

function draw(world) {
  last = world;
  document.getElementById("name").textContent = world.person.name;
  document.getElementById("email").textContent = world.person.email;
  document.getElementById("mailbox").textContent = world.person.email;
  drawAgents(world.board);
  drawTroubles(world.troubles);
  const wide = getComputedStyle(tabs[0].parentElement).display === "none";
  count("slack", drawSlack(world.slack, wide || document.body.dataset.pane === "slack"));
  count("mail", drawMail(world.mail));
  count("pager", drawPager(world.pager));
}

function count(pane, unread) {
  const badge = tabs.find((tab) => tab.dataset.pane === pane).querySelector("b");
  badge.textContent = unread;
  badge.hidden = unread === 0;
}

function turnTo(pane) {
  document.body.dataset.pane = pane;
  for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.pane === pane));
  if (last) draw(last);
}

for (const tab of tabs) tab.addEventListener("click", () => turnTo(tab.dataset.pane));

document.addEventListener("redraw", () => draw(last));

// A question goes on to another window: turn there, and draw the eye.
document.addEventListener("follow", ({ detail: channel }) => {
  const pane = PANES[channel];
  if (!pane) return;
  if (pane === "mail") openNext();
  turnTo(pane);
  const window = document.querySelector(`.window.${pane}`);
  window.classList.remove("arriving");
  requestAnimationFrame(() => window.classList.add("arriving"));
});

// A press is a click only if it ends on the button that it began on: until then nothing is drawn anew.
let isPressed = false;
let arrived = null;

addEventListener("pointerdown", () => { isPressed = true; });

for (const end of ["pointerup", "pointercancel", "blur"]) {
  addEventListener(end, () => setTimeout(released)); // the click comes first
}

function released() {
  isPressed = false;
  const world = arrived;
  arrived = null;
  if (world) draw(world);
}

watch((world) => {
  if (isPressed) arrived = world;
  else draw(world);
});
