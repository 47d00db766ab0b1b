// Duplicates: keep one of a group or of all, keep all, or say that they are none; each can be undone.

import { say, sure, toast } from "./notices.js";
import { countAgain, newKey, send } from "./requests.js";

const MANY = 20; // pictures from which on removing is confirmed

let list = null;

function groups() {
  return Array.from(list.querySelectorAll(".duplicate"));
}

// Asks for groups: all anew, or those that follow the ones shown.
async function load(offset = 0) {
  const address = new URL(list.dataset.part, location.origin);
  if (offset) address.searchParams.set("offset", offset);
  const more = list.querySelector(".duplicates-more");
  const target = offset ? more : list;
  list.setAttribute("aria-busy", "true");
  await htmx.ajax("GET", `${address.pathname}${address.search}`, {
    source: list, target, swap: offset ? "outerHTML" : "innerHTML",
  }).catch(() => {});
  list.setAttribute("aria-busy", "false");
}

function undoable(text, event) {
  toast(text, {
    action: "Undo",
    stay: 12000,
    act: async () => {
      if (!await send("POST", "/api/undo", { event, key: newKey() })) return;
      toast("Undone.");
      countAgain();
      load();
    },
  });
}

function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

// Counts a group of so many pictures as done.
function countDown(pictures) {
  const line = document.getElementById("duplicates-count");
  const groups = Number(line.dataset.groups) - 1;
  const extra = Number(line.dataset.extra) - (pictures - 1);
  Object.assign(line.dataset, { groups, extra });
  const text = `${counted(groups, "group")}, the most alike first; ${counted(extra, "picture")} could go.`;
  line.querySelector("span").textContent = text;
}

// A group that is done goes, and what follows takes its place.
async function done(card) {
  countDown(JSON.parse(card.dataset.ids).length);
  const all = groups();
  const next = all[all.indexOf(card) + 1] ?? all[all.indexOf(card) - 1];
  card.remove();
  if (!next) await load();
  else if (list.querySelector(".duplicates-more") && groups().length < 5) await load(groups().length);
  const following = next ?? groups()[0] ?? list.querySelector("a");
  (following?.querySelector?.("[data-duplicate]") ?? following)?.focus();
  say(next ? "Next group." : "");
}

async function keep(card, ids, picture) {
  const remove = ids.filter((id) => id !== picture);
  if (remove.length >= MANY) {
    const text = "They move to the bin, from which they can be restored with their tags and votes. Files are kept.";
    if (!await sure(`Remove ${remove.length.toLocaleString("en")} pictures?`, text, "Remove")) return null;
  }
  const event = await send("POST", "/api/duplicates/keep", { picture, remove, key: newKey() });
  if (event) countAgain();
  const number = counted(remove.length, "picture");
  const tags = event?.body.words ? " The picture kept has their tags." : "";
  return event && [event, `${number} moved to the bin.${tags}`];
}

// Keeps the suggestion of each group on the page, as one event.
async function keepEvery() {
  const choices = groups().map((card) => ({ picture: Number(card.dataset.keeper), ids: JSON.parse(card.dataset.ids) }))
    .map(({ picture, ids }) => ({ picture, remove: ids.filter((id) => id !== picture) }));
  const number = choices.reduce((sum, one) => sum + one.remove.length, 0);
  const text = "They move to the bin, from which they can be restored with their tags and votes. Files are kept.";
  if (!choices.length || !await sure(`Keep ${counted(choices.length, "picture")} and remove ${number.toLocaleString("en")}?`, text, "Remove")) return;
  const event = await send("POST", "/api/duplicates/keep-suggested", { groups: choices, key: newKey() });
  if (!event) return;
  countAgain();
  await load();
  undoable(`${counted(number, "picture")} moved to the bin.`, event.number);
}

async function apart(body, text) {
  const event = await send("POST", "/api/duplicates/distinct", { ...body, key: newKey() });
  return event && [event, text];
}

const ACTS = {
  keep,
  all: (card, ids) => apart({ pictures: ids, verdict: "keep" }, "Kept all; they are not shown here again."),
  none: (card, ids) => apart({ pictures: ids }, "Noted: not duplicates."),
  one: (card, ids, picture) => apart(
    { pictures: [picture], of: ids.filter((id) => id !== picture) }, "Noted: not a duplicate of the others.",
  ),
};

async function act(button) {
  if (button.dataset.duplicate === "more") {
    const shown = groups().length;
    await load(shown);
    groups()[shown]?.focus();
    return;
  }
  if (button.dataset.duplicate === "every") {
    await keepEvery();
    return;
  }
  const card = button.closest(".duplicate");
  if (card.hasAttribute("aria-busy")) return;
  card.setAttribute("aria-busy", "true");
  const said = await ACTS[button.dataset.duplicate](card, JSON.parse(card.dataset.ids), Number(button.dataset.id));
  card.removeAttribute("aria-busy");
  if (!said) return;
  const [event, text] = said;
  undoable(text, event.number);
  // Without one of its pictures, a group may have another to keep.
  if (button.dataset.duplicate === "one") await load();
  else await done(card);
}

export function startDuplicates() {
  list = document.getElementById("duplicates");
  if (!list) return;
  list.addEventListener("htmx:afterSwap", () => list.setAttribute("aria-busy", "false"));
  list.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-duplicate]");
    if (button) act(button);
  });
}
