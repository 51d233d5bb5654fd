"use strict";
// The samples after the first are packed: their lines in the list, the markup below them, which the server's templates wrote,
// and the sentences in it, each of which is kept once.
async function unpack(pack) {
  const bytes = Uint8Array.from(atob(pack.value.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return (await new Response(stream).text()).split("\0");
}

for (const run of document.querySelectorAll(".run")) {
  const input = run.querySelector(".filter");
  if (!input) continue;
  const holder = run.querySelector(".cases"), plain = Number(holder.dataset.plain);
  const packs = (kind) => Array.from(run.querySelectorAll(".pack." + kind), (e) => ({ value: e.value, parts: null }));
  const lines = packs("lines"), samples = packs("samples"), sentences = packs("strings");
  const part = async (list, per, i) => {
    const pack = list[Math.floor(i / per)];
    return (await (pack.parts ||= unpack(pack)))[i % per];
  };

  // markup is that of a packed sample, with its sentences.
  const markup = async (i) => {
    const pieces = (await part(samples, Number(holder.dataset.samples), i - plain)).split(/\x01([0-9a-z]*)\x02/);
    let last = -1;
    for (let k = 1; k < pieces.length; k += 2) {
      last = pieces[k] === "" ? last + 1 : parseInt(pieces[k], 36);
      pieces[k] = await part(sentences, Number(holder.dataset.strings), last);
    }
    return pieces.join("");
  };

  const cases = [];
  const take = () => {
    for (let e = cases.length ? cases[cases.length - 1].e.nextElementSibling : holder.firstElementChild; e; e = e.nextElementSibling) {
      const c = { e, i: cases.length, text: null };
      cases.push(c);
      if (c.i >= plain) e.addEventListener("toggle", () => e.open && fill(c));
    }
  };
  const fill = async (c) => {
    if (c.e.querySelector(".frame")) return;
    const frame = document.createElement("div");
    frame.className = "frame";
    c.e.append(frame);
    frame.innerHTML = await markup(c.i);
  };
  take();

  // more lists more lines: a pack, as the end of the list comes into sight, or all that are left, before they are searched.
  const end = run.querySelector(".more");
  let listing = Promise.resolve();
  const more = (packs) => listing = listing.then(async () => {
    const list = await Promise.all(lines.splice(0, packs).map(unpack));
    if (!list.length) return;
    holder.insertAdjacentHTML("beforeend", list.flat().join(""));
    take();
    sight.unobserve(end);
    if (lines.length) sight.observe(end); // anew: it may be in sight still
    else end.remove();
  });
  const sight = new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && more(1), { rootMargin: "1000px" });
  if (end) {
    end.querySelector("button").addEventListener("click", () => more(1));
    sight.observe(end);
  }

  const letters = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'", "&#43;": "+" };
  const textOf = async (c) => {
    if (c.i < plain) return c.e.textContent.toLowerCase();
    const below = (await markup(c.i)).replace(/<[^>]*>/g, " ").replace(/&(amp|lt|gt|#34|#39|#43);/g, (e) => letters[e]);
    return (c.e.querySelector("summary").textContent + below).toLowerCase();
  };
  const shown = run.querySelector(".shown");
  let turn = 0;
  input.addEventListener("input", async () => {
    const mine = ++turn;
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) await more(lines.length);
    for (const c of words.length ? cases : []) {
      c.text ??= await textOf(c);
      if (mine !== turn) return;
    }
    let n = 0;
    for (const c of cases) { // after all were read: to hide one has the list laid out again
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
