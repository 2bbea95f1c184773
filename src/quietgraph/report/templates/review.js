// Who decided what about which suspect: sent to `quietgraph review`; what could not be sent yet waits in the browser.
class Review {
  constructor(data, settings) {
    Object.assign(this, { data, settings });
    this.key = `quietgraph:${data.run}:unsent`;
    this.rowOf = new Map(data.points.id.slice(0, data.suspects.p_wrong.length).map((id, row) => [id, row]));
    this.said = new Map(); // by row: decisions by reviewer, the last one last
    this.undone = []; // [row, decision before], last at the end
    this.last = 0;
    this.me = settings ? recall("quietgraph:reviewer", "") || settings.reviewer : "";
    this.waiting = settings ? recall(this.key, []) : [];
    this.onChange = () => {};
    for (const one of this.waiting) this.hear(one);
  }

  mine(row) { return this.said.get(row)?.get(this.me) ?? null; }

  others(row) { return [...(this.said.get(row) ?? [])].filter(([name]) => name !== this.me); }

  /** What all reviewers say together: those who are unsure leave it to the others. */
  together(row) {
    const votes = [...(this.said.get(row)?.values() ?? [])];
    const sure = votes.filter(({ decision }) => decision !== "unsure");
    const agreed = new Set(sure.map(({ decision, label }) => JSON.stringify([decision === "drop", label])));
    if (agreed.size > 1) return { decision: "conflict", label: "" };
    return sure.at(-1) ?? votes.at(-1) ?? null;
  }

  hear({ node, by, decision, label }) {
    const row = this.rowOf.get(node);
    if (row === undefined) return;
    if (!this.said.has(row)) this.said.set(row, new Map());
    this.said.get(row).delete(by); // the last one stands last
    if (decision) this.said.get(row).set(by, { decision, label });
  }

  /** Decide; the same decision again takes it back. */
  decide(row, decision, label) {
    const before = this.mine(row);
    const isSame = before?.decision === decision && before.label === label;
    this.undone.push([row, before]);
    this.put(row, isSame ? { decision: "", label: "" } : { decision, label });
  }

  undo() {
    const [row, before] = this.undone.pop() ?? [-1];
    if (row >= 0) this.put(row, before ?? { decision: "", label: "" });
    return row;
  }

  put(row, { decision, label }) {
    const one = { node: this.data.points.id[row], by: this.me, decision, label };
    this.hear(one);
    this.waiting.push(one);
    keep(this.key, this.waiting);
    this.onChange("");
    this.send();
  }

  /** Send what waits, in order; resolves to whether nothing waits any more. */
  send() {
    this.sending ??= this.sendAll().finally(() => { this.sending = null; });
    return this.sending;
  }

  async sendAll() {
    let problem = "";
    while (this.waiting.length && !problem) {
      const [one] = this.waiting;
      try {
        const answer = await fetch("decisions", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(one) });
        if (!answer.ok) problem = `Not saved${answer.status === 400 ? "" : " yet"}: ${await answer.text()}`;
        if (!answer.ok && answer.status !== 400) break;
        if (!answer.ok) this.hear({ ...one, decision: "" }); // it will never be taken: show that it was not
        this.waiting.shift();
        keep(this.key, this.waiting);
      } catch { problem = "Not saved yet: the server does not answer. It is kept here and sent again."; }
    }
    this.onChange(problem);
    return !this.waiting.length;
  }

  /** Exchange decisions with the server, again and again. */
  async exchange() {
    if (!this.waiting.length || await this.send()) {
      try {
        const answer = await fetch(`decisions?after=${this.last}`);
        if (!answer.ok) throw new Error(await answer.text());
        const heard = await answer.json();
        const unsent = new Set(this.waiting.map(({ node, by }) => JSON.stringify([node, by])));
        for (const one of heard) {
          this.last = Math.max(this.last, one.number);
          if (!unsent.has(JSON.stringify([one.node, one.by]))) this.hear(one);
        }
        if (heard.length) this.onChange("");
      } catch (error) { this.onChange(`Decisions of others are not up to date: ${error.message}`); }
    }
    setTimeout(() => this.exchange(), 2000);
  }
}
