// The Slack window: conversations, messages with buttons, private notes, and modals.

import { blocks, filledIn, know } from "./blocks.js";
import { el, sync, time } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";
import { act } from "./server.js";

const messages = document.getElementById("messages");
const channels = document.getElementById("channels");
const modal = document.getElementById("modal");
const confirmation = document.getElementById("confirm");

const seen = new Map(); // how many messages of each conversation have been looked at
const dismissed = new Set();
let open = null;
let inFront = "";

/** Draw it; returns how much is unread in conversations that are not open. `visible` says whether the pane is. */
export function drawSlack(slack, visible) {
  know(slack.people);
  open ??= slack.conversations[0]?.id;
  const conversation = slack.conversations.find((one) => one.id === open);
  if (visible && conversation) seen.set(conversation.id, conversation.items.length);
  const tabs = slack.conversations.map((one) => ({
    id: one.id,
    name: one.is_im ? one.name : `# ${one.name}`,
    unread: one.items.length - (seen.get(one.id) ?? 0),
    open: one.id === open,
  }));
  sync(channels, tabs, (one) => one.id, tab);
  drawMessages(conversation);
  drawModal(slack.views.at(-1));
  return tabs.reduce((sum, one) => sum + one.unread, 0);
}

function tab({ id, name, unread, open: isOpen }) {
  const turn = () => {
    open = id;
    messages.shown?.forEach(({ node }) => node.remove());
    messages.shown = new Map();
    document.dispatchEvent(new Event("redraw"));
    messages.scrollTop = messages.scrollHeight;
  };
  return el("button", { id: `channel-${id}`, "aria-pressed": String(isOpen), onclick: turn }, name, unread > 0 && el("b", {}, unread));
}

function drawMessages(conversation) {
  const atEnd = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 80;
  const before = messages.shown?.size ?? 0;
  const items = (conversation?.items ?? []).filter((item) => !dismissed.has(item.key));
  const drawn = items.map((item) => ({ ...item, channel: conversation.id }));
  sync(messages, drawn.length ? drawn : [{ key: "none" }], (item) => item.key, message);
  if (atEnd && messages.shown.size !== before) messages.scrollTop = messages.scrollHeight;
}

function message(item) {
  if (item.key === "none") return el("p", { class: "empty" }, "Nothing has been posted here yet.");
  const body = item.blocks.length
    ? blocks(item.blocks, (element, button) => press(item, element, button))
    : [el("p", { class: "bk-text" }, ...mrkdwn(item.text))];
  const hide = () => { dismissed.add(item.key); document.dispatchEvent(new Event("redraw")); };
  return el(
    "article",
    { class: ["message", item.private && "private", item.thread?.beside && "reply"].filter(Boolean).join(" ") },
    item.thread && !item.thread.beside && el("p", { class: "thread" }, "replied to a thread: ", el("span", {}, ...mrkdwn(item.thread.text, false))),
    item.private && el("p", { class: "only-you" }, "Only visible to you"),
    el("img", { src: "/static/hand.svg", alt: "", width: 36, height: 36 }),
    el("header", {}, el("b", {}, "Handraise"), el("span", { class: "app" }, "APP"), time(item.at), item.edited && el("span", { class: "edited" }, "(edited)")),
    el("div", { class: "body" }, body),
    item.replies > 0 && el("p", { class: "replies" }, item.replies === 1 ? "1 reply" : `${item.replies} replies`),
    item.private && el("button", { class: "link", onclick: hide }, "Dismiss message"),
  );
}

async function press(item, element, button) {
  if (element.confirm && !(await confirmed(element.confirm))) return;
  button.classList.add("pressed");
  await act("/slack/click", { channel: item.channel, ts: item.key, action_id: element.action_id });
  button.classList.remove("pressed");
}

/** Slack's own question before a button counts. */
function confirmed({ title, text, confirm, deny, style }) {
  confirmation.replaceChildren(
    el(
      "form",
      { method: "dialog" },
      el("h3", {}, title.text),
      el("p", { class: "bk-text" }, text.text),
      el(
        "footer",
        {},
        el("button", { class: "bk-button", value: "no" }, deny.text),
        el("button", { class: `bk-button solid ${style ?? "primary"}`, value: "yes" }, confirm.text),
      ),
    ),
  );
  confirmation.returnValue = "no";
  confirmation.showModal();
  return new Promise((resolve) => {
    confirmation.addEventListener("close", () => resolve(confirmation.returnValue === "yes"), { once: true });
  });
}

// --- Modals ---

function drawModal(view) {
  const now = view ? `${view.id} ${view.hash}` : "";
  if (now !== inFront) {
    inFront = now;
    if (modal.open) modal.close();
    if (view) {
      modal.replaceChildren(form(view));
      modal.showModal();
    }
  }
  if (view) complain(view.errors, view.trouble);
}

function form(view) {
  const close = () => act("/slack/close", { view: view.id });
  const submit = async (event) => {
    event.preventDefault();
    const said = await act("/slack/submit", { view: view.id, values: filledIn(event.target) });
    if (said.problems) complain(said.problems, null);
  };
  modal.oncancel = close;
  return el(
    "form",
    { onsubmit: submit, novalidate: true },
    el("header", {}, el("h3", {}, view.title), el("button", { type: "button", class: "x", "aria-label": "Close", onclick: close }, "×")),
    el("p", { class: "problem trouble", role: "alert" }),
    el("div", { class: "fields" }, blocks(view.blocks, () => {})),
    el(
      "footer",
      {},
      el("button", { type: "button", class: "bk-button", onclick: close }, view.close),
      view.submit && el("button", { class: "bk-button solid primary" }, view.submit),
    ),
  );
}

function complain(problems, trouble) {
  modal.querySelector(".trouble").textContent = trouble ?? "";
  for (const block of modal.querySelectorAll("[data-block]")) {
    const problem = problems[block.dataset.block] ?? "";
    block.classList.toggle("wrong", problem !== "");
    block.querySelector(".problem").textContent = problem;
  }
}
