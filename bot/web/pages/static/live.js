// The page works without this. While it is looked at, the server tells it that something has changed; it fetches itself again then. A form that somebody fills in is left alone, until another's answer has ended it: what was typed stays, to be copied.
"use strict";

// What was typed into a form that is gone, as the server shows it after a lost race.
function keptWords(form) {
  const typed = [...form.querySelectorAll("textarea, input[type=text], input[type=email]")].filter((one) => one.value.trim() && one.value !== one.defaultValue);
  if (!typed.length) return null;
  const box = document.createElement("section");
  box.className = "card kept";
  box.setAttribute("aria-labelledby", "kept");
  const heading = document.createElement("h2");
  heading.id = "kept";
  heading.textContent = "Your words were not sent";
  const hint = document.createElement("p");
  hint.className = "hint";
  hint.textContent = "They are in no record. Copy what you still need before you leave this page.";
  box.append(heading, hint);
  typed.forEach((one, number) => {
    const label = document.createElement("label");
    label.htmlFor = `kept${number + 1}`;
    label.textContent = one.labels.length ? one.labels[0].firstChild.textContent.trim() : "Your words";
    const words = document.createElement("textarea");
    words.id = label.htmlFor;
    words.readOnly = true;
    words.dir = "auto";
    words.rows = 3;
    words.value = one.value;
    const field = document.createElement("div");
    field.className = "field";
    field.append(label, words);
    box.append(field);
  });
  return box;
}

// The parts of the page beside its form, as the server wrote them last.
const written = new Map([...document.querySelectorAll("[data-part]")].map((one) => [one.dataset.part, one.innerHTML]));

// What somebody has unfolded stays so; where they are, nothing moves.
function replacePart(part) {
  const shown = document.querySelector(`[data-part=${part.dataset.part}]`);
  if (!shown || written.get(part.dataset.part) === part.innerHTML || shown.contains(document.activeElement)) return;
  written.set(part.dataset.part, part.innerHTML);
  const unfolded = [...shown.querySelectorAll("details")].map((one) => one.open);
  shown.replaceChildren(...part.childNodes);
  const now = [...shown.querySelectorAll("details")];
  if (now.length === unfolded.length) now.forEach((one, number) => { one.open = unfolded[number]; });
}

function showAnew(page) {
  const main = document.querySelector("main");
  const form = document.getElementById("your-answer");
  document.title = page.title;
  if (form && page.getElementById("your-answer")) {
    page.querySelectorAll("[data-part]").forEach(replacePart);
  } else {
    const box = form && keptWords(form);
    const had = form && form.contains(document.activeElement);
    main.replaceChildren(...(box ? [box] : []), ...page.querySelector("main").childNodes);
    const heading = main.querySelector("h2");
    if (had && heading) {
      heading.tabIndex = -1;
      heading.focus();
    }
  }
  main.querySelectorAll("time[data-utc]").forEach((time) => time.title || tellHere(time)); // a told one stays
  main.querySelectorAll("[data-again]").forEach(lookAgain);
}

async function lookAnew() {
  const response = await fetch(location.href, { cache: "no-store" });
  if (response.redirected) location.reload(); // signed out
  if (!response.ok || response.redirected) return;
  showAnew(new DOMParser().parseFromString(await response.text(), "text/html"));
}

addEventListener("DOMContentLoaded", () => document.body.dataset.live && listen(document.body.dataset.live, lookAnew));
