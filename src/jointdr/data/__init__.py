"""Input, checked once: views, responses, dyads with their ids and scores, splits."""

from jointdr.data.column_groups import column_positions, split_columns
from jointdr.data.columns import is_frame, list_some
from jointdr.data.dyads import Dyads, refuse_dyads
from jointdr.data.groups import Groups, fold_groups, minor_groups
from jointdr.data.ids import Entities, as_ids, entities, entities_of_numbers, index_of
from jointdr.data.pairs import PairsWarning, Unmatched, UnmatchedWarning, choose_score, scores_in
from jointdr.data.response import Transform, checked_numbers, checked_response, classes, fit_transform_of, indicators
from jointdr.data.scores import Duplicates, is_implicit, scores_of_pairs, values_at
from jointdr.data.similarities import new_similarities, require_symmetric
from jointdr.data.splits import BY, By, Split, splits
from jointdr.data.tables import TableEncoder, TableWarning
from jointdr.data.tails import HeavyTailWarning, Tail, tail_check, warn_if_heavy
from jointdr.data.views import (
    PositionWarning,
    Views,
    as_views,
    checked_weight,
    default_name,
    join_feature_names,
    raise_if_not_finite,
)

__all__ = [
    "BY",
    "By",
    "Duplicates",
    "Dyads",
    "Entities",
    "Groups",
    "HeavyTailWarning",
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
    "as_ids",
    "as_views",
    "checked_numbers",
    "checked_response",
    "checked_weight",
    "choose_score",
    "classes",
    "column_positions",
    "default_name",
    "entities",
    "entities_of_numbers",
    "fit_transform_of",
    "fold_groups",
    "index_of",
    "indicators",
    "is_frame",
    "is_implicit",
    "join_feature_names",
    "list_some",
    "minor_groups",
    "new_similarities",
    "raise_if_not_finite",
    "refuse_dyads",
    "require_symmetric",
    "scores_in",
    "scores_of_pairs",
    "split_columns",
    "splits",
    "tail_check",
    "values_at",
    "warn_if_heavy",
]
