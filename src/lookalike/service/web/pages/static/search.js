// The search bar: words as they are typed; pictures chosen, dropped or pasted.

import { alike, countAgain, upload } from "./requests.js";
import { toast } from "./notices.js";

const MOST = 5;

export function startSearch() {
  startWords();
  startFiles();
  rememberSearch();
}

function startWords() {
  const field = document.getElementById("word");
  const list = document.getElementById("words");
  if (innerWidth > 700) field.placeholder = "Words, names of files or folders, or drop a picture";
  let chosen = -1;
  let timer = 0;
  let latest = 0;

  function close() {
    list.hidden = true;
    chosen = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  async function look() {
    const mine = ++latest;
    let html;
    try {
      const answer = await fetch(`/part/words?start=${encodeURIComponent(field.value)}`);
      if (!answer.ok) return;
      html = await answer.text();
    } catch {
      return; // Suggestions are a convenience; searching will report that the server is gone.
    }
    if (mine !== latest || document.activeElement !== field) return;
    list.innerHTML = html;
    chosen = -1;
    list.hidden = !list.children.length;
    field.setAttribute("aria-expanded", String(!list.hidden));
  }

  function choose(number) {
    const options = Array.from(list.children);
    chosen = (number + options.length) % options.length;
    options.forEach((option, place) => option.setAttribute("aria-selected", String(place === chosen)));
    field.setAttribute("aria-activedescendant", options[chosen].id);
    field.value = options[chosen].dataset.word;
  }

  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(look, 120); });
  field.addEventListener("focus", look);
  field.addEventListener("blur", () => setTimeout(close, 150));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (list.hidden) field.blur();
      close();
    } else if (!list.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      choose(event.key === "ArrowDown" ? chosen + 1 : Math.max(chosen, 0) - 1);
    }
  });
  list.addEventListener("pointerdown", (event) => {
    const option = event.target.closest("li");
    if (!option) return;
    event.preventDefault();
    field.value = option.dataset.word;
    field.form.requestSubmit();
  });
}

async function searchWith(files, address) {
  const note = toast(files.length > 1 ? "Uploading pictures…" : "Uploading the picture…", { stay: 0 });
  const bar = document.createElement("progress");
  note.box.append(bar);
  for (const [number, file] of files.entries()) {
    try {
      const { token } = await upload("/api/queries", file, (share) => {
        bar.value = (number + share) / files.length;
        if (share === 1) note.words.textContent = "Searching…";
      });
      address.searchParams.append("like", token);
    } catch (error) {
      note.end();
      toast(refusal(file, error), { bad: true });
      return;
    }
  }
  note.end();
  location.assign(address);
}

const refusal = (file, { message }) => `Cannot use “${file.name}”: ${message}${/[.?]$/.test(message) ? "" : "."}`;

async function addAll(files) {
  const list = document.getElementById("uploads");
  for (const file of files) {
    const item = document.createElement("li");
    const picture = document.createElement("img");
    const name = document.createElement("span");
    const bar = document.createElement("progress");
    picture.alt = "";
    name.textContent = file.name;
    item.append(picture, name, bar);
    list.prepend(item);
    try {
      const answer = await upload(`/api/pictures?name=${encodeURIComponent(file.name.slice(0, 200))}`, file, (share) => { bar.value = share; });
      picture.src = answer.picture.thumbnail;
      const link = document.createElement("a");
      link.href = `/picture/${answer.picture.id}`;
      link.textContent = answer.new ? "added" : "already in the collection";
      bar.replaceWith(link);
    } catch (error) {
      bar.remove();
      picture.replaceWith(Object.assign(document.createElement("b"), { className: "mark-failed", textContent: "!" }));
      name.textContent = refusal(file, error);
      name.className = "failed";
    }
  }
  countAgain();
}

function take(files, kind) {
  const given = Array.from(files);
  if (!given.length) return;
  if (kind === "picture") {
    addAll(given);
    return;
  }
  if (given.length > MOST) toast(`Searching with the first ${MOST} of ${given.length} pictures.`);
  const address = kind === "example" ? new URL(`/search${location.search}`, location.origin) : alike();
  searchWith(given.slice(0, MOST), address);
}

function startFiles() {
  const overlay = document.getElementById("drop");
  const dropped = document.querySelector('[data-upload="picture"]') ? "picture" : "query";
  let ours = false; // a picture of this page is dragged
  let depth = 0;

  document.addEventListener("change", (event) => {
    const kind = event.target.dataset?.upload;
    if (!kind) return;
    event.stopPropagation();
    take(event.target.files, kind);
    event.target.value = "";
  }, true);

  const carries = (event) => !ours && event.dataTransfer?.types.includes("Files");
  addEventListener("dragstart", () => { ours = true; });
  addEventListener("dragend", () => { ours = false; });
  addEventListener("dragenter", (event) => {
    if (carries(event)) { depth += 1; overlay.hidden = false; }
  });
  addEventListener("dragleave", (event) => {
    if (!carries(event)) return;
    depth = Math.max(0, depth - 1);
    if (!depth) overlay.hidden = true;
  });
  addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    overlay.hidden = true;
    if (event.dataTransfer.files.length) take(event.dataTransfer.files, dropped);
    else toast("Only pictures can be dropped here.", { bad: true });
  });
  addEventListener("paste", (event) => {
    const files = Array.from(event.clipboardData?.files ?? []);
    if (files.length) {
      event.preventDefault();
      take(files, dropped);
    }
  });
}

// “Search” leads back to the last search of this tab.
function rememberSearch() {
  try {
    if (location.pathname === "/search" && location.search) {
      sessionStorage.setItem("lookalike-search", location.search);
    }
    const last = sessionStorage.getItem("lookalike-search");
    if (last) document.querySelector("[data-last-search]").href = `/search${last}`;
  } catch {
    // Storage may be switched off.
  }
}
