"""Data: the synthetic models of the paper, with a known truth; readers of real formats; real gene-disease data."""

from jointdr.datasets.annotations import read_gaf, read_genes_to_phenotype, read_hpoa
from jointdr.datasets.archives import load_archive
from jointdr.datasets.hpo import GeneDiseases, load_hpo
from jointdr.datasets.networks import Network, read_edges, read_humannet, read_mimminer, read_similarity
from jointdr.datasets.ontology import Annotations, Ontology, propagated, read_obo, tfidf
from jointdr.datasets.readers import read_disgenet, read_pairs, read_table
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
    "Annotations",
    "GeneDiseases",
    "Network",
    "Ontology",
    "Sample",
    "SyntheticModel",
    "load_archive",
    "load_hpo",
    "make_bilinear",
    "make_even",
    "make_logistic",
    "make_odd",
    "make_rbf",
    "propagated",
    "read_disgenet",
    "read_edges",
    "read_gaf",
    "read_genes_to_phenotype",
    "read_hpoa",
    "read_humannet",
    "read_mimminer",
    "read_obo",
    "read_pairs",
    "read_similarity",
    "read_table",
    "tfidf",
]
