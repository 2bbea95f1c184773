// The page put together: map, table, decisions, keys, colours.
const data = JSON.parse(document.getElementById("data").textContent);
const review = JSON.parse(document.getElementById("review").textContent);
const decisions = review ? new SharedDecisions(data, review) : new LocalDecisions(data, null);
const live = document.getElementById("live");
const map = new NodeMap(data, decisions, (node, words) => {
  live.textContent = words;
  if (node < decisions.count) table.reveal(node, { focus: false });
});
const table = new SuspectTable(data, decisions, (row) => {
  map.select(row);
  explain(row);
});

/** Say in words why a label looks wrong. */
function explain(row) {
  const { points, suspects, classes } = data;
  const given = `“${classes[points.given[row]]}”`;
  const suggested = `“${classes[suspects.suggested[row]]}”`;
  const box = document.getElementById("why");
  const title = document.createElement("strong");
  title.textContent = `Node ${points.id[row]}: ${given} as given, or ${suggested}?`;
  const shares = (voters) => ["given", "suggested"].map((name) => suspects[`${voters}_${name}`]?.[row] ?? null);
  const vote = (voters, words) => {
    const [against, support] = shares(voters);
    return against === null ? `It has no labelled ${words}.` : `Of its ${words}, ${percent(support)} say ${suggested} and ${percent(against)} ${given}.`;
  };
  const [denied, confirmed] = shares("attributes");
  const opinion = denied === null ? "" : `A classifier on attributes alone gives ${suggested} ${percent(confirmed)} and ${given} ${percent(denied)}.`;
  const sure = `A model that did not see this label is ${percent(suspects.sure[row])} sure of ${suggested}.`;
  const text = [sure, vote("neighbours", "labelled neighbours"), vote("nearest", "ten nearest labelled nodes"), opinion].join(" ");
  box.replaceChildren(title, document.createElement("br"), text);
}

function showProgress() {
  const counts = Object.fromEntries([...CHOICES, "conflict"].map((choice) => [choice, decisions.countOf(choice)]));
  const decided = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const bar = document.getElementById("progress");
  bar.max = Math.max(1, decisions.count);
  bar.value = decided;
  const parts = Object.entries(counts).filter(([, count]) => count).map(([choice, count]) => `${count} ${choice}`);
  const total = decisions.count.toLocaleString("en");
  document.getElementById("progress-words").textContent = `${decided} of ${total} decided${parts.length ? `: ${parts.join(", ")}` : ""}`;
  document.getElementById("export").disabled = decided === 0;
}

function say(problem) {
  const box = document.getElementById("problem");
  if (box.textContent !== problem) box.textContent = problem;
  box.hidden = !problem;
}

decisions.onChange((rows, problem) => {
  if (!review || rows === null || rows.length || problem || !decisions.waiting?.length) say(problem);
  if (rows !== null && !rows.length) return;
  table.update(rows);
  showProgress();
  map.draw();
});

function exportDecisions() {
  if (review) { location.assign("corrections.csv"); return; }
  const file = new Blob([correctionsCsv(data, decisions)], { type: "text/csv" });
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(file), download: "corrections.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Decide on the row at hand and go on to the next one. */
function decideCurrent(choice) {
  const row = table.current;
  if (row < 0) { table.step(0); return; }
  const isNew = decisions.mine(row) !== choice;
  if (!mayDecide()) return;
  decisions.choose(row, choice);
  live.textContent = `node ${data.points.id[row]}: ${decisions.mine(row) || "not decided"}`;
  if (isNew) table.step(1);
}

/** In a review everybody has a name; without one the page asks for it. */
function mayDecide() {
  if (!review || decisions.me) return true;
  say("Please give your name first: decisions are kept by reviewer.");
  document.getElementById("reviewer").focus();
  return false;
}
table.decide = (row, choice) => { if (mayDecide()) decisions.choose(row, choice); };

const KEYS = {
  n: () => table.step(1), j: () => table.step(1), p: () => table.step(-1),
  a: () => decideCurrent("accept"), k: () => decideCurrent("keep"), u: () => decideCurrent("unsure"),
  z: () => { const row = decisions.undo(); if (row >= 0) table.reveal(row); },
  "/": () => document.getElementById("filter-search").focus(),
  "?": () => { const keys = document.getElementById("keys"); keys.open = !keys.open; keys.scrollIntoView({ block: "nearest" }); },
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox]):not([type=range]), select, textarea");
  if (event.key === "Escape" && typing) { typing.blur(); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !document.getElementById("use-keys").checked) return;
  if (event.target.closest("#suspects tbody") && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    table.step(event.key === "ArrowDown" ? 1 : -1);
  } else if (Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

function fillFilters() {
  const chosen = new Set([...data.points.given.slice(0, decisions.count), ...data.suspects.suggested]);
  const options = [...chosen].sort((a, b) => a - b).map((code) => new Option(data.classes[code], code));
  document.getElementById("filter-class").append(...options);
}

function startTheme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => { button.textContent = isDark() ? "Light colours" : "Dark colours"; map.recolour(); };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    store("quietgraph:theme", document.documentElement.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  show();
}

function startReview() {
  if (!review) return;
  const field = document.getElementById("reviewer");
  document.getElementById("who").hidden = false;
  field.value = decisions.me;
  field.addEventListener("change", () => { decisions.rename(field.value.trim()); say(""); });
}

function startKeys() {
  const box = document.getElementById("use-keys");
  box.checked = readStored("quietgraph:keys", true);
  box.addEventListener("input", () => store("quietgraph:keys", box.checked));
}

document.documentElement.classList.add("with-script");
document.getElementById("export").addEventListener("click", exportDecisions);
for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("copy").addEventListener("click", async (event) => {
  try { await navigator.clipboard.writeText(document.getElementById("command").textContent); event.target.textContent = "Copied"; } catch { event.target.textContent = "Select and copy it"; }
});
startKeys();
startTheme();
fillFilters();
startReview();
decisions.start();
table.refresh();
showProgress();
