"use strict";
// The page is made on the server. This script fetches parts of it as addresses change, and listens to keys.
const $ = (selector, within = document) => within.querySelector(selector);
const list = $("#list"), main = $("#sample"), panel = $("#panel"), dialog = $("#call");

async function fetched(part, query, into) {
  const answer = await fetch(part + query);
  const text = await answer.text();
  if (answer.ok) into.innerHTML = text; // made by the server's templates, which escape what they show
  return answer.ok;
}

// The last of several fetches into one place wins.
let turn = 0;
async function open(query, push = true) {
  const mine = ++turn;
  const held = document.createElement("template");
  if (!(await fetched("sample", query, held)) || mine !== turn) return;
  main.replaceChildren(held.content);
  main.scrollTop = 0;
  if (push) history.pushState(null, "", query);
  const at = new URLSearchParams(query).get("at");
  for (const row of list.querySelectorAll(".row")) {
    if (row.dataset.at === at) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
  const sample = $(".open", main);
  if (sample) document.title = sample.dataset.sample + " · Assay";
}

const rows = () => Array.from(list.querySelectorAll(".row"));
const current = () => $(".row[aria-current]", list);

async function turnPage(link) {
  const query = link.getAttribute("href");
  if (!(await fetched("list", query, list))) return false;
  history.replaceState(null, "", query);
  list.scrollTop = 0;
  return true;
}

// move opens the next row, or the one before, that suits; it turns the page at an end.
async function move(step, suits = () => true) {
  for (let pages = 0; pages < 20; pages++) {
    const all = rows();
    let i = all.indexOf(current());
    i = i < 0 ? (step > 0 ? 0 : all.length - 1) : i + step;
    for (; i >= 0 && i < all.length; i += step) {
      if (!suits(all[i])) continue;
      all[i].scrollIntoView({ block: "nearest" });
      await open(all[i].getAttribute("href"));
      return;
    }
    const link = $(step > 0 ? "a[rel=next]" : "a[rel=prev]", list);
    if (!link || !(await turnPage(link))) return;
  }
}

async function label(value) {
  const sample = $(".open", main);
  if (!sample || !$(".labels", main)) return;
  const button = $(`.labels button[data-label="${value}"]`, main);
  if (!button) return;
  const answer = await fetch("label", { method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ run: Number(document.body.dataset.run), sample: sample.dataset.sample, label: value === "null" ? null : Number(value) }) });
  if (!answer.ok) { problem(await answer.text()); return; }
  const row = current();
  if (row) {
    const shown = value === "null" ? "skipped" : value;
    row.dataset.label = shown;
    let tag = $(".tag.label", row);
    if (!tag) {
      tag = document.createElement("span");
      tag.className = "tag label";
      $(".name", row).after(tag);
    }
    tag.textContent = shown;
  }
  await open(location.search, false);
  if (document.body.dataset.panel === "labels") await fetched("panel", location.search, panel);
}

function problem(text) {
  const p = $(".problem");
  p.textContent = text;
  p.hidden = !text;
}

document.addEventListener("click", async (e) => {
  if (e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || e.button) return;
  const row = e.target.closest(".row");
  if (row) { e.preventDefault(); await open(row.getAttribute("href")); return; }
  const page = e.target.closest(".pages a");
  if (page) { e.preventDefault(); await turnPage(page); return; }
  const focus = e.target.closest("[data-focus]");
  if (focus) {
    e.preventDefault();
    const q = new URLSearchParams(location.search);
    q.set("focus", focus.dataset.focus);
    await open("?" + q);
    return;
  }
  const call = e.target.closest("[data-call]");
  if (call) {
    e.preventDefault();
    const q = new URLSearchParams({ run: document.body.dataset.run, key: call.dataset.call });
    const answer = await fetch("call?" + q);
    if (answer.ok) dialog.innerHTML = await answer.text();
    else {
      dialog.innerHTML = '<form method="dialog"><button class="close" aria-label="close">×</button></form><p></p>';
      $("p", dialog).textContent = await answer.text();
    }
    dialog.showModal();
    return;
  }
  const said = e.target.closest(".labels button");
  if (said) { await label(said.dataset.label); return; }
  if (e.target === dialog) dialog.close();
});

document.addEventListener("change", (e) => {
  if (e.target.matches("select.by, select.versus, select.go")) location.search = e.target.value;
});

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || dialog.open) return;
  if (e.target.matches("input, select, textarea")) {
    if (e.key === "Escape") e.target.blur();
    return;
  }
  const weak = $(".labels", main) ? (r) => !r.dataset.label : (r) => "weak" in r.dataset;
  const act = { j: () => move(1), k: () => move(-1), n: () => move(1, weak), "/": () => $("input[type=search]").focus(), s: () => label("null") }[e.key]
    || (/^[0-9]$/.test(e.key) && $(".labels", main) ? () => label(e.key) : null);
  if (act) { e.preventDefault(); act(); }
});

addEventListener("popstate", () => location.reload());

// While a run goes on, or is being read, the page looks again.
let shown = -1;
async function look() {
  try {
    const states = await (await fetch("state")).json();
    const s = states[Number(document.body.dataset.run)], p = $(".state");
    p.textContent = s.said;
    p.classList.toggle("busy", !(s.caught && s.finished));
    if (s.problem) problem(s.problem);
    if (s.rows !== shown) {
      await fetched("panel", location.search, panel);
      if (shown >= 0 && rows().length < 50) {
        const at = list.scrollTop;
        await fetched("list", location.search, list);
        list.scrollTop = at;
      }
      shown = s.rows;
    }
    setTimeout(look, s.caught && s.finished ? 30000 : 1500);
  } catch {
    $(".state").textContent = "assay view has ended";
  }
}
look();
const first = current();
if (first) first.scrollIntoView({ block: "nearest" });
