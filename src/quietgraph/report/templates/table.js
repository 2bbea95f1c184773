// The suspects as a table: sorted, filtered, searched, shown a page at a time.
const PAGE = 20;

const estimate = (share) => (share > 0.99 ? ">\u00a099\u00a0%" : share < 0.01 ? "<\u00a01\u00a0%" : `${Math.round(100 * share)}\u00a0%`); // never certain

function put(parent, tag, text, name = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (name) element.className = name;
  parent.append(element);
  return element;
}

class SuspectTable {
  constructor(data, review, onCurrent) {
    Object.assign(this, { data, review, onCurrent });
    this.count = data.suspects.p_wrong.length;
    this.body = document.querySelector("#suspects tbody");
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
    for (const name of ["search", "show"]) {
      this.filter(name).addEventListener("input", () => { this.page = 0; this.refresh(); });
    }
    document.getElementById("previous").addEventListener("click", () => { this.page -= 1; this.show(); });
    document.getElementById("next").addEventListener("click", () => { this.page += 1; this.show(); });
    const choose = (event) => {
      const element = event.target.closest("tr[data-row]");
      if (element && Number(element.dataset.row) !== this.current) this.select(Number(element.dataset.row));
      if (element && event.type === "click") document.getElementById("node").scrollIntoView({ block: "nearest" });
    };
    this.body.addEventListener("click", choose);
    this.body.addEventListener("focusin", choose);
  }

  filter(name) { return document.getElementById(`filter-${name}`); }

  given(row) { return this.data.classes[this.data.points.given[row]]; }

  suggested(row) { return this.data.classes[this.data.suspects.suggested[row]]; }

  value(row, by) {
    if (by === "queue") return row; // probably wrong first, then uncertain
    if (by === "node") return this.data.points.id[row];
    if (by === "given") return this.given(row);
    return by === "suggested" ? this.suggested(row) : this.data.suspects[by][row];
  }

  sortBy(by) {
    const isText = ["node", "given", "suggested"].includes(by);
    this.order = { by, down: this.order.by === by ? !this.order.down : !isText };
    this.page = 0;
    this.refresh();
  }

  passes(row) {
    const shown = this.filter("show").value;
    if (shown === "flagged" && !this.data.suspects.flagged[row]) return false;
    if (shown === "open" && this.review.mine(row)) return false;
    if (shown === "decided" && !this.review.together(row)) return false;
    if (shown === "conflict" && this.review.together(row)?.decision !== "conflict") return false;
    const words = this.filter("search").value.trim().toLowerCase();
    const text = [this.data.points.id[row], this.data.suspects.title[row], this.given(row), this.suggested(row)].join(" ");
    return text.toLowerCase().includes(words);
  }

  refresh() {
    const { by, down } = this.order;
    const sorter = new Intl.Collator(undefined, { numeric: true });
    const keys = Array.from({ length: this.count }, (_, row) => this.value(row, by));
    const compare = (a, b) => (typeof a === "string" ? sorter.compare(a, b) : a - b);
    this.rows = [...keys.keys()].filter((row) => this.passes(row));
    this.rows.sort((a, b) => (down ? compare(keys[b], keys[a]) : compare(keys[a], keys[b])) || a - b);
    for (const button of document.querySelectorAll("#suspects th button")) {
      const state = button.dataset.sort === by ? (down ? "descending" : "ascending") : "none";
      button.closest("th").setAttribute("aria-sort", state);
    }
    this.show();
  }

  show() {
    const hadFocus = this.body.contains(document.activeElement);
    this.page = Math.max(0, Math.min(this.page, Math.ceil(this.rows.length / PAGE) - 1));
    const start = this.page * PAGE;
    const shown = this.rows.slice(start, start + PAGE);
    this.body.replaceChildren(...shown.map((row) => this.render(row)));
    document.getElementById("shown").textContent = shown.length ? `${start + 1}–${start + shown.length} of ${this.rows.length.toLocaleString("en")}` : "no label fits";
    document.getElementById("previous").disabled = this.page === 0;
    document.getElementById("next").disabled = start + PAGE >= this.rows.length;
    this.mark();
    if (hadFocus) this.element(this.current)?.focus({ preventScroll: true });
  }

  element(row) { return this.body.querySelector(`tr[data-row="${row}"]`); }

  render(row) {
    const { points, suspects } = this.data;
    const element = document.createElement("tr");
    element.dataset.row = row;
    element.classList.toggle("flagged", Boolean(suspects.flagged[row]));
    const head = put(element, "th", `${points.id[row]} `);
    head.scope = "row";
    put(head, "small", suspects.title[row]);
    const isSame = points.given[row] === suspects.suggested[row];
    const cells = { given: this.given(row), suggested: isSame ? "—" : this.suggested(row), "p wrong": this.data.trusted ? estimate(suspects.p_wrong[row]) : "not known" };
    if (suspects.wrong) cells["really wrong"] = suspects.wrong[row] ? "yes" : "no";
    for (const [name, text] of Object.entries(cells)) put(element, "td", text).dataset.label = name;
    put(element, "td", "", "review-only decided").dataset.label = "decision";
    this.renderDecision(element, row);
    return element;
  }

  renderDecision(element, row) {
    const one = this.review.together(row);
    element.querySelector(".decided").textContent = one ? one.label || one.decision : "";
    element.dataset.decision = this.review.mine(row)?.decision ?? "";
    element.classList.toggle("conflict", one?.decision === "conflict");
  }

  /** Show new decisions without moving rows under the reader's hands. */
  update() {
    for (const element of this.body.querySelectorAll("tr[data-row]")) this.renderDecision(element, Number(element.dataset.row));
  }

  select(row, { focus = false } = {}) {
    this.current = row;
    this.mark();
    this.onCurrent(row);
    if (!focus) return;
    this.element(row)?.focus({ preventScroll: true });
    if (matchMedia("(min-width: 70rem)").matches) this.element(row)?.scrollIntoView({ block: "nearest" });
  }

  mark() {
    for (const element of this.body.querySelectorAll("tr[data-row]")) {
      const isCurrent = Number(element.dataset.row) === this.current;
      element.classList.toggle("current", isCurrent);
      if (isCurrent) element.setAttribute("aria-current", "true"); else element.removeAttribute("aria-current");
      element.tabIndex = isCurrent ? 0 : -1;
    }
  }

  /** Go to a suspect, wherever it is; filters that hide it are cleared. */
  reveal(row, { focus = true } = {}) {
    if (!this.rows.includes(row)) { this.filter("search").value = ""; this.filter("show").value = ""; this.refresh(); }
    this.page = Math.floor(this.rows.indexOf(row) / PAGE);
    this.show();
    this.select(row, { focus });
  }

  step(by) {
    const place = this.rows.indexOf(this.current) + (this.rows.includes(this.current) ? by : 1);
    if (this.rows.length) this.reveal(this.rows[Math.max(0, Math.min(this.rows.length - 1, place))]);
  }

  /** Go to the next one below that nobody here has decided on. */
  stepToOpen() {
    const place = this.rows.indexOf(this.current);
    const open = this.rows.find((row, one) => one > place && !this.review.mine(row));
    if (open === undefined) this.step(1); else this.reveal(open);
  }
}
