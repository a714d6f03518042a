// Tabs, light and dark, and the way in.
import { enter, get } from "./api.js";
import { el, say } from "./ui.js";
import { playground } from "./playground.js";
import { processes } from "./processes.js";
import { file } from "./file.js";
import { gram } from "./gram.js";
import { samples } from "./samples.js";

const VIEWS = { playground, processes, file, gram, samples };
const made = {};

function themed(name) {
  document.documentElement.dataset.theme = name;
  for (const view of Object.values(made)) view.repaint?.();
}

function show() {
  const name = location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "playground";
  for (const link of document.querySelectorAll("#tabs a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  const place = document.getElementById("view");
  if (!made[name]) made[name] = VIEWS[name]();
  place.replaceChildren(made[name]);
  document.title = `${document.querySelector("#tabs [aria-current]").textContent} · mercer studio`;
  say("");
  made[name].shown?.();
}

async function begin() {
  const wanted = localStorage.getItem("mercer.theme");
  themed(wanted || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => {
    const other = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("mercer.theme", other);
    themed(other);
  });
  try {
    await enter();
    const told = await get("/start");
    document.body.dataset.folder = told.folder;
    if (told.files.first && !location.hash) history.replaceState(null, "", "#file");
    window.addEventListener("hashchange", show);
    show();
  } catch (error) {
    document.getElementById("view").replaceChildren(el("p", { class: "error", text: error.message }));
    say("");
  }
}

begin();
