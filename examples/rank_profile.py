"""How many directions are there, and can the answer be trusted?

Three traits of each kind of thing decide a score, but a fourth is weak. `rank_profile` looks at the data from three
sides: held-out moments, permuted scores, and a threshold. `diagnose` then says what else may be wrong with the fit.

    python examples/rank_profile.py

prints both and draws the profile to demo_output/rank_profile.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jointdr import JDR
from jointdr.datasets import make_bilinear
from jointdr.rank import rank_profile
from jointdr.theory import diagnose

OUT = Path("demo_output")


def main() -> None:
    X, _, (U, V) = make_bilinear(20_000, n_features=(50, 40), n_components=4, random_state=0)
    strength = np.array([1.0, 0.8, 0.6, 0.18])
    noise = np.random.default_rng(0).standard_normal(len(X))
    y = np.sum(strength * (X.arrays[0] @ U) * (X.arrays[1] @ V), axis=1) + noise

    profile = rank_profile(JDR(), X, y, n_permutations=40)
    print(profile)

    print(f"\ndiagnosis of JDR(n_components={profile.best})\n")
    print(diagnose(JDR(n_components=profile.best).fit(X, y), X, y))

    print("\nthe same features with a score that is even in the traits\n")
    y = np.sum((X.arrays[0] @ U) ** 2 * (X.arrays[1] @ V) ** 2, axis=1)
    print(diagnose(JDR(n_components=4).fit(X, y), X, y))
    draw(profile)


def draw(profile) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
    except ImportError:
        print("\n(install matplotlib for the picture: pip install 'jointdr[plot]')")
        return
    axes = profile.plot()
    OUT.mkdir(exist_ok=True)
    axes[0].figure.savefig(OUT / "rank_profile.png", dpi=110)
    print(f"\nPicture: {OUT / 'rank_profile.png'}")


if __name__ == "__main__":
    main()
