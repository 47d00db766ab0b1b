// Finding a thing: the box drawn on a picture is looked for by regions, wherever it lies.

import { send } from "./requests.js";

export function startObjects() {
  const viewer = document.querySelector(".viewer");
  const find = viewer?.querySelector("[data-thing]");
  if (!find) return;
  const part = viewer.querySelector("[data-region-go]");
  const region = viewer.querySelector(".region");
  // It may be pressed whenever a part may be searched with.
  const follow = () => { find.disabled = part.disabled; };
  new MutationObserver(follow).observe(part, { attributeFilter: ["disabled"] });
  follow();
  find.addEventListener("click", async () => {
    const { left, top, width, height } = region.style;
    const [x, y, w, h] = [left, top, width, height].map((share) => parseFloat(share) / 100);
    const box = [x, y, Math.min(1, x + w), Math.min(1, y + h)];
    const answer = await send("POST", "/api/queries/region", { picture: Number(viewer.dataset.id), box });
    if (!answer) return;
    const address = new URL("/search", location.origin);
    address.searchParams.set("like", answer.token);
    address.searchParams.set("by", find.dataset.thing);
    location.assign(address);
  });
}
