// The grid of all pictures. It is as high as all of them from the start. Tiles come from the server
// in chunks; only the rows around the screen are in the page, each at the place worked out for it.
// The thumbnails of a row come in one answer, and then it is added, one row in a frame: those on the
// screen first, and what is beyond it only as fast as the server answers.

import { part } from "./requests.js";

const HEAD = 48; // px of a month's heading, as in style.css
const NEAR = 1200; // px from the screen within which rows are shown
const FAR = 1800; // px from the screen beyond which they are removed
const KEPT = 6000; // px from the screen beyond which their chunk is forgotten
const REST = 90; // ms a chunk must stay near before it is asked for, so that flying past is free
const AT_ONCE = 3; // rows on the screen that are asked for at the same time
const AHEAD = 2; // rows, when those beyond the screen are next

export function startGrid() {
  const timeline = document.getElementById("timeline");
  if (!timeline) return;
  const months = readMonths(timeline);
  const chunks = months.flatMap((month) => month.chunks);
  const live = new Set(chunks.filter((chunk) => chunk.box)); // those asked for or shown
  let top = 0; // px above the grid; reading it while scrolling would lay out the page each time
  let columns = 0;
  let row = 0; // px of a row
  let [begin, end] = [0, 0]; // px of the grid that the screen shows
  let last = scrollY;
  let near = NEAR; // px beyond the screen that are filled; 0 from a leap until the screen is full
  let asking = 0; // rows whose thumbnails are on their way
  let frame = 0;
  let turn = Promise.resolve(); // of the rows to be added, one in a frame

  function place() {
    const style = getComputedStyle(timeline);
    if (columns !== Number(style.getPropertyValue("--columns"))) {
      for (const chunk of live) {
        for (const number of chunk.rows.keys()) remove(chunk, number);
      }
      columns = Number(style.getPropertyValue("--columns"));
    }
    row = (timeline.clientWidth + parseFloat(style.getPropertyValue("--gap"))) / columns;
    let height = 0;
    for (const month of months) {
      month.top = height;
      height += HEAD;
      for (const chunk of month.chunks) {
        chunk.top = height;
        chunk.height = Math.ceil(chunk.count / columns) * row;
        height += chunk.height;
      }
      month.height = height - month.top;
      if (month.box) put(month.box, month.top, month.height);
    }
    timeline.style.height = `${height}px`;
    timeline.classList.add("placed");
    top = timeline.getBoundingClientRect().top + scrollY;
    for (const chunk of live) {
      if (chunk.box) {
        trim(chunk, columns);
        put(chunk.box, chunk.top - chunk.month.top, chunk.first * row);
      }
      for (const [number, { box }] of chunk.rows) if (box) put(box, chunk.top - chunk.month.top + number * row, row);
    }
    show();
  }

  function scrolled() {
    if (Math.abs(scrollY - last) > innerHeight) near = 0;
    last = scrollY;
    show();
  }

  // Asks for what is near, removes what is far, and has rows added in the next frames.
  function show() {
    begin = scrollY - top;
    end = begin + innerHeight;
    const beyond = (place, height, reach) => place > end + reach || place + height < begin - reach;
    for (const chunk of live) {
      if (beyond(chunk.top, chunk.height, near)) giveUp(chunk);
      for (const [number, { box }] of chunk.rows) {
        if (beyond(chunk.top + number * row, row, box ? FAR : near)) drop(chunk, number);
      }
      if (beyond(chunk.top, chunk.height, KEPT)) forget(chunk);
      if (!chunk.box && !chunk.tiles && !chunk.waiting) live.delete(chunk);
    }
    for (const month of months) {
      if (month.box && beyond(month.top, month.height, FAR) && month.box.childElementCount === 1) {
        month.box.remove();
        month.box = null;
      }
    }
    for (let number = after(chunks, begin - near); number < chunks.length; number += 1) {
      const chunk = chunks[number];
      if (chunk.top > end + near) break;
      if (!chunk.month.box) open(timeline, chunk.month);
      if (chunk.tiles || chunk.box?.childElementCount === chunk.count) continue;
      live.add(chunk);
      chunk.waiting ??= setTimeout(async () => { if (await fetchTiles(timeline, chunk)) show(); }, REST);
    }
    frame ||= requestAnimationFrame(askForRow);
  }

  // Asks for the row that is missing nearest to the middle of the screen, if its turn has come.
  function askForRow() {
    frame = 0;
    let [best, least] = [null, Infinity];
    let full = true; // the screen has all of its rows
    for (const chunk of live) {
      const seen = chunk.top < end && chunk.top + chunk.height > begin;
      if (!chunk.tiles) {
        if (seen && chunk.waiting) full = false;
        continue;
      }
      const first = Math.max(chunk.first, Math.floor((begin - near - chunk.top) / row));
      for (let number = first; number * columns < chunk.count; number += 1) {
        const place = chunk.top + number * row;
        if (place > end + near) break;
        if (chunk.rows.has(number)) continue;
        const away = Math.abs(place + row / 2 - (begin + end) / 2);
        if (away < least) [best, least] = [{ chunk, number }, away];
      }
    }
    const onScreen = least < (end - begin + row) / 2;
    if (onScreen) full = false;
    if (best && asking < (onScreen ? AT_ONCE : AHEAD)) {
      bring(best.chunk, best.number);
      frame = requestAnimationFrame(askForRow);
    }
    if (full && !asking && !near) {
      near = NEAR;
      show();
    }
  }

  // Adds a row when its thumbnails have come.
  async function bring(chunk, number) {
    const tiles = chunk.tiles.slice(number * columns, (number + 1) * columns);
    const coming = { asked: new AbortController(), box: null };
    chunk.rows.set(number, coming);
    asking += 1;
    await fetchThumbnails(tiles, coming.asked.signal);
    asking -= 1;
    frame ||= requestAnimationFrame(askForRow);
    if (coming.asked.signal.aborted) return;
    turn = turn.then(() => new Promise(requestAnimationFrame));
    await turn;
    if (!coming.asked.signal.aborted) coming.box = add(chunk, number, tiles, columns, row);
  }

  addEventListener("scroll", scrolled, { passive: true });
  new ResizeObserver(place).observe(timeline);
  place();
  startScrubber(timeline, months);
}

