// A slide show of the list at hand: the pictures of the page, or of all months. Space pauses it.

import { send } from "./requests.js";

const PAUSE = 4000; // ms that a picture is shown
const MOST = 1000; // pictures of a slide show

const typing = (element) => element.closest?.("input, select, textarea, dialog");

// Returns the ids of the list, beginning with the picture that has the focus, if one has.
async function listed() {
  const tiles = Array.from(document.querySelectorAll("main .tile"), (tile) => Number(tile.dataset.id));
  let ids = [...new Set(tiles)];
  if (document.getElementById("timeline")) {
    const query = new URLSearchParams(location.search);
    query.set("k", MOST);
    ids = await send("GET", `/api/pictures/ids?${query}`) ?? ids;
  }
  const first = ids.indexOf(Number(document.activeElement?.closest?.(".tile")?.dataset.id));
  return first > 0 ? [...ids.slice(first), ...ids.slice(0, first)] : ids;
}

async function show() {
  const ids = await listed();
  if (!ids.length) return;
  const dialog = document.createElement("dialog");
  dialog.className = "slides";
  dialog.setAttribute("aria-label", "Slide show");
  const image = document.createElement("img");
  image.alt = "";
  dialog.append(image);
  document.body.append(dialog);
  let place = -1;
  let timer = 0;
  let paused = false;

  function go(step) {
    place = (place + step + ids.length) % ids.length;
    image.src = `/image/${ids[place]}`;
    new Image().src = `/image/${ids[(place + 1) % ids.length]}`; // so that the next comes at once
    clearTimeout(timer);
    if (!paused) timer = setTimeout(() => go(1), PAUSE);
  }

  dialog.addEventListener("keydown", (event) => {
    if (event.key === " ") {
      event.preventDefault();
      paused = !paused;
      clearTimeout(timer);
      if (!paused) go(1);
    } else if (event.key === "ArrowRight") go(1);
    else if (event.key === "ArrowLeft") go(-1);
  });
  dialog.addEventListener("click", () => dialog.close());
  let lost = 0; // pictures in a row that cannot be shown
  image.addEventListener("load", () => { lost = 0; });
  image.addEventListener("error", () => {
    lost += 1;
    if (place >= 0 && lost < ids.length) go(1);
  });
  dialog.addEventListener("close", () => {
    clearTimeout(timer);
    place = -1;
    if (document.fullscreenElement) document.exitFullscreen();
    dialog.remove();
  });
  dialog.showModal();
  dialog.requestFullscreen?.().catch(() => {});
  go(1);
}

export function startSlides() {
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-slides]")) show();
  });
  document.addEventListener("keydown", (event) => {
    const busy = event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]");
    if (event.key === "p" && !busy && !typing(event.target) && document.querySelector("main .tile")) show();
  });
}
