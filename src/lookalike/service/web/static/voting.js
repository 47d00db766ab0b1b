// Results: votes, their taking back, the new order, reasons, the cut-off.

import { newKey } from "./sending.js";
import { say, toast } from "./notices.js";

const MOVE = 260; // ms
const still = matchMedia("(prefers-reduced-motion: reduce)");

let queue = Promise.resolve();
let last = null; // the event that z takes back
const waiting = new Map(); // what was said and is not answered yet: picture -> verdict

const tilesNow = () => Array.from(document.querySelectorAll("#matches .tile"));

function asked() {
  const values = new FormData(document.getElementById("asked"));
  const tiles = tilesNow();
  values.set("k", Math.min(1000, Math.max(tiles.length, Number(values.get("k")))));
  for (const tile of tiles) values.append("shown", tile.dataset.id);
  return values;
}

function post(path, values) {
  return htmx.ajax("POST", path, {
    source: "#main", target: "#matches", swap: "outerHTML", values,
  });
}

function mark(tile, verdict) {
  tile.classList.toggle("liked", verdict > 0);
  tile.classList.toggle("unliked", verdict < 0);
  for (const button of tile.querySelectorAll(".vote")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.verdict) === verdict));
  }
}

export function vote(tile, wanted) {
  const button = tile.querySelector(`.vote[data-verdict="${wanted}"]`);
  if (!button) return;
  const verdict = button.getAttribute("aria-pressed") === "true" ? 0 : wanted;
  const id = tile.dataset.id;
  const key = newKey();
  mark(tile, verdict);
  waiting.set(id, verdict);
  // One after the other: each is said of the order that was on the screen.
  queue = queue.then(() => {
    const values = asked();
    values.set("picture", id);
    values.set("verdict", verdict);
    values.set("key", key);
    if (waiting.get(id) === verdict) waiting.delete(id);
    return post("/part/votes", values);
  }).catch(() => {});
}

export function takeBack() {
  const event = last;
  if (!event) {
    toast("There is nothing to take back on this page.");
    return;
  }
  last = null;
  queue = queue.then(() => {
    const values = asked();
    values.set("event", event);
    values.set("key", newKey());
    return post("/part/take-back", values);
  }).catch(() => {});
}

export async function why(tile) {
  const box = document.getElementById("why");
  const values = new URLSearchParams(new FormData(document.getElementById("asked")));
  const query = new URLSearchParams({ picture: tile.dataset.id });
  for (const name of ["like", "unlike"]) {
    for (const value of values.getAll(name)) query.append(name, value);
  }
  await htmx.ajax("GET", `/part/reasons?${query}`, { source: "#main", target: "#why", swap: "innerHTML" });
  if (!box.childElementCount) return;
  box.showPopover();
  if (innerWidth < 560) {
    box.style.left = box.style.top = "";
    return;
  }
  const place = tile.getBoundingClientRect();
  const mine = box.getBoundingClientRect();
  const left = Math.min(innerWidth - mine.width - 12, Math.max(12, place.left));
  const below = place.bottom + 8;
  const top = below + mine.height < innerHeight ? below : Math.max(72, place.top - mine.height - 8);
  box.style.left = `${left}px`;
  box.style.top = `${top}px`;
}

// Tiles glide from where they were to where they are (first, last, invert, play).
function glide() {
  let before = new Map();
  let focused = null;
  document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.target.id !== "matches") return;
    before = new Map(tilesNow().map((tile) => [tile.dataset.id, tile.getBoundingClientRect()]));
    const active = document.activeElement;
    const tile = active?.closest?.("#matches .tile");
    focused = tile && { id: tile.dataset.id, what: active.className };
  });
  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target.id !== "matches") return;
    for (const tile of tilesNow()) {
      if (waiting.has(tile.dataset.id)) mark(tile, waiting.get(tile.dataset.id));
    }
    for (const tile of tilesNow()) {
      const from = before.get(tile.dataset.id);
      if (still.matches) break;
      const to = tile.getBoundingClientRect();
      if (to.top > innerHeight + 400) break;
      if (!from) {
        tile.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE });
      } else if (from.left !== to.left || from.top !== to.top) {
        const shift = `translate(${from.left - to.left}px, ${from.top - to.top}px)`;
        tile.animate([{ transform: shift, zIndex: 1 }, { transform: "none", zIndex: 1 }], {
          duration: MOVE, easing: "cubic-bezier(.2,.7,.2,1)",
        });
      }
    }
    if (focused) {
      const tile = document.querySelector(`#matches .tile[data-id="${focused.id}"]`);
      const what = tile?.getElementsByClassName(focused.what)[0] ?? tile?.querySelector(".open");
      what?.focus({ preventScroll: true });
    }
    before = new Map();
  });
}

// Links beside the results lead on with the cut-off and the switch as they are now.
function keepOptions(form) {
  const values = new FormData(form);
  for (const link of document.querySelectorAll(".chips a, .examples a[href^='/search']")) {
    const address = new URL(link.href);
    for (const name of ["min_score", "learned"]) {
      if (values.get(name)) address.searchParams.set(name, values.get(name));
      else address.searchParams.delete(name);
    }
    link.href = address.pathname + address.search;
  }
}

export function startVoting() {
  const form = document.getElementById("asked");
  if (!form) return;
  glide();
  document.addEventListener("click", (event) => {
    const tile = event.target.closest("#matches .tile");
    if (!tile) return;
    const button = event.target.closest(".vote");
    if (button) vote(tile, Number(button.dataset.verdict));
    else if (event.target.closest("[data-why]")) why(tile);
  });
  document.body.addEventListener("said", ({ detail }) => {
    if (detail.kind === "undo") {
      say("Taken back.");
      return;
    }
    last = detail.event;
    const text = { tag: "Tagged.", correction: "Noted: the tag is wrong." }[detail.kind] ?? "Thanks. The order follows.";
    say(text);
    document.querySelectorAll(".toast.said").forEach((box) => box.remove());
    toast(text, { action: "Undo", act: takeBack }).box.classList.add("said");
  });
  form.addEventListener("change", () => keepOptions(form));
  const cut = document.getElementById("cut");
  cut?.addEventListener("input", () => {
    const value = Number(cut.value);
    document.getElementById("cut-value").textContent = value ? value.toFixed(2) : "any";
    form.elements.min_score.value = value ? cut.value : "";
  });
}