// The months, with their chunks; the server has sent boxes with the first pictures, and from row
// number "first" of their chunk on the rows are ours.
function readMonths(timeline) {
  const most = Number(timeline.dataset.chunk);
  const boxes = new Map(Array.from(timeline.querySelectorAll(".chunk"), (box) => [Number(box.dataset.start), box]));
  let start = 0;
  return JSON.parse(timeline.dataset.months).map(([key, title, count]) => {
    const month = { key, title, start, box: boxes.get(start)?.parentElement, chunks: [], top: 0, height: 0 };
    for (const end = start + count; start < end; start += most) {
      const size = Math.min(most, end - start);
      month.chunks.push({ month, start, count: size, box: boxes.get(start), first: 0, tiles: null, rows: new Map(), top: 0, height: 0 });
    }
    start = month.start + count;
    return month;
  });
}

// Returns the number of the first chunk that ends below a place.
function after(chunks, place) {
  let [low, high] = [0, chunks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (chunks[middle].top + chunks[middle].height < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

function put(box, top, height) {
  box.style.top = `${top}px`;
  box.style.height = `${height}px`;
}

// Leaves whole rows only in the box that the server sent, if that is only the start of its chunk.
function trim(chunk, columns) {
  const { box, count } = chunk;
  if (box.childElementCount < count) while (box.childElementCount % columns) box.lastElementChild.remove();
  chunk.first = Math.ceil(box.childElementCount / columns);
}

// Adds an element to those with a start of their own, in order.
function insert(parent, box, start) {
  box.dataset.start = start;
  parent.insertBefore(box, Array.from(parent.children).find((other) => other.dataset.start > start) ?? null);
}

// Adds a month with its heading; its rows come later.
function open(timeline, month) {
  month.box = document.createElement("section");
  month.box.className = "month";
  const title = document.createElement("h2");
  title.textContent = month.title;
  month.box.append(title);
  put(month.box, month.top, month.height);
  insert(timeline, month.box, month.start);
}

// Returns the row that was added.
function add(chunk, number, tiles, columns, height) {
  const box = document.createElement("div");
  box.className = "row";
  put(box, chunk.top - chunk.month.top + number * height, height);
  box.append(...tiles);
  insert(chunk.month.box, box, chunk.start + number * columns);
  return box;
}

function remove(chunk, number) {
  const { asked, box } = chunk.rows.get(number);
  asked.abort();
  box?.remove();
  chunk.rows.delete(number);
}

function drop(chunk, number) {
  if (!chunk.rows.get(number).box?.contains(document.activeElement)) remove(chunk, number);
}

// Brings the thumbnails of some tiles in one answer, which takes a fraction of the time.
async function fetchThumbnails(tiles, signal) {
  const images = tiles.map((tile) => tile.querySelector("img"));
  const names = images.map((image) => image.getAttribute("src").match(/^\/thumbnail\/(\d+)\.jpg\?v=(\w+)$/));
  if (!names.every(Boolean)) return; // they came before
  const query = new URLSearchParams(names.map(([, id, hash]) => ["of", `${id}-${hash}`]));
  try {
    const answer = await fetch(`/part/thumbnails?${query}`, { signal });
    if (!answer.ok) return; // each is asked for on its own then, and marked if it cannot be shown
    const lines = (await answer.text()).split("\n");
    images.forEach((image, number) => { image.src = `data:image/jpeg;base64,${lines[number]}`; });
  } catch {
    // As above, unless it was given up.
  }
}

// Removes what is left of a chunk, unless it has the focus.
function forget(chunk) {
  if (chunk.rows.size || chunk.box?.contains(document.activeElement)) return;
  giveUp(chunk);
  chunk.box?.remove();
  chunk.box = chunk.tiles = null;
  chunk.first = 0;
}

function giveUp(chunk) {
  clearTimeout(chunk.waiting);
  chunk.asked?.abort();
  chunk.waiting = chunk.asked = undefined;
}

// Returns whether the tiles have come. If not, they are asked for again when the page scrolls.
async function fetchTiles(timeline, chunk) {
  const { pairs } = timeline.dataset;
  const asked = new AbortController();
  chunk.asked = asked;
  const path = `/part/chunk${pairs ? `${pairs}&` : "?"}start=${chunk.start}&count=${chunk.count}`;
  const html = await part(path, asked.signal);
  if (chunk.asked !== asked) return false;
  chunk.waiting = chunk.asked = undefined;
  if (!html) return false;
  const apart = document.createElement("template"); // its pictures are not loaded yet
  apart.innerHTML = html;
  chunk.tiles = Array.from(apart.content.children);
  return true;
}

function startScrubber(timeline, months) {
  const bar = document.getElementById("scrubber");
  if (months.length < 3 || !bar) return;
  bar.hidden = false;
  const here = document.createElement("b");
  const bubble = document.createElement("em");
  let places = [];
  let whole = 0; // px to scroll; reading it while scrolling would lay out the page each time
  let height = 0;
  let marked = -1;

  function draw() {
    height = bar.clientHeight;
    whole = document.documentElement.scrollHeight - innerHeight;
    if (!height || whole <= 0) return;
    const above = timeline.getBoundingClientRect().top + scrollY;
    places = months.map((month) => month.top + above);
    const marks = [];
    const taken = [];
    const mark = (name, text, top, room) => {
      if (taken.some((other) => Math.abs(other - top) < room)) return;
      const box = document.createElement(name);
      box.textContent = text;
      box.style.top = `${top}px`;
      marks.push(box);
      taken.push(top);
    };
    const tops = places.map((place) => Math.min(height, (place / (whole + innerHeight)) * height));
    const years = months.map((month) => month.key.slice(0, 4));
    years.forEach((year, number) => {
      if (year && year !== years[number - 1]) mark("span", year, tops[number], 22);
    });
    years.forEach((_, number) => mark("i", "", tops[number], 11));
    bar.replaceChildren(...marks, here, bubble);
    follow();
  }

  function follow() {
    const top = whole > 0 ? Math.round(Math.min(1, scrollY / whole) * (height - 3)) : 0;
    if (top === marked) return; // it moves by a pixel in many frames, and each time costs a style
    marked = top;
    here.style.transform = `translateY(${top}px)`;
  }

  function at(event) {
    const box = bar.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientY - box.top) / box.height));
    const place = share * (whole + innerHeight);
    const next = places.findIndex((top) => top > place);
    const month = months[(next < 0 ? months.length : next) - 1] ?? months[0];
    bubble.textContent = month.title;
    bubble.style.top = `${share * box.height}px`;
    return share * whole;
  }

  bar.addEventListener("pointermove", (event) => {
    const top = at(event);
    if (bar.classList.contains("dragged")) scrollTo({ top, behavior: "instant" });
  });
  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    bar.classList.add("dragged");
    scrollTo({ top: at(event), behavior: "instant" });
  });
  for (const name of ["pointerup", "pointercancel"]) {
    bar.addEventListener(name, () => bar.classList.remove("dragged"));
  }
  addEventListener("scroll", follow, { passive: true });
  new ResizeObserver(draw).observe(timeline);
  draw();
}
