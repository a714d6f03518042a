// Drawing on canvases: colours that colour-blind readers can tell apart, surfaces, contours, matrices, curves.

export const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"];
export const SHAPES = ["●", "▲", "■", "◆", "✚", "✖"];
const RGB = COLOURS.map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));

export function inks() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { paper: of("--paper"), ink: of("--ink"), soft: of("--soft"), line: of("--line"), accent: of("--accent") };
}
const paperRGB = () => (document.documentElement.dataset.theme === "dark" ? [20, 24, 29] : [255, 255, 255]);
const mix = (a, b, t) => a.map((v, i) => v + (b[i] - v) * t);

export function sized(canvas, ratio = 1) {
  const width = Math.max(120, Math.round(canvas.clientWidth || 300));
  const scale = Math.min(window.devicePixelRatio || 1, 2);
  const w = Math.round(width * scale), h = Math.round(width * ratio * scale);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, width * ratio);
  return { context, width, height: width * ratio };
}

// Texts grow with those of the page.
const unit = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
const lettered = (context) => { const u = unit(); context.font = `${12.5 * u}px system-ui`; return u; };

function image(rows, columns, colour) {
  const small = document.createElement("canvas");
  small.width = columns; small.height = rows;
  const context = small.getContext("2d"), data = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    const [r, g, b] = colour(i);
    data.data.set([r, g, b, 255], 4 * i);
  }
  context.putImageData(data, 0, 0);
  return small;
}

// k functions on a grid: one is signed (second class where it is positive), of several the largest wins.
export function paintSurface(context, size, { values, shape }, { order = null, soft = null } = {}) {
  const [rows, columns, k] = shape, paper = paperRGB();
  const code = (i) => (order ? order[i] : i);
  if (k === 1) {
    let top = 0;
    for (const v of values) top = Math.max(top, Math.abs(v));
    const unit = soft || top || 1;
    const low = RGB[code(0)], high = RGB[code(1)];
    const small = image(rows, columns, (i) => {
      const t = Math.max(-1, Math.min(1, values[i] / unit));
      return mix(paper, t < 0 ? low : high, 0.12 + 0.5 * Math.abs(t));
    });
    context.imageSmoothingEnabled = true;
    context.drawImage(small, 0, 0, size, size);
    return;
  }
  const small = image(rows, columns, (i) => {
    let best = 0, second = -Infinity;
    for (let c = 1; c < k; c++) if (values[i * k + c] > values[i * k + best]) best = c;
    for (let c = 0; c < k; c++) if (c !== best) second = Math.max(second, values[i * k + c]);
    return mix(paper, RGB[code(best)], 0.2 + 0.35 * Math.min(1, values[i * k + best] - second));
  });
  context.imageSmoothingEnabled = true;
  context.drawImage(small, 0, 0, size, size);
}

export function paintRegions(context, size, { values, shape }) {
  const paper = paperRGB();
  context.imageSmoothingEnabled = false;
  context.drawImage(image(shape[0], shape[1], (i) => mix(paper, RGB[values[i] % 6], 0.42)), 0, 0, size, size);
}

// Marching squares between the centres of pixels; where a line crosses the edge of a cell, it has two neighbours at most,
// so that pieces join to lines, which can be dashed.
export function contour(context, size, { values, shape }, level, style) {
  const [rows, columns] = shape, k = shape[2] || 1, sx = size / columns, sy = size / rows;
  const at = (r, c) => values[(r * columns + c) * k] - level;
  const places = new Map(), links = new Map(), seen = new Set();
  const join = (a, b) => { if (links.has(a)) links.get(a).push(b); else links.set(a, [b]); };
  for (let r = 0; r + 1 < rows; r++) {
    for (let c = 0; c + 1 < columns; c++) {
      const corner = [at(r, c), at(r, c + 1), at(r + 1, c + 1), at(r + 1, c)];
      const place = [[c, r], [c + 1, r], [c + 1, r + 1], [c, r + 1]], cuts = [], here = 2 * (r * columns + c);
      const edges = [here, here + 3, here + 2 * columns, here + 1];  // above, right, below, left
      for (let e = 0; e < 4; e++) {
        const a = corner[e], b = corner[(e + 1) % 4];
        if (a < 0 !== b < 0) {
          const t = a / (a - b), [x0, y0] = place[e], [x1, y1] = place[(e + 1) % 4];
          places.set(edges[e], [(x0 + t * (x1 - x0) + 0.5) * sx, (y0 + t * (y1 - y0) + 0.5) * sy]);
          cuts.push(edges[e]);
        }
      }
      for (let j = 0; j + 1 < cuts.length; j += 2) { join(cuts[j], cuts[j + 1]); join(cuts[j + 1], cuts[j]); }
    }
  }
  const follow = (start) => {
    let now = start, next = start;
    context.moveTo(...places.get(start));
    while (next !== undefined) { now = next; seen.add(now); context.lineTo(...places.get(now)); next = links.get(now).find((key) => !seen.has(key)); }
    if (now !== start && links.get(now).includes(start)) context.lineTo(...places.get(start));
  };
  context.beginPath();
  for (const [key, next] of links) if (next.length === 1 && !seen.has(key)) follow(key);
  for (const key of links.keys()) if (!seen.has(key)) follow(key);
  context.strokeStyle = style.colour; context.lineWidth = style.width || 1.5; context.setLineDash(style.dash || []);
  context.stroke(); context.setLineDash([]);
}

