"""Describe a picture in the nine classic ways of paper 5: pixels come in, a vector each goes out.

Section 6.3.1 names them with their lengths: colour histogram and moments (81), edge directions
(37), Gabor wavelets (120), local binary patterns (59), GIST (512), and bags of visual words of
SIFT and SURF at 200 and 1,000 words. What it does not say is decided, and cited, in each file.
"""
