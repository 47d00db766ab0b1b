"""The names each stage exports, written down so that a change of them is meant."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

import lookalike

EXPORTS = {
    "lookalike": [
        "Client",
        "Collection",
        "__version__",
    ],
    "lookalike.annotation": [
        "ANNOTATORS",
        "WSABIE",
        "Annotator",
        "Ensemble",
        "LinearRanker",
        "NearestNeighbours",
        "OneVsRest",
        "Parts",
        "Ridge",
        "Tag",
    ],
    "lookalike.checks": [
        "check_annotator",
        "check_encoder",
        "check_feature",
        "check_index",
        "check_reranker",
        "check_similarity",
    ],
    "lookalike.codes": [
        "ENCODERS",
        "S3PLH",
        "BitWeights",
        "DeepBeliefCodes",
        "Encoder",
        "HammingSimilarity",
        "ITQCodes",
        "LSHCodes",
        "RidgeCodes",
        "SpectralCodes",
    ],
    "lookalike.collection": [
        "FAVOURITE",
        "MAX_EXAMPLES",
        "NEAR_KILOMETRES",
        "OWNER",
        "UNDOABLE",
        "Added",
        "Album",
        "Ask",
        "BackedUp",
        "Checked",
        "CodeFigures",
        "Collection",
        "Comparison",
        "Copies",
        "Duplicates",
        "Entry",
        "Figures",
        "Filter",
        "Finding",
        "Folder",
        "Gain",
        "Gate",
        "InUse",
        "KnownWord",
        "Learned",
        "Match",
        "ModelRow",
        "Nearby",
        "NewWords",
        "ObjectMatch",
        "Person",
        "PersonKind",
        "PictureRow",
        "PictureTag",
        "Proposal",
        "RankerInfo",
        "RatedRankings",
        "ReadWord",
        "Reading",
        "Ref",
        "Restored",
        "SavedSearch",
        "Source",
        "Standing",
        "Subfolder",
        "Suggestion",
        "TaggedPicture",
        "Tagging",
        "Trial",
        "WordCounts",
        "codes_wanted",
        "is_backup",
        "new_annotators",
        "read_near",
        "readable_pictures",
        "recipe_beside",
        "restore_backup",
        "spread",
    ],
    "lookalike.core": [],
    "lookalike.evaluate": [
        "AnnotationFigures",
        "Choice",
        "ClassGain",
        "Fold",
        "Judgement",
        "LandmarkQuery",
        "Landmarks",
        "Result",
        "Spread",
        "Table",
        "Truth",
        "choose",
        "class_folds",
        "class_gains",
        "cross_validate",
        "delta_average_precision",
        "evaluate_annotation",
        "evaluate_similarity",
        "graded_precision_at_k",
        "judge",
        "mean_average_precision",
        "object_average_precision",
        "object_map",
        "precision_at_k",
        "precision_curve",
        "read_landmarks",
        "sibling_precision_at_k",
        "ukbench_score",
    ],
    "lookalike.features": [
        "FEATURES",
        "Described",
        "Embedding",
        "Feature",
        "Likely",
        "Reduction",
        "RegionRecord",
        "Regions",
        "StartWords",
        "Unchanged",
        "Vectors",
        "Views",
        "Visterms",
        "Vocabulary",
        "describe_files",
        "pack_vector",
        "unpack_regions",
        "unpack_vectors",
    ],
    "lookalike.images": [
        "ENDINGS",
        "Decode",
        "Facts",
        "Files",
        "Limits",
        "Picture",
        "Refused",
        "Sample",
        "content_hash",
        "decode",
        "emoji_samples",
        "find_pictures",
        "is_inside",
        "read_bytes",
        "real_folders",
        "thumbnail",
    ],
    "lookalike.index": [
        "INDEXES",
        "RERANKERS",
        "BitIndex",
        "DenseIndex",
        "ExactIndex",
        "Hits",
        "Index",
        "MappedIndex",
        "Query",
        "QueryExpansion",
        "Reranker",
        "Rescoring",
        "SparseIndex",
        "SpatialCheck",
        "SpatialExpansion",
        "WhyAlike",
        "why_alike",
    ],
    "lookalike.service": [],
    "lookalike.similarity": [
        "ITML",
        "KITML",
        "KRCA",
        "LDA",
        "LEGO",
        "LMNN",
        "MCML",
        "MMC",
        "NCA",
        "OASIS",
        "RCA",
        "SIMILARITIES",
        "Cosine",
        "Euclidean",
        "KernelSimilarity",
        "MultiKernelSimilarity",
        "Similarity",
        "SparseSimilarity",
    ],
    "lookalike.supervision": [
        "Relevance",
        "TagTree",
        "TripletSampler",
        "clicks_to_relevance",
        "folder_labels",
        "image_relevance",
        "read_clicks",
        "read_labels",
        "read_tag_tree",
    ],
}


def importable(module):
    """Public names of a module that are not its parts, those imported when asked for too."""
    for name in getattr(module, "__all__", []):
        getattr(module, name)
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and name != "TYPE_CHECKING"
    }


def order(name):
    """Constants first, then classes, then the rest, each by name: the order Ruff keeps."""
    return (not name.isupper(), not name[0].isupper(), name)


def test_every_stage_is_listed():
    folder = Path(lookalike.__file__).parent
    stages = {f"lookalike.{file.parent.name}" for file in folder.glob("*/__init__.py")}
    assert stages | {"lookalike"} == set(EXPORTS)


@pytest.mark.parametrize("name", EXPORTS)
def test_the_names_exported_are_those_written_down(name):
    module = importlib.import_module(name)
    assert list(getattr(module, "__all__", [])) == EXPORTS[name]
    assert sorted(EXPORTS[name], key=order) == EXPORTS[name]


@pytest.mark.parametrize("name", sorted(EXPORTS.keys() - {"lookalike"}))
def test_what_can_be_imported_is_exported_and_the_other_way_round(name):
    module = importlib.import_module(name)
    # Some are loaded when they are first asked for.
    for exported in EXPORTS[name]:
        getattr(module, exported)
    assert importable(module) == set(EXPORTS[name])


def test_the_names_of_the_package_are_there_though_lazy():
    assert lookalike.Collection is importlib.import_module("lookalike.collection").Collection
    assert lookalike.Client is importlib.import_module("lookalike.service.client").Client
    for name in EXPORTS.keys() - {"lookalike", "lookalike.service"}:
        stage = name.removeprefix("lookalike.")
        assert stage in dir(lookalike)
        assert getattr(lookalike, stage) is importlib.import_module(name)
    with pytest.raises(AttributeError, match="no attribute 'Colection'"):
        lookalike.Colection  # noqa: B018


def test_every_stage_opens_with_one_sentence():
    for name in EXPORTS:
        opening = importlib.import_module(name).__doc__ or ""
        assert opening.splitlines()[0].endswith("."), name
