"""Input, checked once: views, responses, dyads with their ids and scores, splits."""

from jointdr.data.chemistry import FINGERPRINTS, Fingerprint, fingerprints
from jointdr.data.column_groups import column_positions, named_groups, split_columns
from jointdr.data.columns import MOSTLY, has_numbers_alone, is_frame, list_some
from jointdr.data.dyads import Dyads, refuse_dyads
from jointdr.data.encoding import Encoders, apply_encoders, fit_encoders
from jointdr.data.groups import Groups, fold_groups, minor_groups
from jointdr.data.ids import Entities, as_ids, entities, entities_of_numbers, index_of
from jointdr.data.matching import match_columns
from jointdr.data.pairs import PairsWarning, Unmatched, UnmatchedWarning, choose_score, scores_in
from jointdr.data.response import (
    Transform,
    check_response,
    checked_numbers,
    checked_response,
    classes,
    fit_transform_of,
    indicators,
)
from jointdr.data.scores import Duplicates, is_implicit, scores_of_pairs, values_at
from jointdr.data.sequences import checked_strings, sequence_features
from jointdr.data.similarities import new_similarities, require_symmetric
from jointdr.data.splits import BY, By, Split, splits
from jointdr.data.tables import TableEncoder, TableWarning
from jointdr.data.tails import HeavyTailWarning, Tail, tail_check, warn_if_heavy
from jointdr.data.terms import Annotations, Ontology, propagate_terms, tfidf
from jointdr.data.views import (
    PositionWarning,
    Views,
    as_views,
    checked_weight,
    default_name,
    in_order,
    join_feature_names,
    raise_if_not_finite,
)

__all__ = [
    "BY",
    "FINGERPRINTS",
    "MOSTLY",
    "Annotations",
    "By",
    "Duplicates",
    "Dyads",
    "Encoders",
    "Entities",
    "Fingerprint",
    "Groups",
    "HeavyTailWarning",
    "Ontology",
    "PairsWarning",
    "PositionWarning",
    "Split",
    "TableEncoder",
    "TableWarning",
    "Tail",
    "Transform",
    "Unmatched",
    "UnmatchedWarning",
    "Views",
    "apply_encoders",
    "as_ids",
    "as_views",
    "check_response",
    "checked_numbers",
    "checked_response",
    "checked_strings",
    "checked_weight",
    "choose_score",
    "classes",
    "column_positions",
    "default_name",
    "entities",
    "entities_of_numbers",
    "fingerprints",
    "fit_encoders",
    "fit_transform_of",
    "fold_groups",
    "has_numbers_alone",
    "in_order",
    "index_of",
    "indicators",
    "is_frame",
    "is_implicit",
    "join_feature_names",
    "list_some",
    "match_columns",
    "minor_groups",
    "named_groups",
    "new_similarities",
    "propagate_terms",
    "raise_if_not_finite",
    "refuse_dyads",
    "require_symmetric",
    "scores_in",
    "scores_of_pairs",
    "sequence_features",
    "split_columns",
    "splits",
    "tail_check",
    "tfidf",
    "values_at",
    "warn_if_heavy",
]
