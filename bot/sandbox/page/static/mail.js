// The mailbox: a list, one open mail as its sender wrote it, and a reply.

import { el, sync, time } from "./dom.js";
import { act } from "./server.js";

const list = document.getElementById("mails");
const reader = document.getElementById("reader");

const read = new Set();
let open = null;
let latest = [];
let awaited = 0; // a mail with a higher number opens by itself

/** Draw it; returns how many mails nobody has opened. */
export function drawMail(mails) {
  latest = mails;
  if (awaited && mails[0]?.id >= awaited) {
    awaited = 0;
    show(mails[0].id);
  }
  const rows = mails.map((mail) => ({ ...mail, text: preview(mail.text), isRead: read.has(mail.id), isOpen: mail.id === open }));
  sync(list, rows.length ? rows : [{ id: 0 }], (row) => row.id, row);
  const replies = reader.querySelector(".replies");
  const mail = mails.find((one) => one.id === open);
  if (mail && replies) sync(replies, mail.replies.map((one, number) => ({ ...one, number })), (one) => one.number, sent);
  return mails.filter((one) => !read.has(one.id)).length;
}

/** The next mail that comes is opened at once: somebody waits for it. */
export function openNext() {
  awaited = (latest[0]?.id ?? 0) + 1;
}

function row(mail) {
  if (!mail.id) return el("p", { class: "empty" }, "No mail yet. A question comes here when nobody answers in Slack, or at once with “By mail” above.");
  return el(
    "button",
    { id: `mail-${mail.id}`, class: `row ${mail.isRead ? "" : "unread"}`, "aria-pressed": String(mail.isOpen), onclick: () => show(mail.id) },
    el("span", { class: "from" }, mail.from.replace(/\s*<.*>/, ""), mail.replies.length > 0 && el("span", { class: "replied", title: "You replied" }, "↩")),
    time(mail.at),
    el("span", { class: "subject" }, mail.subject),
    el("span", { class: "preview" }, mail.text),
  );
}

/** The first line that says something, as mail programs show it. */
function preview(text) {
  return text.split("\n").map((line) => line.trim()).find((line) => line && !line.startsWith("—")) ?? "";
}

function show(id) {
  open = id;
  const mail = latest.find((one) => one.id === id);
  reader.hidden = !mail;
  if (!mail) return document.dispatchEvent(new Event("redraw"));
  read.add(id);
  const draft = el("textarea", { id: "reply", rows: 1, placeholder: "Reply …", "aria-label": "Your reply" });
  const send = async (event) => {
    event.preventDefault();
    if (draft.value.trim() && (await act(`/mail/${id}/reply`, { text: draft.value })).ok) draft.value = "";
  };
  const away = () => { show(null); list.querySelector("button")?.focus(); };
  reader.replaceChildren(
    el("header", {}, el("button", { class: "back", "aria-label": "Back to the list", onclick: away }, "‹"), el("h3", {}, mail.subject)),
    el("p", { class: "envelope" }, "Replies go to ", el("code", { title: mail.reply_to }, short(mail.reply_to))),
    headers(mail),
    mail.has_html ? page(mail, draft) : el("pre", { class: "text" }, mail.text),
    el("div", { class: "replies" }),
    el("form", { class: "reply", onsubmit: send }, draft, el("button", { class: "solid" }, "Send reply")),
  );
  reader.scrollTop = 0;
  document.dispatchEvent(new Event("redraw"));
  list.querySelector("[aria-pressed=true]")?.scrollIntoView({ block: "nearest" });
}

/** What a mail server sees and a reader does not: the envelope, and every header field. */
function headers(mail) {
  const lines = [`MAIL FROM:<${mail.mail_from}>`, ...mail.headers.map(([name, value]) => `${name}: ${value}`)];
  return el("details", { class: "headers" }, el("summary", {}, "Headers"), el("pre", { class: "text" }, lines.join("\n")));
}

/** The mail's own HTML. It runs nothing; its links open beside it, and those that begin a reply begin one here. */
function page(mail, draft) {
  const frame = el("iframe", {
    src: `/mail/${mail.id}/html`,
    title: "The mail",
    sandbox: "allow-same-origin allow-popups allow-popups-to-escape-sandbox",
  });
  frame.addEventListener("load", () => {
    const inside = frame.contentDocument;
    const fit = () => { frame.style.height = `${inside.documentElement.scrollHeight}px`; };
    fit();
    new ResizeObserver(fit).observe(frame);
    inside.addEventListener("click", (event) => {
      const link = event.target.closest("a[href^='mailto:']");
      if (!link) return;
      event.preventDefault();
      draft.value = new URLSearchParams(link.href.split("?")[1]).get("body").trim();
      draft.focus();
    });
  });
  return frame;
}

function sent(reply) {
  const came = reply.status === 202 ? "" : ` (Handraise answered ${reply.status})`;
  return el("div", { class: "sent" }, el("p", {}, el("b", {}, "You"), time(reply.at), came), el("p", { class: "text" }, reply.text));
}

/** The middle of a long address says nothing to people. */
function short(address) {
  return address.length <= 34 ? address : `${address.slice(0, 16)}…${address.slice(-16)}`;
}
