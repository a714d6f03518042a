// Gram matrices: an ordered heat map, the spectrum, and what two samples share.
import { Latest, ask, floats, get } from "./api.js";
import { paintMatrix } from "./draw.js";
import { card, copies, el, figure, imageFigure, keep, kept, select, short, theme } from "./ui.js";

const EXAMPLES = { strings: "Spectrum(2).normalized()", texts: "TfIdf().normalized()", trees: "SubsetTree().normalized()", graphs: "WeisfeilerLehman(2).normalized()", points: "Gaussian(1.0)", file: "" };

export function gram() {
  const state = kept("gram", { source: "strings", kernel: EXAMPLES.strings, i: 0, j: 1 });
  let told = null, matrix = null;
  const trouble = el("p", { class: "error", role: "alert" }), give = copies("Gram matrix"), spectrum = imageFigure("The spectrum is drawn here.");
  const canvas = el("canvas", { class: "square", tabindex: "0" }), picture = figure(canvas);
  canvas.setAttribute("role", "application");
  const shared = el("div", {});
  const field = el("input", { class: "expression", type: "text", value: state.kernel, "aria-label": "Kernel as an expression", spellcheck: "false", onchange: () => { state.kernel = field.value; look(); } });
  const target = el("select", { "aria-label": "Column that is not compared", onchange: () => look() });
  const targetField = el("label", { class: "field hidden" }, el("span", { text: "Not compared" }), target);
  const place = () => (state.source === "file" ? "/file/" : "/live/");
  const fields = () => ({ source: state.source, kernel: state.kernel, target: target.value || "", theme: theme(),
    ...(state.source === "points" ? { points: (kept("playground", {}).points || []).map((p) => p.slice(0, 2)) } : {}) });
  async function look() {
    keep("gram", state);
    try {
      told = await ask(`${place()}gram`, fields());
      matrix = floats(told.gram); trouble.textContent = "";
      state.i = 0; state.j = Math.min(1, told.names.length - 1);
      paint(); spectrum.show(told.picture, told.spectrum_words); give.give(told); pairs.ask([state.i, state.j]);
      root.dataset.answers = Number(root.dataset.answers || 0) + 1;
    } catch (error) { trouble.textContent = error.message; }
  }
  function paint() {
    if (!matrix || !root.isConnected) return;
    const { context, width } = paintMatrix(canvas, matrix), step = width / told.names.length;
    const side = Math.max(step, 6), x = Math.min(state.j * step, width - side), y = Math.min(state.i * step, width - side);
    context.lineWidth = 2; context.strokeStyle = "#ffffff"; context.strokeRect(x + 3, y + 3, side - 6, side - 6);
    context.strokeStyle = "#000000"; context.strokeRect(x + 1, y + 1, side - 2, side - 2);
    const value = matrix.values[state.i * told.names.length + state.j];
    picture.lastChild.textContent = told.words;
    canvas.setAttribute("aria-label", `${told.words} Arrows choose two samples. Now ${told.names[state.i]} and ${told.names[state.j]}, ${short(value)}.`);
  }
  const pairs = new Latest(async ([i, j]) => {
    if (!told) return;
    try {
      const got = await ask(`${place()}shared`, { ...fields(), i: told.index[i], j: told.index[j] });
      const value = matrix.values[i * told.names.length + j];
      shared.replaceChildren(
        el("p", {}, el("strong", { text: got.names[0] }), " and ", el("strong", { text: got.names[1] })),
        el("p", { text: `k = ${short(value)}` }),
        got.shared.length ? el("ul", { class: "plain" }, ...got.shared.map((row) => el("li", { text: `${row.what}${got.kind === "strings" ? "" : ` (${row.count})`}` }))) : el("p", { text: "They share nothing that can be named." }));
    } catch (error) { trouble.textContent = error.message; }
  });
  const go = (i, j) => {
    const n = told?.names.length || 1, a = Math.max(0, Math.min(n - 1, i)), b = Math.max(0, Math.min(n - 1, j));
    if (a === state.i && b === state.j) return;
    state.i = a; state.j = b; paint(); pairs.ask([a, b]);
  };
  const hover = (e) => { if (!told) return; const box = canvas.getBoundingClientRect(), n = told.names.length; go(Math.floor((e.clientY - box.top) / box.height * n), Math.floor((e.clientX - box.left) / box.width * n)); };
  canvas.addEventListener("pointermove", hover); canvas.addEventListener("pointerdown", hover);
  canvas.addEventListener("keydown", (e) => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (by) { e.preventDefault(); go(state.i + by[0], state.j + by[1]); }
  });
  const source = select("Samples", [["strings", "Strings"], ["texts", "Texts"], ["trees", "Trees"], ["graphs", "Graphs"], ["points", "Points of the playground"], ["file", "Your file"]], state.source, async (v) => {
    state.source = v; targetField.classList.toggle("hidden", v !== "file");
    if (v === "file") await fileChosen();
    else { state.kernel = field.value = EXAMPLES[v]; look(); }
  });
  async function fileChosen() {
    try {
      const { files } = await get("/start");
      if (!files.first) throw new Error("There is no file yet. Open one in the view “Your file”.");
      const got = await ask("/file/open", {});
      target.replaceChildren(el("option", { value: "", text: "—" }), ...got.targets.map((name) => el("option", { value: name, text: name })));
      const kinds = { sequences: "Spectrum(3).normalized()", trees: "PartialTree().normalized()", graphs: "WeisfeilerLehman(3).normalized()", gram: "Precomputed()" };
      const text = got.columns.find((c) => c.kind === "text");
      const numbers = got.columns.some((c) => c.kind === "number" || c.kind === "boolean");
      state.kernel = field.value = kinds[got.kind] || (numbers ? "Gaussian('median')" : text ? "TfIdf().normalized()" : "Match()");
      look();
    } catch (error) { trouble.textContent = error.message; }
  }
  const root = el("div", { class: "view" }, el("div", { class: "work" },
    el("div", { class: "panel" }, card("Samples", source, targetField, el("label", { class: "field" }, el("span", { text: "Kernel" }), field)), give),
    el("div", { class: "panel middle" }, picture, trouble)),
    el("div", { class: "side" }, card("What they share", shared), card("Spectrum", spectrum)));
  root.id = "gram-view";
  root.repaint = () => { paint(); look(); };
  root.shown = () => { paint(); if (state.source === "points") look(); };
  new ResizeObserver(() => paint()).observe(canvas);
  if (state.source === "file") { targetField.classList.remove("hidden"); fileChosen(); } else look();
  return root;
}
