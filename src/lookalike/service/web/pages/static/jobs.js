// Jobs: started here, followed by server-sent events, found again after a reload.

import { countAgain, send } from "./requests.js";
import { say, sure } from "./notices.js";

const NAMES = { import: "Importing pictures", rescan: "Rescanning all folders", learn: "Learning", sidecars: "Writing sidecars", read: "Reading text in pictures" };
const OVER = new Set(["done", "failed", "stopped"]);
const RECENT = 60_000; // ms for which a finished job is still shown after a reload
const LEAVE = "You can leave this page; the job continues.";
const WHILE = { learn: `${LEAVE} It usually finishes before the bar is full.` };
const TAKING = new Set(["import", "rescan"]);
const TAKEN = ["added", "known", "copies", "moved", "removed"];

// Returns how a job ended, and the class of its box: an import that refused files is not shown as a success.
function ending(job) {
  const refused = job.result?.refused ?? 0;
  if (job.state !== "done" || !refused || !TAKING.has(job.kind)) return { text: job.state, look: job.state };
  if (refused > TAKEN.reduce((sum, name) => sum + (job.result[name] ?? 0), 0)) return { text: "most files could not be used", look: "failed" };
  return { text: `done, but ${refused.toLocaleString("en")} ${refused === 1 ? "file" : "files"} could not be used`, look: "partly" };
}

export function startJobs() {
  const room = document.querySelector("[data-jobs]");
  if (!room) return;
  find(room);
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-job]");
    if (!button) return;
    const { jobSure, jobSureText, jobSureYes } = button.dataset;
    if (jobSure && !await sure(jobSure, jobSureText, jobSureYes)) return;
    button.disabled = true;
    const job = await send("POST", "/api/jobs", JSON.parse(button.dataset.job));
    button.disabled = false;
    if (job) follow(room, job);
  });
  document.addEventListener("click", async ({ target }) => {
    const { defaultRanker } = target.closest("[data-default-ranker]")?.dataset ?? {};
    if (!defaultRanker) return;
    if (await send("POST", `/api/rankers/${encodeURIComponent(defaultRanker)}/default`, {})) location.assign("/learned");
  });
  document.addEventListener("click", async ({ target }) => {
    const { removeRanker, title } = target.closest("[data-remove-ranker]")?.dataset ?? {};
    if (!removeRanker) return;
    const text = "What was learned for it goes, too. Tags and votes stay. To have it again, the pictures must be described again.";
    if (!await sure(`Remove the way to search “${title}”?`, text, "Remove")) return;
    if (await send("DELETE", `/api/rankers/${encodeURIComponent(removeRanker)}`)) location.assign("/learned");
  });
  document.body.addEventListener("htmx:afterSettle", waitForEnd);
  document.getElementById("import")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const folder = event.target.elements.folder.value.trim();
    const job = await send("POST", "/api/jobs", { kind: "import", folder });
    if (job) follow(room, job);
  });
}

// Learning and rolling back are disabled while a learning job runs.
function waitForEnd() {
  const learning = document.querySelector('.job[data-kind="learn"]:not(.done, .failed, .stopped)');
  for (const button of document.querySelectorAll('[data-job*="learn"], [hx-post^="/part/rollback"]')) {
    if (learning && !button.disabled) button.dataset.waits = "";
    if ("waits" in button.dataset) button.disabled = Boolean(learning);
    if (!learning) delete button.dataset.waits;
  }
}

async function find(room) {
  const answer = await send("GET", "/api/jobs");
  for (const job of (answer ?? []).reverse()) {
    if (unasked(job)) continue;
    if (!OVER.has(job.state)) follow(room, job);
    else if (Date.now() - Date.parse(job.ended) < RECENT) show(boxFor(room, job), job);
  }
}

// What the server learns by itself is shown only where learning is the subject, and at its end only if something came of it.
function unasked(job) {
  return job.by_itself && (!document.getElementById("learned") || (OVER.has(job.state) && !job.message));
}

function follow(room, job) {
  if (document.getElementById(`job-${job.id}`)) return;
  const box = boxFor(room, job);
  show(box, job);
  room.scrollIntoView({ block: "nearest" });
  const events = new EventSource(`/api/jobs/${job.id}/events`);
  events.addEventListener("progress", (event) => show(box, JSON.parse(event.data)));
  events.addEventListener("end", (event) => {
    events.close();
    const ended = JSON.parse(event.data);
    if (unasked(ended)) return box.remove();
    show(box, ended);
    countAgain();
    say(`${NAMES[ended.kind]}: ${ending(ended).text}. ${ended.message}`);
    if (document.getElementById("learned")) {
      htmx.ajax("GET", `/part/learned${location.search}`, { source: "#main", target: "#learned", swap: "outerHTML" }).catch(() => {});
    }
    if (document.getElementById("refused")) {
      htmx.ajax("GET", "/add", { source: "#main", target: "#refused", select: "#refused", swap: "outerHTML" }).catch(() => {});
      htmx.ajax("GET", "/add", { source: "#main", target: "#places", select: "#places", swap: "outerHTML" }).catch(() => {});
    }
  });
}

function boxFor(room, job) {
  const box = document.createElement("div");
  box.id = `job-${job.id}`;
  room.prepend(box);
  return box;
}

function show(box, job) {
  const over = OVER.has(job.state);
  const { text: end, look } = ending(job);
  box.className = `job ${look}`;
  box.dataset.kind = job.kind;
  const head = document.createElement("div");
  head.className = "job-head";
  const name = document.createElement("b");
  name.textContent = `${NAMES[job.kind]}${over ? `: ${end}` : job.state === "waiting" ? ": waiting" : "…"}`;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button small plain";
  button.textContent = over ? "Close" : "Stop";
  button.addEventListener("click", () => {
    if (over) box.remove();
    else send("DELETE", `/api/jobs/${job.id}`);
  });
  head.append(name, button);
  const parts = [head];
  if (!over) {
    const bar = document.createElement("progress");
    // A bar without a value goes on moving: after the last step something is still to be saved.
    if (job.total && job.done >= job.total && job.kind !== "learn") {
      name.textContent += " finishing";
    } else if (job.total) {
      bar.max = job.total;
      bar.value = job.done;
      // Steps of learning mean little to people, and usually fewer are needed than planned.
      if (job.kind !== "learn") name.textContent += ` ${job.done.toLocaleString("en")} of ${job.total.toLocaleString("en")}`;
    }
    bar.setAttribute("aria-label", NAMES[job.kind]);
    parts.push(bar);
  }
  const message = job.message || (over ? "" : WHILE[job.kind] ?? LEAVE);
  if (message) {
    const text = document.createElement("p");
    text.textContent = message;
    parts.push(text);
  }
  if (job.details) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Details";
    details.append(summary, job.details);
    parts.push(details);
  }
  if (job.state === "done" && TAKING.has(job.kind)) {
    const link = document.createElement("a");
    link.href = "/";
    link.textContent = "Show the pictures";
    parts.push(link);
  }
  if (over && TAKING.has(job.kind) && job.result?.refused) {
    const link = document.createElement("a");
    link.href = "/add#refused";
    link.textContent = "Show the files that could not be used";
    parts.push(link);
  }
  const hadFocus = box.contains(document.activeElement);
  box.replaceChildren(...parts);
  if (hadFocus) button.focus();
  waitForEnd();
}
