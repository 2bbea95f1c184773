// The node that is decided on: what it says of itself, its neighbours, what the model saw.
const MOST_LISTED = 60; // classes shown at once
const LITTLE_DOUBT = 0.1; // probability of being wrong below which a label is hardly uncertain

function put(parent, tag, text, name = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (name) element.className = name;
  parent.append(element);
  return element;
}

class NodeCard {
  constructor(data, decisions, review) {
    Object.assign(this, { data, decisions, review });
    this.row = -1;
    this.known = new Map(); // evidence by row
  }

  the(name) { return document.getElementById(`node-${name}`); }

  show(row) {
    this.row = row;
    this.the("title").textContent = `Node ${this.data.points.id[row]}`;
    this.the("open").hidden = false;
    this.the("hint").hidden = true;
    this.the("observed").textContent = this.decisions.observed(row);
    this.the("suggested").textContent = this.decisions.suggested(row);
    const isSame = this.decisions.observed(row) === this.decisions.suggested(row);
    this.the("change").classList.toggle("same", isSame);
    this.the("score").textContent = judgement(this.data, row);
    this.the("why").textContent = explain(this.data, row);
    this.showDecision();
    this.showEvidence(row);
  }

  showDecision() {
    if (this.row < 0) return;
    const mine = this.decisions.decision(this.row);
    for (const button of this.the("choices").querySelectorAll("[data-choice]")) {
      const { choice } = button.dataset;
      button.setAttribute("aria-pressed", String(choice === mine?.choice));
      if (choice === "accept") button.querySelector("b").textContent = this.decisions.suggested(this.row);
      if (choice === "keep") button.querySelector("b").textContent = this.decisions.observed(this.row);
      if (choice === "other") button.querySelector("b").textContent = mine?.choice === "other" ? mine.label : "…";
      if (choice === "accept") button.hidden = this.decisions.observed(this.row) === this.decisions.suggested(this.row);
    }
    const others = this.decisions.others(this.row).map(([name, one]) => `${name}: ${one.label || one.choice}`);
    this.the("others").textContent = others.join(" · ");
    this.the("others").hidden = !others.length;
  }

  async showEvidence(row) {
    const found = await this.evidence(row);
    if (row !== this.row) return; // another one was chosen meanwhile
    this.showColumns(found?.columns ?? []);
    this.showNeighbours(found);
    this.the("missing").hidden = Boolean(found);
  }

  async evidence(row) {
    if (this.known.has(row)) return this.known.get(row);
    let found = this.data.details[row] ?? null;
    if (this.review) {
      try {
        const answer = await fetch(`node?id=${encodeURIComponent(this.data.points.id[row])}`);
        if (answer.ok) found = await answer.json();
      } catch { return found; } // asked again when the server is back
    }
    this.known.set(row, found);
    return found;
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
    list.hidden = !columns.length;
  }

  showNeighbours(found) {
    const list = this.the("neighbours");
    const near = found?.neighbours ?? [];
    list.replaceChildren();
    const [observed, suggested] = [this.decisions.observed(this.row), this.decisions.suggested(this.row)];
    for (const { id, label, predicted, title } of near) {
      const item = put(list, "li", "");
      const kind = label === null ? "none" : label === suggested ? "for" : label === observed ? "against" : "";
      put(item, "span", label ?? "no label", `label ${kind}`);
      put(item, "strong", id);
      if (title && title !== id) put(item, "span", title, "title");
      if (label !== predicted) put(item, "small", `predicted ${predicted}`);
    }
    const degree = found?.degree ?? 0;
    const shown = near.length < degree ? `${near.length} of ${degree.toLocaleString("en")}` : String(degree);
    this.the("degree").textContent = found ? `${shown} neighbour${degree === 1 ? "" : "s"}` : "Neighbours";
    list.hidden = !near.length;
  }
}

/** Say in a few words how the label looks. */
function judgement(data, row) {
  const share = data.suspects.p_wrong[row];
  if (!data.trusted) return "not judged";
  if (data.suspects.issue[row]) return `probably wrong (${estimate(share)})`;
  return `${share < LITTLE_DOUBT ? "probably right" : "uncertain"} (wrong: ${estimate(share)})`;
}

/** Say in words why a label looks wrong. */
function explain(data, row) {
  const { points, suspects, classes } = data;
  const observed = `“${classes[points.observed[row]]}”`;
  const suggested = `“${classes[suspects.suggested[row]]}”`;
  const shares = (voters) => ["observed", "suggested"].map((name) => suspects[`${voters}_${name}`]?.[row] ?? null);
  const isSame = observed === suggested;
  const vote = (voters, words) => {
    const [against, support] = shares(voters);
    if (against === null) return `It has no labelled ${words}.`;
    return isSame ? `Of its ${words}, ${percent(against)} are ${observed}.` : `Of its ${words}, ${percent(support)} are ${suggested} and ${percent(against)} ${observed}.`;
  };
  const [denied, confirmed] = shares("attributes");
  let attributes = "";
  if (denied !== null) attributes = isSame ? `A classifier on the attributes alone gives ${observed} ${percent(denied)}.` : `A classifier on the attributes alone gives ${suggested} ${percent(confirmed)} and ${observed} ${percent(denied)}.`;
  const sure = !data.trusted ? "The model cannot judge this label." : `All evidence together, this label included, gives ${suggested} ${estimate(suspects.sure[row])}.`;
  return [sure, vote("neighbours", "labelled neighbours"), vote("nearest", "ten nearest labelled nodes"), attributes].join(" ");
}

/** Any class, found by typing a part of its name. */
class ClassPicker {
  constructor(classes, onPick) {
    Object.assign(this, { classes, onPick });
    this.dialog = document.getElementById("other");
    this.search = document.getElementById("other-search");
    this.list = document.getElementById("other-list");
    this.search.addEventListener("input", () => this.fill());
    this.search.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest("[role=option]");
      if (item) this.pick(item.textContent);
    });
    document.getElementById("other-cancel").addEventListener("click", () => this.dialog.close());
  }

  open(words) {
    document.getElementById("other-words").textContent = words;
    this.search.value = "";
    this.fill();
    this.dialog.showModal();
    this.search.focus();
  }

  fill() {
    const words = this.search.value.trim().toLowerCase();
    const starts = (name) => Number(!name.toLowerCase().startsWith(words));
    const found = this.classes.filter((name) => name.toLowerCase().includes(words)).sort((a, b) => starts(a) - starts(b));
    this.list.replaceChildren(...found.slice(0, MOST_LISTED).map((name, place) => {
      const item = Object.assign(document.createElement("li"), { textContent: name, id: `other-${place}` });
      item.setAttribute("role", "option");
      return item;
    }));
    const more = found.length - MOST_LISTED;
    document.getElementById("other-more").textContent = found.length ? (more > 0 ? `and ${more} more: type a part of the name` : "") : "No class has this in its name.";
    this.mark(0);
  }

  mark(place) {
    const items = [...this.list.children];
    this.place = Math.max(0, Math.min(items.length - 1, place));
    items.forEach((item, one) => item.setAttribute("aria-selected", String(one === this.place)));
    items[this.place]?.scrollIntoView({ block: "nearest" });
    if (items.length) this.search.setAttribute("aria-activedescendant", `other-${this.place}`);
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step) this.mark(this.place + step);
    else if (event.key === "Enter") { const item = this.list.children[this.place]; if (item) this.pick(item.textContent); }
    else return;
    event.preventDefault();
  }

  pick(name) {
    this.dialog.close();
    this.onPick(name);
  }
}
