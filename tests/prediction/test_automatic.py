"""The automatic head: `AssociationModel()` without any argument."""

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from jointdr import JDR, AssociationModel, Dyads, Popularity, config_context, get_config, load
from jointdr.data import BY as QUESTIONS
from jointdr.estimators import compose_embedding
from jointdr.evaluation import splits
from jointdr.metrics import average_precision
from jointdr.prediction.heads.descriptions import raw_descriptions
from jointdr.prediction.heads.members import QUESTIONS as QUESTIONS_IN_WORDS
from jointdr.prediction.heads.stages import fit_stages
from jointdr.prediction.search import answers, learned
from jointdr.prediction.search.bench import Bench
from jointdr.prediction.search.criterion import CRITERIA, check_criterion, criterion_in_words, score_split
from jointdr.prediction.search.parts import known_scores
from jointdr.prediction.search.progress import SearchProgress
from jointdr.prediction.search.sampling import sample_entities


def bilinear(rng, m=50, n=36, noise=0.3):
    A, B = rng.standard_normal((m, 6)), rng.standard_normal((n, 5))
    return A[:, :2] @ B[:, :2].T + noise * rng.standard_normal((m, n)), A, B


@pytest.fixture
def associations(rng):
    Y, A, B = bilinear(rng)
    return Dyads(sparse.csr_array((Y > 1.5).astype(float)), A, B)


@pytest.fixture
def grades(rng):
    Y, A, B = bilinear(rng)
    return Dyads(Y, A, B, rng.random(Y.shape) < 0.6)


