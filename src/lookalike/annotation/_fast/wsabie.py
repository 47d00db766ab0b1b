"""Stochastic steps on the joint embedding f_i(x) = W_iᵀVx, with WARP, AUC or OWPC loss.

``V`` (d × D) and ``W`` (Y × D), with one row per feature and per word, are updated in place, so
every inner loop runs along D. A step costs O(D·(nnz + N)) for N words tried, bound by memory
traffic: the rows of V that the picture has are read once, and written if there is a violator.
"""

from typing import NamedTuple

import numpy as np

from lookalike.core._fast import F32, LOOP, U32, U64, njit, uint64
from lookalike.core._fast.random import next_below


class Pictures(NamedTuple):
    """Rows of numbers: CSR arrays; or, if ``dense``, ``columns`` are 0 .. d-1 for every row."""

    data: F32
    columns: U32
    indptr: U64
    dense: bool


class Truth(NamedTuple):
    """The true words of each picture, sorted: CSR without values."""

    words: U32
    indptr: U64


class Model(NamedTuple):
    """What is learned, and an upper bound on the norm of each row of V."""

    V: F32
    W: F32
    V_norms: F32


class Pace(NamedTuple):
    """The learning rates of V and W, the bounds C on their rows' norms (Eq. 2-3), fixed words."""

    V_rate: np.float32
    W_rate: np.float32
    V_limit: np.float32
    W_limit: np.float32
    fixed: np.uint64


class Room(NamedTuple):
    """Buffers for one thread: the picture's Vx, a difference of words, all words' scores."""

    place: F32
    difference: F32
    scores: F32


@njit(**LOOP, fastmath=True, forceinline=True)
def embed(V: F32, pictures: Pictures, row: np.uint64, place: F32) -> None:
    """Write Vx to ``place``, four features at a time, so that it is written a fourth as often."""
    D = uint64(V.shape[1])
    e, end = pictures.indptr[row], pictures.indptr[row + uint64(1)]
    shift = e if pictures.dense else uint64(0)
    for k in range(D):
        place[k] = np.float32(0.0)
    while e + uint64(3) < end:
        a = uint64(pictures.columns[e - shift])
        b = uint64(pictures.columns[e + uint64(1) - shift])
        c = uint64(pictures.columns[e + uint64(2) - shift])
        d = uint64(pictures.columns[e + uint64(3) - shift])
        w, x = pictures.data[e], pictures.data[e + uint64(1)]
        y, z = pictures.data[e + uint64(2)], pictures.data[e + uint64(3)]
        for k in range(D):
            place[k] += (w * V[a, k] + x * V[b, k]) + (y * V[c, k] + z * V[d, k])
        e += uint64(4)
    while e < end:
        a = uint64(pictures.columns[e - shift])
        w = pictures.data[e]
        for k in range(D):
            place[k] += w * V[a, k]
        e += uint64(1)


@njit(**LOOP, fastmath=True, forceinline=True)
def score(W: F32, word: np.uint64, place: F32) -> np.float32:
    """Return W_iᵀVx."""
    total = np.float32(0.0)
    for k in range(uint64(place.shape[0])):
        total += W[word, k] * place[k]
    return total


@njit(**LOOP)
def is_true(truth: Truth, row: np.uint64, word: np.uint64) -> bool:
    """Return whether a picture has a word, by bisection."""
    low, high = truth.indptr[row], truth.indptr[row + uint64(1)]
    while low < high:
        middle = (low + high) >> uint64(1)
        if uint64(truth.words[middle]) < word:
            low = middle + uint64(1)
        else:
            high = middle
    return low < truth.indptr[row + uint64(1)] and uint64(truth.words[low]) == word


@njit(**LOOP, inline="always")
def draw_true(
    truth: Truth, row: np.uint64, Y: np.uint64, state: U64
) -> tuple[np.uint64, np.uint64]:
    """Draw one of a picture's words; return it and how many of all ``Y`` the picture has not.

    Return 0 and 0 for a picture with no word or all of them, which teaches nothing.
    """
    begin = truth.indptr[row]
    count = truth.indptr[row + uint64(1)] - begin
    if count == uint64(0) or count >= Y:
        return uint64(0), uint64(0)
    return uint64(truth.words[begin + next_below(state, count)]), Y - count


