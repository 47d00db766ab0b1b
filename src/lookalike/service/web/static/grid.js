// The grid of all pictures. It is as high as all of them from the start; only the months and
// chunks around the screen are in the page, each at the place worked out for it. Chunks near the
// screen are filled, those far away removed again.

import { part } from "./requests.js";

const HEAD = 48; // px of a month's heading, as in style.css
const NEAR = 1400; // px from the screen within which a chunk is filled
const FAR = 6000; // px from the screen beyond which it is removed
const REST = 90; // ms a chunk must stay near before it is asked for, so that flying past is free

export function startGrid() {
  const timeline = document.getElementById("timeline");
  if (!timeline) return;
  const months = readMonths(timeline);
  const chunks = months.flatMap((month) => month.chunks);
  let top = 0; // px above the grid; reading it while scrolling would lay out the page each time

  function place() {
    const style = getComputedStyle(timeline);
    const columns = Number(style.getPropertyValue("--columns"));
    const gap = parseFloat(style.getPropertyValue("--gap"));
    const row = (timeline.clientWidth + gap) / columns;
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
    }
    timeline.style.height = `${height}px`;
    timeline.classList.add("placed");
    top = timeline.getBoundingClientRect().top + scrollY;
    for (const month of months) if (month.box) put(month.box, month.top, month.height);
    for (const chunk of chunks) if (chunk.box) put(chunk.box, chunk.top - chunk.month.top, chunk.height);
    show();
  }

  function show() {
    const [begin, end] = [scrollY - top, scrollY - top + innerHeight];
    for (const chunk of chunks) {
      if (chunk.box && (chunk.top > end + FAR || chunk.top + chunk.height < begin - FAR)) drop(chunk);
    }
    for (let number = after(chunks, begin - FAR); number < chunks.length; number += 1) {
      const chunk = chunks[number];
      if (chunk.top > end + FAR) break;
      if (!chunk.box) add(timeline, chunk);
      const near = chunk.top < end + NEAR && chunk.top + chunk.height > begin - NEAR;
      if (near && !chunk.box.firstElementChild) chunk.waiting ??= setTimeout(fill, REST, timeline, chunk);
      else if (!near) giveUp(chunk);
    }
  }

  addEventListener("scroll", show, { passive: true });
  new ResizeObserver(place).observe(timeline);
  place();
  startScrubber(timeline, months);
}

// The months, with their chunks; the server has sent the boxes of the first.
function readMonths(timeline) {
  const most = Number(timeline.dataset.chunk);
  const boxes = new Map(Array.from(timeline.querySelectorAll(".chunk"), (box) => [Number(box.dataset.start), box]));
  let start = 0;
  return JSON.parse(timeline.dataset.months).map(([key, title, count]) => {
    const month = { key, title, start, box: boxes.get(start)?.parentElement, chunks: [], top: 0, height: 0 };
    for (const end = start + count; start < end; start += most) {
      const box = boxes.get(start);
      month.chunks.push({ month, start, count: Math.min(most, end - start), box, top: 0, height: 0 });
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

// Adds an element to those with a start of their own, in order.
function insert(parent, box, start) {
  box.dataset.start = start;
  parent.insertBefore(box, Array.from(parent.children).find((other) => other.dataset.start > start) ?? null);
}

function add(timeline, chunk) {
  const { month } = chunk;
  if (!month.box) {
    month.box = document.createElement("section");
    month.box.className = "month";
    const title = document.createElement("h2");
    title.textContent = month.title;
    month.box.append(title);
    put(month.box, month.top, month.height);
    insert(timeline, month.box, month.start);
  }
  chunk.box = document.createElement("div");
  chunk.box.className = "chunk";
  put(chunk.box, chunk.top - month.top, chunk.height);
  insert(month.box, chunk.box, chunk.start);
}

function drop(chunk) {
  const { month } = chunk;
  if (chunk.box.contains(document.activeElement)) return;
  giveUp(chunk);
  chunk.box.remove();
  chunk.box = null;
  if (month.chunks.some((other) => other.box)) return;
  month.box.remove();
  month.box = null;
}

function giveUp(chunk) {
  clearTimeout(chunk.waiting);
  chunk.asked?.abort();
  chunk.waiting = chunk.asked = undefined;
}

async function fill(timeline, chunk) {
  const { pairs } = timeline.dataset;
  const asked = new AbortController();
  chunk.asked = asked;
  const path = `/part/chunk${pairs ? `${pairs}&` : "?"}start=${chunk.start}&count=${chunk.count}`;
  const tiles = await part(path, asked.signal);
  if (chunk.asked !== asked) return;
  if (tiles) chunk.box.innerHTML = tiles;
  // One that failed is asked for again when the page scrolls.
  chunk.waiting = chunk.asked = undefined;
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
    const top = whole > 0 ? Math.min(1, scrollY / whole) * (height - 3) : 0;
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
