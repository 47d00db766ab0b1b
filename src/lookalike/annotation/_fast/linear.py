"""Steps on the linear model f_i(x) = w_iᵀx: WARP, passive-aggressive ranking, one against rest.

``W`` (Y × d) is updated in place. For sparse pictures it is column-major: a score costs as many
scattered reads as in a row-major W, but all scores together cost as much as thirty. For
dense pictures it is row-major, and a score runs along a row.
"""

from typing import NamedTuple

import numpy as np

from lookalike.annotation._fast.wsabie import Pictures, Truth, draw_true, embed
from lookalike.core._fast import F32, F64, LOOP, U32, U64, njit, uint64
from lookalike.core._fast.random import next_below

MIN_SCALE = 1e-4
"""The scale at which it is multiplied into a word's row, long before float32 underflows."""

WIDE = 64
"""Words that one-vs-rest learns together: four cache lines of each column."""


class Rows(NamedTuple):
    """The words' vectors, w_i = scales[i]·W[i], and their squared norms.

    So projecting a vector into its ball changes one number, not a row.
    """

    W: F32
    scales: F32
    squares: F64


@njit(**LOOP, fastmath=True, inline="always")
def product(W: F32, word: np.uint64, pictures: Pictures, row: np.uint64) -> np.float32:
    """Return W[word]ᵀx."""
    begin, end = pictures.indptr[row], pictures.indptr[row + uint64(1)]
    total = np.float32(0.0)
    if pictures.dense:
        for j in range(end - begin):
            total += W[word, j] * pictures.data[begin + j]
    else:
        for e in range(begin, end):
            total += W[word, uint64(pictures.columns[e])] * pictures.data[e]
    return total


@njit(**LOOP, fastmath=True, inline="always")
def add(W: F32, word: np.uint64, step: np.float32, pictures: Pictures, row: np.uint64) -> None:
    """Add ``step``·x to W[word]."""
    begin, end = pictures.indptr[row], pictures.indptr[row + uint64(1)]
    if pictures.dense:
        for j in range(end - begin):
            W[word, j] += step * pictures.data[begin + j]
    else:
        for e in range(begin, end):
            W[word, uint64(pictures.columns[e])] += step * pictures.data[e]


@njit(**LOOP)
def score_rows(W: F32, pictures: Pictures, scores: F32) -> None:
    """Write W x of every sparse picture to the rows of ``scores``."""
    for row in range(uint64(scores.shape[0])):
        embed(W.T, pictures, row, scores[row])


@njit(**LOOP, inline="always")
def draw_other(truth: Truth, row: np.uint64, others: np.uint64, state: U64) -> np.uint64:
    """Draw uniformly from the ``others`` words that a picture does not have."""
    word = next_below(state, others)
    for e in range(truth.indptr[row], truth.indptr[row + uint64(1)]):
        if word < uint64(truth.words[e]):
            break
        word += uint64(1)
    return word


@njit(**LOOP, fastmath=True, inline="always")
def move(
    rows: Rows,
    word: np.uint64,
    step: np.float32,
    score: np.float32,
    pictures: Pictures,
    row: np.uint64,
    length: np.float32,
    max_norm: np.float32,
) -> None:
    """Add ``step``·x, of squared length ``length``, to a word that scores x; keep it in its ball.

    |w + step·x|² = |w|² + 2·step·wᵀx + step²·|x|²
    """
    add(rows.W, word, step / rows.scales[word], pictures, row)
    if max_norm == np.float32(0.0):
        return
    squares = rows.squares[word] + 2.0 * step * score + step * step * length
    if squares > max_norm * max_norm:
        rows.scales[word] *= max_norm / np.sqrt(squares)
        squares = float(max_norm) * max_norm
        if rows.scales[word] < np.float32(MIN_SCALE):
            for j in range(uint64(rows.W.shape[1])):
                rows.W[word, j] *= rows.scales[word]
            rows.scales[word] = np.float32(1.0)
    rows.squares[word] = squares


