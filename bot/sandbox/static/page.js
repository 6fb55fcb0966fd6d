// Puts the page together: what changes is drawn, and what is unread is counted.

import { drawAgents } from "./agents.js";
import { drawMail } from "./mail.js";
import { drawPager } from "./pager.js";
import { watch } from "./server.js";
import { drawSlack } from "./slack.js";
import { drawTroubles } from "./troubles.js";

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

for (const tab of tabs) {
  tab.addEventListener("click", () => {
    document.body.dataset.pane = tab.dataset.pane;
    for (const other of tabs) other.setAttribute("aria-pressed", String(other === tab));
    if (last) draw(last);
  });
}

document.addEventListener("redraw", () => draw(last));

watch(draw);
