// Starts what the page at hand needs. Each part finds its own elements, or does nothing.

import { startAlbums } from "./albums.js";
import { startDuplicates } from "./duplicates.js";
import { startFavourites } from "./favourites.js";
import { startFolders } from "./folders.js";
import { startGrid } from "./grid.js";
import { startJobs } from "./jobs.js";
import { startKeys } from "./keyboard.js";
import { listenForTrouble, toast } from "./notices.js";
import { startObjects } from "./objects.js";
import { startSearch } from "./search.js";
import { startSelection } from "./selection.js";
import { startSlides } from "./slides.js";
import { startViewer } from "./viewer.js";
import { startVoting } from "./votes.js";

function startTheme() {
  const root = document.documentElement;
  document.querySelector("[data-theme-switch]").addEventListener("click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("lookalike-theme", root.dataset.theme);
    } catch {
      // Storage may be switched off; the choice holds for this page then.
    }
  });
}

// The filters start from the address as it is now.
function askForFilters() {
  const search = location.pathname === "/search";
  const query = new URLSearchParams(search || location.pathname === "/" ? location.search : "");
  query.set("path", search ? "/search" : "/");
  htmx.ajax("GET", `/part/filters?${query}`, { source: "#main", target: "#filters-inside", swap: "innerHTML" }).catch(() => {});
}

function startDialogs() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-open]");
    if (opener) {
      const dialog = document.getElementById(opener.dataset.open);
      dialog.showModal();
      if (dialog.id === "filters") askForFilters();
    }
    if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
    // A click beside a sheet closes it.
    if (event.target instanceof HTMLDialogElement) event.target.close();
  });
  // Empty fields do not belong in an address.
  document.addEventListener("submit", ({ target }) => {
    if (!target.matches(".filters")) return;
    for (const field of target.elements) if (field.value === "") field.disabled = true;
  });
}

// A picture that cannot be shown leaves its place with a mark, never a bare broken icon.
function startBroken() {
  const mark = (image) => {
    if (image.dataset.broken !== undefined || !image.getAttribute("src")) return;
    image.dataset.broken = "";
    const stand = document.createElement("span");
    stand.className = "broken";
    stand.setAttribute("role", "img");
    stand.setAttribute("aria-label", image.alt ? `${image.alt}: cannot be shown` : "cannot be shown");
    stand.textContent = image.id === "large" ? "The file is missing or cannot be read." : "!";
    stand.title = "The file is missing or cannot be read";
    image.hidden = true;
    image.after(stand);
  };
  document.addEventListener("error", ({ target }) => {
    if (!(target instanceof HTMLImageElement)) return;
    const small = document.querySelector("[data-thumbnail]")?.dataset.thumbnail;
    // The viewer still has the stored thumbnail.
    if (target.id === "large" && small && !target.src.endsWith(small)) {
      target.src = small;
      toast("The file is missing or cannot be read; this is its stored thumbnail.", { bad: true });
    } else mark(target);
  }, true);
  for (const image of document.images) {
    if (image.complete && image.getAttribute("src") && !image.naturalWidth && image.loading !== "lazy") {
      image.src = image.getAttribute("src");
    }
  }
}

// Times arrive in UTC and are shown in local time.
function tellTimes() {
  for (const time of document.querySelectorAll("time[datetime$=Z]:not([data-since])")) {
    const local = new Date(time.dateTime);
    if (!Number.isNaN(local.getTime())) {
      time.textContent = local.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
    }
  }
}

listenForTrouble();
startBroken();
startTheme();
startDialogs();
startObjects();
startSearch();
startGrid();
startViewer();
startVoting();
startJobs();
startSelection();
startAlbums();
startDuplicates();
startFolders();
startFavourites();
startSlides();
startKeys();
tellTimes();
document.body.addEventListener("htmx:afterSettle", tellTimes);
