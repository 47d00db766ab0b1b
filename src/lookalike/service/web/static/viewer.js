// One picture: moving to the next, drawing a region, tags, removal.

import { alike, newKey, send } from "./requests.js";
import { sure, toast } from "./notices.js";

const LEAST = 0.03; // of the width or height, below which a region is a slip of the hand

const FROM = "lookalike-list"; // the address of the list a picture was opened from
const REMOVED = "lookalike-removed"; // set when lists that the browser kept show what is gone

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

function rememberList(event) {
  if (event.target.closest(".tile .open")) store(FROM, location.pathname + location.search);
}

// The browser may show an outdated list when going back.
function refreshList({ persisted }) {
  const back = persisted || performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  if (!back || !stored(REMOVED)) return;
  store(REMOVED, null);
  location.reload();
}

export function startViewer() {
  const viewer = document.querySelector(".viewer");
  if (!viewer) {
    document.addEventListener("click", rememberList);
    addEventListener("pageshow", refreshList);
    return;
  }
  const { before, after } = viewer.dataset;
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
    store(REMOVED, "yes");
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

function startSwipe(viewer) {
  const canvas = viewer.querySelector(".canvas");
  let from = null;
  canvas.addEventListener("touchstart", (event) => {
    from = event.touches.length === 1 && !viewer.classList.contains("drawing")
      ? { x: event.touches[0].clientX, y: event.touches[0].clientY } : null;
  }, { passive: true });
  canvas.addEventListener("touchend", (event) => {
    if (!from) return;
    const x = event.changedTouches[0].clientX - from.x;
    const y = event.changedTouches[0].clientY - from.y;
    const address = x < 0 ? viewer.dataset.after : viewer.dataset.before;
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
