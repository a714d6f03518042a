"""Noise taken from handwritten digits by principal components: `python -m benchmarks.real_components`.

Components are learned from clean digits; others are disturbed, projected and brought back as pictures. Mean squared
error of a pixel, whose values lie between 0 and 1, by number of components: PCA, mercer's kernel PCA with each way to a
pre-image, and scikit-learn's with its learned map. The Gaussian kernel at the median distance for all. The folder of
the data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as TheirPCA

from mercer import KernelPCA
from mercer.kernels import Gaussian
from mercer.preimages import DistanceScaling, RidgeMap

COUNTS = (1, 4, 16, 64, 256)
TRAIN, TEST = 1000, 300

SOURCES = {"mfeat": ("pix", 6.0), "optdigits": ("X", 16.0)}


def digits(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Training and test pictures, values between 0 and 1."""
    key, most = SOURCES[name]
    with np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz") as stored:
        X = stored[key].astype(float) / most
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[:TRAIN]], X[order[TRAIN : TRAIN + TEST]]


def disturbed(T: np.ndarray) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    gaussian = T + 0.5 * rng.normal(size=T.shape)
    speckle = np.where(rng.uniform(size=T.shape) < 0.4, rng.integers(0, 2, T.shape), T)
    return {"gaussian": gaussian, "speckle": speckle}


def flat(X: np.ndarray, q: int) -> Callable[[np.ndarray], np.ndarray]:
    model = PCA(q, random_state=0).fit(X)
    return lambda T: model.inverse_transform(model.transform(T))


def ours(preimage: Any) -> Callable[[np.ndarray, int], Callable[[np.ndarray], np.ndarray]]:
    return lambda X, q: KernelPCA(Gaussian("median"), q, preimage=preimage).fit(X).denoise


def theirs(X: np.ndarray, q: int) -> Callable[[np.ndarray], np.ndarray]:
    kernel: Any = KernelPCA(Gaussian("median"), 1).fit(X).kernel_
    model = TheirPCA(
        q, kernel="rbf", gamma=0.5 / kernel.length_scale**2, fit_inverse_transform=True, alpha=0.01, random_state=0
    )
    model.fit(X)
    return lambda T: model.inverse_transform(model.transform(T))


CONTENDERS: dict[str, Callable[[np.ndarray, int], Callable[[np.ndarray], np.ndarray]]] = {
    "PCA": flat,
    "kernel PCA, fixed point": ours(None),
    "kernel PCA, distances": ours(DistanceScaling(10)),
    "kernel PCA, learned map": ours(RidgeMap(0.01)),
    "scikit-learn KernelPCA": theirs,
}


def main() -> None:
    """Print a line per data set, noise and contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SOURCES))
    print(f"{'data':10}{'noise':>10}{'contender':>26}" + "".join(f"{q:>9}" for q in COUNTS) + f"{'seconds':>9}")
    for name in parser.parse_args().names or list(SOURCES):
        X, T = digits(name)
        noisy = disturbed(T)
        for kind, seen in noisy.items():
            print(f"{name:10}{kind:>10}{'as it is':>26}{np.mean((seen - T) ** 2):9.4f}")
        for who, make in CONTENDERS.items():
            errors: dict[str, list[float]] = {kind: [] for kind in noisy}
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for q in COUNTS:
                    denoise = make(X, q) if who != "PCA" or q <= X.shape[1] else None
                    for kind, seen in noisy.items():
                        errors[kind].append(np.nan if denoise is None else float(np.mean((denoise(seen) - T) ** 2)))
            taken = time.perf_counter() - began
            for kind, found in errors.items():
                cells = "".join(f"{e:9.4f}" if np.isfinite(e) else f"{'-':>9}" for e in found)
                print(f"{name:10}{kind:>10}{who:>26}{cells}{taken:9.2f}", flush=True)


if __name__ == "__main__":
    main()
