// Albums: saving a search or a selection, opening one, deleting one.

import { oneWord, sure, toast } from "./notices.js";
import { chosen, listed, named } from "./selection.js";
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
    saveAlbum({ search: listed() }, "It keeps this search with its votes and filters, and follows what is learned.");
  });
  document.addEventListener("many:album", () => {
    saveAlbum(chosen(), `An album of exactly ${named()}, with similar ones below it.`);
  });
  document.querySelectorAll("time[data-since]").forEach(tellSince);
  const head = document.querySelector("[data-album]");
  if (!head) return;
  // What is new has been shown; it is not new the next time. A read-only visitor opens nothing.
  const { album, name } = head.dataset;
  fetch(`/api/albums/${album}/opened`, {
    method: "POST",
    headers: { "X-Lookalike-Token": document.querySelector('meta[name="lookalike-token"]').content },
  }).catch(() => {});
  head.querySelector("[data-delete-album]").addEventListener("click", async () => {
    const yes = await sure(`Delete the album “${name}”?`, "Its pictures, their tags and votes are kept.", "Delete");
    if (yes && await send("DELETE", `/api/albums/${album}`)) location.assign("/albums");
  });
  if (!("own" in head.dataset)) return;
  // What was voted on joins the album, or leaves it.
  document.body.addEventListener("said", () => {
    htmx.ajax("GET", `/part/members/${album}`, { source: "#members", target: "#members", swap: "innerHTML" }).catch(() => {});
  });
}
