"""
How many directions, and can the answer be trusted?
===================================================

Three traits of each kind of thing decide a score, but a fourth is weak. :func:`~jointdr.diagnostics.rank_profile`
looks at the data from three sides: held-out moments, permuted scores, and a threshold.
:func:`~jointdr.diagnostics.diagnose` then lists other possible defects of the fit.
"""

import matplotlib.pyplot as plt
import numpy as np

from jointdr import JDR
from jointdr.datasets import make_bilinear
from jointdr.diagnostics import diagnose, rank_profile

X, _, (U, V) = make_bilinear(20_000, n_features=(50, 40), n_components=4, random_state=0)
strength = np.array([1.0, 0.8, 0.6, 0.18])
noise = np.random.default_rng(0).standard_normal(len(X))
y = np.sum(strength * (X.arrays[0] @ U) * (X.arrays[1] @ V), axis=1) + noise

# %%
# The profile
# -----------

profile = rank_profile(JDR(), X, y, n_permutations=40)
print(profile)

# %%

profile.plot()
plt.show()

# %%
# The diagnosis
# -------------

print(diagnose(JDR(n_components=profile.best).fit(X, y), X, y))

# %%
# The same features, and a score that is even in the traits: here plain JDR has nothing to see, and the diagnosis
# shows it.

y = np.sum((X.arrays[0] @ U) ** 2 * (X.arrays[1] @ V) ** 2, axis=1)
print(diagnose(JDR(n_components=4).fit(X, y), X, y))
