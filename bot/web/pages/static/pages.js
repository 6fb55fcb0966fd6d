// The pages work without this. It picks the choice that a link names, and tells times in the browser's zone. It reads; it never sends anything.
"use strict";

function pick() {
  const named = /^#c=(\d{1,4})$/.exec(location.hash);
  if (!named || document.querySelector("input[name=choice]:checked")) return;
  const choice = document.querySelector(`input[type=radio][name=choice][value="${Number(named[1])}"]`);
  if (!choice) return;
  choice.checked = true;
  choice.focus();
  choice.closest("label").scrollIntoView({ block: "center" });
}

// In the browser's zone, as the server tells a time in the zone that the directory has of its reader; UTC is the title.
function tellHere(time) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime()) || !at.getTimezoneOffset()) return;
  const two = (number) => String(number).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const named = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(at);
  const zone = named.find((part) => part.type === "timeZoneName").value;
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
  const near = Math.abs(at - Date.now()) < 43200000 || at.toDateString() === new Date().toDateString();
  time.title = time.textContent;
  time.textContent = !("clock" in time.dataset) ? `${day} ${clock} ${zone}` : near ? clock : `${day} ${clock}`;
}

// What is about to be over in some seconds is looked at again then.
function lookAgain(shown) {
  setTimeout(() => location.replace(location.href), 1000 * Number(shown.dataset.again));
}

// Looks when the server says that something has changed. A browser has few connections to one host: only the page that is looked at holds one. Where there is none to be had, it looks by itself.
function listen(place, look) {
  let source = null;
  let turns = 0;
  const safely = () => look().catch(() => {});
  const open = () => {
    source = new EventSource(place);
    source.onopen = safely; // something may have happened before
    source.onmessage = safely;
    source.addEventListener("gone", () => location.reload());
    source.onerror = () => {
      if (source?.readyState === EventSource.CLOSED && !turns) turns = setInterval(() => document.hidden || safely(), 15000);
    };
  };
  const turn = () => {
    if (!document.hidden && !source) open();
    if (document.hidden && source) {
      source.close();
      source = null;
    }
  };
  document.addEventListener("visibilitychange", turn);
  turn();
}

pick();
document.querySelectorAll("[data-again]").forEach(lookAgain);
document.querySelectorAll("time[data-utc]").forEach(tellHere);
