// Results: votes and undoing them, the new ranking, reasons.
//
// A vote is sent at once, but tiles move only when pointer and keys have rested for a moment, and
// the tile under the hand (the pointer, or the focus of the keyboard) keeps its place until the
// hand leaves it. Meanwhile #matches is aria-busy.

import { newKey } from "./requests.js";
import { say, toast } from "./notices.js";

const MOVE = 260; // ms
const REST = 800; // ms
const LEAST = 3; // places that a picture must have moved to be told
const still = matchMedia("(prefers-reduced-motion: reduce)");

let queue = Promise.resolve();
const said = []; // votes of this page that z undoes, the last one first: {event, picture}
let sending = 0; // votes that were given and not answered yet
let voted = null; // the picture of the vote being sent
let answers = 0; // new rankings received
let arrived = null; // the last of them as HTML, until it is shown
let order = []; // the ids as they are ranked, once a tile was kept from its place
let leaving = null; // the picture that was rejected and stays until the hand leaves it
let timer = 0;
let byKeys = false; // the last thing done was done by keyboard
const waiting = new Map(); // votes sent but not confirmed yet: picture -> verdict

const list = () => document.querySelector("#matches > .results");
const tilesNow = () => Array.from(list()?.querySelectorAll(":scope > .tile") ?? []);
const idsNow = () => tilesNow().map((tile) => tile.dataset.id);

