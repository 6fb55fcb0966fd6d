// The page works without this. It filters long lists by typed words, and takes the way to the form away where the form is in sight.
"use strict";

function filters(box) {
  const list = document.getElementById(box.dataset.filters);
  const field = box.querySelector("input");
  const said = box.querySelector("[role=status]");
  const all = [...list.querySelectorAll("[data-filtered]")].map((one) => [one, one.textContent.toLowerCase()]);
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [one, text] of all) {
      const stays = words.every((word) => text.includes(word)) || one.querySelector(":checked") !== null;
      one.hidden = !stays;
      if (stays) shown += 1;
    }
    said.textContent = words.length ? `${shown} of ${all.length} shown` : "";
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault(); // it is no field of the form
  });
  box.hidden = false;
}

document.querySelectorAll("[data-filters]").forEach(filters);

// The way to the form is of no use once the form is in sight.
const jump = document.querySelector(".jump");
const form = document.getElementById("your-answer");
if (jump && form) {
  new IntersectionObserver(([seen]) => jump.classList.toggle("there", seen.isIntersecting)).observe(form);
}
