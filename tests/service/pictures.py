import numpy as np
from PIL import Image


def draw(path, colour, seed):
    """Draw a small picture of noise about a colour, unlike any other."""
    noise = np.random.default_rng(seed).integers(-40, 40, (24, 24, 3))
    pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
