// Block Kit as elements. Source: https://docs.slack.dev/reference/block-kit

import { el } from "./dom.js";
import { text } from "./mrkdwn.js";

let people = [];

/** Who can be picked in a form: `[{ id, name }]`. */
export function know(everybody) {
  people = everybody;
}

/** `press(element, button)` is called for each button that somebody presses. */
export function blocks(list, press) {
  return list.map((block) => (SHAPES[block.type] ?? unknown)(block, press));
}

const SHAPES = {
  header: (block) => el("h3", { class: "bk-header" }, ...text(block.text)),
  divider: () => el("hr"),
  markdown: (block) => el("p", { class: "bk-text" }, block.text),
  context: (block) => el("div", { class: "bk-context" }, block.elements.map((one) => el("p", {}, ...text(one)))),
  actions: (block, press) => el("div", { class: "bk-actions" }, block.elements.map((one) => element(one, press))),
  section: (block, press) =>
    el(
      "div",
      { class: "bk-section" },
      el(
        "div",
        {},
        block.text && el("p", { class: "bk-text" }, ...text(block.text)),
        block.fields && el("div", { class: "bk-fields" }, block.fields.map((one) => el("p", {}, ...text(one)))),
      ),
      block.accessory && element(block.accessory, press),
    ),
  table: (block) =>
    el("table", {}, block.rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell.text ?? ""))))),
  input: (block) => {
    const id = `input-${block.block_id}`;
    const optional = block.optional && el("span", { class: "optional" }, " (optional)");
    return el(
      "div",
      { class: "bk-input", "data-block": block.block_id },
      el("label", { for: id }, ...text(block.label), optional),
      field(block.element, id),
      block.hint && el("p", { class: "hint" }, ...text(block.hint)),
      el("p", { class: "problem", role: "alert" }),
    );
  },
};

const unknown = (block) => el("p", { class: "bk-unknown" }, `(a ${block.type}, which this page can't show)`);

function element(one, press) {
  if (one.type !== "button") return unknown(one);
  const looks = { class: `bk-button ${one.style ?? ""}`, "data-action": one.action_id };
  const onclick = (event) => press(one, event.currentTarget);
  if (one.url) return el("a", { ...looks, href: one.url, target: "_blank", rel: "noopener", onclick }, one.text.text);
  return el("button", { ...looks, type: "button", onclick }, one.text.text);
}

/** What to fill in. Its `.value` is what the sandbox takes. */
function field(one, id) {
  const usual = { id, placeholder: one.placeholder?.text };
  switch (one.type) {
    case "plain_text_input":
      return el(one.multiline ? "textarea" : "input", { ...usual, maxlength: one.max_length, rows: one.multiline && 4 });
    case "number_input":
      return el("input", { ...usual, inputmode: one.is_decimal_allowed ? "decimal" : "numeric" });
    case "datepicker":
      return el("input", { id, type: "date" });
    case "static_select":
    case "radio_buttons": {
      const options = one.options.map((option) => el("option", { value: option.value }, option.text.text));
      return el("select", { id }, el("option", { value: "" }, one.placeholder?.text ?? "Pick one"), options);
    }
    case "multi_static_select":
    case "checkboxes": {
      const options = one.options.map((option) => el("option", { value: option.value }, option.text.text));
      return el("select", { id, multiple: true, size: Math.min(options.length, 6) }, options);
    }
    case "users_select": {
      const options = people.map(({ id: user, name }) => el("option", { value: user }, name));
      return el("select", { id }, el("option", { value: "" }, one.placeholder?.text ?? "Pick a person"), options);
    }
    default:
      return unknown(one);
  }
}

/** What is filled in, by block id. */
export function filledIn(form) {
  const values = {};
  for (const block of form.querySelectorAll("[data-block]")) {
    const given = block.querySelector("input, textarea, select");
    if (!given) continue;
    const picked = given.multiple ? [...given.selectedOptions].map((option) => option.value) : [given.value];
    values[block.dataset.block] = picked.join(",");
  }
  return values;
}
