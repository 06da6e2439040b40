"""Data: the synthetic models of the paper, with a known truth; readers of real formats; real gene-disease data."""

from jointdr.datasets.annotations import read_gaf, read_genes_to_phenotype, read_hpoa
from jointdr.datasets.archives import N_SPECTRAL, load_archive, stored_sparse
from jointdr.datasets.hpo import GeneDiseases, load_hpo
from jointdr.datasets.networks import Network, read_edges, read_humannet, read_mimminer, read_similarity
from jointdr.datasets.ontology import Annotations, Ontology, propagated, read_obo, tfidf
from jointdr.datasets.readers import parquet_frame, read_disgenet, read_pairs, read_table
from jointdr.datasets.similarity import kernel_features
from jointdr.datasets.spectral import SpectralReport, connected_components, lsa_features, spectral_features
from jointdr.datasets.synthetic import (
    Sample,
    SyntheticModel,
    make_bilinear,
    make_even,
    make_logistic,
    make_odd,
    make_rbf,
    shared_blocks,
)

__all__ = [
    "N_SPECTRAL",
    "Annotations",
    "GeneDiseases",
    "Network",
    "Ontology",
    "Sample",
    "SpectralReport",
    "SyntheticModel",
    "connected_components",
    "kernel_features",
    "load_archive",
    "load_hpo",
    "lsa_features",
    "make_bilinear",
    "make_even",
    "make_logistic",
    "make_odd",
    "make_rbf",
    "parquet_frame",
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
    "shared_blocks",
    "spectral_features",
    "stored_sparse",
    "tfidf",
]
