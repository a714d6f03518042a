// Points, a kernel and a machine on one canvas.
import { Latest, ask, floats } from "./api.js";
import { Kernel } from "./blocks.js";
import { COLOURS, contour, inks, paintMatrix, paintPlaces, paintRegions, paintSpectrum, paintSurface } from "./draw.js";
import { HALF, Plane, SHAPED } from "./plane.js";
import { card, copies, el, figure, keep, kept, say, select, slider } from "./ui.js";

const LABELS = ["a", "b", "c", "d", "e", "f"];
const TASKS = [["classes", "Classes (SVM)"], ["curve", "Curve (regression)"], ["region", "Region (one class)"],
  ["clusters", "Clusters (k-means)"], ["components", "Components (PCA)"]];

export function playground() {
  const state = kept("playground", { task: "classes", C: 1, epsilon: 0.3, nu: 0.1, clusters: 3, component: 1, kernel: "Gaussian(1.0)", points: null });
  let told = null, surface = null, regions = null, idle = 0;
  const plane = new Plane({
    label: "Plane of the playground", classes: 6, points: state.points || [],
    onchange: (points) => { state.points = points; ask_(); },
    paint(context, size, on) {
      if (!told) return;
      const ink = inks().ink;
      if (surface && state.task === "classes") {
        const order = told.classes.map((name) => LABELS.indexOf(name));
        paintSurface(context, size, surface, { order, soft: 2 });
        if (surface.shape[2] === 1) {
          contour(context, size, surface, 0, { colour: ink, width: 2.2 });
          for (const level of [-1, 1]) contour(context, size, surface, level, { colour: ink, width: 1.2, dash: [6, 4] });
        }
      } else if (surface) {
        paintSurface(context, size, surface, { order: [1, 0] });
        if (state.task === "region") contour(context, size, surface, 0, { colour: ink, width: 2.2 });
        else {
          let top = 0;
          for (const v of surface.values) top = Math.max(top, Math.abs(v));
          for (let i = -4; i <= 4; i++) contour(context, size, surface, top * i / 5, { colour: ink, width: i ? 0.8 : 1.8 });
        }
      } else if (regions) paintRegions(context, size, regions);
      if (told.curve && state.task === "curve") {
        const { x, y, tube } = told.curve;
        const line = (shift) => { context.beginPath(); x.forEach((v, i) => { const [a, b] = on.pixel([v, Math.max(-3 * HALF, Math.min(3 * HALF, y[i] + shift))]); if (i) context.lineTo(a, b); else context.moveTo(a, b); }); context.stroke(); };
        context.strokeStyle = COLOURS[4]; context.lineWidth = 2.5; line(0);
        context.strokeStyle = ink; context.lineWidth = 1.2; context.setLineDash([6, 4]); line(tube); line(-tube); context.setLineDash([]);
      }
    },
  });
  const has = (name) => (i) => told?.sets?.[name].has(i) ?? false;
  plane.ring = has("support"); plane.cross = has("violated");
  plane.look = (i) => (state.task === "clusters" && told?.assigned ? told.assigned[i] ?? 0 : state.task === "classes" ? plane.points[i][2] : 0);

  const kernel = new Kernel({ text: state.kernel, onchange: (text) => { state.kernel = text; ask_(); } });
  const sliders = el("div", {});
  const trouble = el("p", { class: "error", role: "alert" });
  const facts = el("p", { class: "facts" });
  const give = copies("playground");
  const feature = figure(el("canvas", {})), matrix = figure(el("canvas", { class: "square" })), spectrum = figure(el("canvas", {}));

  const fields = () => ({ ...state, points: plane.points, side: plane.points.length > 500 ? 64 : 80 });
  const live = new Latest(async (asked) => {
    const begun = performance.now();
    try {
      const answer = await ask("/live/play", asked);
      if (asked.task !== state.task) return;
      told = answer;
      told.sets = { support: new Set(told.support), violated: new Set(told.violated) };
      surface = told.surface ? floats(told.surface) : null;
      regions = told.regions ? floats(told.regions) : null;
      trouble.textContent = "";
      plane.draw(); plane.describe(`${told.words} ○ support vectors, ✕ ${state.task === "classes" ? "inside the margin or wrong" : "outside"}.`);
      const ms = performance.now() - begun;
      root.dataset.milliseconds = ms.toFixed(1); root.dataset.answers = Number(root.dataset.answers || 0) + 1;
      facts.textContent = `${told.estimator}: ${told.milliseconds} ms of work, ${ms.toFixed(0)} ms to the picture.`;
      give.give(told);
    } catch (error) { trouble.textContent = error.message; }
    clearTimeout(idle); idle = setTimeout(() => more.ask({ ...fields(), codes: plane.points.map((_, i) => plane.look(i)) }), 150);
  }, (on) => plane.wait(on));
  let seen = null;
  const more = new Latest(async ({ codes, ...asked }) => {
    try {
      const got = await ask("/live/details", asked);
      seen = { got, matrix: floats(got.gram), codes };
      paintDetails();
    } catch { /* the live question has said it */ }
  });
  function paintDetails() {
    if (!seen || !root.isConnected) return;
    const { got } = seen;
    paintPlaces(feature.firstChild, got.places, seen.codes, got.shares); feature.say(got.words.places);
    paintMatrix(matrix.firstChild, seen.matrix); matrix.say(got.words.gram);
    paintSpectrum(spectrum.firstChild, got.spectrum); spectrum.say(got.words.spectrum);
  }
  function ask_() {
    keep("playground", state);
    if (plane.points.length < 2) { told = surface = regions = null; plane.draw(); plane.describe("Click on the plane to place points; two are needed, of two classes for a machine that tells classes apart."); return; }
    live.ask(fields());
  }
  function dials() {
    const of = { classes: ["C"], curve: ["C", "epsilon"], region: ["nu"], clusters: ["clusters"], components: ["component"] }[state.task];
    const make = {
      C: () => slider({ label: "C, the cost of errors", value: state.C, low: 0.001, high: 10000, onchange: (v) => { state.C = v; ask_(); } }),
      epsilon: () => slider({ label: "ε, half-width of the tube", value: state.epsilon, low: 0, high: 2, log: false, onchange: (v) => { state.epsilon = v; ask_(); } }),
      nu: () => slider({ label: "ν, share outside at most", value: state.nu, low: 0.01, high: 0.9, log: false, onchange: (v) => { state.nu = v; ask_(); } }),
      clusters: () => slider({ label: "clusters", value: state.clusters, low: 1, high: 6, log: false, step: 1, onchange: (v) => { state.clusters = v; ask_(); } }),
      component: () => slider({ label: "component", value: state.component, low: 1, high: 6, log: false, step: 1, onchange: (v) => { state.component = v; ask_(); } }),
    };
    sliders.replaceChildren(...of.map((name) => make[name]()));
  }
  const load = Object.entries(SHAPED).map(([name, make]) => el("button", { type: "button", text: name, onclick: () => {
    if (name === "Wave") { state.task = "curve"; taskField.querySelector("select").value = "curve"; told = surface = regions = null; dials(); }
    plane.set(make(Math.max(2, Math.min(2000, Number(count.value) || 120)))); } }));
  const count = el("input", { type: "number", value: "120", min: "2", max: "2000", class: "short", "aria-label": "How many points" });
  const taskField = select("What to learn", TASKS, state.task, (v) => { state.task = v; told = surface = regions = null; dials(); ask_(); });
  const root = el("div", { class: "view" }, el("div", { class: "work" },
    el("div", { class: "panel" }, card("Task", taskField, sliders), kernel.element, give),
    el("div", { class: "panel middle" },
      el("section", { class: "card" }, plane.tools(LABELS.slice(0, 4)), el("div", { class: "row" }, el("span", { text: "Load" }), count, ...load)),
      plane.figure, trouble, facts)),
    el("div", { class: "side" }, card("Feature space", feature), card("Gram matrix", matrix), card("Spectrum", spectrum)));
  root.id = "playground-view";
  root.repaint = () => { plane.draw(); paintDetails(); };
  root.shown = () => { plane.draw(); paintDetails(); };
  dials(); kernel.read(state.kernel, true);
  if (!state.points) state.points = plane.points = SHAPED.Moons(120).map(([x, y, c]) => [Math.round(x * 1000) / 1000, Math.round(y * 1000) / 1000, c]);
  plane.describe("The first picture takes some seconds: the machinery is being loaded.");
  say("");
  ask_();
  return root;
}
