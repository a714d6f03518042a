// A plane of points that are clicked, dragged, and moved by keys.
import { COLOURS, SHAPES, inks, mark, sized } from "./draw.js";
import { el, say } from "./ui.js";

export const HALF = 5;
const round = (v) => Math.round(Math.max(-HALF, Math.min(HALF, v)) * 1000) / 1000;

export class Plane {
  constructor({ label, classes = 2, points = [], onchange, paint }) {
    Object.assign(this, { classes, points, onchange, paint, code: 0, tool: "point", chosen: -1 });
    this.canvas = el("canvas", {
      class: "square", tabindex: "0", role: "application",
      "aria-label": `${label}. Enter adds a point, comma and period choose one, arrows move it, Delete removes it, digits change its class.`,
    });
    this.canvas.addEventListener("pointerdown", (e) => this.down(e));
    this.canvas.addEventListener("pointermove", (e) => this.move(e));
    this.canvas.addEventListener("pointerup", () => this.up());
    this.canvas.addEventListener("pointercancel", () => this.up());
    this.canvas.addEventListener("keydown", (e) => this.key(e));
    this.canvas.addEventListener("focus", () => this.draw());
    this.canvas.addEventListener("blur", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.figure = el("figure", { class: "plane" }, this.canvas, this.words = el("figcaption", { id: `words-${label.replaceAll(" ", "-")}` }));
    this.canvas.setAttribute("aria-describedby", this.words.id);
  }
  wait(on) { this.canvas.classList.toggle("busy", on); this.canvas.setAttribute("aria-busy", on); }
  describe(text) { this.words.textContent = text; }
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [round(((event.clientX - box.left) / box.width * 2 - 1) * HALF), round((1 - (event.clientY - box.top) / box.height * 2) * HALF)];
  }
  pixel([x, y]) { return [(x / HALF + 1) / 2 * this.size, (1 - y / HALF) / 2 * this.size]; }
  near([x, y], reach = 14) {
    const [px, py] = this.pixel([x, y]);
    let best = -1, least = reach;
    this.points.forEach((p, i) => {
      const [qx, qy] = this.pixel(p), d = Math.hypot(px - qx, py - qy);
      if (d < least) { best = i; least = d; }
    });
    return best;
  }
  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    const at = this.place(event), hit = this.near(at);
    if (this.tool === "erase") { this.erasing = true; if (hit >= 0) this.remove(hit); return; }
    if (hit >= 0) { this.chosen = hit; this.dragging = true; this.draw(); return; }
    if (this.tool === "cloud") { this.cloud(at); return; }
    this.points.push([...at, this.code]);
    this.chosen = this.points.length - 1;
    this.dragging = true;
    this.changed();
  }
  move(event) {
    const at = this.place(event);
    if (this.erasing) { const hit = this.near(at); if (hit >= 0) this.remove(hit); return; }
    if (!this.dragging || this.chosen < 0) return;
    this.points[this.chosen] = [...at, this.points[this.chosen][2]];
    this.changed();
  }
  up() { this.dragging = this.erasing = false; }
  remove(i) { this.points.splice(i, 1); this.chosen = Math.min(i, this.points.length - 1); this.changed(); }
  cloud([x, y], count = 15, spread = 0.6) {
    for (let i = 0; i < count && this.points.length < 2000; i++) {
      const r = spread * Math.sqrt(-2 * Math.log(1 - Math.random())), t = 2 * Math.PI * Math.random();
      this.points.push([round(x + r * Math.cos(t)), round(y + r * Math.sin(t)), this.code]);
    }
    this.changed();
  }
  set(points) { this.points = points.map(([x, y, c]) => [round(x), round(y), c]); this.chosen = -1; this.changed(); }
  key(event) {
    const step = event.shiftKey ? 0.5 : 0.1, moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    const n = this.points.length, now = this.points[this.chosen];
    if (event.key in moves && now) { const [dx, dy] = moves[event.key]; this.points[this.chosen] = [round(now[0] + dx), round(now[1] + dy), now[2]]; this.changed(); }
    else if (event.key === "Enter" || event.key === " ") {
      const [x, y] = now || [0, 0];
      this.points.push([round(x + (now ? 0.3 : 0)), round(y + (now ? 0.3 : 0)), this.code]); this.chosen = n; this.changed();
    } else if ((event.key === "." || event.key === ",") && n) { this.chosen = (this.chosen + (event.key === "." ? 1 : n - 1)) % n; this.draw(); }
    else if ((event.key === "Delete" || event.key === "Backspace") && now) this.remove(this.chosen);
    else if (/^[1-6]$/.test(event.key) && now && Number(event.key) <= this.classes) { now[2] = Number(event.key) - 1; this.changed(); }
    else return;
    event.preventDefault();
    const p = this.points[this.chosen];
    if (p) say(`Point ${this.chosen + 1} of ${this.points.length}: ${p[0]}, ${p[1]}${this.classes > 1 ? `, class ${p[2] + 1}` : ""}.`);
  }
  changed() { this.draw(); this.onchange(this.points); }
  draw() {
    if (!this.canvas.isConnected) return;
    const { context, width } = sized(this.canvas);
    this.size = width;
    const { ink, line, accent } = inks();
    this.paint?.(context, width, this);
    context.strokeStyle = line; context.lineWidth = 1; context.globalAlpha = 0.6;
    context.beginPath(); context.moveTo(width / 2, 0); context.lineTo(width / 2, width); context.moveTo(0, width / 2); context.lineTo(width, width / 2); context.stroke();
    context.globalAlpha = 1;
    const radius = this.points.length > 400 ? 3 : Math.max(4, width / 130);
    this.points.forEach((p, i) => {
      const [x, y] = this.pixel(p), code = this.look ? this.look(i) : p[2];
      mark(context, x, y, code, radius, { edge: this.edge?.(i) });
      if (this.ring?.(i)) { context.beginPath(); context.arc(x, y, radius * 1.9, 0, 7); context.strokeStyle = ink; context.lineWidth = 1.6; context.stroke(); }
      if (this.cross?.(i)) { context.beginPath(); const r = radius * 1.5; context.moveTo(x - r, y - r); context.lineTo(x + r, y + r); context.moveTo(x + r, y - r); context.lineTo(x - r, y + r); context.strokeStyle = ink; context.lineWidth = 1.6; context.stroke(); }
      if (i === this.chosen && document.activeElement === this.canvas) { context.strokeStyle = accent; context.lineWidth = 2.5; context.strokeRect(x - 2.4 * radius, y - 2.4 * radius, 4.8 * radius, 4.8 * radius); }
    });
  }
  tools(names) {
    const row = el("div", { class: "row", role: "group", "aria-label": "Tools" });
    const press = (group, button) => { for (const other of group) other.setAttribute("aria-pressed", other === button); };
    const tools = [["point", "Point"], ["cloud", "Cloud"], ["erase", "Erase"]].map(([name, text]) => {
      const button = el("button", { type: "button", text, "aria-pressed": String(name === this.tool), onclick: () => { this.tool = name; press(tools, button); } });
      return button;
    });
    row.append(...tools);
    if (names) {
      const classes = names.map((name, i) => {
        const button = el("button", { type: "button", "aria-pressed": String(i === this.code), title: `Class ${name}`, onclick: () => { this.code = i; press(classes, button); } },
          Object.assign(el("span", { class: "swatch", text: SHAPES[i] })), ` ${name}`);
        button.firstChild.style.color = COLOURS[i];
        return button;
      });
      row.append(...classes);
    }
    row.append(el("button", { type: "button", text: "Clear", onclick: () => this.set([]) }));
    return row;
  }
}

