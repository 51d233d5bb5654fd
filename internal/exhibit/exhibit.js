"use strict";
// What a finding is joined to lights up with it.
function light(e) {
  for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
  if (e.type === "pointerout") return;
  const frame = e.target.closest && e.target.closest(".exhibit");
  if (!frame) return;
  const finding = e.target.closest(".finding[data-n]"), piece = e.target.closest(".piece");
  const note = e.target.closest(".note");
  const numbers = finding ? [finding.dataset.n] : note ? [note.textContent] : piece ? piece.dataset.notes.trim().split(" ") : [];
  for (const n of numbers) {
    for (const p of frame.querySelectorAll(".piece")) if (p.dataset.notes.trim().split(" ").includes(n)) p.classList.add("lit");
    for (const f of frame.querySelectorAll(`.finding[data-n="${n}"]`)) f.classList.add("lit");
  }
}
for (const type of ["pointerover", "pointerout", "focusin"]) document.addEventListener(type, light);