function asked() {
  const values = new FormData(document.getElementById("asked"));
  const ids = idsNow();
  values.set("k", Math.min(1000, Math.max(ids.length, Number(values.get("k")))));
  for (const id of ids) values.append("shown", id);
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
  // Not while another ranking is awaited; votes on this one wait for each other below.
  if (!button || (!sending && tile.closest(".htmx-request"))) return;
  const verdict = button.getAttribute("aria-pressed") === "true" ? 0 : wanted;
  const id = tile.dataset.id;
  const key = newKey();
  const was = tile.classList.contains("liked") ? 1 : tile.classList.contains("unliked") ? -1 : 0;
  mark(tile, verdict);
  waiting.set(id, verdict);
  sending += 1;
  busy(true);
  rest();
  // One after the other: each refers to the ranking on the screen.
  queue = queue.then(() => {
    const values = asked();
    voted = id;
    values.set("picture", id);
    values.set("verdict", verdict);
    values.set("key", key);
    if (waiting.get(id) === verdict) waiting.delete(id);
    const before = answers;
    return post("/part/votes", values).catch(() => {}).then(() => {
      // A vote that failed must not look as if it had been recorded.
      const now = tilesNow().find((other) => other.dataset.id === id);
      if (answers === before && now && !waiting.has(id)) mark(now, was);
    }).finally(() => {
      sending -= 1;
      if (!sending && arrived === null && !order.length) busy(false);
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

export function why(tile) {
  const values = new URLSearchParams(new FormData(document.getElementById("asked")));
  return explain(tile.dataset.id, values, tile);
}

// Shows beside an element why a picture matches a search.
export async function explain(id, values, beside) {
  const box = document.getElementById("why");
  const query = new URLSearchParams({ picture: id });
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
  const place = beside.getBoundingClientRect();
  const mine = box.getBoundingClientRect();
  const left = Math.min(innerWidth - mine.width - 12, Math.max(12, place.left));
  const below = place.bottom + 8;
  const top = below + mine.height < innerHeight ? below : Math.max(72, place.top - mine.height - 8);
  box.style.left = `${left}px`;
  box.style.top = `${top}px`;
}

// Puts what is to be shown off until pointer and keys have rested.
function rest() {
  clearTimeout(timer);
  if (arrived !== null || order.length) timer = setTimeout(settle, REST);
}

function busy(on) {
  const matches = document.getElementById("matches");
  if (on) matches?.setAttribute("aria-busy", "true");
  else matches?.removeAttribute("aria-busy");
}

const pointing = () => document.querySelector("#matches > .results > .tile:hover");

// The tile that must not move now, and where it is.
function hand() {
  const found = byKeys ? document.activeElement?.closest?.("#matches > .results > .tile") : pointing();
  if (!found) return null;
  const { top, bottom } = found.getBoundingClientRect();
  return bottom < 0 || top > innerHeight ? null : { tile: found, place: tilesNow().indexOf(found), top };
}

function settle() {
  if (arrived === null) {
    if (order.length) moving(() => arrange(order, hand()));
    return;
  }
  const html = arrived;
  arrived = null;
  show(html);
}

function show(html) {
  const box = document.createElement("template");
  box.innerHTML = html;
  const fresh = box.content.querySelector("#matches");
  const old = document.getElementById("matches");
  const ranked = fresh.querySelector(":scope > .results");
  const before = new Map((order.length ? order : idsNow()).map((id, place) => [id, place + 1]));
  const kept = hand();
  const gone = ranked && kept && !ranked.querySelector(`:scope > .tile[data-id="${kept.tile.dataset.id}"]`);
  leaving = gone && kept.tile.classList.contains("unliked") ? kept.tile.dataset.id : null;
  const unfolded = old.querySelector(".rejected[open]");
  moving(() => {
    const next = ranked ? Array.from(ranked.querySelectorAll(":scope > .tile"), (tile) => tile.dataset.id) : [];
    if (leaving) ranked.append(kept.tile);
    old.replaceWith(fresh);
    htmx.process(fresh);
    if (unfolded && fresh.querySelector(".rejected")) fresh.querySelector(".rejected").open = true;
    for (const tile of tilesNow()) {
      if (waiting.has(tile.dataset.id)) mark(tile, waiting.get(tile.dataset.id));
    }
    tellMoves(next, before);
    arrange(next, kept);
  });
}

// Orders the tiles as ranked, but for the one under the hand; those loaded since follow them.
function arrange(ranked, kept) {
  const tiles = new Map(tilesNow().map((tile) => [tile.dataset.id, tile]));
  const own = kept?.tile.dataset.id;
  const later = [...tiles.keys()].filter((id) => id !== leaving && !ranked.includes(id));
  const all = [...ranked.filter((id) => tiles.has(id)), ...later];
  const target = all.filter((id) => id !== own);
  const stays = own !== undefined && (own === leaving || all.includes(own));
  if (stays) target.splice(Math.min(kept.place, target.length), 0, own);
  const settled = !stays || all.indexOf(own) === target.indexOf(own);
  const shown = target.map((id) => tiles.get(id));
  for (const old of list().querySelectorAll(":scope > .tile")) if (!shown.includes(old)) old.remove();
  shown.forEach((element, place) => {
    const here = list().children[place];
    if (here !== element) list().insertBefore(element, here);
  });
  if (stays) scrollBy(0, tiles.get(own).getBoundingClientRect().top - kept.top);
  if (!stays) leaving = null;
  order = settled ? [] : ranked;
  busy(!settled);
}

// Tells on each tile how far it has moved; those voted on move since they were told to.
function tellMoves(ranked, before) {
  let up = 0;
  tilesNow().forEach((tile) => {
    const now = ranked.indexOf(tile.dataset.id) + 1;
    const was = before.get(tile.dataset.id) ?? Number(tile.dataset.was ?? 0);
    if (!now || !was || Math.abs(was - now) < LEAST || tile.matches(".liked, .unliked")) return;
    const badge = document.createElement("span");
    badge.className = was > now ? "moved up" : "moved down";
    badge.textContent = `${was > now ? "↑" : "↓"} ${was.toLocaleString("en")} → ${now.toLocaleString("en")}`;
    badge.title = `Moved ${was > now ? "up" : "down"} from rank ${was} to ${now}`;
    tile.querySelector(".open").append(badge);
    if (was > now) up += 1;
  });
  if (up) say(`Ranking updated: ${up} ${up === 1 ? "picture" : "pictures"} moved up.`);
}

// Tiles glide from where they were to where they are (first, last, invert, play), with the focus.
// Returns what is to be called once they have changed.
function watchMoves() {
  const before = new Map(tilesNow().map((tile) => [tile.dataset.id, tile.getBoundingClientRect()]));
  const active = document.activeElement;
  const own = active?.closest?.("#matches .tile");
  const focused = own && { id: own.dataset.id, what: active.className, place: tilesNow().indexOf(own) };
  return () => {
    const tiles = tilesNow();
    for (const tile of still.matches ? [] : tiles) {
      const from = before.get(tile.dataset.id);
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
    if (!focused || document.activeElement?.closest?.("#matches .tile")) return;
    // If the picture voted on has left the page, focus moves to the one in its place.
    const tile = tiles.find((one) => one.dataset.id === focused.id) ?? tiles[Math.min(focused.place, tiles.length - 1)];
    const what = tile?.getElementsByClassName(focused.what)[0] ?? tile?.querySelector(".open");
    what?.focus({ preventScroll: true });
  };
}

function moving(change) {
  const moved = watchMoves();
  change();
  moved();
}

// A ranking that answers a vote waits for a rest; one that was asked for is shown at once.
function holdRankings() {
  let moved = null;
  document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.target.id !== "matches" || detail.xhr.status >= 400) return;
    answers += 1;
    const path = detail.requestConfig.path;
    if (path.startsWith("/part/votes")) {
      detail.shouldSwap = false;
      arrived = detail.xhr.responseText;
      busy(true);
      rest();
      return;
    }
    arrived = null;
    if (path.startsWith("/part/take-back")) {
      detail.shouldSwap = false;
      show(detail.xhr.responseText);
    } else {
      order = [];
      moved = watchMoves();
    }
  });
  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target.id === "matches") moved?.();
    moved = null;
  });
  for (const name of ["pointermove", "pointerdown", "pointerout", "keydown", "scroll", "wheel"]) {
    document.addEventListener(name, () => {
      if (name !== "scroll" && name !== "pointerout") byKeys = name === "keydown";
      rest();
    }, { passive: true, capture: true });
  }
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
  holdRankings();
  document.addEventListener("click", (event) => {
    const tile = event.target.closest("#matches .tile");
    if (!tile) return;
    const button = event.target.closest(".vote");
    if (button) vote(tile, Number(button.dataset.verdict));
    else if (event.target.closest("[data-bring-back]")) vote(tile, -1); // takes the vote back
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
