// Keys for the search, and a word about files that are too long before they are sent. The page works without it.
"use strict";

const search = document.getElementById("q");

const found = document.getElementById("found");

// What dropped down, or else what the page of a search lists.
function results() {
  const dropped = found.hidden ? [] : found.querySelectorAll("a");
  return Array.from(dropped.length ? dropped : document.querySelectorAll("#results a"));
}

// It closes where the reader goes elsewhere, and opens again with the search.
search.form.addEventListener("focusin", () => { found.hidden = false; });
search.addEventListener("input", () => { found.hidden = false; });
document.addEventListener("focusin", (event) => { if (!search.form.contains(event.target)) found.hidden = true; });
document.addEventListener("click", (event) => { if (!search.form.contains(event.target)) found.hidden = true; });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const writing = event.target.matches("input, textarea, select");
  if (event.key === "/" && !writing) {
    event.preventDefault();
    search.focus();
    search.select();
    return;
  }
  const links = results();
  const at = links.indexOf(event.target);
  if (event.target !== search && at < 0) return;
  if (event.key === "Escape") {
    found.replaceChildren();
    search.value = "";
    search.focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    if (next < -1 || next >= links.length) return;
    event.preventDefault();
    (next === -1 ? search : links[next]).focus();
  }
});

const form = document.querySelector("form.sending");
if (form) {
  const file = form.querySelector("input[type=file]");
  const note = document.getElementById("too-long");
  const check = () => {
    const isTooLong = file.files.length > 0 && file.files[0].size > Number(form.dataset.most);
    note.hidden = !isTooLong;
    return isTooLong;
  };
  file.addEventListener("change", check);
  form.addEventListener("submit", (event) => {
    if (check()) event.preventDefault();
  });
}