@pytest.fixture(params=["associations", "grades"])
def dyads(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def model(dyads):
    return AssociationModel(random_state=0).fit(dyads)


def questions(dyads):
    """New entities, or None for known ones, of each question."""
    a, b = dyads.A[:3] + 0.1, dyads.B[:4] + 0.1
    return {"rows": (a, None), "columns": (None, b), "both": (a, b), "pairs": (None, None)}


class TestAnswers:
    def test_every_question_is_answered_by_a_model_of_its_own(self, model, dyads):
        assert list(dict.fromkeys(model.choices_["question"])) == list(QUESTIONS)
        for A_new, B_new in questions(dyads).values():
            scores = model.predict(A_new, B_new)
            assert scores.shape == (3 if A_new is not None else 50, 4 if B_new is not None else 36)
            assert np.isfinite(scores).all()

    def test_held_out_scores_are_better_than_those_of_effects_alone(self, model):
        assert (model.choices_["held-out score"] > model.choices_["baseline"] + 0.1).all()
        assert (model.choices_["weight"] > 0).all()

    def test_a_question_that_is_not_asked_is_refused_by_name(self, dyads):
        model = AssociationModel(uses="rows", random_state=0).fit(dyads)
        assert set(model.choices_["question"]) == {"rows"}
        model.predict(dyads.A[:2])
        with pytest.raises(ValueError, match=r"uses=.*'pairs'.*pairs of known entities"):
            model.predict()

    def test_the_answer_to_a_question_does_not_depend_on_the_others(self, model, dyads):
        alone = AssociationModel(uses=("columns",), random_state=0).fit(dyads)
        new = dyads.B[:4] + 0.1
        np.testing.assert_array_equal(alone.predict(None, new), model.predict(None, new))

    def test_the_same_seed_gives_the_same_model(self, model, dyads):
        again = AssociationModel(random_state=0).fit(dyads)
        for new in questions(dyads).values():
            np.testing.assert_array_equal(again.predict(*new), model.predict(*new))

    @pytest.mark.parametrize("by", QUESTIONS)
    def test_it_beats_popularity_on_data_that_it_has_not_seen(self, associations, by):
        found = []
        for split in splits(associations, by, 2, 0.2, 3):
            truth = split.test.Y.toarray()
            for model in (AssociationModel(uses=by, random_state=0), Popularity()):
                scores = split.predict(model.fit(split.train))
                if split.known is not None:
                    scores = np.where(split.known, -np.inf, scores)
                found.append(average_precision(scores, truth))
        assert np.mean(found[0::2]) > np.mean(found[1::2]) + 0.1

    def test_a_similarity_takes_the_place_of_features(self, rng):
        Y, A, B = bilinear(rng)
        S = np.exp(-0.2 * np.sum((A[:, None] - A) ** 2, axis=2))
        whole = Dyads(Y, None, B, row_similarity={"near": S})
        train, test = np.arange(40), np.arange(40, 50)
        model = AssociationModel(random_state=0).fit(whole.rows(train))
        with pytest.raises(ValueError, match="near"):
            model.predict(np.zeros((10, 0)))
        scores = model.predict(row_similarity=S[np.ix_(test, train)])
        assert np.corrcoef(scores.ravel(), Y[test].ravel())[0, 1] > 0.6
        assert any("near" in text for text in model.choices_["rows"])

    def test_indefinite_similarities_are_noted_by_name(self, rng):
        Y, A, B = bilinear(rng)
        S = rng.random((len(A), len(A)))
        S = S + S.T
        dyads = Dyads(Y, A, B, row_similarity={"features": S @ S, "odd": S}, column_similarity={"even": B @ B.T})
        text = str(AssociationModel(uses="pairs", random_state=0).fit(dyads))
        assert "'odd' of rows is indefinite" in text
        assert text.count("indefinite") == 1

    def test_sides_without_any_description_live_on_known_scores(self, rng):
        Y = bilinear(rng, noise=0.1)[0]
        observed = rng.random(Y.shape) < 0.7
        model = AssociationModel(uses="pairs", random_state=0).fit(Dyads(Y, observed=observed))
        P = model.predict()
        assert np.corrcoef(P[~observed], Y[~observed])[0, 1] > 0.8


class TestOddData:
    @pytest.mark.parametrize(
        "Y",
        [
            np.eye(9)[:1],
            (np.arange(90).reshape(10, 9) == 7).astype(float),
            np.ones((10, 9)),
            np.zeros((10, 9)),
            -np.ones((10, 9)),
            np.eye(2),
            np.arange(10.0)[:, None],
            1e8 * np.random.default_rng(0).standard_normal((10, 9)),
        ],
        ids=["one row", "one association", "ones", "zeros", "a constant", "two of each", "one column", "large"],
    )
    def test_no_exception_and_finite_scores(self, rng, Y):
        A, B = rng.standard_normal((Y.shape[0], 20)), rng.standard_normal((Y.shape[1], 3))
        model = AssociationModel(random_state=0).fit(Y, A, B)
        for A_new, B_new in itertools.product((None, A[:1]), (None, B[:1])):
            assert np.isfinite(model.predict(A_new, B_new)).all()
        model.recommend(k=2)

    @pytest.mark.parametrize("by", ["rows", "pairs"])
    @pytest.mark.parametrize("implicit", [True, False])
    @pytest.mark.parametrize(
        ("law", "least"), [("RBF", 0.05), ("one-hot", 0.15), ("wide", 0.05), ("noise", -0.05)], ids=lambda p: str(p)
    )
    def test_it_is_better_than_popularity_where_there_is_something_to_learn(self, rng, law, least, implicit, by):
        gains = []
        for _ in range(4 if law == "wide" else 1):  # where it may be popularity that a single data set takes
            split = next(splits(self.dyads_of(law, implicit, rng), by, 1, 0.2, 0))
            models = AssociationModel(uses=by, random_state=0), Popularity()
            found = [score_split(split.predict(m.fit(split.train)), split, implicit, "auto") for m in models]
            gains.append(found[0] - found[1])
        assert np.mean(gains) > least

    @staticmethod
    def dyads_of(law, implicit, rng):
        n = 60 if law == "wide" else 8  # more features than entities
        A, B = (
            np.eye(n)[rng.integers(n, size=m)] if law == "one-hot" else rng.standard_normal((m, n)) for m in (50, 40)
        )
        S = {
            "RBF": lambda: 3 * np.exp(-np.sum((A[:, None, :2] - B[None, :, :2]) ** 2, axis=2)),
            "one-hot": lambda: A @ rng.standard_normal((n, n)) @ B.T,
            "wide": lambda: A[:, :2] @ B[:, :2].T,
            "noise": lambda: rng.standard_normal((50, 40)),
        }[law]()
        S = S + 0.3 * rng.standard_normal(S.shape)
        return Dyads((np.quantile(S, 0.9) < S).astype(float) if implicit else S, A, B)

    def test_noise_is_predicted_by_effects_or_hardly_worse_than_by_them(self, rng):
        Y = rng.standard_normal((60, 50))
        A, B = rng.standard_normal((60, 4)), rng.standard_normal((50, 4))
        model = AssociationModel(random_state=0).fit(Y[:50], A[:50], B)
        assert np.mean((model.predict(A[50:]) - Y[50:]) ** 2) < 1.05 * np.var(Y)

    def test_if_nothing_beats_popularity_the_model_predicts_that_and_says_so(self, rng):
        Y = np.tile(np.arange(8.0), (40, 1)) + 1e-3 * rng.standard_normal((40, 8))
        model = AssociationModel(uses="rows", random_state=0).fit(Y, rng.standard_normal((40, 3)), np.eye(8))
        np.testing.assert_allclose(
            model.predict(rng.standard_normal((2, 3))), np.tile(np.arange(8.0), (2, 1)), atol=0.2
        )
        assert "by column effects alone" in str(model)
        flat = AssociationModel(uses="rows", random_state=0).fit(np.ones((9, 8)), np.eye(9), np.eye(8))
        assert flat.choices_["head"].tolist() == ["column effects"]
        assert "all known scores are equal" in str(flat)
        np.testing.assert_allclose(flat.predict(np.eye(9)[:2]), 1.0, atol=1e-12)
        assert "Nothing that was tried predicts held-out scores better" in str(model)
        links = np.tile((rng.random(30) < 0.3).astype(float), (40, 1))
        none = AssociationModel(uses=("rows", "both"), random_state=0).fit(links, np.ones((40, 1)), np.ones((30, 1)))
        assert none.choices_["head"].tolist() == ["popularity of columns", "one score for all pairs"]
        assert "by popularity of columns alone" in str(none)

    def test_where_nothing_can_be_held_out_the_model_says_so(self):
        model = AssociationModel(uses="rows").fit(np.eye(9)[:1], np.ones((1, 2)), np.eye(9))
        assert "there is too little to hold out" in str(model)
        assert np.isnan(model.choices_["held-out score"]).all()


class TestFewKnownScores:
    @pytest.mark.parametrize("seed", range(12))
    def test_a_handful_of_associations_is_enough_to_fit(self, seed):
        """Folds that are drawn for the complete fits may have nothing to judge where those of the screening had."""
        rng = np.random.default_rng(seed)
        A, B = rng.standard_normal((20, 3)), rng.standard_normal((18, 3))
        Y = np.zeros((20, 18))
        Y.flat[rng.permutation(360)[: 1 + seed % 4]] = 1
        model = AssociationModel(None, uses=("columns", "both"), random_state=seed).fit(Y, A, B)
        assert np.isfinite(model.predict(A[:2], B[:3])).all()

    def test_a_handful_of_grades_is_enough_to_fit(self):
        for seed in range(6):
            rng = np.random.default_rng(seed)
            A, B, known = rng.standard_normal((20, 3)), rng.standard_normal((12, 3)), np.zeros((20, 12), dtype=bool)
            known.flat[rng.permutation(240)[:4]] = True
            model = AssociationModel(uses="both", random_state=seed).fit(rng.random((20, 12)), A, B, known)
            assert np.isfinite(model.predict(A[:2], B[:3])).all()

    def test_one_association_is_enough_for_a_popularity(self, rng):
        A, B, Y = rng.standard_normal((30, 3)), rng.standard_normal((20, 3)), np.zeros((30, 20))
        Y[3, 4] = 1
        model = AssociationModel(uses="rows", random_state=0).fit(Y, A, B)
        assert model.recommend(rng.standard_normal((1, 3)), k=1)["column"].tolist() == ["4"]


def few_scores_of_each_row(rng, m=300, n=60, few=3):
    """Tables with columns in different units, and three known scores of each row; the truth beside them."""
    a, b = rng.standard_normal((m, 5)), rng.standard_normal((n, 4))
    truth = 6.0 + a[:, :2] @ b[:, :2].T + 0.4 * a[:, 2:3] + 0.3 * b[:, 2]
    known = rng.random((m, n)).argsort(axis=1).argsort(axis=1) < few
    A, B = a * [80, 1, 20, 3000, 1] + [300, 2, 70, 11000, 0], b * [90, 1, 0.1, 1] + [400, 0, 0.5, 0]
    return Dyads(truth + 0.3 * rng.standard_normal((m, n)), A, B, known), truth


@pytest.mark.parametrize("by", ["rows", "columns"])
def test_few_known_scores_of_an_entity_do_not_hide_what_features_explain(by):
    """Effects of rows with few scores leave little to see, and kernels look alike beside one in the wrong units."""
    dyads, truth = few_scores_of_each_row(np.random.default_rng(0))
    rows = by == "rows"
    train = dyads.rows(slice(20, None)) if rows else dyads.columns(slice(20, None))
    model = AssociationModel(random_state=0, uses=by).fit(train)
    F = model.predict(dyads.A[:20]) if rows else model.predict(B_new=dyads.B[:20])
    held = truth[:20] if rows else truth[:, :20]
    assert np.corrcoef(F.ravel(), held.ravel())[0, 1] > 0.93


@pytest.mark.parametrize("given", [None, JDR(2, ridge=1.0)], ids=["default", "given"])
def test_the_default_embedding_sees_features_of_small_units(rng, given):
    A, B = rng.standard_normal((80, 3)), rng.standard_normal((60, 3))
    Y = np.outer(A[:, 2], B[:, 2]) + 0.1 * rng.standard_normal((80, 60))
    dyads = Dyads(Y, A * [1000.0, 1.0, 1.0], B * [1.0, 500.0, 1.0])
    embedding = learned.default_embedding(dyads) if given is None else given
    maps = learned.choose_maps(dyads, standardize=given is None)
    fitted = learned.fit_embedding(embedding, dyads, maps)
    shares = [abs(np.corrcoef(Z[:, 0], X[:, 2])[0, 1]) for Z, X in zip(fitted.transform(dyads), (A, B), strict=True)]
    assert (min(shares) > 0.9) == (given is None)  # one that is given keeps the units of its tables
    if given is None:
        mapped = learned.fit_embedding(embedding, learned.map_tables(dyads, maps), (None, None))
        for Z, expected in zip(
            fitted.transform((dyads.A[:5] + 3.0, dyads.B[:5])),
            mapped.transform(((dyads.A[:5] + 3.0) @ maps[0], dyads.B[:5] @ maps[1])),
            strict=True,
        ):
            np.testing.assert_allclose(Z, expected, rtol=1e-8, atol=1e-10)


def test_cosines_of_features_in_different_units_are_those_of_standardized_ones(rng):
    A, B = rng.standard_normal((30, 4)), rng.standard_normal((20, 3))
    Y = rng.standard_normal((30, 20))
    units = A * [1.0, 1000.0, 1.0, 1.0] + [0.0, 5000.0, 0.0, 0.0]
    one, other = (raw_descriptions(Dyads(Y, X, B), 0)[0] for X in (units, (A - A.mean(axis=0)) / A.std(axis=0)))
    assert (one.kind, other.kind) == ("cosine", "cosine")
    np.testing.assert_allclose(one.similarities(), other.similarities(), atol=1e-12)
    np.testing.assert_allclose(one.similarities(one.describe((units[:3],))), one.similarities()[:3], atol=1e-12)


class TestNoise:
    def test_models_of_noise_are_known_scores_alone(self):
        """A model has to be better beyond chance, because it is the best of many."""
        ratios = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            Y = rng.standard_normal((240, 20)) + 4 * rng.standard_normal(20)
            A, B = rng.standard_normal((240, 4)), rng.standard_normal((20, 4))
            model = AssociationModel(None, uses="rows", random_state=0).fit(Y[:40], A[:40], B)
            errors = [Y[40:] - P for P in (model.predict(A[40:]), Y[:40].mean(axis=0))]
            ratios.append(np.sqrt(np.mean(errors[0] ** 2) / np.mean(errors[1] ** 2)))
        assert np.mean(ratios) < 1.003
        assert max(ratios) < 1.015

    def test_repetitions_of_folds_are_not_independent(self, grades):
        values = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
        errors = [Bench(known_scores(grades), [], None, "auto", False, repeats=n).error(values) for n in (1, 2)]
        assert errors[1] == pytest.approx(errors[0] * 2**0.5)

    def test_the_held_out_score_is_that_of_the_figures_beside_it(self, rng):
        Y = rng.standard_normal((30, 8)) + 5 * rng.standard_normal(8)  # columns at different levels
        model = AssociationModel(None, uses="columns", random_state=0).fit(Y, rng.random((30, 3)), rng.random((8, 2)))
        first = model.choices_.iloc[0]
        expected = 0.5 * (1 - first["RMSE"] / Y.std()) + first["concordance"] - 0.5
        assert first["held-out score"] == pytest.approx(expected)


class TestTables:
    def test_new_entities_may_be_sparse_where_known_ones_are_not(self, rng, grades):
        model = AssociationModel(random_state=0).fit(grades)
        for count in (7, len(grades.A)):  # as many as there are known ones, too
            X = rng.standard_normal((count, grades.A.shape[1]))
            np.testing.assert_allclose(model.predict(sparse.csr_matrix(X)), model.predict(X))
            np.testing.assert_allclose(model.predict(None, sparse.csr_array(grades.B)), model.predict(None, grades.B))

    def test_narrow_sparse_tables_are_compared_as_dense_ones(self, grades):
        dense, stored = (
            AssociationModel(None, uses="rows", random_state=0).fit(Dyads(grades.Y, make(grades.A), grades.B))
            for make in (np.asarray, sparse.csr_array)
        )
        np.testing.assert_allclose(stored.predict(grades.A[:5]), dense.predict(grades.A[:5]))

    def test_features_count_in_any_unit(self, rng, grades):
        A = grades.A * np.array([1e9, 1e-9, 1.0, 1.0, 1.0, 1.0])
        (found,) = raw_descriptions(grades.replace(tables=(A, grades.B)), 0, (("features", None, "gaussian"),))
        (expected,) = raw_descriptions(grades, 0, (("features", None, "gaussian"),))
        np.testing.assert_allclose(found.similarities(), expected.similarities())

    def test_constant_features_have_no_weight(self, grades):
        A = np.column_stack([grades.A, np.full(len(grades.A), 0.1)])
        (found,) = raw_descriptions(grades.replace(tables=(A, grades.B)), 0, (("features", None, "gaussian"),))
        (expected,) = raw_descriptions(grades, 0, (("features", None, "gaussian"),))
        np.testing.assert_allclose(found.similarities(), expected.similarities())

    def test_questions_about_entities_that_nothing_describes_are_left_out(self, grades):
        model = AssociationModel(random_state=0).fit(grades.Y, None, grades.B)
        assert model.choices_["question"].unique().tolist() == ["columns", "pairs"]
        assert np.isfinite(model.predict(None, grades.B[:2])).all()


class TestSideBySide:
    def test_questions_see_the_configuration_of_the_user(self, grades, monkeypatch):
        seen = []
        look = answers.screen_question
        monkeypatch.setattr(answers, "screen_question", lambda *a: seen.append(get_config()) or look(*a))
        with config_context(memory_budget=300_000_000):
            AssociationModel(None, uses=("rows", "columns"), random_state=0).fit(grades)
        assert [config["memory_budget"] for config in seen] == [300_000_000] * 2

    def test_an_error_of_one_question_ends_the_others(self, monkeypatch):
        monkeypatch.setattr(answers.joblib, "cpu_count", lambda: 2)
        monkeypatch.setattr(answers, "threadpool_info", lambda: [{"user_api": "blas", "num_threads": 2}])
        bar, ended = SearchProgress(QUESTIONS), Event()

        def work(by):
            if by == "rows":
                raise RuntimeError("rows failed")
            assert ended.wait(60)

        monkeypatch.setattr(bar, "stop", ended.set)
        with pytest.raises(RuntimeError, match="rows failed"):
            answers._for_each_question(("rows", "pairs"), work, bar)


class TestWhatItSays:
    @pytest.mark.parametrize("criterion", ["recall", "average precision"])
    def test_familiar_figures_of_associations_are_those_of_the_same_predictions(self, associations, criterion):
        for uses in QUESTIONS:
            choices = AssociationModel(uses=uses, criterion=criterion, random_state=0).fit(associations).choices_
            np.testing.assert_allclose(choices[criterion], choices["held-out score"])
            np.testing.assert_allclose(choices[f"baseline {criterion}"], choices["baseline"])

    def test_familiar_figures_of_grades_are_those_of_the_same_predictions(self, grades):
        choices = AssociationModel(uses="pairs", criterion="RMSE", random_state=0).fit(grades).choices_
        np.testing.assert_allclose(choices["RMSE"], -choices["held-out score"])
        np.testing.assert_allclose(choices["baseline RMSE"], -choices["baseline"])
        assert (choices["concordance"] > choices["baseline concordance"] + 0.1).all()
        assert "recall" not in choices

    def test_the_choices_are_readable_and_parts_of_them_are_plain_tables(self, model):
        text = str(model.choices_)
        assert "..." not in text
        assert max(map(len, text.splitlines())) < 200
        assert "higher is better" in text.splitlines()[0]
        for by, label in QUESTIONS_IN_WORDS.items():
            assert f"{by} ({label}): held-out score" in text
        assert str(model).startswith("AssociationModel(random_state=0)\nHeld-out scores are ")
        assert text in str(model)
        assert type(model.choices_[["question", "weight"]]) is pd.DataFrame
        assert "question" in str(model.choices_[["question", "weight"]])
        assert str(pickle.loads(pickle.dumps(model)).choices_) == text

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_every_criterion_has_a_definition(self, dyads, criterion):
        try:
            check_criterion(criterion, dyads.is_implicit)
        except ValueError:
            return
        model = AssociationModel(uses="columns", criterion=criterion, random_state=0).fit(dyads)
        assert criterion_in_words(criterion, dyads.is_implicit) in str(model)


class TestProgress:
    def test_it_counts_settings_and_names_the_question(self, associations, capsys, monkeypatch):
        monkeypatch.setattr("jointdr.runtime.progress.SILENCE", 0.0)
        AssociationModel(uses=("rows", "pairs"), random_state=0).fit(associations, progress=True)
        lines = capsys.readouterr().err.splitlines()
        counts = [int(line.split(": ")[1].split()[0]) for line in lines]
        shares = [int(line.split("%")[0]) for line in lines]
        assert counts == sorted(counts)
        assert shares == sorted(shares)
        assert len(set(shares)) > 20
        assert shares[-1] == 100
        assert {line.split("left  ")[1].split(":")[0] for line in lines} == {
            *("choosing for rows", "chosen for rows", "choosing for pairs", "chosen for pairs"),
            "fitting what was chosen",
        }

    def test_it_is_silent_where_nobody_looks_and_where_it_is_not_wanted(self, associations, capsys):
        for progress in (None, False):
            AssociationModel(uses="rows", random_state=0).fit(associations, progress=progress)
        assert capsys.readouterr().err == ""

    def test_threads_may_count_side_by_side(self, capsys):
        with SearchProgress(QUESTIONS, shown=True) as bar, ThreadPoolExecutor(4) as pool:
            for by in QUESTIONS:
                bar.expect(by, 200.0)
            list(pool.map(lambda t: bar.try_setting(QUESTIONS[t % 4], 1.0), range(400)))
            assert bar.tried == 400
            assert set(bar.shares.values()) == {0.5}
            for by in QUESTIONS:
                bar.answer(by)
        assert set(bar.shares.values()) == {1.0}
        assert "100%" in capsys.readouterr().err


class TestFailures:
    @pytest.fixture
    def broken(self, dyads, monkeypatch):
        """A model whose recipes with neighbors cannot be fitted, nor those with a penalty of 1."""

        def fit(recipe, *args):
            if recipe.head == "neighbors":
                raise np.linalg.LinAlgError("no neighbors today")
            stages = fit_stages(recipe, *args)
            if recipe.penalties[0] == 1.0:
                return [replace(stage, effects=replace(stage.effects, mean=np.nan)) for stage in stages]
            return stages

        monkeypatch.setattr("jointdr.prediction.search.bench.fit_stages", fit)
        return AssociationModel(uses=("rows", "pairs"), random_state=0).fit(dyads)

    def test_a_setting_that_fails_is_left_out_and_named(self, broken, dyads):
        assert (broken.choices_["held-out score"] > broken.choices_["baseline"] + 0.1).all()
        assert not broken.choices_["head"].str.contains("neighbors").any()
        assert np.isfinite(broken.predict(dyads.A[:2])).all()
        failures = broken.failures_
        assert set(failures["question"]) == {"rows", "pairs"}
        assert list(failures.columns) == ["question", "setting", "error"]
        lost = failures[failures["setting"].str.startswith("neighbors; rows: ")]
        assert (lost["error"] == "LinAlgError: no neighbors today").all()
        infinite = failures[failures["setting"].str.startswith("Kronecker ridge, penalty 1;")]
        assert (infinite["error"] == "Its predictions are not finite.").all()
        assert min(len(lost), len(infinite)) >= 2
        assert f"{len(failures)} settings could not be fitted, see failures_." in str(broken)
        assert "no neighbors today" in str(failures)

    def test_failures_are_kept_in_the_file(self, broken, tmp_path):
        broken.save(tmp_path / "model.npz")
        again = load(tmp_path / "model.npz")
        assert again.failures_.equals(broken.failures_)
        assert str(again).splitlines()[-1] == str(broken).splitlines()[-1]
        assert str(again.choices_) == str(broken.choices_)

    def test_the_search_goes_on_where_all_kernels_fail(self, dyads, monkeypatch):
        def fit(recipe, *args):
            if recipe.head != "effects":
                raise ValueError("nothing works")
            return fit_stages(recipe, *args)

        monkeypatch.setattr("jointdr.prediction.search.bench.fit_stages", fit)
        model = AssociationModel(random_state=0).fit(dyads)
        assert "Nothing that was tried predicts held-out scores better" in str(model)
        assert "nothing works" in str(model.failures_)

    def test_most_models_have_none(self, model):
        assert len(model.failures_) == 0
        assert str(model.failures_) == "All settings could be fitted."
        assert "could not" not in str(model)

    def test_only_automatic_heads_have_failures(self, grades):
        model = AssociationModel(JDR(2), head="kernel", bandwidth=0.5)
        with pytest.raises(AttributeError, match="fitted"):
            _ = model.failures_
        with pytest.raises(AttributeError, match="failures_ are those of head='auto'"):
            _ = model.fit(grades).failures_


@pytest.mark.parametrize("by", ["rows", "columns"])
def test_wide_kernels_of_coordinates_are_tried_where_a_sample_chooses_the_others(associations, monkeypatch, by):
    tried = []

    def fit(recipe, scores, *args):
        tried.append((scores.Y.size, recipe))
        return fit_stages(recipe, scores, *args)

    monkeypatch.setattr("jointdr.prediction.search.bench.fit_stages", fit)
    monkeypatch.setattr("jointdr.prediction.search.answers.SCREENED", 20)
    AssociationModel(uses=by, max_fits=100, random_state=0).fit(associations)
    complete = [recipe for size, recipe in tried if size > 20 * 20 and recipe.head == "neighbors"]
    powers = (4.0, 2.0) if by == "rows" else (2.0, 4.0)  # of the new side, and of the known one
    learned = 2  # after the cosines and the Gaussian similarities of features
    assert (((learned, powers[0]),), ((learned, powers[1]),)) in {
        tuple(tuple((term.description, term.power) for term in recipe.terms(k)) for k in (0, 1)) for recipe in complete
    }


class TestUse:
    def test_explanations_sum_to_scores_for_all_questions(self, model, dyads):
        for name, (A_new, B_new) in questions(dyads).items():
            row = "2" if A_new is None else A_new[:1]
            column = "1" if B_new is None else B_new[:1]
            score = model.predict(A_new, B_new)[0 if A_new is not None else 2, 0 if B_new is not None else 1]
            found = model.explain(row, column)
            assert found.score == pytest.approx(score, abs=1e-6), name
            assert found.rest + found.pairs["contribution"].sum() == pytest.approx(found.score, abs=1e-9)

    def test_graded_scores_have_intervals_that_hold_most_new_scores(self, rng):
        Y, A, B = bilinear(rng, 80, 60, noise=0.5)
        held = rng.random(Y.shape) < 0.3
        model = AssociationModel(uses="pairs", random_state=0).fit(Dyads(Y, A, B, ~held))
        i, j = np.nonzero(held)
        found = model.predict_pairs([(str(a), str(b)) for a, b in zip(i, j, strict=True)])
        inside = (found["lower"] <= Y[held]) & (Y[held] <= found["upper"])
        assert 0.85 < inside.mean() < 0.95

    def test_new_entities_of_associations_have_the_rate_at_which_such_pairs_were_listed(self, associations):
        model = AssociationModel(random_state=0).fit(associations)
        rates = model.recommend(associations.A[:5] + 0.1, k=36)
        assert rates["listed_rate"].between(0, 1).all()
        ordered = rates.sort_values("score")["listed_rate"].to_numpy()
        assert (np.diff(ordered) >= 0).all()
        assert ordered[-1] > 5 * associations.Y.mean()

    def test_unknown_pairs_of_known_entities_have_a_percentile(self, associations):
        model = AssociationModel(uses="pairs", random_state=0).fit(associations)
        best = model.recommend(by="pairs", k=20)
        assert best["percentile"].min() > 95
        assert best["percentile"].max() <= 100

    def test_similar_entities_are_found(self, model, dyads):
        found = model.similar(row=dyads.A[:1], k=3)
        assert found["row"].iloc[0] == "0"
        assert found["similarity"].iloc[0] > 0.95  # but for its profile, which is predicted
        assert (model.similar(column="3", k=5)["column"] != "3").all()

    def test_a_file_gives_the_same_scores_to_the_last_bit(self, model, dyads, tmp_path):
        model.save(tmp_path / "model.npz")
        again = load(tmp_path / "model.npz")
        for new in questions(dyads).values():
            np.testing.assert_array_equal(again.predict(*new), model.predict(*new))
        assert again.choices_.equals(model.choices_)
        assert again.recommend(k=3).equals(model.recommend(k=3))
        assert again.explain("1", "2").score == pytest.approx(model.explain("1", "2").score)

    def test_tune_chooses_for_one_question(self, dyads):
        model = AssociationModel(random_state=0)
        found = model.tune(dyads, by="columns")
        assert model.uses == ("columns",)
        assert found.best_score == model.choices_["held-out score"].iloc[0]

    def test_tune_judges_a_grid_by_the_head_that_chooses(self, dyads):
        model = AssociationModel(uses="rows", random_state=0)
        found = model.tune(dyads, grid={"max_fits": [5], "criterion": ["auto"]})
        split = [s for s in splits(dyads, "rows", 2, 0.1, 0)]
        scores = [score_split(s.predict(clone(model).fit(s.train)), s, dyads.is_implicit, "auto") for s in split]
        assert found.best_score == pytest.approx(np.mean(scores))
        assert model.embedding == "auto"

    def test_tune_refuses_splits_that_it_does_not_make(self, dyads):
        with pytest.raises(ValueError, match="leave n_splits and test_size out"):
            AssociationModel().tune(dyads, n_splits=5)
        model = AssociationModel()
        with pytest.raises(ValueError, match="criterion"):
            model.tune(dyads, criterion="nonsense")
        assert model.criterion == "auto"

    def test_a_loaded_model_fits_as_the_saved_one_did(self, grades, tmp_path):
        model = AssociationModel(uses="rows", random_state=0).fit(grades)
        model.save(tmp_path / "model.npz")
        assert load(tmp_path / "model.npz").embedding == "auto"

    def test_max_fits_that_leave_nothing_to_compare_are_named(self, rng, monkeypatch):
        monkeypatch.setattr(answers, "SCREENED", 20)
        Y, A, B = bilinear(rng, 30, 26)
        model = AssociationModel(None, uses="rows", max_fits=1, random_state=0).fit(Y, A, B)
        assert "max_fits=1 leaves no complete fit" in str(model.failures_)

    def test_a_given_embedding_is_offered(self, grades):
        model = AssociationModel(JDR(2), uses="rows", random_state=0).fit(grades)
        assert model.embedding_.get_params()["n_components"] == 2


class TestArguments:
    def test_parameters_of_other_heads_are_refused(self, grades):
        with pytest.raises(ValueError, match=r"bandwidth=0\.3 belongs to a head of its own"):
            AssociationModel(bandwidth=0.3).fit(grades)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"uses": ("rows", "nothing")}, "uses="),
            ({"uses": ()}, "uses="),
            ({"criterion": "recall"}, "criterion='recall' is for 0/1 associations"),
            ({"criterion": "best"}, "criterion="),
            ({"max_fits": 0}, "max_fits"),
            ({"max_bytes": -1}, "max_bytes"),
        ],
    )
    def test_others_are_checked(self, grades, params, message):
        with pytest.raises(ValueError, match=message):
            AssociationModel(**params).fit(grades)

    @pytest.mark.parametrize("criterion", ["RMSE", "concordance"])
    def test_criteria_of_grades(self, grades, criterion):
        model = AssociationModel(uses="rows", criterion=criterion, random_state=0).fit(grades)
        assert (model.choices_["held-out score"] > model.choices_["baseline"]).all()

    @pytest.mark.parametrize("criterion", ["recall", "average precision", "nDCG"])
    def test_criteria_of_associations(self, associations, criterion):
        model = AssociationModel(uses="rows", criterion=criterion, random_state=0).fit(associations)
        assert (model.choices_["held-out score"] > model.choices_["baseline"]).all()

    def test_only_automatic_heads_have_choices(self, grades):
        model = AssociationModel(JDR(2), head="kernel", bandwidth=0.5).fit(grades)
        with pytest.raises(AttributeError, match="head='auto'"):
            _ = model.choices_


