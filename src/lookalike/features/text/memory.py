"""Remember the vectors of texts, those of a whole vocabulary in a file as well."""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile
from lookalike.core.settings import cache_folder
from lookalike.features.text.sentences import SentenceEncoder

KIND = "text-vectors/1"

MAX_TEXTS = 20_000
"""Texts that are remembered; of more, those not asked for the longest go."""

_log = logging.getLogger(__name__)


class TextMemory:
    """What an encoder made of texts; threads may share it."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder
        self._lock = Lock()
        self._rows: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._vocabularies: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, a row each."""
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._rows]
            self._rows.update(zip(new, self._encoder.encode(new), strict=True))
            for text in texts:
                self._rows.move_to_end(text)
            result = [self._rows[text] for text in texts]
            while len(self._rows) > MAX_TEXTS:
                self._rows.popitem(last=False)
        return np.stack(result) if result else self._encoder.encode([])

    def vocabulary(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of many texts that stay the same, from the cache if it has them."""
        key = hashlib.sha256("\n".join([self._encoder.fingerprint, *texts]).encode()).hexdigest()
        with self._lock:
            if key not in self._vocabularies:
                self._vocabularies[key] = self._cached(key, texts)
            return self._vocabularies[key]

    def _cached(self, key: str, texts: Sequence[str]) -> NDArray[np.float32]:
        path = cache_folder() / f"text-{key[:32]}.safetensors"
        manifest = {"texts": key}
        try:
            arrays, held = load_arrays(path, kind=KIND)
            vectors = arrays["vectors"]
            if held == manifest and vectors.shape == (len(texts), self._encoder.dimension):
                return np.asarray(vectors, np.float32)
        except (DamagedFile, KeyError) as error:
            if path.exists():
                _log.warning("%s; it is made again", error)
        vectors = self._encoder.encode(texts)
        try:
            save_arrays(path, {"vectors": vectors}, kind=KIND, manifest=manifest)
        except OSError as error:
            _log.warning("%s was not written, so the first search takes longer: %s", path, error)
        return vectors
