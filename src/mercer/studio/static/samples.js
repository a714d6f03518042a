// Two samples: the test, its null distribution, the witness function; clouds on a plane or two files.
import { Latest, ask, floats, get, upload } from "./api.js";
import { Kernel } from "./blocks.js";
import { contour, inks, paintSurface } from "./draw.js";
import { Plane, SHAPED } from "./plane.js";
import { card, copies, el, imageFigure, keep, kept, say, select, short, slider, theme } from "./ui.js";

export function samples() {
  const state = kept("samples", { kernel: "Gaussian(1.0)", draws: 300, points: null, from: "clouds" });
  let surface = null;
  const plane = new Plane({
    label: "Plane of two samples", classes: 2, points: state.points || [],
    onchange: (points) => { state.points = points; again(); },
    paint(context, size) {
      if (!surface) return;
      paintSurface(context, size, surface, { order: [1, 0] });
      contour(context, size, surface, 0, { colour: inks().ink, width: 1.6 });
    },
  });
  const trouble = el("p", { class: "error", role: "alert" }), verdict = el("p", { class: "verdict" }), peaks = el("div", { class: "two" }), compared = el("p", {});
  const give = copies("test"), shown = imageFigure("The null distribution is drawn here.");
  const kernel = new Kernel({ text: state.kernel, onchange: (text) => { state.kernel = text; again(); } });
  function found(told) {
    verdict.textContent = `MMD² = ${short(told.statistic)}, p = ${short(told.p_value)}: one distribution is ${told.rejected ? "rejected" : "not rejected"} at 0.05.`;
    shown.show(told.picture, told.words); give.give(told); trouble.textContent = "";
    root.dataset.answers = Number(root.dataset.answers || 0) + 1;
  }
  const live = new Latest(async (asked) => {
    try {
      const told = await ask("/live/compare", asked);
      surface = floats(told.surface); found(told);
      plane.draw(); plane.describe(told.plane);
    } catch (error) { trouble.textContent = error.message; }
  }, (on) => plane.wait(on));
  function again() {
    keep("samples", state);
    if (state.from === "files") return;
    const of = (code) => plane.points.filter((p) => p[2] === code).map((p) => p.slice(0, 2));
    live.ask({ first: of(0), second: of(1), kernel: state.kernel, draws: state.draws, side: 64, theme: theme() });
  }
  const names = { first: el("span", { text: "no file" }), second: el("span", { text: "no file" }) };
  const chooser = (slot, label) => {
    const input = el("input", { type: "file", "aria-label": label });
    input.addEventListener("change", async () => {
      try { names[slot].textContent = (await upload(slot, input.files[0])).name; trouble.textContent = ""; }
      catch (error) { trouble.textContent = error.message; }
    });
    return el("p", {}, el("strong", { text: `${label}: ` }), names[slot], el("br"), input);
  };
  const own = el("input", { class: "expression", type: "text", placeholder: "found for the file", "aria-label": "Kernel for the files, or empty" });
  const test = el("button", { type: "button", class: "main", text: "Test the files", onclick: async () => {
    test.disabled = true; say("Testing …");
    try {
      const told = await ask("/file/compare", { kernel: own.value.trim(), draws: state.draws, theme: theme() });
      found(told);
      peaks.replaceChildren(...told.peaks.map((list, i) => el("div", {}, el("h3", { text: `Most like the ${i ? "second" : "first"} file only` }),
        el("ul", { class: "plain" }, ...list.map((row) => el("li", { text: `${row.what}: ${short(row.value)}` }))))));
      compared.textContent = `${told.samples[0]} and ${told.samples[1]} samples, compared by ${told.expression}.`; say("");
    } catch (error) { trouble.textContent = error.message; say(""); }
    test.disabled = false;
  } });
  const files = card("Two files", chooser("first", "First file"), chooser("second", "Second file"), el("label", { class: "field" }, el("span", { text: "Kernel" }), own), test, compared, peaks);
  const clouds = el("div", { class: "panel" },
    el("section", { class: "card" }, plane.tools(["first", "second"]), el("div", { class: "row" }, el("span", { text: "Load" }),
      el("button", { type: "button", text: "Same", onclick: () => plane.set(SHAPED.Rings(160).map(([x, y], i) => [x, y, i % 2 === 0 ? Number(Math.random() < 0.5) : Number(Math.random() < 0.5)])) }),
      el("button", { type: "button", text: "Shifted", onclick: () => plane.set(cloudsOf(0.8, 1)) }),
      el("button", { type: "button", text: "Wider", onclick: () => plane.set(cloudsOf(0, 1.8)) }))), plane.figure);
  function which() { clouds.classList.toggle("hidden", state.from === "files"); files.classList.toggle("hidden", state.from !== "files"); kernel.element.classList.toggle("hidden", state.from === "files"); }
  const from = select("Compare", [["clouds", "two clouds"], ["files", "two files"]], state.from, async (v) => {
    state.from = v; which(); again();
    if (v === "files") { const told = await get("/start"); for (const slot of ["first", "second"]) if (told.files[slot]) names[slot].textContent = told.files[slot]; }
  });
  const root = el("div", { class: "view" }, el("div", { class: "work" },
    el("div", { class: "panel" }, card("Test", from, slider({ label: "permutations", value: state.draws, low: 50, high: 2000, step: null, onchange: (v) => { state.draws = Math.round(v); again(); } })), kernel.element, give),
    el("div", { class: "panel middle" }, clouds, files, trouble)),
    el("div", { class: "side" }, card("Null distribution", verdict, shown)));
  root.id = "samples-view";
  root.repaint = () => { plane.draw(); again(); };
  root.shown = () => plane.draw();
  kernel.read(state.kernel, true); which();
  if (!state.points) state.points = plane.points = cloudsOf(0.8, 1).map(([x, y, c]) => [Math.round(x * 1000) / 1000, Math.round(y * 1000) / 1000, c]);
  again();
  return root;
}

function cloudsOf(shift, spread) {
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return Array.from({ length: 160 }, (_, i) => (i % 2 ? [shift + spread * normal(), shift + spread * normal(), 1] : [normal(), normal(), 0]));
}
