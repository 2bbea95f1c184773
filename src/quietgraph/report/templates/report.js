// The page put together: the node at hand, table, map, decisions, keys, colours.
async function findReview() {
  if (!location.protocol.startsWith("http")) return null; // opened from disk
  try {
    const answer = await fetch("review.json");
    return answer.ok ? await answer.json() : null;
  } catch { return null; }
}

const data = JSON.parse(document.getElementById("data").textContent);
const review = await findReview();
await recallStored(`quietgraph:${data.run}`, `quietgraph:${data.run}:unsent`, "quietgraph:reviewer", "quietgraph:theme", "quietgraph:keys");
const decisions = review ? new SharedDecisions(data, review) : new LocalDecisions(data, null);
const live = document.getElementById("live");
const card = new NodeCard(data, decisions, review);
const picker = new ClassPicker(data.classes, (name) => decideCurrent("other", name));
const map = new NodeMap(data, decisions, (node, words) => {
  live.textContent = words;
  if (node < decisions.count) table.reveal(node, { focus: false });
});
const table = new SuspectTable(data, decisions, (row) => {
  map.select(row);
  card.show(row);
}, () => document.getElementById("node").scrollIntoView({ block: "nearest" }));

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
  card.showDecision();
  showProgress();
  map.draw();
});

function exportDecisions() {
  if (review) location.assign("verified.csv");
  else {
    const file = new Blob([verifiedCsv(data, decisions)], { type: "text/csv" });
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(file), download: "verified.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  document.getElementById("next-command").textContent = review?.next ?? data.next;
  document.getElementById("next-step").hidden = false;
}

/** Decide on the node at hand and go on to the next one. */
function decideCurrent(choice, label = "") {
  const row = table.current;
  if (row < 0) { table.step(0); return; }
  if (!mayDecide()) return;
  if (choice === "other" && !label) { picker.open(`Node ${data.points.id[row]} is “${decisions.observed(row)}”. Which label is right?`); return; }
  if (choice === "accept" && decisions.suggested(row) === decisions.observed(row)) return; // nothing is suggested
  decisions.choose(row, choice, label);
  const mine = decisions.decision(row);
  live.textContent = `node ${data.points.id[row]}: ${mine ? mine.label || mine.choice : "not decided"}`;
  if (mine) table.stepToOpen();
}

function undo() {
  const row = decisions.undo();
  if (row >= 0) table.reveal(row);
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
  a: () => decideCurrent("accept"), k: () => decideCurrent("keep"), o: () => decideCurrent("other"),
  d: () => decideCurrent("drop"), u: () => decideCurrent("unsure"), z: undo,
  "/": () => document.getElementById("filter-search").focus(),
  "?": () => { const keys = document.getElementById("keys"); keys.open = !keys.open; keys.scrollIntoView({ block: "nearest" }); },
};

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  const typing = event.target.closest("input:not([type=checkbox]):not([type=range]), select, textarea");
  const isDone = event.key === "Escape" || (event.key === "Enter" && event.target.matches("input"));
  if (isDone && typing) { typing.blur(); return; } // the keys of the review work at once
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
  const chosen = new Set([...data.points.observed.slice(0, decisions.count), ...data.suspects.suggested]);
  const options = [...chosen].sort((a, b) => a - b).map((code) => new Option(data.classes[code], code));
  document.getElementById("filter-class").append(...options);
}

function startTheme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = readStored("quietgraph:theme", "");
  if (chosen) document.documentElement.dataset.theme = chosen;
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
  const field = document.getElementById("reviewer");
  document.getElementById(review ? "who-shared" : "who-local").hidden = false;
  field.value = decisions.me;
  field.addEventListener("change", () => { decisions.rename(field.value.trim()); say(""); });
}

function startCard() {
  document.getElementById("node-choices").addEventListener("click", (event) => {
    const choice = event.target.closest("[data-choice]")?.dataset.choice;
    if (choice) decideCurrent(choice);
  });
  document.getElementById("undo").addEventListener("click", undo);
  document.getElementById("node-previous").addEventListener("click", () => table.step(-1));
  document.getElementById("node-next").addEventListener("click", () => table.step(1));
}

function startCopying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy).textContent;
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Select and copy it"; }
    });
  }
}

function startKeys() {
  const box = document.getElementById("use-keys");
  box.checked = readStored("quietgraph:keys", true);
  box.addEventListener("input", () => store("quietgraph:keys", box.checked));
}

document.documentElement.classList.add("with-script");
document.getElementById("export").addEventListener("click", exportDecisions);
for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
startKeys();
startTheme();
fillFilters();
startReview();
startCard();
startCopying();
decisions.start();
table.refresh();
showProgress();
if (decisions.count) table.select(table.rows[0]);
document.documentElement.dataset.started = "";
