// Requests to the API, each with the token that shows it comes from this page.

import { GONE, message, toast } from "./notices.js";

const token = document.querySelector('meta[name="lookalike-token"]').content;

// The address of a search for pictures like one, by the ranker that this page names.
export function alike(ref) {
  const address = new URL("/search", location.origin);
  if (ref) address.searchParams.set("like", ref);
  const by = new URLSearchParams(location.search).get("by");
  if (by) address.searchParams.set("by", by);
  return address;
}

export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Returns the response, or null after a toast with the reason.
export async function send(method, path, body) {
  const headers = { "X-Lookalike-Token": token, Accept: "application/json" };
  const form = body instanceof URLSearchParams; // a part of a page, answered with HTML
  if (body !== undefined && !form) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method, headers, body: body === undefined || form ? body : JSON.stringify(body),
    });
  } catch {
    toast(GONE, { bad: true });
    return null;
  }
  const text = await answer.text();
  if (!answer.ok) {
    toast(message(answer.status, text), { bad: true });
    return null;
  }
  return text && !form ? JSON.parse(text) : {};
}

// Returns a part of a page as HTML, or null: after a toast with the reason, or if given up.
export async function part(path, signal) {
  try {
    const answer = await fetch(path, { signal });
    const text = await answer.text();
    if (answer.ok) return text;
    toast(message(answer.status, text), { bad: true });
  } catch {
    if (!signal.aborted) toast(GONE, { bad: true });
  }
  return null;
}

// Updates the number of pictures.
export async function countAgain() {
  const status = await send("GET", "/api/status");
  const total = document.querySelector("[data-total]");
  if (!status || !total) return;
  total.textContent = status.pictures.toLocaleString("en");
  document.querySelector("[data-noun]").textContent = status.pictures === 1 ? "picture" : "pictures";
}

// Uploads a file; fetch could not report progress. Rejects with the reason.
export function upload(path, file, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("X-Lookalike-Token", token);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      if (request.status < 300) resolve(JSON.parse(request.responseText));
      else reject(new Error(message(request.status, request.responseText)));
    });
    request.addEventListener("error", () => reject(new Error(GONE)));
    request.send(file);
  });
}
