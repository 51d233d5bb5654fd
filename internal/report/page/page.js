"use strict";
// The samples after the first are packed: the markup of several, which the server's templates wrote, deflated.
async function unpack(pack) {
  const bytes = Uint8Array.from(atob(pack.value.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return (await new Response(stream).text()).split("\0");
}

for (const run of document.querySelectorAll(".run")) {
  const input = run.querySelector(".filter");
  if (!input) continue;
  const holder = run.querySelector(".cases"), plain = Number(holder.dataset.plain), size = Number(holder.dataset.perPack);
  const packs = Array.from(run.querySelectorAll(".pack"), (e) => ({ value: e.value, parts: null }));
  const cases = Array.from(holder.querySelectorAll(".case"), (e, i) => ({ e, i, text: null }));

  const markup = (i) => {
    const pack = packs[Math.floor((i - plain) / size)];
    pack.parts ||= unpack(pack);
    return pack.parts.then((parts) => parts[(i - plain) % size]);
  };
  const fill = async (c) => {
    if (c.i < plain || c.e.querySelector(".frame")) return;
    const frame = document.createElement("div");
    frame.className = "frame";
    c.e.append(frame);
    frame.innerHTML = await markup(c.i);
  };
  for (const c of cases) if (c.i >= plain) c.e.addEventListener("toggle", () => c.e.open && fill(c));

  const parser = document.createElement("template"); // whose content is inert
  const textOf = async (c) => {
    if (c.i < plain) return c.e.textContent.toLowerCase();
    parser.innerHTML = await markup(c.i);
    return (c.e.querySelector("summary").textContent + parser.content.textContent).toLowerCase();
  };
  const shown = run.querySelector(".shown");
  let turn = 0;
  input.addEventListener("input", async () => {
    const mine = ++turn;
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const c of cases) {
      if (words.length && c.text === null) c.text = await textOf(c);
      if (mine !== turn) return;
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
