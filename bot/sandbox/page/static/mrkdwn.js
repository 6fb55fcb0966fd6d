// Slack's markup as elements. Source: https://docs.slack.dev/messaging/formatting-message-text

import { el } from "./dom.js";

const MARKS = new RegExp(
  [
    "```(?<pre>[\\s\\S]+?)```",
    "`(?<code>[^`\\n]+)`",
    "<(?<target>[^>|]+)(?:\\|(?<label>[^>]*))?>",
    "(?<![\\w*])\\*(?<bold>[^*\\n]+)\\*(?![\\w*])",
    "(?<![\\w_])_(?<italic>[^_\\n]+)_(?![\\w_])",
    "(?<![\\w~])~(?<struck>[^~\\n]+)~(?![\\w~])",
    "(?<bare>https?://[^\\s<>)]+)",
  ].join("|"),
  "g",
);

/** Slack draws emoji itself, so that they look the same on every machine. */
const EMOJI = { "✅": ["✓", "good"], "⌛": ["⏱", "late"], "🚫": ["✕", "bad"], "⚠️": ["!", "late"] };
const EMOJIS = new RegExp(`(${Object.keys(EMOJI).join("|")})`);

/** A text object's nodes. Only an unverbatim one turns bare addresses into links. */
export function text(object) {
  if (object.type !== "mrkdwn") return [object.text];
  return mrkdwn(object.text, !object.verbatim);
}

export function mrkdwn(source, links = true) {
  const nodes = [];
  let end = 0;
  for (const match of source.matchAll(MARKS)) {
    nodes.push(plain(source.slice(end, match.index)), marked(match[0], match.groups, links));
    end = match.index + match[0].length;
  }
  return [...nodes, plain(source.slice(end))].flatMap((node) => (typeof node === "string" ? drawn(node) : node));
}

function drawn(words) {
  return words.split(EMOJIS).filter(Boolean).map((part) => {
    if (!EMOJI[part]) return part;
    const [sign, look] = EMOJI[part];
    return el("span", { class: `emoji ${look}`, role: "img", "aria-label": part }, sign);
  });
}

function marked(whole, { pre, code, target, label, bold, italic, struck, bare }, links) {
  if (pre) return el("pre", {}, plain(pre.trim()));
  if (code) return el("code", {}, plain(code));
  if (bold) return el("b", {}, ...mrkdwn(bold, links));
  if (italic) return el("i", {}, ...mrkdwn(italic, links));
  if (struck) return el("s", {}, ...mrkdwn(struck, links));
  if (bare) return links ? link(plain(bare), plain(bare)) : plain(bare);
  if (/^[@#!]/.test(target)) return el("span", { class: "mention" }, plain(label ?? target.replace(/^!(subteam\^)?/, "@")));
  return /^(https?|mailto):/.test(target) ? link(plain(target), plain(label || target)) : plain(whole);
}

export function link(href, label) {
  return el("a", { href, target: "_blank", rel: "noopener noreferrer" }, label);
}

/** Slack escapes these three signs, and no others. */
function plain(escaped) {
  return escaped.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
