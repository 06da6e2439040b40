"""Data: the synthetic models of the paper, with a known truth; readers of real formats; real gene-disease data."""

from jointdr.data import Annotations, Ontology, fingerprints, propagate_terms, sequence_features, tfidf
from jointdr.datasets.affinity import AffinityData, read_deepdta
from jointdr.datasets.annotations import read_annotations, read_gaf, read_genes_to_phenotype, read_hpoa
from jointdr.datasets.archives import load_archive, read_scores
from jointdr.datasets.hpo import GeneDiseases, load_hpo
from jointdr.datasets.matrices import read_matrix
from jointdr.datasets.networks import Network, read_edges, read_humannet, read_mimminer, read_similarity
from jointdr.datasets.ontology import read_obo
from jointdr.datasets.readers import ReadingWarning, read_attributes, read_disgenet, read_pairs, read_table, read_text
from jointdr.datasets.similarity import kernel_features, similarity_groups
from jointdr.datasets.spectral import SpectralReport, lsa_features, spectral_features
from jointdr.datasets.structures import read_sequences, read_smiles
from jointdr.datasets.synthetic import (
    Sample,
    SyntheticModel,
    make_bilinear,
    make_even,
    make_logistic,
    make_odd,
    make_rbf,
)

__all__ = [
    "AffinityData",
    "Annotations",
    "GeneDiseases",
    "Network",
    "Ontology",
    "ReadingWarning",
    "Sample",
    "SpectralReport",
    "SyntheticModel",
    "fingerprints",
    "kernel_features",
    "load_archive",
    "load_hpo",
    "lsa_features",
    "make_bilinear",
    "make_even",
    "make_logistic",
    "make_odd",
    "make_rbf",
    "propagate_terms",
    "read_annotations",
    "read_attributes",
    "read_deepdta",
    "read_disgenet",
    "read_edges",
    "read_gaf",
    "read_genes_to_phenotype",
    "read_hpoa",
    "read_humannet",
    "read_matrix",
    "read_mimminer",
    "read_obo",
    "read_pairs",
    "read_scores",
    "read_sequences",
    "read_similarity",
    "read_smiles",
    "read_table",
    "read_text",
    "sequence_features",
    "similarity_groups",
    "spectral_features",
    "tfidf",
]
