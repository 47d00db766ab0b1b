"""Every registered similarity keeps the contract."""

import inspect
import subprocess
import sys

import pytest

from lookalike.checks.similarity import SimilarityContract, small
from lookalike.core.errors import InvalidInput
from lookalike.similarity import OASIS, SIMILARITIES, Similarity
from tests.contract import each, passes
from tests.similarity.quick import QUICK

PLAIN = {"positive": "no", "normalize": False}


class TestRegistered:
    @pytest.fixture(params=SIMILARITIES.names)
    def part(self, request):
        return SIMILARITIES.make(request.param, QUICK.get(request.param))

    @each(SimilarityContract)
    def test_contract(self, part, rule):
        passes(rule, SimilarityContract, part)

    def test_is_found_by_its_name_and_its_file(self, part, tmp_path):
        fitted = part.fit(*small())
        assert SIMILARITIES.get(fitted.name) is type(fitted)
        assert fitted.name == fitted.name.lower()
        fitted.save(tmp_path / "part")
        assert type(SIMILARITIES.load(tmp_path / "part")) is type(fitted)

    def test_the_constructor_takes_names_only(self, part):
        kinds = {one.kind for one in inspect.signature(type(part)).parameters.values()}
        assert kinds <= {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(
    "form",
    [
        PLAIN,
        {"symmetric": "dissimilarity", **PLAIN},
        {"symmetric": "dissimilarity"},
        {"positive": "after", "normalize": False},
        {"blend": 0.0},
        {"averaged": 2, "symmetric": "after"},
    ],
    ids=["bilinear", "distance", "normalised distance", "unnormalised", "start", "averaged"],
)
@each(SimilarityContract)
def test_forms_of_oasis(form, rule):
    passes(rule, SimilarityContract, OASIS(**{**QUICK["oasis"], **form}))


def test_oasis_comes_first():
    assert SIMILARITIES.names[0] == "oasis"
    assert set(SIMILARITIES.names) >= set(QUICK) | {"cosine", "euclidean", "lda"}


@pytest.mark.parametrize("missing", sorted(Similarity.__abstractmethods__))
def test_an_incomplete_similarity_cannot_be_made(missing):
    rest = Similarity.__abstractmethods__ - {missing}
    incomplete = type("Incomplete", (Similarity,), dict.fromkeys(rest, lambda self: None))
    with pytest.raises(TypeError, match=missing):
        incomplete()
    with pytest.raises(TypeError, match="abstract"):
        Similarity()


def test_the_abstract_methods():
    assert Similarity.__abstractmethods__ == {"fit", "query_vectors", "_state", "_restore"}


def test_what_learns_nothing_says_so():
    X, _ = small()
    with pytest.raises(InvalidInput, match="Cosine learns nothing and does not accept triplets"):
        SIMILARITIES.make("cosine").fit_triplets(X, [[0, 1, 2]])


def test_the_registry_imports_no_learner():
    code = (
        "import sys; from lookalike.similarity.registry import SIMILARITIES; SIMILARITIES.names;"
        "print([name for name in ('sklearn', 'numba', 'scipy.linalg') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