@njit(**LOOP, fastmath=True, forceinline=True)
def norm(vector: F32) -> np.float32:
    """Return the Euclidean norm."""
    squares = np.float32(0.0)
    for k in range(uint64(vector.shape[0])):
        squares += vector[k] * vector[k]
    return np.sqrt(squares)


@njit(**LOOP, fastmath=True, forceinline=True)
def move_features(
    V: F32,
    norms: F32,
    pictures: Pictures,
    row: np.uint64,
    step: np.float32,
    difference: F32,
    max_norm: np.float32,
) -> None:
    """Move the rows of V that a picture has by ``step``·x_j times the difference of words.

    By the triangle inequality a row's norm grows by at most the length it moved; only if this
    bound exceeds ``max_norm`` is the norm itself computed, and the row projected into the ball of
    Eq. 2. Function calls inside these loops would cost more than the loops.
    """
    D = uint64(V.shape[1])
    columns, data = pictures.columns, pictures.data
    begin, end = pictures.indptr[row], pictures.indptr[row + uint64(1)]
    shift = begin if pictures.dense else uint64(0)
    for e in range(begin, end):
        j = uint64(columns[e - shift])
        factor = step * data[e]
        for k in range(D):
            V[j, k] += factor * difference[k]
    length = step * norm(difference)
    for e in range(begin, end):
        j = uint64(columns[e - shift])
        bound = norms[j] + length * abs(data[e])
        if bound > max_norm:
            squares = np.float32(0.0)
            for k in range(D):
                squares += V[j, k] * V[j, k]
            bound = np.sqrt(squares)
            if bound > max_norm:
                shrink = max_norm / bound
                for k in range(D):
                    V[j, k] *= shrink
                bound = max_norm
        norms[j] = bound


@njit(**LOOP, fastmath=True, forceinline=True)
def move_word(W: F32, word: np.uint64, step: np.float32, place: F32, max_norm: np.float32) -> None:
    """Move a word by ``step`` times Vx, and project it into the ball of Eq. 3."""
    D = uint64(place.shape[0])
    squares = np.float32(0.0)
    for k in range(D):
        W[word, k] += step * place[k]
        squares += W[word, k] * W[word, k]
    length = np.sqrt(squares)
    if length > max_norm:
        shrink = max_norm / length
        for k in range(D):
            W[word, k] *= shrink


@njit(**LOOP, fastmath=True, forceinline=True)
def pair_step(
    model: Model,
    pictures: Pictures,
    row: np.uint64,
    true: np.uint64,
    other: np.uint64,
    penalty: np.float32,
    pace: Pace,
    room: Room,
) -> None:
    """Take the gradient step of Eq. 10 on ``penalty``·|1 − f_true + f_other|₊, and project.

    Words below ``pace.fixed`` do not move; if there are any, V does not move either.
    """
    if pace.fixed == uint64(0):
        for k in range(uint64(room.place.shape[0])):
            room.difference[k] = model.W[true, k] - model.W[other, k]
        step = pace.V_rate * penalty
        move_features(model.V, model.V_norms, pictures, row, step, room.difference, pace.V_limit)
    step = pace.W_rate * penalty
    if true >= pace.fixed:
        move_word(model.W, true, step, room.place, pace.W_limit)
    if other >= pace.fixed:
        move_word(model.W, other, -step, room.place, pace.W_limit)


