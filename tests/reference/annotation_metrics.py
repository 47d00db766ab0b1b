"""The measures of paper 2, section 4, by the book: sets of relations, lists of ranks."""

from tests.reference.ranking import judge_slowly


def siblings_slowly(first, second, relations, meanings, level):
    """S_ij for two words: isa pairs of nodes, and the nodes each word means."""
    if first == second:
        return True
    mine, theirs = meanings.get(first, set()), meanings.get(second, set())
    if mine & theirs:
        return True
    reached = set(), set()
    for found, step in zip(reached, (mine, theirs), strict=True):
        for _ in range(level):
            step = {parent for child, parent in relations if child in step}
            found |= step
    return bool(reached[0] & reached[1])


def judge_words_slowly(scores, words, truths, siblings, cutoffs):
    """Return (MAP, p@k, p_sib@k, pictures): ``siblings(i, j)`` is S, a truth a set of words."""
    averages, at, at_siblings = [], [], []
    for row, true in zip(scores, truths, strict=True):
        if not true:
            continue
        order = sorted(range(len(words)), key=lambda column, row=row: (-row[column], column))
        ranking = [words[column] for column in order]
        if set(words) & true:
            average, _ = judge_slowly(row, [word in true for word in words], None, ())
            averages.append(average * len(set(words) & true) / len(true))
        else:
            averages.append(0.0)
        at.append([sum(word in true for word in ranking[:k]) / k for k in cutoffs])
        at_siblings.append(
            [
                sum(any(siblings(word, one) for one in true) for word in ranking[:k]) / k
                for k in cutoffs
            ]
        )
    count = len(averages)
    means = [
        [sum(column) / count for column in zip(*rows, strict=True)] for rows in (at, at_siblings)
    ]
    return sum(averages) / count, *means, count
