"""Worlds so small, or people so alone, that most rules have nothing to hold on to: they live a year all the same."""

import math
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from lives import WORLDS, Life, faulty, lived

from sim.core.facts import UnitFacts
from sim.journal.reading import JournalReader
from sim.lifetime import STAGES
from sim.llm.scripted import Scripted
from sim.settings import SimSettings
from sim.world.loader import cast_of, load_world
from sim.world.schema import World

A_YEAR = {"n_year": 1, "n_week": 3, "n_day": 2, "n_contact": 2}
REWARDS = ("social", "subjective", "economic", "z_social", "z_subjective", "z_economic", "reward")


def a_life(world: World, **changes: object) -> Life:
    settings = SimSettings.model_validate({"n_agents": len(world.characters), "time": A_YEAR, **changes})
    return Life(settings=settings, world=world)


def units_of(folder: Path, life: Life, model: object = None) -> list[UnitFacts]:
    lived(folder, life, model or Scripted(language=life.world.language))
    reader = JournalReader(folder / "journal.db")
    found = list(reader.units())
    reader.close()
    return found


def rewards(units: Iterable[UnitFacts]) -> dict[str, dict[str, float]]:
    (found,) = [facts.outputs["rewards"] for facts in units if facts.unit.stage == "life_reward"]
    return found


def a_small_world(n: int) -> World:
    return cast_of(load_world(WORLDS / "apartment"), n)


@pytest.mark.parametrize("profile", ["full", "short"])
@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_people_live_a_year_and_have_finite_rewards(tmp_path, n, profile):
    life = a_life(a_small_world(n), prompts={"profile": profile})
    units = units_of(tmp_path, life)
    found = rewards(units)
    assert len(found) == n
    assert all(math.isfinite(reward[part]) for reward in found.values() for part in REWARDS)
    assert math.isclose(sum(reward["reward"] for reward in found.values()), 0.0, abs_tol=1e-9)
    assert {facts.unit.stage for facts in units} <= set(STAGES)


def test_one_person_alone_meets_nobody_and_is_neither_better_nor_worse_than_anybody(tmp_path):
    units = units_of(tmp_path, a_life(a_small_world(1)))
    (reward,) = rewards(units).values()
    assert (reward["social"], reward["reward"], reward["n_penalties"]) == (0.0, 0.0, 0)
    stages = {facts.unit.stage for facts in units}
    assert not stages & {"joint", "encounter"}
    assert "solo" in stages


def test_two_people_who_get_bad_answers_only_live_on(tmp_path):
    life = a_life(a_small_world(2), limits={"structure_attempts": 1, "tool_rounds": 1})
    found = rewards(units_of(tmp_path, life, faulty(empty=1.0)))
    assert all(math.isfinite(reward["reward"]) for reward in found.values())


def with_a_stranger() -> tuple[World, str]:
    """Five people of whom the last knows nobody and is known to nobody."""
    world = a_small_world(5)
    *others, stranger = world.characters
    others = [
        msgspec.structs.replace(one, knows={name: text for name, text in one.knows.items() if name != stranger.name})
        for one in others
    ]
    characters = (*others, msgspec.structs.replace(stranger, knows={}))
    return msgspec.structs.replace(world, characters=characters), stranger.name


def test_whom_nobody_knows_writes_to_nobody_is_rated_by_nobody_and_has_a_reward(tmp_path):
    world, stranger = with_a_stranger()
    units = units_of(tmp_path, a_life(world, economy={"encounter_share": 1000}))
    for facts in units:
        if facts.unit.stage == "contact":
            assert stranger not in facts.outputs["wrote_to"]
            if facts.unit.who == stranger:
                assert not facts.verdicts, "there is nobody to write to, so nothing is asked"
        if facts.unit.stage == "judging" and facts.unit.year == 0:
            assert stranger not in facts.outputs["scores"]
            assert facts.unit.who != stranger or not facts.outputs["scores"]
    (baseline,) = [facts.outputs["baseline"] for facts in units if facts.unit.stage == "life_reward"]
    assert baseline[stranger] == 0.0
    assert all(math.isfinite(rewards(units)[stranger][part]) for part in REWARDS)


def test_a_stranger_gets_to_know_people_by_chance_meetings(tmp_path):
    world, stranger = with_a_stranger()
    units = units_of(tmp_path, a_life(world, economy={"encounter_share": 1}))
    met = {name for facts in units if facts.unit.stage == "encounter" for name in facts.outputs["participants"]}
    assert stranger in met
    knows = [facts.outputs["knows"] for facts in units if facts.unit.stage == "settle" and facts.unit.who == stranger]
    assert knows[0] == []
    assert knows[-1]