export function mark(context, x, y, code, size, { fill = COLOURS[code % 6], edge } = {}) {
  context.beginPath();
  const s = size;
  if (code % 6 === 0) context.arc(x, y, s, 0, 7);
  else if (code % 6 === 1) { context.moveTo(x, y - 1.2 * s); context.lineTo(x + 1.1 * s, y + 0.8 * s); context.lineTo(x - 1.1 * s, y + 0.8 * s); context.closePath(); }
  else if (code % 6 === 2) context.rect(x - 0.9 * s, y - 0.9 * s, 1.8 * s, 1.8 * s);
  else if (code % 6 === 3) { context.moveTo(x, y - 1.25 * s); context.lineTo(x + 1.25 * s, y); context.lineTo(x, y + 1.25 * s); context.lineTo(x - 1.25 * s, y); context.closePath(); }
  else { const q = s * 0.45, l = s * 1.2; context.rect(x - q, y - l, 2 * q, 2 * l); context.rect(x - l, y - q, 2 * l, 2 * q); }
  context.fillStyle = fill; context.fill();
  context.strokeStyle = edge || "#ffffff"; context.lineWidth = edge ? 2 : 1; context.stroke();
}

const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
export function viridis(t) {
  const u = Math.max(0, Math.min(0.9999, t)) * 4, i = Math.floor(u);
  return mix(VIRIDIS[i], VIRIDIS[i + 1], u - i);
}

// With axes ({ across, up, x, y }: values from the left and from below, their names), the matrix leaves room for numbers.
export function paintMatrix(canvas, { values, shape }, { ratio = 1, signed = null, axes = null } = {}) {
  const { context, width, height } = sized(canvas, ratio);
  let low = Infinity, high = -Infinity;
  for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
  const both = signed ?? low < -1e-3 * Math.max(high, -low);
  const reach = Math.max(high, -low) || 1, paper = paperRGB();
  const small = image(shape[0], shape[1], (i) => (both
    ? mix(paper, values[i] < 0 ? RGB[4] : RGB[0], Math.abs(values[i]) / reach)
    : viridis((values[i] - low) / (high - low || 1))));
  context.imageSmoothingEnabled = false;
  const u = axes ? unit() : 0, left = 58 * u, top = 6 * u, w = width - left - 6 * u, h = height - top - 40 * u;
  context.drawImage(small, left, top, w, h);
  if (axes) numberAxes(context, axes, { left, top, w, h });
  return { context, width, height, left, top, w, h };
}

function numberAxes(context, { across, up, x, y }, { left, top, w, h }) {
  const ends = (list) => [0, Math.floor((list.length - 1) / 2), list.length - 1];
  const text = (v) => String(Number(v.toPrecision(2)));
  const u = lettered(context);
  context.fillStyle = inks().soft; context.textAlign = "center";
  for (const i of ends(across)) context.fillText(text(across[i]), left + w * (i + 0.5) / across.length, top + h + 16 * u);
  context.fillText(x, left + w / 2, top + h + 34 * u);
  context.textAlign = "right";
  for (const i of ends(up)) context.fillText(text(up[i]), left - 6 * u, top + h - h * (i + 0.5) / up.length + 4 * u);
  context.save(); context.translate(12 * u, top + h / 2); context.rotate(-Math.PI / 2); context.textAlign = "center"; context.fillText(y, 0, 0); context.restore();
  context.textAlign = "left";
}

export function paintSpectrum(canvas, values) {
  const { context, width, height } = sized(canvas, 0.55), { ink, soft } = inks();
  const u = lettered(context);
  const top = Math.max(...values.map(Math.abs), 1e-300), floor = top * 1e-12, left = 46 * u, bottom = height - 22 * u;
  const y = (v) => 8 + (bottom - 8) * (Math.log10(top) - Math.log10(Math.max(Math.abs(v), floor))) / 12;
  const n = values.length, step = (width - left - 8) / n;
  context.fillStyle = soft; context.textAlign = "right";
  for (const p of [0, 4, 8, 12]) context.fillText((top / 10 ** p).toExponential(0), left - 6 * u, 12 + (bottom - 8) * p / 12);
  values.forEach((v, i) => {
    context.fillStyle = v >= 0 ? COLOURS[0] : COLOURS[4];
    context.fillRect(left + i * step, y(v), Math.max(1, step - (step > 4 ? 1 : 0)), bottom - y(v));
  });
  context.fillStyle = ink; context.textAlign = "left"; context.fillText(`${n} eigenvalues (log)`, left, height - 6);
}

export function paintPlaces(canvas, places, codes, shares) {
  const { context, width, height } = sized(canvas, 0.8), { soft } = inks();
  const xs = places.map((p) => p[0]), ys = places.map((p) => p[1] ?? 0);
  const scale = (list, size) => {
    const low = Math.min(...list), high = Math.max(...list), span = high - low || 1;
    return (v) => 14 + (size - 28) * (v - low) / span;
  };
  const fx = scale(xs, width), fy = scale(ys, height - 14);
  places.forEach((p, i) => mark(context, fx(xs[i]), height - 14 - fy(ys[i]), codes[i], 4));
  lettered(context); context.fillStyle = soft;
  context.fillText(shares.map((s, i) => `${i ? "↑" : "→"} ${(100 * s).toFixed(0)} %`).join("   "), 8, height - 4);
}
