"""What votes add, put together from their pictures."""

import numpy as np
import pytest

from lookalike.collection.votes.preferences import Preferences
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
    preferences = Preferences(1, None, similarity)
    together = preferences._unit_items(vectors)
    alone = [preferences._unit_items(vector[None]) for vector in vectors]
    assert together.tobytes() == np.vstack(alone).tobytes()
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
