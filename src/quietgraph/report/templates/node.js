// The node at hand: what it says of itself, its neighbours, and what speaks for which label.
class NodeCard {
  constructor(data, table) {
    Object.assign(this, { data, table });
    this.row = -1;
  }

  the(name) { return document.getElementById(`node-${name}`); }

  show(row) {
    this.row = row;
    const known = this.data.details[row];
    this.the("title").textContent = `Node ${this.data.points.id[row]}`;
    this.showLabels();
    this.the("why").textContent = known?.argument ?? "What is known of this node is in suspects.csv; this page has no room for it.";
    this.showColumns([...(known?.answers ?? []), ...(known?.columns ?? [])]);
    this.showNeighbours(known);
    this.showDecision();
  }

  showLabels() {
    const { suspects, trusted } = this.data;
    const [given, suggested] = [this.table.given(this.row), this.table.suggested(this.row)];
    const line = this.the("change");
    line.textContent = "";
    put(line, "span", given, "given");
    if (given !== suggested) {
      line.append(" → ");
      put(line, "b", suggested);
    }
    const words = suspects.flagged[this.row] ? "probably wrong" : suspects.p_wrong[this.row] < 0.1 ? "probably right" : "uncertain";
    put(line, "small", trusted ? ` ${words} (${estimate(suspects.p_wrong[this.row])})` : " not judged");
  }

  showDecision() {
    if (this.row < 0) return;
    const mine = this.table.review.mine(this.row);
    for (const button of this.the("choices").querySelectorAll("[data-choice]")) {
      const { choice } = button.dataset;
      button.setAttribute("aria-pressed", String(choice === mine?.decision));
      if (choice === "accept") button.querySelector("b").textContent = this.table.suggested(this.row);
      if (choice === "keep") button.querySelector("b").textContent = this.table.given(this.row);
      if (choice === "accept") button.hidden = this.table.given(this.row) === this.table.suggested(this.row);
    }
    document.getElementById("other-label").value = mine?.decision === "other" ? mine.label : "";
    const others = this.table.review.others(this.row).map(([name, one]) => `${name}: ${one.label || one.decision}`);
    this.the("others").textContent = others.join(" · ");
  }

  showColumns(columns) {
    const list = this.the("columns");
    list.replaceChildren();
    for (const [name, text] of columns) {
      const pair = put(list, "div", "", text.length > 18 ? "long" : "");
      put(pair, "dt", name);
      const cell = put(pair, "dd", "");
      if (/^https?:\/\/\S+$/.test(text)) {
        Object.assign(put(cell, "a", text), { href: text, target: "_blank", rel: "noopener noreferrer" });
      } else cell.textContent = text;
    }
  }

  showNeighbours(known) {
    const list = this.the("neighbours");
    const near = known?.neighbours ?? [];
    const [given, suggested] = [this.table.given(this.row), this.table.suggested(this.row)];
    list.replaceChildren();
    for (const [id, title, label, predicted] of near) {
      const item = put(list, "li", "");
      const kind = !label ? "none" : label === given ? "against" : label === suggested ? "for" : "";
      put(item, "span", label || "no label", `label ${kind}`);
      put(item, "strong", id);
      if (title && title !== id) put(item, "span", title, "title");
      if (label !== predicted) put(item, "small", `predicted ${predicted}`);
    }
    const degree = known?.degree ?? 0;
    const shown = near.length < degree ? `${near.length} of ${degree.toLocaleString("en")}` : degree;
    this.the("degree").textContent = known ? `${shown} neighbour${degree === 1 ? "" : "s"}` : "";
  }
}
