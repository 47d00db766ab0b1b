// The keyboard: arrows go from tile to tile, letters vote.

import { favourite } from "./favourites.js";
import { alike } from "./requests.js";
import { leave, turn, voteHere, walk } from "./viewer.js";
import { pan } from "./zoom.js";
import { toggle } from "./selection.js";
import { takeBack, vote, why } from "./votes.js";

const typing = (element) => element.closest?.("input:not([type=checkbox], [type=range], [type=file]), select, textarea");

function current() {
  return document.activeElement?.closest?.(".tile") ?? document.querySelector("main .tile:hover");
}

// Returns the tile next to one in a direction, as seen on the screen.
function beside(tile, key) {
  const tiles = Array.from(document.querySelectorAll(".tile"));
  if (!tile || !tiles.includes(tile)) {
    return tiles.find((other) => other.getBoundingClientRect().top >= 60) ?? tiles[0];
  }
  const place = tiles.indexOf(tile);
  if (key === "ArrowLeft") return tiles[place - 1];
  if (key === "ArrowRight") return tiles[place + 1];
  const from = tile.getBoundingClientRect();
  const down = key === "ArrowDown";
  const others = down ? tiles.slice(place + 1) : tiles.slice(0, place).reverse();
  let best = null;
  let row = null;
  for (const other of others) {
    const to = other.getBoundingClientRect();
    if (down ? to.top < from.bottom - 4 : to.bottom > from.top + 4) continue;
    if (row !== null && Math.abs(to.top - row) > 4) break;
    row = to.top;
    const away = Math.abs(to.left - from.left);
    if (!best || away < best.away) best = { other, away };
  }
  return best?.other;
}

function go(event) {
  const viewer = document.querySelector(".viewer");
  if (viewer) {
    if (pan(event.key)) {
      event.preventDefault();
      return;
    }
    turn({ ArrowLeft: walk().before, ArrowRight: walk().after }[event.key]);
    return;
  }
  const next = beside(document.activeElement?.closest?.(".tile"), event.key);
  if (!next) return;
  event.preventDefault();
  next.querySelector(".open").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function press(event) {
  const tile = current();
  switch (event.key) {
    case "/":
      event.preventDefault();
      document.getElementById("word").focus();
      document.getElementById("word").select();
      return;
    case "?":
      document.getElementById("help").showModal();
      return;
    case "Escape": {
      const viewer = document.querySelector(".viewer");
      if (viewer) leave(viewer);
      return;
    }
    case "a": {
      const id = tile?.dataset.id ?? document.querySelector(".viewer")?.dataset.id;
      if (id) location.assign(alike(id));
      return;
    }
    case "s": {
      const id = tile?.dataset.id ?? document.querySelector(".viewer")?.dataset.id;
      if (id && !document.body.matches(".reader:not(.voter)")) favourite(id);
      return;
    }
    case "u": case "+":
      if (tile) vote(tile, 1);
      else voteHere(1);
      return;
    case "d": case "-":
      if (tile) vote(tile, -1);
      else voteHere(-1);
      return;
    case "f":
      document.querySelector("[data-full]")?.click();
      return;
    case "z":
      if (document.getElementById("matches")) takeBack();
      return;
    case "x": case "X":
      if (tile) toggle(tile, event.shiftKey);
      return;
    case "w":
      if (tile?.querySelector("[data-why]")) why(tile);
      else document.querySelector(".viewer-votes [data-why]")?.click();
      return;
    default:
      if (event.key.startsWith("Arrow")) go(event);
  }
}

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    const busy = event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]");
    if (busy || typing(event.target) || event.target.matches?.("[type=range]")) return;
    if (document.querySelector("[popover]:popover-open") && event.key === "Escape") return;
    press(event);
  });
}
