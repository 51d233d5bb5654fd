"use strict";
for (const run of document.querySelectorAll(".run")) {
  const input = run.querySelector(".filter");
  if (!input) continue;
  const cases = Array.from(run.querySelectorAll(".cases .case"), (e) => ({ e, text: e.textContent.toLowerCase() }));
  const shown = run.querySelector(".shown");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const c of cases) {
      c.e.hidden = !words.every((w) => c.text.includes(w));
      if (!c.e.hidden) n++;
    }
    shown.textContent = words.length ? n + " of " + cases.length : "";
  });
  const button = run.querySelector(".open");
  button.addEventListener("click", () => {
    const open = button.textContent === "open all";
    for (const c of cases) c.e.open = open && !c.e.hidden;
    button.textContent = open ? "close all" : "open all";
  });
}
