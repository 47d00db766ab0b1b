// Selecting many pictures: by check mark, with shift, with a rubber band, or all of a list.
//
// All of a list is sent as the list itself, which the server resolves, so that a hundred thousand
// pictures are as quick to select as ten.

import { newKey, send } from "./requests.js";
import { oneWord, sure, toast } from "./notices.js";

const SEVERAL = ["like", "unlike", "tag", "format"];
const LEAST = 6; // px that a rubber band must have to be meant

let ids = new Set(); // the pictures selected, or with "all" those that are not
let all = null; // the list all of which is selected: {list, count}
let last = null; // where a range begins: {id, at}

// Returns the list that the page shows, as the API names it.
export function listed() {
  const form = document.getElementById("asked");
  const pairs = form ? new FormData(form) : new URLSearchParams(location.search);
  const list = {};
  for (const [name, value] of pairs) {
    if (value === "" || ["k", "offset", "order", "at"].includes(name)) continue;
    if (SEVERAL.includes(name)) (list[name] ??= []).push(value);
    else list[name] = value;
  }
  if (!list.like && !list.word) delete list.by;
  return list;
}

// Returns what is selected, as the API names it.
export function chosen() {
  const numbers = Array.from(ids, Number);
  return all ? { all_of: all.list, without: numbers } : { pictures: numbers };
}

const count = () => (all ? all.count - ids.size : ids.size);
const isChosen = (id) => ids.has(id) !== Boolean(all);

export function named() {
  const number = count();
  return number === 1 ? "1 picture" : `${number.toLocaleString("en")} pictures`;
}

function mark(tile) {
  const on = isChosen(tile.dataset.id);
  if (tile.classList.contains("chosen") === on) return;
  tile.classList.toggle("chosen", on);
  tile.querySelector(".pick")?.setAttribute("aria-checked", String(on));
}

function show() {
  const number = count();
  const bar = document.getElementById("many");
  if (!number) {
    all = null;
    ids.clear();
    last = null;
  }
  bar.hidden = !number;
  document.body.classList.toggle("selecting", number > 0);
  document.getElementById("many-count").textContent = number ? `${number.toLocaleString("en")} selected` : "";
  bar.querySelector('[data-many="all"]').hidden = Boolean(all) || !document.querySelector("#timeline, #matches .tile");
  for (const tile of document.querySelectorAll("main .tile")) mark(tile);
}

function choose(some, on) {
  for (const id of some) {
    if (on !== Boolean(all)) ids.add(id);
    else ids.delete(id);
  }
}

export function clear() {
  all = null;
  ids = new Set();
  show();
}

const place = (tile) => Number(new URL(tile.querySelector(".open").href).searchParams.get("at"));

// Selects all from the last picture chosen to this one.
async function chooseUpTo(tile, on) {
  const list = tile.closest(".timeline, .results, .strip");
  const begin = last?.list === list ? last : { list, at: place(tile) };
  const [from, to] = [begin.at, place(tile)].sort((a, b) => a - b);
  if (list.matches(".timeline")) {
    // Chunks in between may be empty, being far from the screen.
    const query = new URLSearchParams(location.search);
    query.set("offset", from);
    query.set("k", to - from + 1);
    const answer = await send("GET", `/api/pictures/ids?${query}`);
    if (answer) choose(answer.map(String), on);
  } else {
    const tiles = Array.from(list.querySelectorAll(".tile"));
    const ends = [begin.id, tile.dataset.id].map((id) => tiles.findIndex((one) => one.dataset.id === id));
    const [first, end] = ends.map((end_) => (end_ < 0 ? ends[1] : end_)).sort((a, b) => a - b);
    choose(tiles.slice(first, end + 1).map((one) => one.dataset.id), on);
  }
}

export async function toggle(tile, range = false) {
  const on = !isChosen(tile.dataset.id);
  if (range && last) await chooseUpTo(tile, true);
  else choose([tile.dataset.id], on);
  last = { id: tile.dataset.id, at: place(tile), list: tile.closest(".timeline, .results, .strip") };
  show();
}

async function chooseAll() {
  const list = listed();
  const answer = await send("POST", "/api/selection/examples", { all_of: list });
  if (!answer) return;
  all = { list, count: answer.pictures };
  ids = new Set();
  show();
}

function undoable(text, event) {
  toast(text, {
    action: "Undo",
    stay: 12000,
    act: async () => { if (await send("POST", "/api/undo", { event, key: newKey() })) toast("Undone."); },
  });
}

