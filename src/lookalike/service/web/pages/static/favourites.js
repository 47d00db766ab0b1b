// Favourites: a tag as any other, given and taken with one key or press.

import { newKey, send } from "./requests.js";
import { toast } from "./notices.js";

const WORD = document.querySelector("meta[name=lookalike-favourite]").content;

export async function favourite(id) {
  const picture = await send("GET", `/api/pictures/${id}`);
  if (!picture) return;
  const shows = !picture.labels.some((label) => label.toLowerCase() === WORD);
  const tags = document.getElementById("tags");
  if (tags) {
    const values = { picture: id, word: WORD, shows, key: newKey() };
    await htmx.ajax("POST", "/part/tags", { source: "#main", target: "#tags", swap: "outerHTML", values }).catch(() => {});
  } else if (await send("POST", "/api/tags", { picture: Number(id), word: WORD, shows, key: newKey() })) {
    toast(shows ? "A favourite now." : "No favourite any more.");
  }
  document.querySelector("[data-favourite]")?.setAttribute("aria-pressed", String(shows));
}

export function startFavourites() {
  document.querySelector("[data-favourite]")?.addEventListener("click", ({ currentTarget }) => {
    favourite(currentTarget.closest("[data-id]").dataset.id);
  });
}
