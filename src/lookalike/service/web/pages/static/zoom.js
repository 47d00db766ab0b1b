// A large picture: zoomed by wheel, double click, two fingers or f; moved by dragging and arrows.

const MOST = 8; // times its own size
const STEP = 1.2;
const MOVE = 80; // px

let zoom = null; // of the picture shown

// Moves a picture that is larger than the window; returns whether it is.
export function pan(key) {
  const way = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
  if (!zoom || zoom.scale === 1 || !way) return false;
  zoom.move(MOVE * way[0], MOVE * way[1]);
  return true;
}

class Zoom {
  constructor(viewer) {
    this.viewer = viewer;
    this.canvas = viewer.querySelector(".canvas");
    this.image = viewer.querySelector("#large");
    this.button = viewer.querySelector("[data-full]");
    this.scale = 1;
    this.x = this.y = 0;
  }

  // The scale at which a point of the picture is a point of the screen.
  get full() {
    const shown = this.image.offsetWidth || 1;
    return Math.max(1, this.image.naturalWidth / shown / devicePixelRatio);
  }

  get most() {
    return Math.max(MOST, MOST * this.full);
  }

  // Zooms so that what is below a point of the screen stays there.
  to(scale, point = null) {
    const next = Math.min(this.most, Math.max(1, scale));
    const box = this.image.getBoundingClientRect();
    const at = point ?? { x: box.left + box.width / 2, y: box.top + box.height / 2 };
    const share = next / this.scale;
    this.x += (at.x - (box.left + box.width / 2)) * (1 - share);
    this.y += (at.y - (box.top + box.height / 2)) * (1 - share);
    this.scale = next;
    this.draw();
  }

  move(x, y) {
    this.x += x;
    this.y += y;
    this.draw();
  }

  draw() {
    const room = this.canvas.getBoundingClientRect();
    const across = Math.max(0, (this.image.offsetWidth * this.scale - room.width) / 2);
    const down = Math.max(0, (this.image.offsetHeight * this.scale - room.height) / 2);
    this.x = Math.min(across, Math.max(-across, this.x));
    this.y = Math.min(down, Math.max(-down, this.y));
    const zoomed = this.scale > 1;
    this.image.style.transform = zoomed ? `translate(${this.x}px, ${this.y}px) scale(${this.scale})` : "";
    this.viewer.classList.toggle("zoomed", zoomed);
    this.button.setAttribute("aria-pressed", String(zoomed));
  }

  // Goes from fitting the window to full size, or a good deal larger, and back.
  toggle(point) {
    this.to(this.scale > 1 ? 1 : Math.max(2, this.full), point);
  }
}

export function startZoom(viewer) {
  zoom = new Zoom(viewer);
  const { canvas, button } = zoom;
  const drawing = () => viewer.classList.contains("drawing");
  const fingers = new Map();
  let apart = 0;

  button.addEventListener("click", () => zoom.toggle());
  canvas.addEventListener("dblclick", (event) => {
    if (!drawing() && !event.target.closest("a, button")) zoom.toggle({ x: event.clientX, y: event.clientY });
  });
  canvas.addEventListener("wheel", (event) => {
    if (drawing()) return;
    event.preventDefault();
    zoom.to(zoom.scale * (event.deltaY < 0 ? STEP : 1 / STEP), { x: event.clientX, y: event.clientY });
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (drawing() || event.target.closest("a, button")) return;
    fingers.set(event.pointerId, event);
    if (zoom.scale > 1) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const from = fingers.get(event.pointerId);
    if (!from || drawing()) return;
    fingers.set(event.pointerId, event);
    const [one, other] = fingers.values();
    if (other) {
      const now = Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      const middle = { x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2 };
      if (apart) zoom.to(zoom.scale * (now / apart), middle);
      apart = now;
    } else if (zoom.scale > 1) {
      zoom.move(event.clientX - from.clientX, event.clientY - from.clientY);
    }
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => {
      fingers.delete(event.pointerId);
      apart = 0;
    });
  }
  viewer.querySelector("[data-region]").addEventListener("click", () => zoom.to(1));
  addEventListener("resize", () => zoom.draw());
}