const noise = () => (Math.random() + Math.random() + Math.random() - 1.5) * 0.5;
export const SHAPED = {
  Moons: (n) => Array.from({ length: n }, (_, i) => { const t = Math.PI * Math.random(), c = i % 2; return c ? [2 - 2.4 * Math.cos(t) - 0.8 + noise(), 0.9 - 2.4 * Math.sin(t) + noise(), 1] : [2.4 * Math.cos(t) - 1.2 + noise(), 2.4 * Math.sin(t) - 0.5 + noise(), 0]; }),
  Rings: (n) => Array.from({ length: n }, (_, i) => { const t = 2 * Math.PI * Math.random(), c = i % 2, r = c ? 3.4 : 1.4; return [r * Math.cos(t) + noise(), r * Math.sin(t) + noise(), c]; }),
  Spirals: (n) => Array.from({ length: n }, (_, i) => { const c = i % 2, t = 0.6 + 9 * Math.random(), r = 0.42 * t; return [r * Math.cos(t + Math.PI * c) + noise() * 0.4, r * Math.sin(t + Math.PI * c) + noise() * 0.4, c]; }),
  "Three clouds": (n) => Array.from({ length: n }, (_, i) => { const c = i % 3, [x, y] = [[-2.2, -1.5], [2.2, -1.5], [0, 2.3]][c]; return [x + 2 * noise(), y + 2 * noise(), c]; }),
  Wave: (n) => Array.from({ length: n }, () => { const x = 9 * Math.random() - 4.5; return [x, 2 * Math.sin(1.3 * x) + 0.8 * noise(), 0]; }),
};
