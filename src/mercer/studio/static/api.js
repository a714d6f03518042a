// Questions to the server. The token comes behind the # of the address, is handed in once, and is gone from there.

export class Refused extends Error {}

async function answered(response) {
  if (response.status === 204) return null;
  const kind = response.headers.get("content-type") || "";
  const told = kind.includes("json") ? await response.json() : { error: await response.text() };
  if (!response.ok) throw new Refused(told.error || `The server answered ${response.status}.`);
  return told;
}

export async function enter() {
  const found = /token=([\w-]+)/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", location.pathname);
  await answered(await fetch("/session", { method: "POST", body: JSON.stringify({ token: found[1] }) }));
}

export async function get(path) {
  return answered(await fetch(path));
}

export async function ask(path, fields) {
  return answered(await fetch(path, { method: "POST", body: JSON.stringify(fields) }));
}

export async function upload(slot, file) {
  const headers = { "X-File-Name": encodeURIComponent(file.name) };
  return answered(await fetch(`/upload/${slot}`, { method: "POST", body: file, headers }));
}

// Only the newest of many questions matters: one is under way, and at most one waits. Whoever asks may be told when an
// answer takes long, and when it is there.
export class Latest {
  constructor(run, slow = () => {}) { this.run = run; this.slow = slow; this.busy = false; this.next = null; }
  async ask(value) {
    this.next = { value };
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const { value: now } = this.next;
      this.next = null;
      const timer = setTimeout(() => this.slow(true), 500);
      await this.run(now);
      clearTimeout(timer);
      this.slow(false);
    }
    this.busy = false;
  }
}

export function floats({ data, shape }) {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  return { values: new Float32Array(bytes.buffer), shape };
}
