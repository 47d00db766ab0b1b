// One picture: moving to the next, votes, drawing a region, tags, removal.

import { alike, newKey, send } from "./requests.js";
import { sure, toast } from "./notices.js";
import { explain } from "./votes.js";
import { startZoom } from "./zoom.js";


const LEAST = 0.03; // of the width or height, below which a region is a slip of the hand

const FROM = "lookalike-list"; // the address of the list a picture was opened from
const CHANGED = "lookalike-changed"; // set when lists that the browser kept are outdated
const WALK = "lookalike-walk"; // the pictures of that list, in the order it had: {list, hrefs}

function stored(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null; // Storage may be switched off.
  }
}

function store(name, value) {
  try {
    if (value === null) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, value);
  } catch {
    // Storage may be switched off.
  }
}

// Goes to the picture before or after; the list stays one step back.
export function turn(address) {
  if (address) location.replace(address);
}

// Goes back to the list, to where it was left if it is the page before.
export function leave(viewer) {
  if (stored(FROM) === viewer.dataset.back && history.length > 1) history.back();
  else location.assign(viewer.dataset.back);
}

// Votes change the order of a list, but not the order in which one walks through it.
function rememberList(event) {
  const tile = event.target.closest(".tile");
  if (!event.target.closest(".tile .open")) return;
  store(FROM, location.pathname + location.search);
  const tiles = tile.closest("#matches > .results, .strip")?.querySelectorAll(":scope > .tile") ?? [];
  const hrefs = Array.from(tiles, (one) => one.querySelector(".open").getAttribute("href"));
  store(WALK, hrefs.length ? JSON.stringify(hrefs) : null);
}

// Returns the addresses of the pictures before and after this one in the list it was opened from.
export function walk() {
  const viewer = document.querySelector(".viewer");
  const hrefs = JSON.parse(stored(WALK) ?? "[]");
  const place = hrefs.indexOf(location.pathname + location.search);
  const { before, after } = viewer.dataset;
  if (place < 0) return { before, after };
  return { before: hrefs[place - 1], after: hrefs[place + 1] ?? after };
}

// The browser may show an outdated list when going back.
function refreshList({ persisted }) {
  const back = persisted || performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  if (!back || !stored(CHANGED)) return;
  store(CHANGED, null);
  location.reload();
}

export function startViewer() {
  const viewer = document.querySelector(".viewer");
  if (!viewer) {
    document.addEventListener("click", rememberList);
    addEventListener("pageshow", refreshList);
    return;
  }
  const { before, after } = walk();
  for (const [name, address] of [["before", before], ["after", after]]) {
    showTurn(viewer, name, address);
  }
  for (const address of [after, before]) {
    // The neighbours are loaded ahead, so that moving to them is quick.
    const id = address?.match(/\/picture\/(\d+)/)?.[1];
    if (id) new Image().src = `/image/${id}`;
  }
  viewer.addEventListener("click", (event) => {
    const link = event.target.closest(".turn, [data-leave]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.matches(".turn")) turn(link.href);
    else leave(viewer);
  });
  startVotes(viewer);
  startZoom(viewer);
  startMissing(viewer);
  startSwipe(viewer);
  startRegion(viewer);
  startTags(viewer);
  viewer.querySelector("[data-remove]").addEventListener("click", async () => {
    const yes = await sure(
      "Remove this picture?",
      "It goes to the bin with its tags and votes, and can be restored until the bin is emptied. Its file is kept.",
      "Remove",
    );
    if (!yes) return;
    const gone = await send("DELETE", `/api/pictures/${viewer.dataset.id}`);
    if (!gone) return;
    store(CHANGED, "yes");
    location.replace(following(viewer) ?? viewer.dataset.back);
  });
}

// A picture whose file is missing: look for it again, or remove it.
function startMissing(viewer) {
  viewer.querySelector("[data-look]")?.addEventListener("click", async () => {
    const found = await send("POST", `/api/pictures/${viewer.dataset.id}/look`, {});
    if (!found) return;
    if (found.missing) toast("The file is still missing.");
    else location.reload();
  });
  viewer.querySelector("[data-remove-missing]")?.addEventListener("click", () => {
    viewer.querySelector("[data-remove]").click();
  });
}

// Returns the address of the next picture, which takes the place of a removed one.
function following({ dataset }) {
  if (!dataset.after) return null;
  const address = new URL(dataset.after, location.origin);
  address.searchParams.set("at", Number(address.searchParams.get("at")) - 1);
  return address.pathname + address.search;
}

// Shows the link to the picture before or after, where the list has one that the server had not.
function showTurn(viewer, name, address) {
  const known = viewer.querySelector(`.turn.${name}`);
  if (known && address) known.href = address;
  else if (known) known.remove();
  else if (address) {
    const link = document.createElement("a");
    link.className = `turn ${name}`;
    link.href = address;
    link.setAttribute("aria-label", name === "before" ? "Previous picture (←)" : "Next picture (→)");
    link.innerHTML = `<svg class="icon" aria-hidden="true"><use href="#i-${name === "before" ? "left" : "right"}"/></svg>`;
    viewer.querySelector(".canvas").append(link);
  }
}

// Votes on this picture in the search it was opened from; pressed again, takes the vote back.
export async function voteHere(wanted) {
  const viewer = document.querySelector(".viewer");
  const button = viewer?.querySelector(`.viewer-votes [data-verdict="${wanted}"]`);
  if (!button) return;
  const verdict = button.getAttribute("aria-pressed") === "true" ? 0 : wanted;
  const values = new URLSearchParams(JSON.parse(viewer.dataset.voting));
  for (const [name, value] of Object.entries({ picture: viewer.dataset.id, verdict, key: newKey(), k: 1 })) {
    values.set(name, value);
  }
  const answer = await send("POST", "/part/votes", values);
  if (answer === null) return;
  store(CHANGED, "yes");
  for (const one of viewer.querySelectorAll(".viewer-votes .vote")) {
    one.setAttribute("aria-pressed", String(Number(one.dataset.verdict) === verdict));
  }
  const text = { 1: "More like this: noted.", "-1": "Less like this: noted.", 0: "Vote taken back." }[verdict];
  document.querySelectorAll(".toast.said").forEach((box) => box.remove());
  toast(text, verdict ? { action: "Undo", act: () => voteHere(verdict) } : {}).box.classList.add("said");
}

function startVotes(viewer) {
  viewer.addEventListener("click", (event) => {
    const button = event.target.closest(".viewer-votes .vote");
    if (button) voteHere(Number(button.dataset.verdict));
    const why = event.target.closest(".viewer-votes [data-why]");
    if (why) explain(viewer.dataset.id, new URLSearchParams(JSON.parse(viewer.dataset.voting)), why);
    const copy = event.target.closest("[data-copy]");
    if (copy) copyText(copy.dataset.copy);
  });
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Path copied.");
  } catch {
    // Browsers allow it on secure pages only.
    toast(text, { stay: 20000 });
  }
}

