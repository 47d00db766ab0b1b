"""Evaluate: scores and relevance come in, precision and tables go out."""

from lookalike.core.ranking import Judgement, judge
from lookalike.evaluate.annotation import (
    AnnotationFigures,
    evaluate_annotation,
    graded_precision_at_k,
    sibling_precision_at_k,
)
from lookalike.evaluate.delta import ClassGain, class_gains, delta_average_precision
from lookalike.evaluate.landmarks import LandmarkQuery, Landmarks, read_landmarks
from lookalike.evaluate.metrics import (
    evaluate_similarity,
    mean_average_precision,
    precision_at_k,
    precision_curve,
)
from lookalike.evaluate.objects import (
    Truth,
    object_average_precision,
    object_map,
    ukbench_score,
)
from lookalike.evaluate.protocols import Choice, Fold, Result, choose, class_folds, cross_validate
from lookalike.evaluate.spread import Spread
from lookalike.evaluate.tables import Table

__all__ = [
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
]
