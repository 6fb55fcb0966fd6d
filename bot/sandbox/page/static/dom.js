// Making elements, and keeping lists of them in step with what they show.

/** An element. `on…` are listeners, booleans are attributes that are there or not, the rest are attributes. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return node;
}

/** One child of `parent` for each item; those whose item is what it was stay untouched, and keep their focus. */
export function sync(parent, items, keyOf, make) {
  const before = parent.shown ?? new Map();
  const now = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const looks = JSON.stringify(item);
    const old = before.get(key);
    now.set(key, old?.looks === looks ? old : { looks, node: replaced(old?.node, make(item)) });
  }
  for (const [key, { node }] of before) if (!now.has(key)) node.remove();
  let place = parent.firstChild;
  for (const { node } of now.values()) {
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
  parent.shown = now;
}

/** `fresh` in place of `old`; whatever was typed or focused in a field with an id goes on there. */
function replaced(old, fresh) {
  if (!old) return fresh;
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  for (const field of old.querySelectorAll("textarea[id], input[id]")) {
    const same = fresh.querySelector(`#${CSS.escape(field.id)}`);
    if (same) same.value = field.value;
  }
  old.replaceWith(fresh);
  if (focused) fresh.querySelector(`#${CSS.escape(focused)}`)?.focus();
  return fresh;
}

export function clock(instant, exact = false) {
  const shown = { hour: "2-digit", minute: "2-digit", ...(exact ? { second: "2-digit" } : {}) };
  return new Date(instant).toLocaleTimeString("en-GB", shown);
}

export function time(instant) {
  return el("time", { datetime: instant, title: new Date(instant).toLocaleString() }, clock(instant));
}

let hiding;

/** Say something that went wrong, for a while. */
export function toast(text) {
  const place = document.getElementById("toast");
  place.textContent = text;
  place.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { place.hidden = true; }, 6000);
}