function startSwipe(viewer) {
  const canvas = viewer.querySelector(".canvas");
  let from = null;
  canvas.addEventListener("touchstart", (event) => {
    from = event.touches.length === 1 && !viewer.matches(".drawing, .zoomed")
      ? { x: event.touches[0].clientX, y: event.touches[0].clientY } : null;
  }, { passive: true });
  canvas.addEventListener("touchend", (event) => {
    if (!from) return;
    const x = event.changedTouches[0].clientX - from.x;
    const y = event.changedTouches[0].clientY - from.y;
    const address = x < 0 ? walk().after : walk().before;
    if (Math.abs(x) > 60 && Math.abs(x) > 2 * Math.abs(y)) turn(address);
  });
}

function startRegion(viewer) {
  const frame = viewer.querySelector(".framed");
  const region = viewer.querySelector(".region");
  const bar = viewer.querySelector(".region-bar");
  const toggle = viewer.querySelector("[data-region]");
  const go = viewer.querySelector("[data-region-go]");
  let from = null;
  let box = null;

  function draw(on) {
    document.querySelectorAll(".toast.said").forEach((box) => box.remove());
    viewer.classList.toggle("drawing", on);
    toggle.setAttribute("aria-pressed", String(on));
    bar.hidden = !on;
    region.hidden = true;
    go.disabled = true;
    box = null;
  }

  function share(event) {
    const place = frame.querySelector("img").getBoundingClientRect();
    const within = (value) => Math.min(1, Math.max(0, value));
    return {
      x: within((event.clientX - place.left) / place.width),
      y: within((event.clientY - place.top) / place.height),
    };
  }

  toggle.addEventListener("click", () => draw(!viewer.classList.contains("drawing")));
  viewer.querySelector("[data-region-end]").addEventListener("click", () => draw(false));
  frame.addEventListener("pointerdown", (event) => {
    if (!viewer.classList.contains("drawing")) return;
    event.preventDefault();
    frame.setPointerCapture(event.pointerId);
    from = share(event);
  });
  frame.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = share(event);
    box = [Math.min(from.x, to.x), Math.min(from.y, to.y), Math.max(from.x, to.x), Math.max(from.y, to.y)];
    region.hidden = false;
    region.style.left = `${100 * box[0]}%`;
    region.style.top = `${100 * box[1]}%`;
    region.style.width = `${100 * (box[2] - box[0])}%`;
    region.style.height = `${100 * (box[3] - box[1])}%`;
  });
  for (const name of ["pointerup", "pointercancel"]) {
    frame.addEventListener(name, () => {
      if (!from) return;
      from = null;
      const fits = box && box[2] - box[0] > LEAST && box[3] - box[1] > LEAST;
      region.hidden = go.disabled = !fits;
    });
  }
  go.addEventListener("click", async () => {
    const answer = await send("POST", "/api/queries/region", { picture: Number(viewer.dataset.id), box });
    if (answer) location.assign(alike(answer.token));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && viewer.classList.contains("drawing")) {
      event.stopImmediatePropagation();
      draw(false);
    }
  });
}

function startTags(viewer) {
  let typed = false;
  document.body.addEventListener("htmx:configRequest", ({ detail }) => {
    if (detail.verb === "post") detail.parameters.key = newKey();
    typed = detail.elt.matches?.(".add-tag") ?? false;
  });
  document.body.addEventListener("said", ({ detail }) => {
    if (detail.kind === "undo") return;
    store(CHANGED, "yes");
    const text = detail.kind === "tag" ? "Tag added." : "Tag rejected.";
    document.querySelectorAll(".toast.said").forEach((box) => box.remove());
    toast(text, {
      action: "Undo",
      act: () => htmx.ajax("POST", `/part/tags/undo/${viewer.dataset.id}${location.search}`, {
        source: "#main", target: "#tags", swap: "outerHTML", values: { event: detail.event },
      }),
    }).box.classList.add("said");
  });
  // After typing a tag, people want to type the next.
  document.body.addEventListener("htmx:afterSettle", () => {
    if (typed) document.getElementById("new-tag")?.focus();
    typed = false;
  });
}
