"""OpenCV on the caller's thread alone: pictures are described on all cores already."""

import cv2

cv2.setNumThreads(1)

__all__ = ["cv2"]
