"""Which word is a kind of which: parents, paths from the top, siblings."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from lookalike.core import sparse as sp
from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.text import label_name, word_key
from lookalike.supervision.tables import given_name

BLOCK_SIBLINGS = 1 << 24
"""Pairs of words in memory at once."""
_CYCLE_SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class TagTree:
    """Relations isa(child, parent) between words (paper 2, section 4). It is immutable.

    The nodes are meanings. A word may have several and a meaning several words, as in WordNet,
    and a meaning may have several parents. Lookup ignores case and Unicode form, and ``_``, ``-``
    and white space are equal. Make one with :func:`read_tag_tree` or :meth:`from_paths`.

    Parameters
    ----------
    names : tuple of str
        The name of each node.
    above : csr_matrix of bool, nodes × nodes
        The parents of each node, in the order in which they were given.
    meanings : dict of str to tuple of int
        The nodes of each word, the likeliest first, by the key that its spellings share.

    Examples
    --------
    >>> tree = TagTree.from_paths(["pet/dog", "pet/cat", "car"])
    >>> tree.parents("Pet/Dog"), tree.path("pet/cat"), "boat" in tree
    (('pet',), ('pet', 'pet/cat'), False)
    """

    names: tuple[str, ...]
    above: sp.csr_matrix
    meanings: dict[str, tuple[int, ...]]

    @classmethod
    def from_paths(cls, words: Iterable[str]) -> TagTree:
        """Return the tree of words that are paths: the parent of ``a/b/c`` is the word ``a/b``."""
        relations = Relations("TagTree.from_paths")
        for number, word in enumerate(words, start=1):
            place = f"word {number}"
            name = spelled(f"TagTree.from_paths, {place}", word)
            node = relations.word(name) if name else -1
            while "/" in name:
                name = label_name(name.rpartition("/")[0])
                if name:
                    parent = relations.word(name)
                    relations.link(node, parent, place)
                    node = parent
        return relations.tree()

    def __contains__(self, word: str) -> bool:
        return _key(word) in self.meanings

    def __repr__(self) -> str:
        return f"<TagTree of {len(self.meanings)} words, {len(self.names)} nodes>"

    def parents(self, word: str) -> tuple[str, ...]:
        """Return the parents of all meanings of a word; none if it is at the top or unknown."""
        nodes = self._nodes(word)
        return tuple(dict.fromkeys(self.names[up] for node in nodes for up in self._parents(node)))

    def path(self, word: str) -> tuple[str, ...]:
        """Return the path from the top down to a word, by its first meaning and first parents.

        The path of an unknown word is the word itself. In WordNet the first meaning is the one
        whose list of words has this word earliest.
        """
        steps = [word]
        ahead = self._nodes(word)[:1]
        while ahead:
            ahead = self._parents(ahead[0])[:1]
            steps += [self.names[node] for node in ahead]
        return tuple(reversed(steps))

    def groups(self, words: Sequence[str], level: int = 1) -> sp.csr_matrix:
        """Return the groups of words; two words are siblings if they share one.

        S_ij = 1 if i = j, or if there is a k with isa(i, k) and isa(j, k) (paper 2, section 4);
        with A the groups, S = (A·Aᵀ > 0). A group consists of the words with a meaning at most
        ``level`` steps below one node, or of the words that share a meaning. So at level 1
        siblings have a common parent or are synonyms, and a parent is not a sibling of its child;
        at level 2 cousins count, too, as do uncles and parents if there is a node above them. A
        word that is not in the tree is alone in its group.

        S itself may be dense if many words have one parent; the groups never are.

        Parameters
        ----------
        words : sequence of str
            One row each.
        level : int
            How many steps up a common node may be; at least 1.

        Returns
        -------
        csr_matrix of bool, words × groups
            Every row has at least one group.

        Examples
        --------
        >>> A = TagTree.from_paths(["pet/dog", "pet/cat"]).groups(["pet/dog", "pet/cat", "pet"])
        >>> (A @ A.T).toarray().astype(int)
        array([[1, 1, 0],
               [1, 1, 0],
               [0, 0, 1]])
        """
        check_whole("TagTree", "level", level, 1)
        result = [self._nodes(word) for word in words]
        nodes = list(chain.from_iterable(result))
        own = _pattern(
            np.repeat(np.arange(len(result)), [len(some) for some in result]),
            nodes,
            (len(result), len(self.names)),
        )
        alone = [row for row, some in enumerate(result) if not some]
        reached = step = own @ self.above
        for _ in range(1, level):
            step = step @ self.above
            if not step.nnz:
                break
            reached = reached + step
        lonely = _pattern(alone, np.arange(len(alone)), (len(result), len(alone)))
        joined = sp.csr_matrix(sp.hstack([own, reached, lonely], format="csr"))
        return joined[:, np.unique(joined.indices)]

    def median_siblings(
        self, words: Sequence[str], level: int = 1, *, block_siblings: int = BLOCK_SIBLINGS
    ) -> float:
        """Return the median number of siblings of a word, without itself (paper 2, Table 1)."""
        groups = self.groups(words, level)
        count = groups.shape[0]
        if not count:
            raise InvalidInput("TagTree: words must contain at least one word; got none.")
        members = sp.csr_matrix(groups.T)
        step = max(1, block_siblings // count)
        siblings = [
            np.diff((groups[start : start + step] @ members).indptr) - 1
            for start in range(0, count, step)
        ]
        return float(np.median(np.concatenate(siblings)))

    def _nodes(self, word: str) -> tuple[int, ...]:
        return self.meanings.get(_key(word), ())

    def _parents(self, node: int) -> tuple[int, ...]:
        start, end = self.above.indptr[node : node + 2]
        return tuple(self.above.indices[start:end].tolist())


class Relations:
    """Nodes and relations in order of appearance, with the place where each was given."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._names: list[str] = []
        self._number: dict[Hashable, int] = {}
        self._said: dict[tuple[int, int], str] = {}
        self._turns: dict[tuple[str, int], int] = {}
        self._repeated: set[int] = set()

    def where(self, place: str) -> str:
        """Return the source and a place in it, for messages."""
        return f"{self.source}, {place}"

    def node(self, identity: Hashable, name: str = "") -> int:
        """Return the number of a node, which keeps the first name it is given."""
        number = self._number.setdefault(identity, len(self._names))
        if number == len(self._names):
            self._names.append(name)
        elif name and not self._names[number]:
            self._names[number] = name
        return number

    def means(self, word: str, node: int, turn: int = 0) -> None:
        """Add a node to a word's meanings; those of a lower ``turn`` come first."""
        self._turns.setdefault((_key(word), node), turn)

    def word(self, name: str) -> int:
        """Return the number of a word's only node."""
        node = self.node(_key(name), name)
        self.means(name, node)
        return node

    def link(self, child: int, parent: int, place: str) -> None:
        """Add isa(child, parent)."""
        if child == parent:
            raise InvalidInput(
                f"{self.where(place)}: {self._names[child]!r:.80} is its own parent. Leave the "
                f"parent empty for a word at the top, or give another."
            )
        self._said.setdefault((child, parent), place)

    def way(self, names: Sequence[str], place: str) -> None:
        """Add a path from the top down, each step a node of its own below the one before."""
        keys = [_key(name) for name in names]
        above = -1
        for depth, (key, name) in enumerate(zip(keys, names, strict=True)):
            node = self.node((above, key), name)
            if key in keys[depth + 1 :]:
                self._repeated.add(node)
            self.means(name, node)
            if above >= 0:
                self.link(node, above, place)
            above = node

    def tree(self) -> TagTree:
        """Return the tree; raise InvalidInput if a node has no name or is above itself."""
        if not self._names:
            raise InvalidInput(f"{self.source} has no words. Give at least one.")
        self._check_names()
        count = len(self._names)
        edges = np.array(list(self._said), np.int64).reshape(-1, 2)
        edges = edges[np.argsort(edges[:, 0], kind="stable")]
        starts = np.searchsorted(edges[:, 0], np.arange(count + 1))
        ones = np.ones(len(edges), np.bool_)
        above = sp.csr_matrix((ones, edges[:, 1], starts), shape=(count, count))
        self._check_cycles(above)
        return TagTree(tuple(self._names), above, self._meanings())

    def _meanings(self) -> dict[str, tuple[int, ...]]:
        meanings: dict[str, tuple[int, ...]] = {}
        several: dict[str, list[int]] = {}
        for key, node in sorted(self._turns, key=self._turns.__getitem__):
            if node in self._repeated:
                continue
            if key not in meanings:
                meanings[key] = (node,)
            else:
                several.setdefault(key, [*meanings[key]]).append(node)
        meanings.update((key, tuple(nodes)) for key, nodes in several.items())
        return meanings

    def _check_names(self) -> None:
        if all(self._names):
            return
        for (_, parent), place in self._said.items():
            if not self._names[parent]:
                identity = next(key for key, node in self._number.items() if node == parent)
                raise InvalidInput(
                    f"{self.where(place)}: the hypernym {identity!r:.80} has no row of its own. "
                    f"Add one, or remove the hypernym."
                )

    def _check_cycles(self, above: sp.csr_matrix) -> None:
        from scipy.sparse.csgraph import connected_components

        parts, part = connected_components(above, connection="strong")
        if parts == above.shape[0]:
            return
        tied = np.bincount(part)[part] > 1
        walk: dict[int, int] = {}
        node = int(np.argmax(tied))
        while node not in walk:
            parents = above.indices[above.indptr[node] : above.indptr[node + 1]]
            walk[node] = int(parents[part[parents] == part[node]][0])
            node = walk[node]
        cycle = [node]
        while walk[cycle[-1]] != node:
            cycle.append(walk[cycle[-1]])
        lines = [
            f"{self._names[child]!r:.80} is under {self._names[walk[child]]!r:.80} "
            f"({self._said[child, walk[child]]})"
            for child in cycle[:_CYCLE_SHOWN]
        ]
        if len(cycle) > _CYCLE_SHOWN:
            lines.append(f"and so on, {len(cycle)} words in all")
        raise InvalidInput(
            f"{self.source}: words form a cycle: {', '.join(lines)}. Remove one of these relations."
        )


def spelled(where: str, value: Any) -> str:
    """Return a word's name, empty for none, or raise InvalidInput."""
    return given_name(where, value, "word")


def _key(word: str) -> str:
    """Return the key that all spellings of a word share, ignoring ``_ -`` and space, too."""
    key = word_key(word)
    return " ".join(key.replace("_", " ").replace("-", " ").split()) or key


def _pattern(rows: Any, columns: Any, shape: tuple[int, int]) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(columns), np.bool_), (rows, columns)), shape=shape)
