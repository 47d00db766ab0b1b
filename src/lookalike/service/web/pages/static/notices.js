// Notices: toasts, texts for screen readers, confirmation before things are lost.

const toasts = document.getElementById("toasts");
const spoken = document.getElementById("spoken");

export function toast(text, { bad = false, action = "", act = null, stay = 6000 } = {}) {
  const last = toasts.lastElementChild;
  if (bad && last?.firstElementChild.textContent === text) last.remove();
  const box = document.createElement("div");
  box.className = bad ? "toast bad" : "toast";
  const words = document.createElement("span");
  words.textContent = text;
  box.append(words);
  const end = () => box.remove();
  if (act) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = action;
    button.addEventListener("click", () => { end(); act(); });
    box.append(button);
  }
  while (toasts.children.length > 2) toasts.firstChild.remove();
  toasts.append(box);
  if (stay) setTimeout(end, bad ? 2 * stay : stay);
  return { box, words, end };
}

export function say(text) {
  spoken.textContent = text;
}

export const GONE = "The server is not responding. Is “lookalike serve” still running?";

// Returns the server's error message, whatever form it came in.
export function message(status, text) {
  try {
    const answer = JSON.parse(text);
    if (typeof answer.error === "string") return answer.error;
    if (typeof answer.detail === "string") return answer.detail;
  } catch {
    // Not JSON.
  }
  return status ? `The server reported an error (${status}).` : GONE;
}

export function sure(title, text, yes) {
  const dialog = document.getElementById("sure");
  dialog.querySelector("h2").textContent = title;
  document.getElementById("sure-text").textContent = text;
  dialog.querySelector("[value=yes]").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

// Asks for a word or name; resolves to it, or to "" if that is cancelled.
export function oneWord(title, text, yes, start = "") {
  const dialog = document.getElementById("one-word");
  const field = dialog.querySelector("input");
  dialog.querySelector("h2").textContent = title;
  document.getElementById("one-word-text").textContent = text;
  dialog.querySelector("[value=yes]").textContent = yes;
  dialog.returnValue = "no";
  field.value = start;
  dialog.showModal();
  field.select();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes" ? field.value.trim() : "");
    }, { once: true });
  });
}

export function listenForTrouble() {
  const body = document.body;
  body.addEventListener("htmx:responseError", ({ detail }) => {
    toast(message(detail.xhr.status, detail.xhr.responseText), { bad: true });
  });
  body.addEventListener("htmx:sendError", () => toast(GONE, { bad: true }));
  // htmx asks before each request; confirmation comes in between.
  body.addEventListener("htmx:confirm", (event) => {
    const data = event.detail.elt.dataset;
    if (!data.sure) return;
    event.preventDefault();
    sure(data.sure, data.sureText, data.sureYes).then((yes) => {
      if (yes) event.detail.issueRequest(true);
    });
  });
}
