// The inbox works without this. It keeps the list as it is now: new questions appear, what has ended goes. A row that somebody has unfolded, ticked, typed into or reached by keyboard stays as it is. It reads; it never sends anything.
"use strict";

// What an answer has left in the address is told once.
const address = new URL(location.href);
if (address.searchParams.has("done")) {
  address.searchParams.delete("done");
  history.replaceState(null, "", address);
}

const isTyped = (input) => (input.type === "checkbox" ? input.checked !== input.defaultChecked : input.value !== input.defaultValue);

function isInUse(part) {
  if (part.contains(document.activeElement)) return true;
  if (part.querySelector("details[open]")) return true;
  return [...part.querySelectorAll("input:not([type=hidden]), textarea")].some(isTyped);
}

// A row in use stays, and says if it is not what it was.
function keep(row, now) {
  const text = now === undefined ? "This no longer waits for you." : now.dataset.revision === row.dataset.revision ? "" : "This has changed since you unfolded it.";
  let note = row.querySelector(".changed");
  if (!text) return note && note.remove();
  if (!note) {
    note = document.createElement("p");
    note.className = "changed";
    note.setAttribute("role", "status");
    row.append(note);
  }
  if (note.textContent !== text) note.textContent = text;
}

// The rows of `list` in the order of `fresh`; those in use that are not in it any more stay where they are.
function merge(list, fresh) {
  const coming = new Map([...fresh.children].map((row) => [row.dataset.ref, row]));
  for (const row of [...list.children]) {
    if (isInUse(row)) keep(row, coming.get(row.dataset.ref));
    else row.remove();
  }
  const kept = new Map([...list.children].map((row) => [row.dataset.ref, row]));
  const order = [...coming.keys()];
  order.forEach((ref, place) => {
    if (kept.has(ref)) return;
    const next = order.slice(place + 1).find((one) => kept.has(one));
    list.insertBefore(coming.get(ref), next === undefined ? null : kept.get(next));
  });
}

function replace(part, fresh) {
  const [list, freshList] = [part, fresh].map((one) => one.querySelector("ol.inbox"));
  if (!list || ![...list.children].some(isInUse)) {
    if (!part.contains(document.activeElement)) part.replaceChildren(...fresh.childNodes);
    return;
  }
  merge(list, freshList || document.createElement("ol"));
}

async function refresh() {
  if (document.hidden) return;
  const response = await fetch(location.href, { cache: "no-store" });
  const shown = document.querySelector("[data-live=list]");
  if (response.redirected && !isInUse(shown)) location.reload(); // signed out, or this page of the list is gone
  if (!response.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  document.title = page.title;
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = page.querySelector(`[data-live=${part.dataset.live}]`);
    if (fresh) replace(part, fresh);
    part.querySelectorAll("time[data-utc]").forEach((time) => time.title || tellHere(time));
  }
}

addEventListener("DOMContentLoaded", () => listen(document.body.dataset.listens, refresh));
