// The grid of all pictures. It has its full height from the start: each chunk is a box whose
// height style.css works out from its number of pictures. Chunks near the screen are filled,
// those far away emptied again.

const NEAR = "1400px 0px";
const FAR = "6000px 0px";
const REST = 90; // ms a chunk must stay near before it is asked for, so that flying past is free

export function startGrid() {
  const timeline = document.getElementById("timeline");
  if (!timeline) return;
  const most = Number(timeline.dataset.chunk);
  for (const month of timeline.querySelectorAll(".month")) {
    const first = Number(month.dataset.start);
    const end = first + Number(month.dataset.count);
    month.style.setProperty("--count", month.dataset.count);
    const known = month.querySelector(".chunk");
    let start = first;
    if (known) {
      known.style.setProperty("--count", known.dataset.count);
      start += Number(known.dataset.count);
    }
    for (; start < end; start += most) {
      const chunk = document.createElement("div");
      const count = Math.min(most, end - start);
      chunk.className = "chunk";
      chunk.dataset.start = start;
      chunk.dataset.count = count;
      chunk.style.setProperty("--count", count);
      month.append(chunk);
    }
  }
  watch(timeline);
  startScrubber(timeline);
}

function watch(timeline) {
  const waiting = new Map();
  const pairs = timeline.dataset.pairs;

  function fill(chunk) {
    waiting.delete(chunk);
    const { start, count } = chunk.dataset;
    const path = `/part/chunk${pairs ? `${pairs}&` : "?"}start=${start}&count=${count}`;
    chunk.dataset.asked = "";
    // A chunk scrolled past is given up; htmx reports errors by events.
    htmx.ajax("GET", path, { source: chunk, target: chunk, swap: "innerHTML" }).catch(() => {});
  }

  const near = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && !target.firstElementChild && target.dataset.asked === undefined) {
        waiting.set(target, setTimeout(fill, REST, target));
      } else if (!isIntersecting) {
        clearTimeout(waiting.get(target));
        waiting.delete(target);
        if (!target.firstElementChild && target.dataset.asked !== undefined) {
          htmx.trigger(target, "htmx:abort");
          delete target.dataset.asked;
        }
      }
    }
  }, { rootMargin: NEAR });
  const far = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting && target.firstElementChild && !target.contains(document.activeElement)) {
        target.replaceChildren();
        delete target.dataset.asked;
      }
    }
  }, { rootMargin: FAR });
  for (const chunk of timeline.querySelectorAll(".chunk")) {
    near.observe(chunk);
    far.observe(chunk);
  }
  // A failed chunk may be requested again the next time it comes near.
  for (const name of ["htmx:responseError", "htmx:sendError"]) {
    timeline.addEventListener(name, (event) => { delete event.target.dataset.asked; });
  }
}

function startScrubber(timeline) {
  const months = Array.from(timeline.querySelectorAll(".month"));
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
    places = months.map((month) => month.offsetTop + timeline.offsetTop);
    const marks = [];
    const taken = [];
    const put = (name, text, top, room) => {
      if (taken.some((other) => Math.abs(other - top) < room)) return;
      const mark = document.createElement(name);
      mark.textContent = text;
      mark.style.top = `${top}px`;
      marks.push(mark);
      taken.push(top);
    };
    const tops = places.map((place) => Math.min(height, (place / (whole + innerHeight)) * height));
    const years = months.map((month) => month.dataset.key.slice(0, 4));
    years.forEach((year, number) => {
      if (year && year !== years[number - 1]) put("span", year, tops[number], 22);
    });
    years.forEach((_, number) => put("i", "", tops[number], 11));
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
    bubble.textContent = month.querySelector("h2").textContent;
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
