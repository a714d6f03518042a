// Small parts of pages. Text is always set as text, never as markup.

export function el(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

export const short = (x) => (Math.abs(x) >= 1e5 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toExponential(2) : String(Number(x.toPrecision(4))));
export const neat = (x) => Number(x.toPrecision(3));

export function slider({ label, value, low, high, log = true, step = null, onchange }) {
  const to = log ? Math.log10 : (x) => x;
  const from = log ? (t) => neat(10 ** t) : (t) => neat(t);
  const output = el("span", { class: "value", "aria-hidden": "true", text: short(value) });
  const input = el("input", {
    type: "range", min: to(low), max: to(high), step: step || (to(high) - to(low)) / 200, value: to(value), "aria-label": label,
  });
  input.setAttribute("aria-valuetext", short(value));
  input.addEventListener("input", () => {
    const now = from(Number(input.value));
    output.textContent = short(now);
    input.setAttribute("aria-valuetext", short(now));
    onchange(now);
  });
  return el("label", { class: "field" }, el("span", { text: label }), output, input);
}

export function select(label, options, value, onchange) {
  const chosen = el("select", { "aria-label": label, onchange: () => onchange(chosen.value) });
  for (const option of options) {
    const [key, text] = Array.isArray(option) ? option : [option, option];
    chosen.append(el("option", { value: key, text, selected: key === value }));
  }
  return el("label", { class: "field" }, el("span", { text: label }), chosen);
}

export function figure(canvas, caption = "") {
  canvas.setAttribute("role", canvas.getAttribute("role") || "img");
  if (!canvas.hasAttribute("aria-label")) canvas.setAttribute("aria-label", caption || "A picture that is not drawn yet.");
  const words = el("figcaption", { text: caption });
  const made = el("figure", {}, canvas, words);
  made.say = (text) => { words.textContent = text; canvas.setAttribute("aria-label", text); };
  return made;
}

export function imageFigure(caption = "") {
  const image = el("img", { class: "picture hidden", alt: caption });
  const words = el("figcaption", { text: caption });
  const made = el("figure", {}, image, words);
  made.show = (source, text) => {
    image.src = source; image.alt = text; image.classList.remove("hidden"); words.textContent = text;
  };
  return made;
}

export function card(title, ...children) {
  return el("section", { class: "card" }, el("h2", { text: title }), ...children);
}

// Two buttons that copy, and the text that was copied; they wait until there is something to copy.
export function copyRow(name) {
  const code = el("pre", { class: "hidden", tabindex: "0", "aria-label": "What was copied" });
  const texts = { python: "", command: "" };
  let shown = "";
  async function copy(kind) {
    shown = kind;
    code.textContent = texts[kind];
    code.classList.remove("hidden");
    try { await navigator.clipboard.writeText(texts[kind]); say(`Copied: the ${name} as ${kind === "python" ? "Python" : "command line"}.`); }
    catch { say("The browser keeps its clipboard closed; select the text below the buttons."); }
  }
  const button = (kind, text) => el("button", { type: "button", text, disabled: true, "aria-label": `${text}: the ${name}`, onclick: () => copy(kind) });
  const buttons = [button("python", "Copy as Python"), button("command", "Copy as command line")];
  const made = el("div", { class: "copies" }, el("div", { class: "row" }, ...buttons), code);
  made.give = (told) => {
    texts.python = told?.python ?? ""; texts.command = told?.command ?? "";
    for (const one of buttons) one.disabled = !told;
    if (!told) code.classList.add("hidden"); else if (shown) code.textContent = texts[shown];
  };
  return made;
}

export function copies(name) {
  const row = copyRow(name), made = card("Take it with you", row);
  made.give = row.give;
  return made;
}

// What is said at the foot of the page goes after a while, unless something is under way.
let quiet = 0;
export function say(text) {
  document.getElementById("status").textContent = text;
  clearTimeout(quiet);
  if (text && !text.endsWith("…")) quiet = setTimeout(() => say(""), 10_000);
}

export function keep(name, value) { try { sessionStorage.setItem(`mercer.${name}`, JSON.stringify(value)); } catch { /* full */ } }
export function kept(name, otherwise) {
  try { return JSON.parse(sessionStorage.getItem(`mercer.${name}`)) ?? otherwise; } catch { return otherwise; }
}

export const theme = () => document.documentElement.dataset.theme;