@njit(**LOOP, fastmath=True)
def warp_steps(
    rows: Rows,
    pictures: Pictures,
    lengths: F32,
    truth: Truth,
    order: U32,
    rate: np.float32,
    max_norm: np.float32,
    penalties: F32,
    state: U64,
    scores: F32,
) -> tuple[int, int]:
    """Run Algorithm 1 on each picture of ``order``; return the steps taken and words tried.

    ``penalties`` is L(k) for k = 0 .. Y-1, ``lengths`` each picture's |x|², and a ``max_norm`` of
    0 means no bound. After Y/64 unsuccessful trials, or Y/8 for a dense picture, when single scores
    have cost as much as all at once, all are written to ``scores``; drawing continues if there is
    a violator.
    """
    Y = uint64(rows.W.shape[0])
    patience = Y >> uint64(3 if pictures.dense else 6)
    taken = 0
    tried = 0
    for t in range(uint64(order.shape[0])):
        row = uint64(order[t])
        if lengths[row] == np.float32(0.0):
            continue
        true, others = draw_true(truth, row, Y, state)
        if others == uint64(0):
            continue
        own = rows.scales[true] * product(rows.W, true, pictures, row)
        goal = own - np.float32(1.0)
        trials = uint64(0)
        is_known = False
        while trials < others:
            if trials == patience:
                if pictures.dense:
                    for word in range(Y):
                        scores[word] = product(rows.W, word, pictures, row)
                else:
                    embed(rows.W.T, pictures, row, scores)
                violators = 0
                for word in range(Y):
                    scores[word] *= rows.scales[word]
                    violators += scores[word] > goal
                for e in range(truth.indptr[row], truth.indptr[row + uint64(1)]):
                    violators -= scores[uint64(truth.words[e])] > goal
                if violators == 0:
                    break
                is_known = True
            other = draw_other(truth, row, others, state)
            trials += uint64(1)
            if is_known:
                score = scores[other]
            else:
                score = rows.scales[other] * product(rows.W, other, pictures, row)
            if score > goal:
                step = rate * penalties[others // trials]
                move(rows, true, step, own, pictures, row, lengths[row], max_norm)
                move(rows, other, -step, score, pictures, row, lengths[row], max_norm)
                taken += 1
                break
        tried += int(trials)
    return taken, tried


@njit(**LOOP, fastmath=True)
def pair_steps(
    W: F32,
    pictures: Pictures,
    lengths: F32,
    truth: Truth,
    order: U32,
    aggressiveness: np.float32,
    state: U64,
) -> tuple[int, int]:
    """Take a passive-aggressive step for each picture of ``order`` on |1 − f_y + f_ȳ|₊.

    τ = min(C, |1 − f_y(x) + f_ȳ(x)|₊ / (2|x|²)), w_y += τx, w_ȳ −= τx. Returns the steps taken
    and the words tried.
    """
    Y = uint64(W.shape[0])
    taken = 0
    tried = 0
    for t in range(uint64(order.shape[0])):
        row = uint64(order[t])
        if lengths[row] == np.float32(0.0):
            continue
        true, others = draw_true(truth, row, Y, state)
        if others == uint64(0):
            continue
        other = draw_other(truth, row, others, state)
        tried += 1
        loss = np.float32(1.0) - product(W, true, pictures, row) + product(W, other, pictures, row)
        if loss > np.float32(0.0):
            tau = min(aggressiveness, loss / (np.float32(2.0) * lengths[row]))
            add(W, true, tau, pictures, row)
            add(W, other, -tau, pictures, row)
            taken += 1
    return taken, tried


@njit(**LOOP, fastmath=True)
def one_vs_rest_steps(
    block: F32,
    offset: np.uint64,
    pictures: Pictures,
    lengths: F32,
    truth: Truth,
    order: U32,
    aggressiveness: np.float32,
) -> int:
    """Take a PA-I step of each of ``WIDE`` words for each picture of ``order``.

    ``block`` (d × WIDE) has the words' vectors as columns, from the word ``offset`` on. With
    s = ±1 for a picture with or without the word, τ = min(C, |1 − s·wᵀx|₊ / |x|²) and
    w += s·τ·x. Returns the steps taken.
    """
    scores = np.empty(WIDE, np.float32)
    signs = np.empty(WIDE, np.float32)
    taken = 0
    for t in range(uint64(order.shape[0])):
        row = uint64(order[t])
        length = lengths[row]
        if length == np.float32(0.0):
            continue
        for b in range(uint64(WIDE)):
            signs[b] = np.float32(-1.0)
        for e in range(truth.indptr[row], truth.indptr[row + uint64(1)]):
            place = uint64(truth.words[e]) - offset  # a word before the block wraps around
            if place < uint64(WIDE):
                signs[place] = np.float32(1.0)
        embed(block, pictures, row, scores)
        violators = 0
        for b in range(uint64(WIDE)):
            loss = max(np.float32(0.0), np.float32(1.0) - signs[b] * scores[b])
            violators += loss > np.float32(0.0)
            scores[b] = signs[b] * min(aggressiveness, loss / length)
        if violators:
            taken += violators
            begin, end = pictures.indptr[row], pictures.indptr[row + uint64(1)]
            shift = begin if pictures.dense else uint64(0)
            for e in range(begin, end):
                column = uint64(pictures.columns[e - shift])
                for b in range(uint64(WIDE)):
                    block[column, b] += pictures.data[e] * scores[b]
    return taken
