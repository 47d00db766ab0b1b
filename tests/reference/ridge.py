"""Ridge regression onto words, the slow and obvious way."""

import numpy as np


def ridge(X, T, penalty):
    """Return (XᵀX + λI)⁻¹XᵀT in float64."""
    wide = np.asarray(X, np.float64)
    return np.linalg.inv(wide.T @ wide + penalty * np.eye(wide.shape[1])) @ (wide.T @ T)


def cut(X, T, penalty, rank):
    """Return the ridge solution cut to a rank: projected on the fit's right singular vectors."""
    wide = np.asarray(X, np.float64)
    solution = ridge(wide, T, penalty)
    root = np.vstack([wide, np.sqrt(penalty) * np.eye(wide.shape[1])])
    right = np.linalg.svd(root @ solution)[2][:rank]
    return solution @ right.T @ right
