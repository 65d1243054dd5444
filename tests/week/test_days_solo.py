"""A day of one's own: what it may change, what work earns, what can be bought, and that money is conserved."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as checked
from hypothesis import strategies as st

from sim.core.agent import AgentState
from sim.core.facts import Changed, Got, Noted, UnitFacts
from sim.core.spending import EARNINGS, earnings_tier, material_gain
from sim.llm.protocol import Request
from sim.world.schema import Price
from tests.builders import an_agent
from tests.week.days import Model, a_day, after, live, some_settings

PRICES = (
    Price(item="plate of dumplings", price=11, category="food"),
    Price(item="reading lamp", price=60, category="home"),
    Price(item="winter coat", price=230, category="clothing"),
    Price(item="used piano", price=1900, category="home"),
    Price(item="walk on the pier", price=0, category="leisure"),
)


def day(
    answers: dict[str, Any] | None = None, *, short: bool = False, **fields: Any
) -> tuple[AgentState, UnitFacts, Model]:
    """Ann's state after a day on which the model gives these answers by duty."""
    job = a_day("solo", [an_agent("Ann", **fields)])

    def answer(request: Request) -> Any:
        value = (answers or {}).get(request.duty)
        return value and {name: value[name] for name in request.output.schema["properties"]}

    model = Model(answer)
    facts = live(job, model, settings=some_settings(short=short), prices=PRICES)
    return after(job, facts)["Ann"], facts, model


def judged(kind: str, *, feasible: bool = True, skill: str = "none", offers: tuple[str, ...] = (), keeps: bool = True):
    items = [{"item": item, "keeps": keeps} for item in offers]
    return {"note": "Possible.", "feasible": feasible, "kind": kind, "skill": skill, "offers": items}


def outcome(**fields: Any) -> dict[str, Any]:
    values = {"feedback": "It went well.", "vitality": 0, "mood": 0, "esteem": 0, "skills": []}
    return {**values, **fields}


def test_a_full_day_asks_four_times():
    _, facts, model = day({"solo_judgement": judged("leisure"), "solo_outcome": outcome()})
    assert [request.duty for request in model.asked] == ["intention", "solo_judgement", "solo_outcome", "reflection"]
    assert facts.outputs == {
        "kind": "solo",
        "participants": ["Ann"],
        "skills_up": {"Ann": False},
        "purchases": {"Ann": []},
        "earned": {"Ann": 0},
        "exited": [],
    }
    (record,) = [fact.note for fact in facts.by_agent["Ann"] if isinstance(fact, Noted)]
    assert record.kind == "record"
    assert record.text.startswith("On my own.")


@pytest.mark.parametrize(
    ("level", "proposed", "income"), [(10, 1, 40), (10, 200, 80), (30, 95, 95), (100, 0, 120), (300, 200, 200)]
)
def test_work_earns_by_the_tier_of_its_skill(level: float, proposed: int, income: int):
    answers = {"solo_judgement": judged("work", skill="baking"), "solo_outcome": outcome(earned=proposed)}
    state, facts, _ = day(answers, skills={"baking": level, "law": 300.0 if level < 300 else 0.0}, deposit=7)
    assert state.deposit == 7 + income
    assert facts.outputs["earned"] == {"Ann": income}
    assert f"Earned {income}." in state.records[0].text


def test_rest_gives_back_strength():
    for proposed, gained in ((-50, 5), (7, 7), (90, 10)):
        state, *_ = day({"solo_judgement": judged("rest"), "solo_outcome": outcome(vitality=proposed)}, vitality=40.0)
        assert state.vitality == 40 + gained
    state, *_ = day({"solo_judgement": judged("leisure"), "solo_outcome": outcome(vitality=90)}, vitality=40.0)
    assert state.vitality == 45


