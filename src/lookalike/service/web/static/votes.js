// Results: votes and undoing them, the new ranking, reasons.

import { newKey } from "./requests.js";
import { say, toast } from "./notices.js";

const MOVE = 260; // ms
const still = matchMedia("(prefers-reduced-motion: reduce)");

let queue = Promise.resolve();
const said = []; // votes of this page that z undoes, the last one first: {event, picture}
let voted = null; // the picture of the vote being sent
let swaps = 0; // new rankings received
const waiting = new Map(); // votes sent but not confirmed yet: picture -> verdict

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
  const was = tile.classList.contains("liked") ? 1 : tile.classList.contains("unliked") ? -1 : 0;
  mark(tile, verdict);
  waiting.set(id, verdict);
  // One after the other: each refers to the ranking on the screen.
  queue = queue.then(() => {
    const values = asked();
    voted = id;
    values.set("picture", id);
    values.set("verdict", verdict);
    values.set("key", key);
    if (waiting.get(id) === verdict) waiting.delete(id);
    const before = swaps;
    return post("/part/votes", values).catch(() => {}).then(() => {
      // A vote that failed must not look as if it had been recorded.
      const now = tilesNow().find((other) => other.dataset.id === id);
      if (swaps === before && now && !waiting.has(id)) mark(now, was);
    });
  });
}

export function takeBack() {
  // Which vote was the last is known only once those before it are confirmed.
  queue = queue.then(() => {
    const last = said.pop();
    if (!last) {
      tell("Nothing more to undo on this page.");
      return null;
    }
    const values = asked();
    voted = null;
    values.set("event", last.event);
    values.set("key", newKey());
    return post("/part/take-back", values);
  }).catch(() => {});
}

// Reports the outcome of a vote, replacing the notice about the one before.
function tell(text, options) {
  say(text);
  document.querySelectorAll(".toast.said").forEach((box) => box.remove());
  toast(text, options).box.classList.add("said");
}

export async function why(tile) {
  const box = document.getElementById("why");
  const values = new URLSearchParams(new FormData(document.getElementById("asked")));
  const query = new URLSearchParams({ picture: tile.dataset.id });
  for (const name of ["like", "unlike", "by"]) {
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
    focused = tile && { id: tile.dataset.id, what: active.className, place: tilesNow().indexOf(tile) };
  });
  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target.id !== "matches") return;
    swaps += 1;
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
      // If the picture voted on has left the page, focus moves to the one in its place.
      const tiles = tilesNow();
      const tile = tiles.find((one) => one.dataset.id === focused.id) ?? tiles[Math.min(focused.place, tiles.length - 1)];
      const what = tile?.getElementsByClassName(focused.what)[0] ?? tile?.querySelector(".open");
      what?.focus({ preventScroll: true });
    }
    before = new Map();
  });
}

// Links beside the results keep the current ranker, cut-off and switch.
function keepOptions(form) {
  const values = new FormData(form);
  keepRanker(values.get("by"));
  for (const link of document.querySelectorAll(".chips a, .examples a[href^='/search']")) {
    const address = new URL(link.href);
    for (const name of ["by", "most", "learned"]) {
      if (values.get(name)) address.searchParams.set(name, values.get(name));
      else address.searchParams.delete(name);
    }
    link.href = address.pathname + address.search;
  }
}

function keepRanker(by) {
  const bar = document.querySelector(".search-bar");
  let field = bar.elements.by;
  if (!field && by) {
    field = Object.assign(document.createElement("input"), { type: "hidden", name: "by" });
    bar.append(field);
  }
  if (field) {
    field.value = by ?? "";
    field.disabled = !by;
  }
  const learned = document.querySelector('.rooms a[href^="/learned"]');
  learned.href = by ? `/learned?by=${encodeURIComponent(by)}` : "/learned";
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
      // A vote undone on the picture itself is not undone again.
      for (let place = said.length - 1; place >= 0; place -= 1) {
        if (said[place].picture === voted) said.splice(place, 1);
      }
      tell("Undone.");
      return;
    }
    said.push({ event: detail.event, picture: voted });
    const text = { tag: "Tag added.", correction: "Tag rejected." }[detail.kind] ?? "Ranking updated.";
    tell(text, { action: "Undo", act: takeBack });
  });
  form.addEventListener("change", () => keepOptions(form));
}
