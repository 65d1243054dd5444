"""A year of every shipped world shows every stage, action, refusal, kind of day and outcome: none is zero.

What a world need not have (somebody too old for a place, somebody without means) must be found in a small special one.
"""

from pathlib import Path

import msgspec
import pytest
from life_tally import ROWS, Tally, table
from lives import WORLDS, Life, lived

from sim.core.agent import Requirements
from sim.core.facts import Folded
from sim.journal.reading import JournalReader
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from sim.settings import SimSettings
from sim.world.loader import cast_of, load_world
from sim.world.schema import World

A_YEAR = {
    "n_agents": 24,
    "time": {"n_year": 1, "n_week": 6, "n_day": 4, "n_contact": 4},
    "limits": {"possessions": 4},
    "windows": {"diary_weeks": 2},
}
"""Short enough for a test; few possessions and diaries are kept, so that more must go and fold."""
SPECIAL = ("over age", "lost its position", "standard destitute", "strangers meet")
"""What depends on a world's people: asked for in the special world alone."""
SEEDS = (3, 4, 5, 6, 7)
"""Tried one after the other until nothing is missing; one or two suffice as a rule."""
ILLEGAL = 0.15
"""Share of the scripted answers with actions that the rules refuse."""


def live(folder: Path, world: World, *, seed: int = 3, **changes: object) -> Tally:
    """A year of a whole world with the scripted model, counted; every now and then it acts against the rules."""
    settings = SimSettings.model_validate({**A_YEAR, "n_agents": len(world.characters), **changes})
    model = Scripted(language=world.language, faults=Faults(illegal=ILLEGAL))
    lived(folder, Life(settings=settings, world=world, seed=seed), model)
    return Tally(folder, world.language)


def live_until_all_was_seen(folder: Path, world: World) -> Tally:
    """A year of a world; what chance left out must come in the same year lived with another seed."""
    tally = live(folder / str(SEEDS[0]), world, seed=SEEDS[0])
    for seed in SEEDS[1:]:
        if not lacks(tally):
            break
        tally.update(live(folder / str(seed), world, seed=seed))
    return tally


def lacks(tally: Tally) -> list[str]:
    """What should have happened and did not, and refusals of which no row knows."""
    return [row for row in ROWS if row not in SPECIAL and not tally[row]] + [row for row in tally if "?" in row]


@pytest.mark.slow
def test_a_year_of_every_shipped_world_lacks_nothing(tmp_path, capsys):
    tallies: dict[str, Tally] = {}
    for folder in sorted(path for path in WORLDS.iterdir() if path.is_dir()):
        tallies[folder.name] = live_until_all_was_seen(tmp_path / folder.name, load_world(folder))
    with capsys.disabled():
        print(f"\n{table(tallies)}")
    assert tallies
    assert {world: lacks(tally) for world, tally in tallies.items() if lacks(tally)} == {}


def hard_world() -> World:
    """Eight people: one without income and savings, one too old for every position, one who knows nobody."""
    world = cast_of(load_world(WORLDS / "apartment"), 8)
    young = Requirements(max_age=90)
    positions = [msgspec.structs.replace(position, requirements=young) for position in world.positions]
    unpaid = msgspec.structs.replace(positions[0], organization="Yard", role="Helper", weekly_income=0)
    poor, old, alone, *others = world.characters
    people = [
        msgspec.structs.replace(poor, position=unpaid.key, deposit=0, extra_weekly_income=0),
        msgspec.structs.replace(old, birthday="Y1850-W1-activity-D1"),
        msgspec.structs.replace(alone, knows={}),
        *others,
    ]
    apart = [
        msgspec.structs.replace(one, knows={name: text for name, text in one.knows.items() if name != alone.name})
        for one in people
    ]
    return msgspec.structs.replace(world, positions=(*positions, unpaid), characters=tuple(apart))


def test_a_hard_world_shows_what_others_need_not_have(tmp_path):
    time = {"n_year": 1, "n_week": 2, "n_day": 2, "n_contact": 2}
    tally = live(tmp_path, hard_world(), time=time, economy={"encounter_share": 1})
    assert [row for row in SPECIAL if not tally[row]] == []


def test_later_years_fold_into_the_life(tmp_path):
    world = cast_of(load_world(WORLDS / "apartment"), 3)
    live(
        tmp_path,
        world,
        time={"n_year": 3, "n_week": 2, "n_day": 1, "n_contact": 1},
        windows={"diary_weeks": 1},
    )
    reader = JournalReader(tmp_path / "journal.db")
    folds = [
        fact.summary.kind
        for facts in reader.units()
        for things in facts.by_agent.values()
        for fact in things
        if isinstance(fact, Folded)
    ]
    reader.close()
    assert {"year_summary", "life_summary"} <= {*folds}
