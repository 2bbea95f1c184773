// Before anything is drawn: the colours that were chosen last time.
try {
  const chosen = JSON.parse(localStorage.getItem("quietgraph:theme"))?.value;
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch { /* a browser that keeps nothing: its own preference counts */ }
