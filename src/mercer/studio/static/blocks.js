// Kernels composed of blocks. Every change is written as an expression of mercer's language, which the server reads;
// an expression that is typed comes back from the server as blocks.
import { ask } from "./api.js";
import { el, neat, slider } from "./ui.js";

const width = { name: "length_scale", low: 0.05, high: 20, value: 1, label: "width" };
export const BASES = {
  Gaussian: [width],
  Exponential: [width],
  Laplacian: [width],
  Matern: [{ name: "nu", low: 0.5, high: 4.5, value: 1.5, log: false, step: 1, label: "ν" }, width],
  RationalQuadratic: [{ name: "alpha", low: 0.1, high: 10, value: 1, label: "α" }, width],
  Cauchy: [width],
  Periodic: [{ name: "period", low: 0.2, high: 10, value: 3, label: "period" }, { ...width }],
  Linear: [],
  Polynomial: [
    { name: "degree", low: 1, high: 8, value: 3, log: false, step: 1, whole: true, label: "degree" },
    { name: "offset", low: 0, high: 5, value: 1, log: false, label: "offset" }],
  ArcCosine: [{ name: "degree", low: 0, high: 2, value: 1, log: false, step: 1, whole: true, label: "degree" }],
  Brownian: [],
  Constant: [{ name: "value", low: 0.01, high: 10, value: 1, label: "value" }],
};

const number = (v, whole) => (whole ? String(Math.round(v)) : Number.isInteger(v) ? v.toFixed(1) : String(v));
export const base = (name) => ({ name, parameters: Object.fromEntries(BASES[name].map((p) => [p.name, p.value])), parts: [] });

// Precedence: sums below products below powers below names.
export function written(block, above = 0) {
  const wrap = (text, own) => (own < above ? `(${text})` : text);
  const { name, parameters: given, parts } = block;
  if (name === "Sum") return wrap(parts.map((p) => written(p, 1)).join(" + "), 1);
  if (name === "Product") return wrap(parts.map((p) => written(p, 2)).join(" * "), 2);
  if (name === "Scaled") return wrap(`${number(given.scale)} * ${written(parts[0], 2)}`, 2);
  if (name === "Power") return wrap(`${written(parts[0], 4)} ** ${number(given.exponent, true)}`, 3);
  if (name === "Selected") return `${written(parts[0], 4)}.on(${JSON.stringify(given.columns)})`;
  if (name === "Normalized") return `${written(parts[0], 4)}.normalized()`;
  if (block.text) return block.text;
  const known = BASES[name] || [];
  const whole = new Set(known.filter((p) => p.whole).map((p) => p.name));
  return `${name}(${Object.entries(given).map(([k, v]) => `${k}=${typeof v === "number" ? number(v, whole.has(k)) : JSON.stringify(v)}`).join(", ")})`;
}

const COMPOSED = ["Sum", "Product", "Scaled", "Power", "Selected", "Normalized"];

// A block that this page cannot take apart stays as it was written.
function settled(block, text) {
  if (COMPOSED.includes(block.name)) return { ...block, parts: block.parts.map((p) => settled(p, null)) };
  if (block.parts.length || (!BASES[block.name] && text === null)) return { ...block, text: text ?? undefined, opaque: true };
  return block;
}
const isOpaque = (block) => (block.opaque && !block.text) || block.parts.some(isOpaque);

