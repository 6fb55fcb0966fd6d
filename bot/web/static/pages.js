// The pages work without this. It picks the choice that a link names, and adds local times. It never sends anything.
"use strict";

function pick() {
  const named = /^#c=(\d{1,4})$/.exec(location.hash);
  if (!named || document.querySelector("input[name=choice]:checked")) return;
  const choice = document.querySelector(`input[name=choice][value="${Number(named[1])}"]`);
  if (!choice) return;
  choice.checked = true;
  choice.focus();
  choice.closest("label").scrollIntoView({ block: "center" });
}

function addLocalTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (!at.getTimezoneOffset() || Number.isNaN(at.getTime())) continue;
    const isToday = at.toDateString() === new Date().toDateString();
    const day = isToday ? {} : { weekday: "short", day: "numeric", month: "short" };
    const local = at.toLocaleString("en-GB", { ...day, hour: "2-digit", minute: "2-digit" });
    const note = document.createElement("span");
    note.textContent = ` (${local} your time)`;
    time.after(note);
  }
}

pick();
addLocalTimes();
