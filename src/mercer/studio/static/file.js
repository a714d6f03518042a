// Your file: drop, check, choose the target, watch the leaderboard, look at the score, predict, save.
import { ask, floats, get, upload } from "./api.js";
import { paintMatrix } from "./draw.js";
import { card, copies, copyRow, el, figure, say, short } from "./ui.js";

export function file() {
  let opened = null, model = null, watching = false;
  const trouble = el("p", { class: "error", role: "alert" });
  const input = el("input", { type: "file", "aria-label": "A data file" });
  const drop = el("div", { class: "drop" }, el("p", { text: "Drop a table, texts, sequences, trees or graphs here, or choose a file:" }), input);
  const labels = el("input", { type: "file", "aria-label": "A table of targets" }), labelsName = el("span", {});
  const labelsField = el("div", { class: "hidden" }, el("p", {}, "The file holds no targets. Add a table of them, a row for each sample: ", labelsName), labels);
  labels.addEventListener("change", async () => {
    try { await upload("labels", labels.files[0]); clear(); await open(); } catch (error) { trouble.textContent = error.message; }
  });
  const about = el("div", {}), target = el("select", { "aria-label": "What to predict" });
  const seconds = el("input", { type: "number", min: "2", max: "3000", value: "120", "aria-label": "Seconds at most" });
  const fitButton = el("button", { type: "button", class: "main", text: "Find a model", onclick: () => begin("fit") });
  const surfaceButton = el("button", { type: "button", text: "Score over cost and width", onclick: () => begin("surface") });
  const stop = el("button", { type: "button", text: "Stop", disabled: true, onclick: () => ask("/stop", {}) });
  const bar = el("progress", { max: "1", value: "0", "aria-label": "Progress" }), doing = el("p", { class: "doing" });
  const board = el("div", { class: "table" }), result = el("div", {}), worst = el("div", { class: "table" });
  const picture = figure(el("canvas", { class: "hidden" }), "The score over cost and width is drawn when it is asked for.");
  const give = copies("model"), giveSurface = copyRow("surface"), typed = el("div", {}), predicted = el("p", { class: "verdict", role: "status" });
  const saveName = el("input", { type: "text", value: "model", "aria-label": "Name of the model", maxlength: "60" });
  const saved = el("p", { role: "status" });
  let shownSurface = null;

  function table(names, rows) {
    return el("table", {}, el("thead", {}, el("tr", {}, ...names.map((name, j) => el("th", { scope: "col", class: typeof rows[0]?.[j] === "number" ? "number" : "", text: name })))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", { class: typeof cell === "number" ? "number" : String(cell).length > 14 ? "long" : "", text: typeof cell === "number" ? short(cell) : String(cell) }))))));
  }
  // What is shown of a file goes with it.
  function clear() {
    model = shownSurface = null; tried.clear();
    result.replaceChildren(el("p", { text: "The score of rows that took no part in the choice will stand here." }));
    board.replaceChildren(el("p", { text: "Kernels and machines appear here while they are compared." }));
    worst.replaceChildren(); typed.replaceChildren(el("p", { text: "Find a model first." })); predicted.textContent = saved.textContent = "";
    picture.firstChild.classList.add("hidden"); picture.say("The score over cost and width is drawn when it is asked for.");
    give.give(null); giveSurface.give(null); predictButton.disabled = saveButton.disabled = true; bar.value = 0; doing.textContent = "";
  }
  async function take(chosen) {
    if (!chosen) return;
    say(`Reading ${chosen.name} …`);
    try { await upload("first", chosen); clear(); await open(); }
    catch (error) { trouble.textContent = error.message; say(""); }
  }
  input.addEventListener("change", () => take(input.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(kind, (e) => { e.preventDefault(); drop.classList.toggle("over", kind === "dragover"); if (kind === "drop") take(e.dataTransfer.files[0]); });
  }
  async function open(chosen = null) {
    try {
      const got = await ask("/file/open", chosen ? { target: chosen } : {});
      const first = !chosen;
      opened = got; trouble.textContent = ""; say("");
      about.replaceChildren(
        el("p", {}, el("strong", { text: got.name }), `: ${got.holds || `${got.samples} samples`} (${got.format})`),
        ...got.notes.map((text) => el("p", { text })),
        el("h3", { text: got.findings.length ? "What is odd" : "Nothing odd was found." }),
        el("ul", { class: "plain" }, ...got.findings.map((text) => el("li", { text }))),
        got.columns.length ? el("details", {}, el("summary", { text: `${got.columns.length} columns` }), el("div", { class: "table" },
          table(["column", "kind", "missing", "different"], got.columns.map((c) => [c.name, c.kind, c.missing, c.distinct])))) : null);
      if (first) {
        target.replaceChildren(...(got.targets.length ? got.targets : [""]).map((name) => el("option", { value: name, text: name || "as the file has it" })));
        if (got.targets.length) target.value = got.kind === "table" ? got.targets.at(-1) : got.targets[0];
      }
      labelsField.classList.toggle("hidden", !got.needs_labels); labelsName.textContent = got.labels;
      fitButton.disabled = got.needs_labels && !got.labels; surfaceButton.disabled = got.kind !== "table";
    } catch (error) { trouble.textContent = error.message; say(""); }
  }
  target.addEventListener("change", () => open(target.value));
  async function begin(what) {
    trouble.textContent = "";
    if (what === "fit") { board.replaceChildren(); tried.clear(); }
    try { await ask(`/file/${what}`, { target: target.value, seconds: Number(seconds.value) }); watch(); }
    catch (error) { trouble.textContent = error.message; }
  }
  const tried = new Map();
  async function watch() {
    if (watching) return;
    watching = true;
    let since = 0;
    for (;;) {
      let job;
      try { job = await get(`/job?since=${since}`); } catch (error) { trouble.textContent = error.message; break; }
      since = job.next;
      const running = job.state === "running";
      fitButton.disabled = running || !opened || (opened.needs_labels && !opened.labels); surfaceButton.disabled = running || opened?.kind !== "table"; stop.disabled = !running;
      for (const told of job.told) {
        if (told.tried) tried.set(`${told.tried.name} ${told.tried.size}`, told.tried);
        if (told.share != null) { bar.value = told.share; doing.textContent = `${told.doing}, ${Math.round(100 * told.share)} %, ${job.seconds} s`; }
        if (told.say) say(told.say);
      }
      if (job.told.length) paintBoard();
      root.dataset.job = job.state;
      if (!running) {
        if (job.state === "done") { bar.value = 1; doing.textContent = `Done in ${job.seconds} s.`; if (job.what === "fit") showModel(job.result); else showSurface(job.result); }
        else if (job.state === "stopped") { bar.value = 0; doing.textContent = "Stopped."; }
        else if (job.state === "failed") { doing.textContent = ""; trouble.textContent = job.result.error; }
        break;
      }
      await new Promise((done) => setTimeout(done, 300));
    }
    watching = false;
  }
  function paintBoard() {
    const rows = [...tried.values()].sort((a, b) => b.score - a.score).slice(0, 15);
    if (rows.length) board.replaceChildren(table(["candidate", "score", "±", "rows"], rows.map((r) => [r.name, r.score, r.standard_error ?? 0, r.size])));
  }
  function showModel(told) {
    model = told;
    if (told.leaderboard?.length) board.replaceChildren(table(["candidate", "score", "±", "rows"], told.leaderboard.slice(0, 15).map((r) => [r.name, r.score, r.standard_error ?? 0, r.size])));
    result.replaceChildren(
      el("p", { class: "verdict", text: told.verdict || "" }),
      el("p", { text: `${Object.entries(told.scores).map(([k, v]) => `${k} ${short(v)}`).join(", ")} (${told.validation})` }),
      el("details", {}, el("summary", { text: "What was done" }), el("ul", { class: "plain" }, ...told.steps.map((text) => el("li", { text }))), el("p", {}, el("code", { text: told.estimator }))),
      el("p", {}, el("a", { href: "/report", target: "_blank", rel: "noopener", text: "Open the report" })));
    worst.replaceChildren(told.worst.length ? table(["row", "true", "predicted", "error"], told.worst.map((r) => [r.row, r.true, r.predicted, r.loss])) : el("p", { text: "No rows were held out." }));
    give.give(told);
    typed.replaceChildren(told.inputs.length
      ? el("div", { class: "fields" }, ...told.inputs.map((c) => {
        const cell = c.choices.length ? el("select", { name: c.name }, ...c.choices.map((v) => el("option", { value: v, text: v, selected: v === c.usual }))) : el("input", { type: "text", name: c.name, value: c.usual });
        cell.dataset.column = c.name;
        return el("label", { class: "field" }, el("span", { text: c.name }), cell);
      }))
      : el("textarea", { class: "expression", rows: "6", "aria-label": "A sample: a sequence, a tree in brackets, a graph as JSON, or as the file has it", text: told.example }));
    predictButton.disabled = saveButton.disabled = false;
  }
  function showSurface(told) { shownSurface = told; paintSurfaceOf(); giveSurface.give(told); }
  function paintSurfaceOf() {
    if (!shownSurface || !root.isConnected) return;
    const grid = floats(shownSurface.surface);
    picture.firstChild.classList.remove("hidden");
    paintMatrix(picture.firstChild, grid, { ratio: 0.7, signed: false, axes: { across: shownSurface.widths, up: shownSurface.costs, x: "width", y: shownSurface.cost_name } });
    const [w, c, s] = shownSurface.best;
    picture.say(`${shownSurface.words} Width ${short(shownSurface.widths[0])} to ${short(shownSurface.widths.at(-1))} across; ${shownSurface.cost_name} upwards. Best at width ${short(w)}, ${shownSurface.cost_name} ${short(c)}: ${short(s)}.`);
  }
  const predictButton = el("button", { type: "button", class: "main", text: "Predict", disabled: true, onclick: async () => {
    const cells = [...typed.querySelectorAll("[data-column]")];
    const fields = cells.length ? { sample: Object.fromEntries(cells.map((cell) => [cell.dataset.column, cell.value])) } : { typed: typed.querySelector("textarea").value };
    try {
      const told = await ask("/file/predict", fields);
      const chances = Object.entries(told.probabilities || {}).map(([k, v]) => `${k} ${(100 * v).toFixed(1)} %`).join(", ");
      predicted.textContent = `${model.target || "target"}: ${typeof told.prediction === "number" ? short(told.prediction) : told.prediction}${chances ? ` (${chances})` : ""}`;
      trouble.textContent = "";
    } catch (error) { predicted.textContent = ""; trouble.textContent = error.message; }
  } });
  const saveButton = el("button", { type: "button", text: "Save", disabled: true, onclick: async () => {
    try { saved.textContent = `Saved as ${(await ask("/file/save", { save_as: saveName.value })).saved}.`; } catch (error) { saved.textContent = error.message; }
  } });
  fitButton.disabled = surfaceButton.disabled = true;
  clear();
  const root = el("div", { class: "view" }, el("div", { class: "work" },
    el("div", { class: "panel" }, el("section", { class: "card" }, el("h2", { text: "File" }), drop, trouble, about, labelsField),
      card("Model", el("label", { class: "field" }, el("span", { text: "What to predict" }), target), el("label", { class: "field" }, el("span", { text: "Seconds at most" }), seconds),
        el("div", { class: "row" }, fitButton, surfaceButton, stop), bar, doing), give),
    el("div", { class: "panel middle" }, card("Leaderboard", board), card("Result", result), card("Score over cost and width", picture, giveSurface))),
    el("div", { class: "side" }, card("Worst of the rows held out", worst), card("Predict a sample", typed, el("div", { class: "row" }, predictButton), predicted),
      card("Save the model", el("p", { text: `In the folder ${document.body.dataset.folder || ""}:` }), el("div", { class: "row" }, saveName, el("span", { text: ".mercer" }), saveButton), saved)));
  root.id = "file-view";
  root.repaint = paintSurfaceOf;
  root.shown = async () => {
    paintSurfaceOf();
    const told = await get("/start");
    if (told.files.first && opened?.number !== told.number) { clear(); await open(); }
    if (told.job) await watch();
    const done = await get("/done");  // before a reload, or in another tab
    if (done.fit && !model) showModel(done.fit);
    if (done.surface && !shownSurface) showSurface(done.surface);
  };
  return root;
}