async function tag(shows) {
  const title = shows ? "Tag" : "Remove a tag from";
  const word = await oneWord(`${title} ${named()}`, "", shows ? "Tag" : "Remove the tag");
  if (!word) return;
  const answer = await send("POST", "/api/selection/tag", { ...chosen(), word, shows, key: newKey() });
  if (!answer) return;
  const number = answer.pictures === 1 ? "1 picture" : `${answer.pictures.toLocaleString("en")} pictures`;
  undoable(shows ? `Tagged ${number} “${word}”.` : `Removed “${word}” from ${number}.`, answer.event.number);
}

async function remove() {
  const text = count() === 1
    ? "It moves to the bin, from which it can be restored with its tags and votes. The file is kept."
    : "They move to the bin, from which they can be restored with their tags and votes. Files are kept.";
  const yes = await sure(`Remove ${named()}?`, text, "Remove");
  if (!yes) return;
  const answer = await send("POST", "/api/selection/remove", { ...chosen(), key: newKey() });
  if (answer) location.reload();
}

async function search() {
  const answer = await send("POST", "/api/selection/examples", chosen());
  if (!answer) return;
  const address = new URL("/search", location.origin);
  for (const id of answer.like) address.searchParams.append("like", id);
  const by = new URLSearchParams(location.search).get("by");
  if (by) address.searchParams.set("by", by);
  location.assign(address);
}

const ACTS = {
  clear,
  all: chooseAll,
  tag: () => tag(true),
  untag: () => tag(false),
  search,
  album: () => document.dispatchEvent(new Event("many:album")),
  "take-out": () => document.dispatchEvent(new Event("many:take-out")),
  remove,
};

// A band drawn from an empty place selects what it touches.
function startBand() {
  const main = document.getElementById("main");
  let band = null;
  let from = null;
  let before = null;

  function draw(event) {
    const to = { x: event.pageX, y: event.pageY };
    const left = Math.min(from.x, to.x);
    const top = Math.min(from.y, to.y);
    const width = Math.abs(to.x - from.x);
    const height = Math.abs(to.y - from.y);
    if (!band && Math.max(width, height) < LEAST) return;
    if (!band) {
      band = document.createElement("div");
      band.className = "band";
      document.body.append(band);
      getSelection().removeAllRanges();
    }
    Object.assign(band.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    // Those that the page has scrolled away from stay as they are.
    for (const tile of document.querySelectorAll("main .tile")) {
      const box = tile.getBoundingClientRect();
      const x = box.left + scrollX;
      const y = box.top + scrollY;
      const touched = x < left + width && x + box.width > left && y < top + height && y + box.height > top;
      choose([tile.dataset.id], touched || before.has(tile.dataset.id) !== Boolean(all));
    }
    show();
    if (event.clientY > innerHeight - 40) scrollBy(0, 24);
    else if (event.clientY < 100) scrollBy(0, -24);
  }

  main.addEventListener("pointerdown", (event) => {
    const busy = event.target.closest(".tile, a, button, input, select, label, summary, p, h1, h2, .viewer, .sheet, .card, .example");
    if (event.button || event.pointerType !== "mouse" || busy || !document.querySelector("main .tile")) return;
    from = { x: event.pageX, y: event.pageY };
    before = new Set(ids);
    event.preventDefault();
  });
  addEventListener("pointermove", (event) => { if (from) draw(event); });
  addEventListener("pointerup", () => {
    band?.remove();
    band = from = null;
  });
}

export function startSelection() {
  const bar = document.getElementById("many");
  bar.addEventListener("click", (event) => ACTS[event.target.closest("[data-many]")?.dataset.many]?.());
  document.addEventListener("click", (event) => {
    const tile = event.target.closest("main .tile");
    if (!tile || tile.closest(".rejected")) return;
    const picking = event.target.closest(".pick");
    const opening = event.target.closest(".open") && count() && !event.ctrlKey && !event.metaKey;
    if (!picking && !opening) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    toggle(tile, event.shiftKey);
  }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && count() && !document.querySelector("dialog[open]")) {
      event.stopImmediatePropagation();
      clear();
    }
  }, true);
  // Tiles that come later, or come again, are marked as well.
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) {
        if (node.matches?.(".tile")) mark(node);
        else node.querySelectorAll?.(".tile").forEach(mark);
      }
    }
  }).observe(document.getElementById("main"), { childList: true, subtree: true });
  startBand();
}
