// The suspects as a table: sorted, filtered, searched, shown a page at a time.
const PAGE = 25;

const percent = (share) => (share === null ? "none" : `${Math.round(100 * share)}\u00a0%`);
const estimate = (share) => (share > 0.99 ? ">\u00a099\u00a0%" : share < 0.01 ? "<\u00a01\u00a0%" : percent(share)); // never certain

class SuspectTable {
  constructor(data, decisions, onCurrent, onMore) {
    Object.assign(this, { data, decisions, onCurrent, onMore });
    this.body = document.querySelector("#suspects tbody");
    this.template = document.getElementById("row");
    this.order = { by: "queue", down: false };
    this.page = 0;
    this.current = -1;
    this.rows = []; // those that pass the filters, in order
    this.listen();
    this.refresh();
  }

  listen() {
    for (const button of document.querySelectorAll("#suspects th button")) {
      button.addEventListener("click", () => this.sortBy(button.dataset.sort));
    }
    for (const name of ["search", "class", "decided", "p_wrong"]) {
      for (const event of ["input", "change"]) this.filter(name).addEventListener(event, () => { this.page = 0; this.refresh(); });
    }
    document.getElementById("clear").addEventListener("click", () => this.clearFilters());
    document.getElementById("previous").addEventListener("click", () => this.turn(-1));
    document.getElementById("next").addEventListener("click", () => this.turn(1));
    this.body.addEventListener("click", (event) => this.clicked(event));
    this.body.addEventListener("focusin", (event) => this.focused(event));
  }

  filter(name) { return document.getElementById(`filter-${name}`); }

  clearFilters() {
    for (const name of ["search", "class", "decided"]) this.filter(name).value = "";
    this.filter("p_wrong").value = 0;
    this.order = { by: "queue", down: false };
    this.page = 0;
    this.refresh();
  }

  value(row, by) {
    const { points, suspects, classes } = this.data;
    if (by === "queue") return row; // probably wrong first, then uncertain
    if (by === "node") return points.id[row];
    if (by === "observed") return classes[points.observed[row]];
    if (by === "suggested") return classes[suspects.suggested[row]];
    if (by === "neighbours" || by === "nearest") {
      const share = suspects[`${by}_suggested`][row];
      return share === null ? -2 : share - suspects[`${by}_observed`][row];
    }
    if (by === "decision") return ["", "unsure", "conflict", "drop", "keep", "other", "accept"].indexOf(this.decisions.merged(row));
    return suspects[by][row];
  }

  sortBy(by) {
    const isText = ["node", "observed", "suggested"].includes(by);
    this.order = { by, down: this.order.by === by ? !this.order.down : !isText };
    this.page = 0;
    this.refresh();
  }

  passes(row) {
    const { points, suspects, classes } = this.data;
    const label = this.filter("class").value;
    if (label !== "" && points.observed[row] !== Number(label) && suspects.suggested[row] !== Number(label)) return false;
    if (suspects.p_wrong[row] < Number(this.filter("p_wrong").value) / 100) return false;
    const decided = this.filter("decided").value;
    if (decided === "no" && this.decisions.mine(row)) return false;
    if (decided === "likely" && !suspects.issue[row]) return false;
    if (["conflict", ...CHOICES].includes(decided) && this.decisions.merged(row) !== decided) return false;
    const words = this.filter("search").value.trim().toLowerCase();
    const text = `${points.id[row]} ${classes[points.observed[row]]} ${classes[suspects.suggested[row]]}`;
    return text.toLowerCase().includes(words);
  }

  refresh() {
    const { by, down } = this.order;
    const sorter = new Intl.Collator(undefined, { numeric: true });
    const keys = Array.from({ length: this.decisions.count }, (_, row) => this.value(row, by));
    const compare = (a, b) => (typeof a === "string" ? sorter.compare(a, b) : a - b);
    this.rows = [...keys.keys()].filter((row) => this.passes(row));
    this.rows.sort((a, b) => (down ? compare(keys[b], keys[a]) : compare(keys[a], keys[b])) || a - b);
    this.page = Math.max(0, Math.min(this.page, Math.ceil(this.rows.length / PAGE) - 1));
    for (const button of document.querySelectorAll("#suspects th button")) {
      const state = button.dataset.sort === by ? (down ? "descending" : "ascending") : "none";
      button.closest("th").setAttribute("aria-sort", state);
    }
    this.show();
  }

  show() {
    const hadFocus = this.body.contains(document.activeElement);
    const start = this.page * PAGE;
    const shown = this.rows.slice(start, start + PAGE);
    this.body.replaceChildren(...shown.map((row) => this.render(row)));
    const total = this.rows.length;
    const words = total ? `${start + 1}–${start + shown.length} of ${total.toLocaleString("en")}` : "no label fits the filters";
    document.getElementById("shown").textContent = words;
    document.getElementById("previous").disabled = this.page === 0;
    document.getElementById("next").disabled = start + PAGE >= total;
    document.getElementById("p_wrong-words").textContent = `${this.filter("p_wrong").value} %`;
    this.mark();
    if (hadFocus) this.element(this.current)?.focus({ preventScroll: true });
  }

  element(row) { return this.body.querySelector(`tr[data-row="${row}"]`); }