def test_a_sample_with_more_associations_than_zeros_is_judged_like_the_whole(monkeypatch):
    """Empty rows are not sampled, so that most pairs of a sample may be associations."""
    monkeypatch.setattr(answers, "SCREENED", 60)
    rng = np.random.default_rng(0)
    Y = (rng.random((100, 20)) < 0.6).astype(float)
    Y[:30] = 0
    dyads = Dyads(Y, rng.standard_normal((100, 3)), rng.standard_normal((20, 2)))
    sample = sample_entities(dyads, "rows", 60, np.random.RandomState(0))
    assert dyads.is_implicit
    assert not sample.is_implicit
    kinds = []

    class Bench(answers.Bench):
        def judge(self, predictions, part, criterion=None):
            kinds.append(self.implicit)
            return super().judge(predictions, part, criterion)

    monkeypatch.setattr(answers, "Bench", Bench)
    AssociationModel(uses="rows", random_state=0).fit(dyads)
    assert set(kinds) == {True}


def test_an_interrupted_search_ends_with_the_settings_that_it_is_at(associations, monkeypatch):
    """Ctrl-C reaches the thread that waits; the other questions must not go on to their ends."""
    monkeypatch.setattr(answers.joblib, "cpu_count", lambda: 4)
    monkeypatch.setattr(answers, "threadpool_info", list)
    tried, began = [], Event()

    def screen_question(task, by, rng, bar):
        if by == "rows":
            began.wait(60)
            raise KeyboardInterrupt
        while True:
            bar.try_setting(by, 1.0)
            tried.append(by)
            began.set()

    monkeypatch.setattr(answers, "screen_question", screen_question)
    with pytest.raises(KeyboardInterrupt):
        AssociationModel(random_state=0).fit(associations)
    assert tried


