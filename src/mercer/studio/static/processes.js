// Gaussian processes: draws, bands, and the evidence.
import { Latest, ask, floats } from "./api.js";
import { Kernel } from "./blocks.js";
import { COLOURS, inks, mark, paintMatrix } from "./draw.js";
import { Plane, SHAPED } from "./plane.js";
import { card, copies, copyRow, el, figure, keep, kept, select, short, slider } from "./ui.js";

export function processes() {
  const state = kept("processes", { kernel: "2.0 * Gaussian(1.0)", noise: 0.05, draws: 4, points: [], first: null, second: null });
  let told = null, ridge = null;
  const plane = new Plane({
    label: "Plane of the process", classes: 1, points: state.points,
    onchange: (points) => { state.points = points; again(); },
    paint(context, size, on) {
      if (!told) return;
      const line = (ys) => { context.beginPath(); told.x.forEach((x, i) => { const [a, b] = on.pixel([x, ys[i]]); if (i) context.lineTo(a, b); else context.moveTo(a, b); }); };
      context.globalAlpha = 0.22; context.fillStyle = COLOURS[0]; line(told.mean.map((m, i) => m + 2 * told.std[i]));
      for (let i = told.x.length - 1; i >= 0; i--) context.lineTo(...on.pixel([told.x[i], told.mean[i] - 2 * told.std[i]]));
      context.fill(); context.globalAlpha = 1;
      told.paths.forEach((ys, i) => { context.strokeStyle = COLOURS[1 + (i % 5)]; context.lineWidth = 1.2; line(ys); context.stroke(); });
      context.strokeStyle = inks().ink; context.lineWidth = 2.4; line(told.mean); context.stroke();
    },
  });
  const trouble = el("p", { class: "error", role: "alert" }), facts = el("p", {});
  const give = copies("process"), giveSurface = copyRow("evidence");
  const kernel = new Kernel({ text: state.kernel, columns: false, onchange: (text) => { state.kernel = text; again(); } });
  const fields = () => ({ kernel: state.kernel, noise: state.noise, draws: state.draws, points: plane.points.map((p) => p.slice(0, 2)) });
  const live = new Latest(async (asked) => {
    try {
      told = await ask("/live/process", asked);
      trouble.textContent = "";
      plane.draw(); plane.describe(told.words); give.give(told); choices(told.names);
      facts.textContent = told.evidence == null ? "No data yet: these are draws from the prior." : `Log evidence ${told.evidence.toFixed(3)}; ${told.milliseconds} ms.`;
      root.dataset.answers = Number(root.dataset.answers || 0) + 1;
    } catch (error) { trouble.textContent = error.message; }
  }, (on) => plane.wait(on));
  const again = () => { keep("processes", state); ridge = null; live.ask(fields()); };
  const pick = el("div", {});
  function choices(names) {
    if (pick.dataset.names === names.join()) return;
    pick.dataset.names = names.join();
    state.first = names.includes(state.first) ? state.first : names[Math.max(0, names.length - 2)];
    state.second = names.includes(state.second) ? state.second : names[names.length - 1];
    pick.replaceChildren(select("Across", names, state.first, (v) => { state.first = v; }), select("Upwards", names, state.second, (v) => { state.second = v; }));
  }
  const surface = figure(el("canvas", { class: "square hidden" }), "The evidence over two parameters is drawn when there are observations.");
  function paintEvidence() {
    if (!ridge || !root.isConnected) return;
    surface.firstChild.classList.remove("hidden");
    const [across, up] = ridge.axes, last = (name) => name.split("__").at(-1).replace("_", " ");
    const { context, left, top, w, h } = paintMatrix(surface.firstChild, ridge.grid, { signed: false, axes: { across, up, x: last(ridge.over[0]), y: last(ridge.over[1]) } });
    // a value belongs to the middle of a pixel
    const share = (v, a) => ((Math.log(v) - Math.log(a[0])) / (Math.log(a.at(-1)) - Math.log(a[0])) * (a.length - 1) + 0.5) / a.length;
    const at = (v, axis, upwards) => (upwards ? top + h * (1 - share(v, up)) : left + w * share(v, across));
    mark(context, at(ridge.here[0], 0), at(ridge.here[1], 1, true), 2, 6, { fill: "#ffffff", edge: "#000000" });
    mark(context, at(ridge.best[0], 0), at(ridge.best[1], 1, true), 3, 7, { fill: COLOURS[4], edge: "#ffffff" });
    surface.say(`${ridge.words} ◆ optimum, □ now. Across ${short(ridge.axes[0][0])} to ${short(ridge.axes[0].at(-1))}, upwards ${short(ridge.axes[1][0])} to ${short(ridge.axes[1].at(-1))}, logarithmic.`);
  }
  const draw = el("button", { type: "button", class: "main", text: "Draw the evidence", onclick: async () => {
    draw.disabled = true;
    try {
      const got = await ask("/live/evidence", { ...fields(), first: state.first, second: state.second, side: 20 });
      // what lies far below the top is all the same to the eye
      const grid = floats(got.surface), top = got.evidence;
      for (let i = 0; i < grid.values.length; i++) grid.values[i] = -Math.sqrt(Math.max(0, top - grid.values[i]));
      ridge = { ...got, grid, over: [state.first, state.second] }; paintEvidence(); giveSurface.give(got); trouble.textContent = "";
    } catch (error) { trouble.textContent = error.message; }
    draw.disabled = false;
  } });
  const climb = el("button", { type: "button", text: "Go to the optimum", onclick: async () => {
    climb.disabled = true;
    try {
      const got = await ask("/live/process", { ...fields(), fit: true });
      state.noise = got.noise; state.kernel = got.expression; dial(); await kernel.read(got.expression);
    } catch (error) { trouble.textContent = error.message; }
    climb.disabled = false;
  } });
  const dials = el("div", {});
  function dial() {
    dials.replaceChildren(
      slider({ label: "variance of the noise", value: Math.max(1e-5, Math.min(10, state.noise)), low: 1e-5, high: 10, onchange: (v) => { state.noise = v; again(); } }),
      slider({ label: "draws", value: state.draws, low: 0, high: 8, log: false, step: 1, onchange: (v) => { state.draws = v; again(); } }));
  }
  const wave = el("button", { type: "button", text: "Wave", onclick: () => plane.set(SHAPED.Wave(25)) });
  const root = el("div", { class: "view" }, el("div", { class: "work" },
    el("div", { class: "panel" }, card("Process", dials), kernel.element, give),
    el("div", { class: "panel middle" }, el("section", { class: "card" }, plane.tools(null), el("div", { class: "row" }, el("span", { text: "Load" }), wave)), plane.figure, trouble, facts)),
    el("div", { class: "side" }, card("Evidence", pick, el("div", { class: "row" }, draw, climb), surface, giveSurface)));
  root.id = "processes-view";
  root.repaint = root.shown = () => { plane.draw(); paintEvidence(); };
  dial(); kernel.read(state.kernel, true); again();
  return root;
}
