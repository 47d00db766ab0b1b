// Albums: saving a search, adding a selection, opening, renaming and deleting one.

import { oneWord, sure, toast } from "./notices.js";
import { chosen, clear, listed, named } from "./selection.js";
import { newKey, send } from "./requests.js";

const WEEK = 6 * 86400e3; // ms within which a weekday is clear

// Saves what is given under a name that is asked for.
export async function saveAlbum(what, text) {
  const key = newKey();
  let name = "";
  let album = null;
  // A name that is refused is asked for again, as it was typed.
  while (!album) {
    name = await oneWord("Save as album", text, "Save", name);
    if (!name) return;
    album = await send("POST", "/api/albums", { name, key, ...what });
  }
  toast(`Saved as album “${album.name}”.`, { action: "Open", act: () => location.assign(`/album/${album.id}`) });
}

// Asks for an album, there or new; resolves to its name, or to "".
function albumName(title, albums) {
  const dialog = document.getElementById("into-album");
  const field = dialog.querySelector("input");
  document.getElementById("into-album-title").textContent = title;
  document.getElementById("into-album-list").replaceChildren(...albums.map((album) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button"; // else the Enter key would choose the first album
    button.textContent = album.name;
    button.addEventListener("click", () => {
      field.value = album.name;
      dialog.close("yes");
    });
    item.append(button);
    return item;
  }));
  field.value = "";
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? field.value.trim() : ""), { once: true });
  });
}

const key = (name) => name.normalize("NFC").toLowerCase();

// Adds the selection to an album, or makes one of it.
async function addSelection() {
  const albums = await send("GET", "/api/albums");
  if (!albums) return;
  const name = await albumName(`Add ${named()} to an album`, albums);
  if (!name) return;
  const there = albums.find((album) => key(album.name) === key(name));
  const what = { ...chosen(), key: newKey() };
  const text = named();
  const album = there
    ? await send("POST", `/api/albums/${there.id}/pictures`, what)
    : await send("POST", "/api/albums", { name, ...what });
  if (!album) return;
  clear();
  toast(`Added ${text} to “${album.name}”.`, { action: "Open", act: () => location.assign(`/album/${album.id}`) });
}

async function takeOut(id) {
  const text = named();
  const before = Number(document.querySelector("[data-album]").dataset.members);
  const album = await send("POST", `/api/albums/${id}/take-out`, { ...chosen(), key: newKey() });
  if (!album) return;
  if (album.members.length < before) location.reload();
  else toast(`${text} belong to it by a vote or tag, or by its search. Vote against them below.`, { bad: true });
}

// Tells when an album was last opened as people would: today, a weekday, a date.
function tellSince(time) {
  const then = new Date(time.dateTime);
  const now = new Date();
  if (then.toDateString() === now.toDateString()) {
    time.textContent = then.toLocaleTimeString("en-GB", { timeStyle: "short" });
  } else if (now - then < WEEK) {
    time.textContent = then.toLocaleDateString("en-GB", { weekday: "long" });
  } else {
    time.textContent = then.toLocaleDateString("en-GB", { dateStyle: "medium" });
  }
}

export function startAlbums() {
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-save-album]")) return;
    const search = listed();
    saveAlbum({ search }, search.word
      ? "It has what is tagged so, now and later; what may belong to it stands below, to be voted in."
      : "It keeps this search with its votes and filters, and follows what is learned.");
  });
  document.addEventListener("many:album", addSelection);
  document.querySelectorAll("time[data-since]").forEach(tellSince);
  const head = document.querySelector("[data-album]");
  if (!head) return;
  // What is new has been shown; it is not new the next time. A read-only visitor opens nothing.
  const { album, name } = head.dataset;
  fetch(`/api/albums/${album}/opened`, {
    method: "POST",
    headers: { "X-Lookalike-Token": document.querySelector('meta[name="lookalike-token"]').content },
  }).catch(() => {});
  document.querySelector('[data-many="take-out"]').hidden = !("own" in head.dataset);
  document.addEventListener("many:take-out", () => takeOut(album));
  head.querySelector("[data-rename-album]").addEventListener("click", async () => {
    const other = await oneWord("Rename the album", "", "Rename", name);
    if (other && other !== name && await send("PATCH", `/api/albums/${album}`, { name: other })) location.reload();
  });
  head.querySelector("[data-delete-album]").addEventListener("click", async () => {
    const yes = await sure(`Delete the album “${name}”?`, "Its pictures, their tags and votes are kept. The history can undo this.", "Delete");
    if (yes && await send("DELETE", `/api/albums/${album}`)) location.assign("/albums");
  });
  if (!("own" in head.dataset)) return;
  // What was voted on joins the album, or leaves it.
  document.body.addEventListener("said", () => {
    htmx.ajax("GET", `/part/members/${album}`, { source: "#members", target: "#members", swap: "innerHTML" }).catch(() => {});
  });
}
