// Who decided what about which suspect: kept in the browser, or sent to `quietgraph review`.
const CHOICES = ["accept", "keep", "other", "drop", "unsure"];

class Decisions {
  constructor(data, review) {
    this.data = data;
    this.key = `quietgraph:${data.run}`;
    this.count = data.suspects.p_wrong.length;
    this.ids = data.points.id;
    this.rowOf = new Map(this.ids.slice(0, this.count).map((id, row) => [id, row]));
    this.said = Array.from({ length: this.count }, () => new Map()); // by reviewer: choice, label, when
    this.undone = []; // [row, decision before], last at the end
    this.listeners = [];
    this.me = readStored("quietgraph:reviewer", "") || (review ? review.reviewer : "");
    this.hearEarlier();
  }

  /** Who was unsure in an earlier run stays so until somebody decides. */
  hearEarlier() {
    for (const [node, , decision, by, when] of this.data.verified) {
      const row = this.rowOf.get(node);
      if (row !== undefined && decision === "unsure") this.said[row].set(`${by || "somebody"} (earlier run)`, { choice: "unsure", label: "", when });
    }
  }

  onChange(listener) { this.listeners.push(listener); }

  changed(rows, problem = "") { for (const listener of this.listeners) listener(rows, problem); }

  /** The name that decisions of this page are kept under. */
  get signature() { return this.me; }

  decision(row) { return this.said[row].get(this.signature) ?? null; }

  mine(row) { return this.decision(row)?.choice ?? ""; }

  others(row) { return [...this.said[row]].filter(([name]) => name !== this.signature); }

  observed(row) { return this.data.classes[this.data.points.observed[row]]; }

  suggested(row) { return this.data.classes[this.data.suspects.suggested[row]]; }

  /** The label that holds after a choice. */
  labelAfter(row, choice, label) {
    return { accept: this.suggested(row), keep: this.observed(row), other: label }[choice] ?? "";
  }

  /** What all reviewers say together: those who are unsure leave it to the others. */
  together(row) {
    const votes = [...this.said[row].values()];
    const sure = votes.filter(({ choice }) => choice !== "unsure");
    const agreed = new Set(sure.map(({ choice, label }) => JSON.stringify([choice === "drop", label])));
    if (agreed.size > 1) return { choice: "conflict", label: "" };
    return sure.at(-1) ?? votes.at(-1) ?? null;
  }

  merged(row) { return this.together(row)?.choice ?? ""; }

  countOf(choice) {
    let found = 0;
    for (let row = 0; row < this.count; row += 1) found += this.merged(row) === choice;
    return found;
  }

  hear(row, reviewer, decision) {
    this.said[row].delete(reviewer); // the last one stands last
    if (decision?.choice) this.said[row].set(reviewer, decision);
  }

  /** Decide; the same choice again takes it back. */
  choose(row, choice, name = "") {
    const before = this.decision(row);
    const label = this.labelAfter(row, choice, name);
    const isSame = before?.choice === choice && before.label === label;
    this.put(row, isSame ? null : { choice, label, when: new Date().toISOString() });
    this.undone.push([row, before]);
  }

  undo() {
    const last = this.undone.pop();
    if (last) this.put(...last);
    return last ? last[0] : -1;
  }

  put(row, decision) {
    this.hear(row, this.signature, decision);
    this.changed([row], this.keep(row, decision));
  }

  rename(name) {
    this.me = name;
    store("quietgraph:reviewer", name);
    this.changed(null);
  }
}

/** Decisions of one person, in this browser. */
class LocalDecisions extends Decisions {
  get signature() { return ""; }

  start() {
    this.load();
    addEventListener("storage", (event) => { // the same page in another tab
      if (event.key !== this.key) return;
      this.load();
      this.changed(null);
    });
  }

  load() {
    for (const said of this.said) said.delete("");
    for (const [id, choice, label, when] of readStored(this.key, [])) {
      const row = this.rowOf.get(id);
      if (row !== undefined && CHOICES.includes(choice)) this.hear(row, "", { choice, label: label ?? this.labelAfter(row, choice, ""), when: when ?? "" });
    }
  }

  keep() {
    const kept = [];
    this.said.forEach((_, row) => {
      const one = this.decision(row);
      if (one) kept.push([this.ids[row], one.choice, one.label, one.when]);
    });
    store(this.key, kept).then((isKept) => {
      if (!isKept) this.changed([], "This browser keeps nothing: export before you leave.");
    });
    return "";
  }
}

/** Decisions of several people, in the run folder; what could not be sent yet waits in the browser. */
class SharedDecisions extends Decisions {
  start() {
    this.last = 0;
    this.waiting = readStored(`${this.key}:unsent`, []);
    for (const { node, reviewer, choice, label } of this.waiting) {
      if (this.rowOf.has(node)) this.hear(this.rowOf.get(node), reviewer, { choice, label, when: "" });
    }
    this.exchange();
  }

  keep(row, decision) {
    this.waiting.push({ node: this.ids[row], reviewer: this.me, choice: decision?.choice ?? "", label: decision?.label ?? "" });
    store(`${this.key}:unsent`, this.waiting);
    this.send();
    return "";
  }

  async send() {
    if (this.sending) return;
    this.sending = true;
    let problem = "";
    while (this.waiting.length && !problem) {
      const { isDone, words } = await this.post(this.waiting[0]);
      problem = words;
      if (isDone) this.waiting.shift();
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
      if (answer.ok) return { isDone: true, words: "" };
      const words = await answer.text();
      if (answer.status !== 400) return { isDone: false, words: `Not saved yet: ${words}` };
      const row = this.rowOf.get(decision.node); // it will never be taken: show that it was not
      if (row !== undefined) this.hear(row, decision.reviewer, null);
      this.changed(row === undefined ? [] : [row]);
      return { isDone: true, words: `Not saved: ${words}` };
    } catch { return { isDone: false, words: "Not saved yet: the server does not answer. It is kept here and sent again." }; }
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
      for (const { id, node, reviewer, choice, label, made } of await answer.json()) {
        this.last = Math.max(this.last, id);
        const row = this.rowOf.get(node);
        if (row === undefined || unsent.has(JSON.stringify([node, reviewer]))) continue;
        this.hear(row, reviewer, { choice, label: label || this.labelAfter(row, choice, ""), when: made });
        rows.push(row);
      }
      this.changed(rows);
    } catch { this.changed([], "The server does not answer. Decisions are kept here until it does."); }
  }
}

/** A cell that no spreadsheet takes for a formula; `quietgraph fit` takes the apostrophe off again. */
function csvCell(value) {
  let text = String(value);
  const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text);
  if (/^'*[=+\-@\t\r\n＝＋－＠]/.test(text) && !isNumber) text = `'${text}`;
  return /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** All decisions, those of earlier runs too, as `quietgraph fit --verified` takes them. */
function verifiedCsv(data, decisions) {
  const rows = new Map(data.verified.map((row) => [row[0], row]));
  for (let row = 0; row < decisions.count; row += 1) {
    const one = decisions.decision(row);
    if (one) rows.set(decisions.ids[row], [decisions.ids[row], one.label, one.choice, decisions.me, one.when, decisions.observed(row)]);
  }
  const lines = [["node", "label", "decision", "by", "when", "observed"], ...rows.values()];
  return lines.map((cells) => `${cells.map(csvCell).join(",")}\n`).join("");
}