def test_wide_tables_have_an_embedding_of_all_their_features(monkeypatch, tmp_path):
    """It is fitted to their leading features; saved, loaded, used and reported like any other."""
    monkeypatch.setattr(learned, "WIDEST", 40)
    rng = np.random.default_rng(0)
    A = sparse.random_array((60, 90), density=0.2, rng=rng, format="csr")
    B = rng.standard_normal((40, 4))
    Y = (A @ rng.standard_normal((90, 2))) @ B[:, :2].T
    model = AssociationModel(uses="rows", random_state=0).fit(Y[:50], A[:50], B)
    assert model.embedding_.embeddings_[0].shape == (90, 4)
    model.save(tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(A[50:]), model.predict(A[50:]))
    for found in (model, loaded):
        np.testing.assert_array_equal(found.coordinates(A[50:])[0], model.coordinates(A[50:])[0])
        found.report(tmp_path / "report.html")  # of a model for new rows alone
        assert "There are no recommendations: The model was fitted with uses=" in (tmp_path / "report.html").read_text()


def test_a_composed_embedding_is_that_of_the_reduced_tables(rng):
    A, B, y = rng.standard_normal((80, 6)), rng.standard_normal((80, 3)), rng.standard_normal(80)
    W = np.linalg.qr(rng.standard_normal((6, 4)))[0]
    fitted = JDR(2).fit((A @ W, B), y)
    whole = compose_embedding(fitted, (W, None), (None, None))
    for found, expected in zip(whole.transform((A, B)), fitted.transform((A @ W, B)), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert whole.score((A, B), y) == pytest.approx(fitted.score((A @ W, B), y), abs=1e-12)


def test_an_embedding_that_was_asked_for_is_not_left_out_in_silence(associations):
    with pytest.warns(UserWarning, match=r"embedding=JDR\(n_components=20\) is left out"):
        model = AssociationModel(JDR(20), uses="rows", random_state=0).fit(associations)
    assert model.embedding_ is None