  render(row) {
    const element = this.template.content.firstElementChild.cloneNode(true);
    const { points, suspects, classes } = this.data;
    element.dataset.row = row;
    const put = (name, text) => { element.querySelector(`[data-is="${name}"]`).textContent = text; };
    put("node", points.id[row]);
    put("observed", classes[points.observed[row]]);
    put("suggested", points.observed[row] === suspects.suggested[row] ? "—" : classes[suspects.suggested[row]]);
    put("p_wrong", this.data.trusted ? estimate(suspects.p_wrong[row]) : "not known");
    element.querySelector('[data-is="meter"]').style.setProperty("--share", this.data.trusted ? suspects.p_wrong[row] : 0);
    for (const voters of ["neighbours", "nearest"]) this.renderVotes(element, voters, row);
    if (suspects.wrong) put("wrong", suspects.wrong[row] ? "yes" : "no");
    element.classList.toggle("likely", Boolean(suspects.issue[row]));
    element.classList.toggle("same", points.observed[row] === suspects.suggested[row]);
    for (const button of element.querySelectorAll("[data-choice]")) {
      button.setAttribute("aria-label", `${button.dataset.choice}: node ${points.id[row]}, ${classes[points.observed[row]]} to ${classes[suspects.suggested[row]]}`);
    }
    this.renderDecision(element, row);
    return element;
  }

  renderVotes(element, voters, row) {
    const cell = element.querySelector(`[data-is="${voters}"]`);
    const [observed, suggested] = ["observed", "suggested"].map((name) => this.data.suspects[`${voters}_${name}`][row]);
    const isSame = this.data.points.observed[row] === this.data.suspects.suggested[row];
    const rest = isSame ? "" : ` : ${Math.round(100 * suggested)}`;
    cell.querySelector("span").textContent = observed === null ? "none" : `${Math.round(100 * observed)}${rest}`;
    const bar = cell.querySelector("i");
    bar.style.setProperty("--observed", observed ?? 0);
    bar.style.setProperty("--suggested", isSame ? 0 : suggested ?? 0);
  }

  renderDecision(element, row) {
    const mine = this.decisions.mine(row);
    element.dataset.mine = mine;
    for (const button of element.querySelectorAll("[data-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.choice === mine));
    }
    const others = this.decisions.others(row).map(([name, one]) => `${name}: ${one.choice === "other" ? one.label : one.choice}`);
    const conflict = this.decisions.merged(row) === "conflict";
    const own = { other: `you: ${this.decisions.decision(row)?.label}`, drop: "you: drop" }[mine];
    const words = element.querySelector('[data-is="others"]');
    words.textContent = [conflict ? "conflict" : "", own ?? "", others.join(", ")].filter(Boolean).join(" · ");
    words.hidden = !words.textContent;
    element.classList.toggle("conflict", conflict);
  }

  /** Show new decisions without moving rows under the reader's hands. */
  update(rows) {
    for (const element of this.body.children) {
      const row = Number(element.dataset.row);
      if (rows === null || rows.includes(row)) this.renderDecision(element, row);
    }
  }

  clicked(event) {
    const element = event.target.closest("tr[data-row]");
    if (!element) return;
    const row = Number(element.dataset.row);
    this.select(row);
    const choice = event.target.closest("[data-choice]")?.dataset.choice;
    if (choice) this.decide(row, choice);
    if (event.target.closest("[data-more]")) this.onMore();
  }

  focused(event) {
    const element = event.target.closest("tr[data-row]");
    if (element && Number(element.dataset.row) !== this.current) this.select(Number(element.dataset.row));
  }

  decide(row, choice) { this.decisions.choose(row, choice); }

  select(row, { focus = false } = {}) {
    this.current = row;
    this.mark();
    this.onCurrent(row);
    if (!focus) return;
    this.element(row)?.focus({ preventScroll: true });
    this.element(row)?.scrollIntoView({ block: "nearest" });
  }

  mark() {
    for (const element of this.body.children) {
      const isCurrent = Number(element.dataset.row) === this.current;
      element.classList.toggle("current", isCurrent);
      if (isCurrent) element.setAttribute("aria-current", "true"); else element.removeAttribute("aria-current");
      element.tabIndex = isCurrent ? 0 : -1;
    }
    if (!this.element(this.current) && this.body.firstElementChild) this.body.firstElementChild.tabIndex = 0;
  }

  turn(step) {
    this.page += step;
    this.show();
  }

  /** Go to a suspect, wherever it is; filters that hide it are cleared. */
  reveal(row, { focus = true } = {}) {
    if (!this.rows.includes(row)) this.clearFilters();
    this.page = Math.floor(this.rows.indexOf(row) / PAGE);
    this.show();
    this.select(row, { focus });
  }

  /** Go to the next one below that nobody here has decided on; to the next one where there is none. */
  stepToOpen() {
    const place = this.rows.indexOf(this.current);
    const open = this.rows.findIndex((row, one) => one > place && !this.decisions.mine(row));
    this.step(open < 0 ? 1 : open - place);
  }

  step(by) {
    if (!this.rows.length) return;
    const place = this.rows.indexOf(this.current);
    const next = place < 0 ? this.page * PAGE : Math.max(0, Math.min(this.rows.length - 1, place + by));
    if (Math.floor(next / PAGE) !== this.page) { this.page = Math.floor(next / PAGE); this.show(); }
    this.select(this.rows[next], { focus: true });
  }
}