def test_what_is_not_possible_earns_and_teaches_nothing():
    answers = {
        "solo_judgement": judged("work", feasible=False, skill="baking"),
        "solo_outcome": outcome(vitality=9, skills=[{"name": "baking", "gain": 3}]),
    }
    state, facts, _ = day(answers, vitality=50.0, deposit=10)
    assert (state.deposit, state.vitality, state.skills) == (10, 55, {"baking": 30.0})
    assert facts.outputs["earned"] == {"Ann": 0}


def test_a_thing_that_is_bought_is_owned_and_paid():
    answers = {
        "solo_judgement": judged("spend", offers=("reading lamp", "winter coat")),
        "purchase": {"buy": "reading lamp"},
        "solo_outcome": outcome(),
    }
    state, facts, model = day(answers, deposit=300)
    assert [request.duty for request in model.asked][2] == "purchase"
    assert state.deposit == 240
    assert state.material == 50 + material_gain(60)
    (thing,) = state.possessions
    assert (thing.id, thing.name, thing.value) == ("Y1-W1/solo.1/Ann#1", "reading lamp", 60)
    assert facts.outputs["purchases"] == {"Ann": [{"name": "reading lamp", "price": 60}]}
    assert "reading lamp: 60 dollars" in model.prompts("Ann", "purchase")[0]
    assert "Ann bought: reading lamp." in model.prompts("", "solo_outcome")[0]


def test_a_meal_is_paid_but_not_owned():
    answers = {
        "solo_judgement": judged("spend", offers=("plate of dumplings",), keeps=False),
        "purchase": {"buy": "plate of dumplings"},
    }
    state, facts, _ = day(answers, deposit=11)
    assert (state.deposit, state.possessions) == (0, ())
    assert facts.outputs["purchases"] == {"Ann": [{"name": "plate of dumplings", "price": 11}]}
    assert not any(isinstance(fact, Got) for fact in facts.by_agent["Ann"])


def test_an_offer_may_be_declined():
    state, facts, _ = day({"solo_judgement": judged("spend", offers=("reading lamp",)), "purchase": {"buy": "nothing"}})
    assert (state.deposit, state.possessions, state.material) == (500, (), 50)
    assert facts.outputs["purchases"] == {"Ann": []}


def test_what_cannot_be_paid_and_what_is_free_is_not_offered():
    _, _, model = day({"solo_judgement": judged("spend", offers=())}, deposit=100)
    (request,) = [request for request in model.asked if request.duty == "solo_judgement"]
    items = request.output.schema["properties"]["offers"]["items"]["properties"]["item"]["enum"]
    assert sorted(items) == ["plate of dumplings", "reading lamp"]
    state, _, model = day(deposit=5)
    (request,) = [request for request in model.asked if request.duty == "solo_judgement"]
    assert "offers" not in request.output.schema["properties"]
    assert state.deposit >= 5


def test_a_hostile_environment_changes_nothing_beyond_the_table():
    proposal = outcome(
        vitality=100, mood=-100, esteem=100, skills=[{"name": f"new {n}", "gain": 100} for n in range(3)], earned=200
    )
    for kind in ("rest", "work", "practice", "spend", "leisure"):
        state, _, _ = day({"solo_judgement": judged(kind, skill="none"), "solo_outcome": proposal})
        assert state.vitality == (80 if kind == "rest" else 75)
        assert (state.mood, state.esteem, state.social, state.material) == (45, 51, 50, 50)
        assert state.skills == {"baking": 30, "new 0": 3, "new 1": 3, "new 2": 3}
        assert state.deposit == 500 + (80 if kind == "work" else 0)


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("garbage", ["", "no", '{"intention": 3}', "{}"])
def test_whatever_the_models_say_the_day_ends_with_a_record(garbage: str, short: bool):
    job = a_day("solo", [an_agent("Ann")])
    facts = live(job, Model(lambda request: garbage), settings=some_settings(short=short), prices=PRICES)
    state = after(job, facts)["Ann"]
    assert "Nothing out of the ordinary" in state.records[0].text
    assert (state.deposit, state.skills, state.vitality) == (500, {"baking": 30}, 70)


