// What this browser keeps of the page: in IndexedDB, and in local storage where that is refused.
// Local storage alone is not enough: Chromium gives some loads of a page from disk an empty one,
// which also forgets what is written to it.
const stored = new Map(); // by key: value, saved (milliseconds)
const PATIENCE = 2000; // milliseconds after which the page starts with what local storage has

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

let database = null;

async function openDatabase() {
  const request = indexedDB.open("quietgraph", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("kept");
  return done(request);
}

/** Call with the object store; returns what the function's request finds, once it is on disk. */
async function inDatabase(mode, ask) {
  database ??= openDatabase();
  const change = (await database).transaction("kept", mode);
  const ended = new Promise((resolve, reject) => {
    change.oncomplete = resolve;
    change.onabort = () => reject(change.error);
  });
  const found = done(ask(change.objectStore("kept")));
  change.commit(); // at once: it must not wait for a page that is being left
  await ended;
  return found;
}

function inLocalStorage(key) {
  try {
    const entry = JSON.parse(localStorage.getItem(key));
    const isDated = entry === null || typeof entry.saved === "number";
    return isDated ? entry : { value: entry, saved: 0 }; // of an older page
  } catch { return null; }
}

/** Take in what IndexedDB has under some keys. */
async function recallStored(...keys) {
  const late = new Promise((resolve) => { setTimeout(resolve, PATIENCE); });
  const recall = async (key) => {
    try {
      const entry = await inDatabase("readonly", (kept) => kept.get(key));
      if (entry && !(stored.get(key)?.saved >= entry.saved)) stored.set(key, entry);
    } catch { /* local storage has to do */ }
  };
  await Promise.race([Promise.all(keys.map(recall)), late]);
}

function readStored(key, otherwise) {
  const entries = [stored.get(key), inLocalStorage(key)].filter(Boolean);
  entries.sort((one, other) => other.saved - one.saved);
  return entries[0]?.value ?? otherwise;
}

/** Keep a value; false where neither place takes it. */
async function store(key, value) {
  const entry = { value, saved: Date.now() };
  stored.set(key, entry);
  let isKept = true;
  try { localStorage.setItem(key, JSON.stringify(entry)); } catch { isKept = false; }
  try { await inDatabase("readwrite", (kept) => kept.put(entry, key)); return true; } catch { return isKept; }
}
