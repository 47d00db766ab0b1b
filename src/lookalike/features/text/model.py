"""Run the text model of a pair: texts in, vectors out that are near those of their pictures."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import InvalidInput
from lookalike.core.vectors import unit_rows
from lookalike.features.onnx_model import opened, run_limited
from lookalike.features.text.tokens import Tokens

DEFAULT_LENGTH = 77
"""Tokens of a text that are read where the model takes any number of them."""

_NUMBERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class TextModel:
    """The text side of a pair such as CLIP: an ONNX model and its tokenizer.

    The model takes ``input_ids``, or one input of another name, and may take ``attention_mask`` and
    ``token_type_ids``, of one text; its first output as wide as the image model's is used.

    Parameters
    ----------
    content, tokenizer : bytes
        The ONNX file, and the ``tokenizer.json`` that came with it (:class:`Tokens`).
    dimension : int
        The length of the image model's vectors.
    """

    def __init__(self, content: bytes, tokenizer: bytes, dimension: int) -> None:
        self._content, self._tokenizer = content, tokenizer
        self.dimension = dimension

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, rows of unit length.

        Raises
        ------
        InvalidInput
            If the model or the tokenizer cannot be used, or if the widths of the two sides differ.
        """
        vectors = [np.zeros((0, self.dimension), np.float32)]
        vectors += [self._run(text) for text in texts]
        rows: NDArray[np.float32] = unit_rows(np.concatenate(vectors))
        return rows

    @cached_property
    def _session(self) -> Any:
        return opened(self._content, "The text model")

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(self._tokenizer)

    def _run(self, text: str) -> NDArray[np.float32]:
        inputs = self._session.get_inputs()
        names = {one.name for one in inputs}
        is_sound = all(one.type in _NUMBERS and len(one.shape) == 2 for one in inputs)
        if not inputs or not is_sound or (len(inputs) > 1 and not names <= {*_INPUTS}):
            shown = ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs)
            raise InvalidInput(
                f"The text model must take whole numbers of the shape (texts, tokens) as "
                f"{', '.join(_INPUTS)}; it takes {shown or 'nothing'}. Export only the text side."
            )
        fixed = inputs[0].shape[1] if isinstance(inputs[0].shape[1], int) else 0
        numbers = self._tokens.split(text, max(fixed or DEFAULT_LENGTH, 2))
        missing = max(0, fixed - len(numbers))
        rows = {
            "attention_mask": [1] * len(numbers) + [0] * missing,
            "token_type_ids": [0] * (len(numbers) + missing),
        }
        numbers += [self._tokens.pad] * missing
        feed = {
            one.name: np.array([rows.get(one.name, numbers)], _NUMBERS[one.type]) for one in inputs
        }
        try:
            outputs = run_limited(self._session, None, feed)
        except Exception as error:  # the runtime's errors have no public base class
            raise InvalidInput(
                f"The text model fails on a text of {len(numbers)} tokens: {error!s:.200}. Give "
                f"the tokenizer that belongs to it."
            ) from error
        widths = [np.shape(one)[1] for one in outputs if np.ndim(one) == 2]
        for output in outputs:
            vector = np.asarray(output, np.float32)
            if vector.shape == (1, self.dimension) and np.isfinite(vector).all():
                return vector
        raise InvalidInput(
            f"The text model gives {' or '.join(map(str, widths)) or 'no vectors of'} values, the "
            f"image model {self.dimension}. Give the two models of one pair, exported with the "
            f"projection that makes their vectors alike."
        )