@checked(max_examples=40, deadline=None)
@given(st.integers(0, 400), st.integers(0, 300), st.booleans(), st.data())
def test_money_is_conserved(deposit: int, level: int, short: bool, data: st.DataObject):
    """Whatever is answered: the deposit moves by what was earned less what was paid, and never below 0."""

    def answer(request: Request) -> Any:
        if request.duty not in ("solo_judgement", "solo_outcome", "purchase", "intention"):
            return None
        properties = request.output.schema["properties"]
        values: dict[str, Any] = dict.fromkeys(properties, "text")
        for name, schema in properties.items():
            if "enum" in schema:
                values[name] = data.draw(st.sampled_from(schema["enum"]), label=name)
            elif schema["type"] == "integer":
                values[name] = data.draw(st.integers(schema["minimum"], schema["maximum"]), label=name)
            elif schema["type"] == "boolean":
                values[name] = data.draw(st.booleans(), label=name)
            elif name == "offers":
                names = schema["items"]["properties"]["item"]["enum"]
                values[name] = [
                    {"item": item, "keeps": True} for item in data.draw(st.lists(st.sampled_from(names), max_size=4))
                ]
            elif name == "skills":
                values[name] = []
        return values

    job = a_day("solo", [an_agent("Ann", deposit=deposit, skills={"baking": float(level)})])
    facts = live(job, Model(answer), settings=some_settings(short=short), prices=PRICES)
    state = after(job, facts)["Ann"]
    bought, income = facts.outputs["purchases"]["Ann"], facts.outputs["earned"]["Ann"]
    paid = sum(thing["price"] for thing in bought)
    assert state.deposit == deposit + income - paid
    assert paid <= deposit
    assert sum(fact.money for fact in facts.by_agent["Ann"] if isinstance(fact, Changed)) == income - paid
    assert all(thing["price"] == next(line.price for line in PRICES if line.item == thing["name"]) for thing in bought)
    assert income == 0 or 40 <= income <= EARNINGS[earnings_tier(level)][1]
    assert len(state.possessions) <= len(bought) <= 1
    assert state.material == min(100, 50 + material_gain(paid))


def test_weak_models_are_asked_twice():
    state, facts, model = day(
        {"intention": {"intention": "A new lamp!", "buy": "reading lamp"}}, short=True, deposit=70
    )
    assert [request.duty for request in model.asked] == ["intention", "solo_outcome"]
    assert state.deposit == 10
    assert facts.outputs["purchases"] == {"Ann": [{"name": "reading lamp", "price": 60}]}
    assert len(state.records) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("short", [False, True])
def test_scripted_days_in_both_languages(language: str, short: bool):
    job = a_day("solo", [an_agent("Ann")])
    facts = live(job, Model(language=language), settings=some_settings(short=short), prices=PRICES, language=language)
    assert all(verdict.status == "ok" for verdict in facts.verdicts)


def test_a_reasoning_models_thoughts_are_short_in_the_days_later_calls():
    def answer(request: Request) -> Any:
        if request.duty == "solo_judgement":
            return judged("spend", offers=("reading lamp",))
        return "XXQUIET" if request.duty == "compaction" else None

    model = Model(answer, reason=lambda request: "XXLONG" if request.agent and request.duty != "compaction" else "")
    settings = some_settings()
    thinking = settings.model_copy(update={"answers": settings.answers.model_copy(update={"thinking": True})})
    live(a_day("solo", [an_agent("Ann")]), model, settings=thinking, prices=PRICES)
    for duty, count in (("intention", 0), ("purchase", 1), ("reflection", 2)):
        (prompt,) = model.prompts("Ann", duty)
        assert prompt.count("(XXQUIET)") == count
        assert "XXLONG" not in prompt
