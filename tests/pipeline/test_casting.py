"""Several models in one society: who is played by whom, and what is learned from whom."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.casting import played_by_others, players
from pipeline.load_settings import load_settings
from pipeline.plan import used_engines
from sim.core.facts import Verdict
from training.filters import DropReason, drop_reason

CONFIGS = Path(__file__).parents[2] / "configs"
TWO = ["serving.others={strong: {kind: scripted, share: 0.25}, weak: {kind: scripted, share: 0.5}}"]
NAMES = [f"P{n:02d}" for n in range(8)]


def test_each_model_gets_its_share_of_the_cast():
    played = players(NAMES, {"strong": 0.25, "weak": 0.5}, world="apartment", seed=1)
    assert Counter(played.values()) == {"strong": 2, "weak": 4}
    assert played == players(NAMES[::-1], {"weak": 0.5, "strong": 0.25}, world="apartment", seed=1)
    assert played != players(NAMES, {"strong": 0.25, "weak": 0.5}, world="campus", seed=1)


@given(
    n=st.integers(0, 60),
    shares=st.dictionaries(st.sampled_from("abc"), st.floats(0.01, 0.33), max_size=3),
    seed=st.integers(),
)
def test_shares_are_kept_within_one_agent_and_never_exceed_the_cast(n, shares, seed):
    names = [str(number) for number in range(n)]
    counts = Counter(players(names, shares, world="w", seed=seed).values())
    for model, share in shares.items():
        assert abs(counts[model] - share * n) <= 1
    assert sum(counts.values()) <= n


def test_settings_give_the_shares_and_their_engines_are_started():
    settings = load_settings(CONFIGS / "smoke.yaml", TWO)
    assert len(played_by_others(settings, NAMES, "apartment")) == 6
    assert not played_by_others(load_settings(CONFIGS / "smoke.yaml", []), NAMES, "apartment")
    engine = ["serving.others={second: {engine: other, share: 0.5}}", "serving.engines.other={model: smollm2}"]
    assert "other" in used_engines(load_settings(CONFIGS / "laptop.yaml", engine))


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ("{a: {kind: scripted, share: 0.5}, b: {kind: scripted, share: 0.5}}", "leave nobody"),
        ("{a: {engine: nowhere, share: 0.5}}", r"serving.others.a.engine = 'nowhere'"),
        ("{a: {kind: scripted, share: 0}}", "share"),
    ],
)
def test_impossible_shares_and_unknown_engines_are_refused(others, words):
    with pytest.raises(ValueError, match=words):
        load_settings(CONFIGS / "smoke.yaml", [f"serving.others={others}"])


def test_another_models_answers_are_not_learned_from():
    verdict = Verdict(key="k", agent="A", duty="plan", status="ok")
    assert drop_reason(verdict, finish="stop", text="x", fallback=False) is None
    dropped = drop_reason(verdict, finish="stop", text="x", fallback=False, other_model=True)
    assert dropped is DropReason.OTHER_MODEL