@njit(**LOOP, fastmath=True)
def sampled_steps(
    model: Model,
    pictures: Pictures,
    truth: Truth,
    order: U32,
    pace: Pace,
    penalties: F32,
    max_trials: np.uint64,
    state: U64,
    room: Room,
) -> tuple[int, int, float]:
    """Run Algorithm 1 on each picture of ``order``; return steps taken, words tried, losses.

    ``penalties`` is L(k) for k = 0 .. Y-1. ``max_trials`` bounds N besides Y − (true words); at
    1 and with constant penalties this is the AUC loss.
    """
    Y = uint64(model.W.shape[0])
    taken = 0
    tried = 0
    losses = 0.0
    for t in range(uint64(order.shape[0])):
        row = uint64(order[t])
        begin = truth.indptr[row]
        count = truth.indptr[row + uint64(1)] - begin
        if count == uint64(0) or count >= Y:
            continue
        true = uint64(truth.words[begin])
        if count > uint64(1):
            true = uint64(truth.words[begin + next_below(state, count)])
        embed(model.V, pictures, row, room.place)
        goal = score(model.W, true, room.place) - np.float32(1.0)
        others = Y - count
        limit = min(others, max_trials)
        trials = uint64(0)
        while trials < limit:
            other = next_below(state, Y)
            if other == true or (count > uint64(1) and is_true(truth, row, other)):
                continue
            trials += uint64(1)
            margin = score(model.W, other, room.place) - goal
            if margin > np.float32(0.0):
                penalty = penalties[others // trials]
                pair_step(model, pictures, row, true, other, penalty, pace, room)
                taken += 1
                losses += penalty * margin
                break
        tried += int(trials)
    return taken, tried, losses


@njit(**LOOP, fastmath=True)
def exact_steps(
    model: Model,
    pictures: Pictures,
    truth: Truth,
    order: U32,
    pace: Pace,
    penalties: F32,
    max_trials: np.uint64,
    state: U64,
    room: Room,
) -> tuple[int, int, float]:
    """Run OWPC-SGD on each picture: the rank of Eq. 7 is exact, all violators move at once.

    The gradient of Eq. 6: each of the k violators enters with L(k)/k.
    """
    Y = uint64(model.W.shape[0])
    D = uint64(room.place.shape[0])
    taken = 0
    tried = 0
    losses = 0.0
    for t in range(uint64(order.shape[0])):
        row = uint64(order[t])
        true, others = draw_true(truth, row, Y, state)
        if others == uint64(0):
            continue
        embed(model.V, pictures, row, room.place)
        goal = score(model.W, true, room.place) - np.float32(1.0)
        violators = uint64(0)
        margins = 0.0
        for word in range(Y):
            room.scores[word] = np.float32(0.0)
            margin = score(model.W, word, room.place) - goal
            if margin > np.float32(0.0) and not is_true(truth, row, word):
                room.scores[word] = margin
                violators += uint64(1)
                margins += margin
        tried += int(others)
        if violators == uint64(0):
            continue
        penalty = penalties[violators]
        share = penalty / np.float32(violators)
        for k in range(D):
            room.difference[k] = penalty * model.W[true, k]
        for word in range(Y):
            if room.scores[word] > np.float32(0.0):
                for k in range(D):
                    room.difference[k] -= share * model.W[word, k]
        limit = pace.V_limit
        move_features(model.V, model.V_norms, pictures, row, pace.V_rate, room.difference, limit)
        move_word(model.W, true, pace.W_rate * penalty, room.place, pace.W_limit)
        for word in range(Y):
            if room.scores[word] > np.float32(0.0):
                move_word(model.W, word, -pace.W_rate * share, room.place, pace.W_limit)
        taken += 1
        losses += share * margins
    return taken, tried, losses


@njit(**LOOP, fastmath=True)
def merge_copies(V: F32, copies: F32, norms: F32, limit: np.float32, begin: int, end: int) -> None:
    """Add up the changes of threads to their copies of V, in rows begin .. end-1.

    ``copies`` is threads × d × D and ``norms`` threads × d. V and all copies become V + Σ(copy −
    V), within the bound of Eq. 2.
    """
    threads, D = uint64(copies.shape[0]), uint64(V.shape[1])
    for row in range(uint64(begin), uint64(end)):
        for t in range(uint64(1), threads):
            for k in range(D):
                copies[0, row, k] += copies[t, row, k] - V[row, k]
        squares = np.float32(0.0)
        for k in range(D):
            squares += copies[0, row, k] * copies[0, row, k]
        length = np.sqrt(squares)
        shrink = np.float32(1.0)
        if length > limit:
            shrink = limit / length
            length = limit
        for k in range(D):
            V[row, k] = shrink * copies[0, row, k]
        for t in range(threads):
            norms[t, row] = length
            for k in range(D):
                copies[t, row, k] = V[row, k]
