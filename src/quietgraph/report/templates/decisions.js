// Who decided what about which suspect: kept in the browser, or sent to `quietgraph review`.
const CHOICES = ["accept", "keep", "unsure"];

function readStored(key, otherwise) {
  try { return JSON.parse(localStorage.getItem(key)) ?? otherwise; } catch { return otherwise; }
}

function store(key, value) {
  try {
    localStorage.setItem(key, typeof value === "string" ? value : JSON.stringify(value));
    return true;
  } catch { return false; }
}

class Decisions {
  constructor(data, review) {
    this.key = `quietgraph:${data.run}`;
    this.review = review; // null where the page was opened from disk
    this.count = data.suspects.score.length;
    this.ids = data.points.id;
    this.rowOf = new Map(this.ids.slice(0, this.count).map((id, row) => [id, row]));
    this.said = Array.from({ length: this.count }, () => new Map()); // by reviewer
    this.undone = []; // [row, choice before], last at the end
    this.listeners = [];
    this.me = review ? this.storedName() : "";
  }

  storedName() {
    try { return localStorage.getItem("quietgraph:reviewer") || this.review.reviewer; } catch { return this.review.reviewer; }
  }

  onChange(listener) { this.listeners.push(listener); }

  changed(rows, problem = "") { for (const listener of this.listeners) listener(rows, problem); }

  mine(row) { return this.said[row].get(this.me) ?? ""; }

  others(row) { return [...this.said[row]].filter(([name]) => name !== this.me); }

  /** What all reviewers say together: those who are unsure leave it to the others. */
  merged(row) {
    const votes = new Set(this.said[row].values());
    if (votes.has("accept") && votes.has("keep")) return "conflict";
    return CHOICES.find((choice) => votes.has(choice)) ?? "";
  }

  countOf(choice) {
    let found = 0;
    for (let row = 0; row < this.count; row += 1) found += this.merged(row) === choice;
    return found;
  }

  hear(row, reviewer, choice) {
    if (choice) this.said[row].set(reviewer, choice); else this.said[row].delete(reviewer);
  }

  /** Decide; the same choice again takes it back. */
  choose(row, choice) {
    const before = this.mine(row);
    this.put(row, before === choice ? "" : choice);
    this.undone.push([row, before]);
  }

  undo() {
    const last = this.undone.pop();
    if (last) this.put(...last);
    return last ? last[0] : -1;
  }

  put(row, choice) {
    this.hear(row, this.me, choice);
    this.changed([row], this.keep(row, choice));
  }
}

/** Decisions of one person, in this browser. */
class LocalDecisions extends Decisions {
  start() {
    this.load();
    addEventListener("storage", (event) => { // the same page in another tab
      if (event.key !== this.key) return;
      this.load();
      this.changed(null);
    });
  }

  load() {
    for (const said of this.said) said.clear();
    for (const [id, choice] of readStored(this.key, [])) {
      if (this.rowOf.has(id) && CHOICES.includes(choice)) this.hear(this.rowOf.get(id), this.me, choice);
    }
  }

  keep() {
    const kept = [];
    this.said.forEach((_, row) => { if (this.mine(row)) kept.push([this.ids[row], this.mine(row)]); });
    return store(this.key, kept) ? "" : "This browser keeps nothing: export before you leave.";
  }
}

/** Decisions of several people, in the run folder; what could not be sent yet waits in the browser. */
class SharedDecisions extends Decisions {
  start() {
    this.last = 0;
    this.waiting = readStored(`${this.key}:unsent`, []);
    for (const { node, reviewer, choice } of this.waiting) {
      if (this.rowOf.has(node)) this.hear(this.rowOf.get(node), reviewer, choice);
    }
    this.exchange();
  }

  rename(name) {
    this.me = name;
    store("quietgraph:reviewer", name);
    this.changed(null);
  }

  keep(row, choice) {
    this.waiting.push({ node: this.ids[row], reviewer: this.me, choice });
    store(`${this.key}:unsent`, this.waiting);
    this.send();
    return "";
  }

  async send() {
    if (this.sending) return;
    this.sending = true;
    let problem = "";
    while (this.waiting.length && !problem) {
      problem = await this.post(this.waiting[0]);
      if (!problem) this.waiting.shift();
      store(`${this.key}:unsent`, this.waiting);
    }
    this.sending = false;
    this.changed([], problem);
  }

  async post(decision) {
    try {
      const answer = await fetch("decisions", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(decision),
      });
      if (answer.ok) return "";
      return `Not saved yet: ${await answer.text()}`;
    } catch { return "Not saved yet: the server does not answer. It is kept here and sent again."; }
  }

  async exchange() {
    if (this.waiting.length) await this.send();
    await this.listen();
    setTimeout(() => this.exchange(), 2000);
  }

  async listen() {
    try {
      const answer = await fetch(`decisions?after=${this.last}`);
      if (!answer.ok) { this.changed([], await answer.text()); return; }
      const unsent = new Set(this.waiting.map(({ node, reviewer }) => JSON.stringify([node, reviewer])));
      const rows = [];
      for (const { id, node, reviewer, choice } of await answer.json()) {
        this.last = Math.max(this.last, id);
        if (!this.rowOf.has(node) || unsent.has(JSON.stringify([node, reviewer]))) continue;
        this.hear(this.rowOf.get(node), reviewer, choice);
        rows.push(this.rowOf.get(node));
      }
      this.changed(rows);
    } catch { this.changed([], "The server does not answer. Decisions are kept here until it does."); }
  }
}

function csvCell(value) {
  const text = String(value);
  return /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The decisions as `quietgraph fit --fix` takes them. */
function correctionsCsv(data, decisions) {
  const lines = [["node", "given", "suggested", "score", "decision"]];
  for (let row = 0; row < decisions.count; row += 1) {
    if (!decisions.merged(row)) continue;
    lines.push([
      data.points.id[row], data.classes[data.points.given[row]], data.classes[data.suspects.suggested[row]],
      data.suspects.score[row], decisions.merged(row),
    ]);
  }
  return lines.map((cells) => `${cells.map(csvCell).join(",")}\n`).join("");
}
