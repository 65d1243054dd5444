"""What is kept whole through a life: money, possessions, places in the day, ranges; replayed from the journal alone."""

from collections import Counter
from collections.abc import Iterator

import pytest
from lives import Life, faulty, lived, small_life

from sim.core.agent import FULFILMENTS, TALENTS, TRAITS, AgentState
from sim.core.facts import Changed, Got, UnitFacts, apply
from sim.core.keys import parse_unit
from sim.core.limits import LIMITS
from sim.core.settlement import COST_PER_WEEK
from sim.journal.reading import JournalReader
from sim.lifetime import STAGES
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from sim.week.days.order import POSITION
from sim.world.loader import initial_states

INCOME, LIVING, SPENDING = "income", "living_standard", "spending"
PAID_BY_NOBODY = {"work", INCOME}
"""Reasons for which money comes into the world."""
MODELS = {
    "as a rule": Scripted(),
    "against the rules": Scripted(faults=Faults(illegal=0.5)),
    "badly": faulty(malformed=0.3, empty=0.05, truncated=0.05),
}


@pytest.fixture(scope="module", params=sorted(MODELS))
def units(request, tmp_path_factory) -> tuple[Life, list[UnitFacts]]:
    """A life of six, its units in an order in which they could have been lived."""
    folder = tmp_path_factory.mktemp("life")
    time = {"n_year": 2, "n_week": 2, "n_day": 2, "n_contact": 2}
    life = small_life(n_agents=6, time=time, limits={"turns_min": 3, "turns_max": 6, "possessions": 5})
    lived(folder, life, MODELS[request.param])
    reader = JournalReader(folder / "journal.db")
    found = sorted(reader.units(), key=rank)
    reader.close()
    return life, found


def rank(facts: UnitFacts) -> tuple:
    """The order of stages, as with barriers."""
    unit, stage = facts.unit, STAGES[facts.unit.stage]
    return unit.year, unit.week, stage.position, unit.index, stage.sub, unit.who


def replayed(life: Life, units: list[UnitFacts]) -> Iterator[tuple[UnitFacts, dict[str, AgentState]]]:
    """Everybody's state after each unit."""
    states = initial_states(life.world)
    for facts in units:
        states.update({name: apply(states[name], facts) for name in facts.by_agent})
        yield facts, states


def changes(facts: UnitFacts, name: str) -> list[Changed]:
    return [fact for fact in facts.by_agent.get(name, ()) if isinstance(fact, Changed)]


def test_deposits_change_by_what_is_earned_lived_on_and_spent_and_by_nothing_else(units):
    life, done = units
    first = initial_states(life.world)
    last = dict(first)
    flows: Counter[str] = Counter()
    for facts, states in replayed(life, done):
        for name in facts.by_agent:
            moved = Counter[str]()
            for change in changes(facts, name):
                moved[change.reason] += change.money
            assert states[name].deposit - last[name].deposit == sum(moved.values()), facts.unit
            assert {reason for reason, money in moved.items() if money > 0} <= PAID_BY_NOBODY
            assert {reason for reason, money in moved.items() if money < 0} <= {LIVING, SPENDING}
            flows.update(moved)
        last.update(states)
    total = sum(state.deposit for state in last.values()) - sum(state.deposit for state in first.values())
    assert total == sum(flows.values())
    assert flows[INCOME] > 0 > flows[LIVING]


def test_every_flow_of_money_is_what_the_rules_make_it(units):
    life, done = units
    costs = {*COST_PER_WEEK.values()}
    before = initial_states(life.world)
    for facts, states in replayed(life, done):
        for name in facts.by_agent:
            for change in changes(facts, name):
                if change.reason == LIVING:
                    assert -change.money in costs or -change.money == before[name].deposit < min(costs)
                elif change.reason == SPENDING:
                    (bought,) = facts.outputs["purchases"][name]
                    assert -change.money == bought["price"]
                elif change.reason == "work":
                    assert change.money == facts.outputs["earned"][name] <= LIMITS["solo"].money[1]
        before.update(states)


def test_every_possession_has_one_owner(units):
    life, done = units
    owned = sorted(item.id for state in initial_states(life.world).values() for item in state.possessions)
    assert len(owned) == len(set(owned))
    given = 0
    for facts, states in replayed(life, done):
        bought = [
            fact.item.id
            for things in facts.by_agent.values()
            for fact in things
            if isinstance(fact, Got) and fact.source == "bought"
        ]
        now = sorted(item.id for state in states.values() for item in state.possessions)
        assert len(now) == len(set(now)), facts.unit
        lost = {*owned, *bought} - {*now}
        assert not {*now} - {*owned, *bought}, facts.unit
        assert not lost or facts.unit.stage == "cleanup", facts.unit
        given += any(isinstance(f, Got) and f.source != "bought" for things in facts.by_agent.values() for f in things)
        owned = now
    assert all(len(state.possessions) <= life.settings.limits.possessions for state in states.values())
    assert given


def test_every_state_is_in_range_after_every_unit(units):
    life, done = units
    for facts, states in replayed(life, done):
        for name in facts.by_agent:
            state = states[name]
            assert all(0 <= getattr(state, quantity) <= 100 for quantity in ("vitality", *FULFILMENTS)), facts.unit
            assert state.deposit >= 0
            assert all(level >= 0 for level in state.skills.values())
            assert all(0 <= state.profile.traits[trait] <= 100 for trait in TRAITS)
            assert all(0 <= state.profile.talents[talent] <= 100 for talent in TALENTS)


def test_nobody_is_in_two_places(units):
    life, done = units
    days = [facts.unit for facts in done if STAGES[facts.unit.stage].position == POSITION]
    where: Counter[tuple[int, int, int, str]] = Counter()
    for facts in done:
        unit = facts.unit
        if unit in days and unit.stage != "public_meet":
            where.update((unit.year, unit.week, unit.index, name) for name in facts.by_agent)
    time = life.settings.time
    assert set(where.values()) == {1}
    assert len(where) == time.n_year * time.n_week * time.n_day * life.settings.n_agents


def test_calendars_hold_one_activity_a_day_and_name_each_other(units):
    for facts in units[1]:
        if facts.unit.stage != "resolve":
            continue
        for key, entry in facts.outputs["units"].items():
            if parse_unit(key).stage in ("joint", "encounter"):
                assert len(entry["participants"]) >= 2
                assert entry["participants"] == sorted(entry["activity"]["participants"])


def test_no_position_has_more_holders_than_places(units):
    life, done = units
    positions: dict[str, int] = {}
    for facts, states in replayed(life, done):
        if facts.unit.stage == "openings":
            positions = {f"{p['organization']}/{p['role']}": p["capacity"] for p in facts.outputs["positions"]}
        if facts.unit.stage == "judging":
            held = Counter(state.position.key for state in states.values() if state.position)
            assert all(held[key] <= positions[key] for key in held)


def test_applying_a_unit_again_changes_nothing(units):
    life, done = units
    for facts, states in replayed(life, done):
        assert all(apply(states[name], facts) == states[name] for name in facts.by_agent)