export class Kernel {
  constructor({ text = "Gaussian(1.0)", columns = true, onchange, names = Object.keys(BASES) }) {
    Object.assign(this, { columns, onchange, names, tree: base("Gaussian") });
    this.field = el("input", { class: "expression", type: "text", "aria-label": "Kernel as an expression", value: text, spellcheck: "false" });
    this.field.addEventListener("change", () => this.read(this.field.value));
    this.room = el("div", {});
    this.trouble = el("p", { class: "error", role: "alert" });
    this.element = el("section", { class: "card" }, el("h2", { text: "Kernel" }), this.field, this.trouble, this.room);
  }
  get text() { return this.field.value; }
  async read(text, quiet = false) {
    try {
      const told = await ask("/live/parameters", { kernel: text });
      const tree = settled(told.blocks, told.expression);
      this.tree = isOpaque(tree) ? { name: told.blocks.name, parameters: {}, parts: [], text: told.expression, opaque: true } : tree;
      this.field.value = told.expression;
      this.trouble.textContent = "";
      this.render();
      if (!quiet) this.onchange(this.field.value);
    } catch (error) { this.trouble.textContent = error.message; }
  }
  changed(redraw = true) {
    this.field.value = written(this.tree);
    this.trouble.textContent = "";
    if (redraw) this.render();
    this.onchange(this.field.value);
  }
  render() { this.room.replaceChildren(this.show(this.tree, (next) => { this.tree = next ?? base("Gaussian"); })); }
  show(block, put) {
    const change = (next) => { put(next); this.changed(); };
    const made = el("fieldset", { class: "block" });
    const tool = (text, title, make) => el("button", { type: "button", text, title, "aria-label": title, onclick: () => change(make()) });
    if (block.name === "Sum" || block.name === "Product") {
      const sign = block.name === "Sum" ? "+" : "×";
      made.append(el("legend", { text: block.name === "Sum" ? "sum" : "product" }));
      block.parts.forEach((part, i) => {
        if (i) made.append(el("div", { class: "join", text: sign, "aria-hidden": "true" }));
        made.append(this.show(part, (next) => {
          if (next) block.parts[i] = next; else block.parts.splice(i, 1);
          if (block.parts.length === 1) put(block.parts[0]);
        }));
      });
      made.append(el("div", { class: "tools" }, tool(`${sign} one more`, "Add a part", () => { block.parts.push(base("Gaussian")); return block; })));
      return made;
    }
    if (COMPOSED.includes(block.name)) {
      const inner = (next) => { if (next) block.parts[0] = next; else put(null); };
      const words = { Scaled: "scaled", Power: "power", Selected: "columns", Normalized: "normalised" };
      made.append(el("legend", { text: words[block.name] }));
      if (block.name === "Scaled") made.append(slider({ label: "scale", value: block.parameters.scale, low: 0.01, high: 100, onchange: (v) => { block.parameters.scale = v; this.changed(false); } }));
      if (block.name === "Power") made.append(slider({ label: "power", value: block.parameters.exponent, low: 1, high: 6, log: false, step: 1, onchange: (v) => { block.parameters.exponent = v; this.changed(false); } }));
      if (block.name === "Selected") {
        made.append(el("div", { class: "row" }, ...["x", "y"].map((name, j) => {
          const box = el("input", { type: "checkbox", checked: block.parameters.columns.includes(j) });
          box.addEventListener("change", () => {
            const now = new Set(block.parameters.columns);
            if (box.checked) now.add(j); else now.delete(j);
            if (!now.size) now.add(1 - j);
            block.parameters.columns = [...now].sort();
            this.changed();
          });
          return el("label", {}, box, ` ${name}`);
        })));
      }
      made.append(this.show(block.parts[0], inner), el("div", { class: "tools" }, tool("unwrap", `Remove ${words[block.name]}`, () => block.parts[0])));
      return made;
    }
    if (block.opaque) {
      made.append(el("legend", { text: block.name }), el("code", { text: block.text }));
    } else {
      const names = this.names.includes(block.name) ? this.names : [block.name, ...this.names];
      const chosen = el("select", { "aria-label": "Kernel", onchange: () => change(base(chosen.value)) },
        ...names.map((name) => el("option", { value: name, text: name, selected: name === block.name })));
      made.append(el("legend", { text: "kernel" }), chosen);
      for (const p of BASES[block.name] || []) {
        const value = Number(block.parameters[p.name] ?? p.value);
        made.append(slider({ ...p, value: Math.max(p.low, Math.min(p.high, value)), onchange: (v) => { block.parameters[p.name] = p.whole ? Math.round(v) : p.step ? neat(v) : v; this.changed(false); } }));
      }
    }
    const tools = el("div", { class: "tools" },
      tool("+", "Add another kernel", () => ({ name: "Sum", parameters: {}, parts: [block, base("Linear")] })),
      tool("×", "Multiply by another kernel", () => ({ name: "Product", parameters: {}, parts: [block, base("Gaussian")] })),
      tool("scale", "Scale", () => ({ name: "Scaled", parameters: { scale: 2 }, parts: [block] })),
      tool("power", "Raise to a power", () => ({ name: "Power", parameters: { exponent: 2 }, parts: [block] })));
    if (this.columns) tools.append(tool("columns", "Use some columns only", () => ({ name: "Selected", parameters: { columns: [0] }, parts: [block] })));
    tools.append(tool("remove", "Remove this block", () => null));
    made.append(tools);
    return made;
  }
}
