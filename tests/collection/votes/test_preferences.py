"""What votes add, put together from their pictures."""

import numpy as np
import pytest

from lookalike.collection.votes._fast.weights import weighted_rows
from lookalike.collection.votes.lessons import unit_items
from lookalike.core.vectors import unit_rows
from lookalike.similarity.cosine import Cosine


class Projected(Cosine):
    """A similarity that stores a product, which rounds by how many rows there are."""

    A = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)

    def stored_vectors(self, P):
        return np.asarray(P) @ self.A


@pytest.mark.parametrize("similarity", [Cosine(), Projected()])
def test_items_have_the_same_bits_however_many_votes_are_read_at_once(similarity):
    vectors = unit_rows(np.random.default_rng(1).normal(size=(33, 256)).astype(np.float32))
    together = unit_items(similarity, vectors)
    alone = [unit_items(similarity, vector[None]) for vector in vectors]
    assert together.tobytes() == np.vstack(alone).tobytes()
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1, 4, 6, 23])
def test_rows_are_summed_up_alike_however_many_sums_there_are(count):
    rng = np.random.default_rng(count)
    rows = rng.normal(size=(40, 10)).astype(np.float32)
    used = np.sort(rng.permutation(40)[:count])
    weights = rng.normal(size=(3, count)).astype(np.float32)
    # As where a query is not near what is near others.
    weights[1, : count // 2] = 0
    found = weighted_rows(weights, rows, used)
    np.testing.assert_allclose(found, weights @ rows[used], atol=1e-5)
    for one, own in zip(found, weights, strict=True):
        assert weighted_rows(own[None], rows, used)[0].tobytes() == one.tobytes()
