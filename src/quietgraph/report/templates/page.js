// The page put together: table, node at hand, map, decisions, keys, colours.
function recall(key, otherwise) {
  try { return JSON.parse(localStorage.getItem(key)) ?? otherwise; } catch { return otherwise; }
}

function keep(key, value) {
  try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* it waits in this page alone */ }
}

async function findReview() {
  if (!location.protocol.startsWith("http")) return null; // opened from disk
  try {
    const answer = await fetch("review.json");
    return answer.ok ? await answer.json() : null;
  } catch { return null; }
}

const the = (id) => document.getElementById(id);
const root = document.documentElement;
const theme = recall("quietgraph:theme", "");
if (theme) root.dataset.theme = theme;
const data = JSON.parse(the("data").textContent);
const settings = await findReview();
const review = new Review(data, settings);
root.classList.add("with-script");
root.classList.toggle("in-review", Boolean(settings));

const map = new NodeMap(data, review, (node, words) => {
  the("live").textContent = words;
  if (node < table.count) table.reveal(node, { focus: false });
});
let card = null;
const table = new SuspectTable(data, review, (row) => { map.select(row); card.show(row); });
card = new NodeCard(data, table);

function say(problem) {
  if (the("problem").textContent !== problem) the("problem").textContent = problem;
  the("problem").hidden = !problem;
}

function showDecisions(problem) {
  if (problem || !review.waiting.length) say(problem);
  table.update();
  card.showDecision();
  map.draw();
  const counts = {};
  for (const row of review.said.keys()) {
    const one = review.together(row);
    if (one) counts[one.decision] = (counts[one.decision] ?? 0) + 1;
  }
  const decided = Object.values(counts).reduce((sum, count) => sum + count, 0);
  Object.assign(the("progress"), { max: Math.max(1, table.count), value: decided });
  const parts = Object.entries(counts).map(([choice, count]) => `${count} ${choice}`);
  the("progress-words").textContent = `${decided} of ${table.count.toLocaleString("en")} decided${parts.length ? `: ${parts.join(", ")}` : ""}`;
}

/** Decide on the node at hand and go on to the next one. */
function decide(choice, name = "") {
  const row = table.current;
  if (!settings || row < 0) return;
  if (!review.me) { // everybody has a name here
    say("Please give your name first: decisions are kept by reviewer.");
    the("reviewer").focus();
    return;
  }
  if (choice === "accept" && table.suggested(row) === table.given(row)) return; // nothing is suggested
  const label = { accept: table.suggested(row), keep: table.given(row), other: name }[choice] ?? "";
  the("next-step").hidden = true;
  review.decide(row, choice, label);
  const mine = review.mine(row);
  the("live").textContent = `node ${data.points.id[row]}: ${mine ? mine.label || mine.decision : "not decided"}`;
  if (mine) table.stepToOpen();
}

function undo() {
  const row = review.undo();
  if (row >= 0) table.reveal(row);
}

async function finish() {
  if (!await review.send()) return; // what is not saved is said already
  try {
    const answer = await fetch("outlook");
    if (!answer.ok) throw new Error(await answer.text());
    the("outlook").textContent = await answer.text();
    the("next-command").textContent = settings.next;
    the("next-step").hidden = false;
  } catch (error) { say(error.message); }
}

const KEYS = {
  n: () => table.step(1), p: () => table.step(-1), "/": () => the("filter-search").focus(),
  a: () => decide("accept"), k: () => decide("keep"), d: () => decide("drop"), u: () => decide("unsure"), z: undo,
  o: () => { if (settings) the("other-label").focus(); },
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox]), select");
  if (event.key === "Escape" && typing) typing.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !the("use-keys").checked) return;
  const step = event.target.closest("#suspects tbody") ? { ArrowDown: 1, ArrowUp: -1 }[event.key] : 0;
  if (!step && !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  if (step) table.step(step); else KEYS[event.key]();
});

for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
the("other").addEventListener("submit", () => {
  const name = the("other-label").value;
  if (!data.classes.includes(name)) { say(`“${name}” is no label here. Choose one of the list.`); return; }
  the("other-label").blur();
  decide("other", name);
});
the("node-choices").addEventListener("click", (event) => {
  const choice = event.target.closest("[data-choice]")?.dataset.choice;
  if (choice) decide(choice);
});
the("node-previous").addEventListener("click", () => table.step(-1));
the("node-next").addEventListener("click", () => table.step(1));
the("done").addEventListener("click", finish);
the("reviewer").value = review.me;
the("reviewer").addEventListener("change", () => {
  review.me = the("reviewer").value.trim();
  keep("quietgraph:reviewer", review.me);
  showDecisions("");
});

const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
const showTheme = () => { the("theme").textContent = isDark() ? "Light colours" : "Dark colours"; map.recolour(); };
the("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  keep("quietgraph:theme", root.dataset.theme);
  showTheme();
});
system.addEventListener("change", showTheme);
showTheme();

if (table.count) table.select(table.rows[0]);
if (settings) {
  document.querySelector(".lead").open = false;
  review.onChange = showDecisions;
  showDecisions("");
  review.exchange();
} else for (const option of document.querySelectorAll("option.review-only")) option.remove();
root.dataset.started = "";
