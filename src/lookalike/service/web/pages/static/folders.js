// Choosing a folder of the computer that serves, to import from.

import { send } from "./requests.js";

export function startFolders() {
  const dialog = document.getElementById("folders");
  if (!dialog) return;
  const field = document.querySelector("#import [name=folder]");
  const list = document.getElementById("folders-list");
  const choose = dialog.querySelector("[value=yes]");
  let here = "";

  function entry(text, path, name) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.className = name;
    button.textContent = text;
    button.addEventListener("click", () => look(path));
    item.append(button);
    return item;
  }

  async function look(path) {
    const answer = await send("GET", `/api/folders${path ? `?path=${encodeURIComponent(path)}` : ""}`);
    if (!answer) return;
    here = answer.path ?? "";
    document.getElementById("folders-path").textContent = here || "Begin at:";
    const up = here ? [entry("↑ Up", answer.above ?? "", "up")] : [];
    list.replaceChildren(...up, ...answer.folders.map((one) => entry(here ? one.slice(one.lastIndexOf("/") + 1) : one, one, "")));
    choose.disabled = !here;
    const { pictures } = answer;
    const text = pictures ? `${pictures.toLocaleString("en")} ${pictures === 1 ? "picture" : "pictures"} in it` : "No pictures in it itself";
    document.getElementById("folders-count").textContent = here ? text : "";
    list.scrollTop = 0;
    if (dialog.open) (list.querySelector("button") ?? choose).focus();
  }

  document.addEventListener("click", async (event) => {
    if (!event.target.closest("[data-choose-folder]")) return;
    await look("");
    dialog.returnValue = "no";
    dialog.showModal();
  });
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "yes" || !here) return;
    field.value = here;
    field.focus();
  });
}
