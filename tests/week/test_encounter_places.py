"""Where an encounter happens: free public places are offered, the environment chooses, the drawn one is the default."""

import pytest

from sim.core.agent import Activity
from sim.core.resolution import Resolution
from sim.week import resolve
from tests.builders import a_clock, a_place, a_slot, a_unit
from tests.context.desks import a_desk, a_world
from tests.week.days import Model, a_day, after, live, people, some_settings

PLACES = tuple(a_place(name, objects=(f"bench of {name}",)) for name in ("Café", "Mill", "Quay", "Roof", "Yard"))
NAMES = ("Ann", "Ben", "Cleo", "Dora")
MEETING = Activity(
    kind="encounter", name="Y1-W1-activity-D1/Ann", slot=a_slot(), location="Mill", participants=("Ann", "Ben")
)


def lived(answer, *, short: bool = False, language: str = "en", offered: tuple[str, ...] = ("Mill", "Quay", "Roof")):
    job = a_day("encounter", people("Ann", "Ben"), MEETING, places=offered)
    model = Model(lambda request: answer if request.duty == "encounter_scene" else None, language=language)
    facts = live(job, model, settings=some_settings(short=short), locations=PLACES, language=language)
    return job, facts, model


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ({"place": "Quay", "scene": "Rain."}, "Quay"),
        ({"place": "Mill", "scene": "Rain."}, "Mill"),
        ({"place": "Yard", "scene": "Rain."}, "Mill"),
        ({"scene": "Rain."}, "Mill"),
        ("no object", "Mill"),
    ],
)
def test_the_environment_chooses_among_the_places_on_offer_or_the_drawn_one_holds(answer, place, language):
    job, facts, model = lived(answer, language=language)
    told = [*model.prompts("Ann", "turn"), *model.prompts("Ben", "turn")]
    assert told
    assert all(f"bench of {place}" in prompt for prompt in told)
    assert all(place in state.records[0].text for state in after(job, facts).values())
    scene = model.prompts("", "encounter_scene")[0]
    assert all(name in scene for name in ("Mill", "Quay", "Roof"))
    assert "Yard" not in scene


def test_weak_models_and_a_single_place_leave_no_choice():
    for _, _, model in (lived(None, short=True), lived(None, offered=("Mill",))):
        (request,) = [request for request in model.asked if request.duty == "encounter_scene"]
        assert list(request.output.schema["properties"]) == ["scene"]
        assert "bench of Mill" in "".join(message.text for message in request.messages)


def planned(*joint: Activity, places=PLACES):
    """The days and the offered places of four people of whom some have something else to do."""
    desk = a_desk(world=a_world(locations=places), names=NAMES, clock=a_clock(n_day=2))
    desk = a_desk(
        world=desk.world,
        names=NAMES,
        clock=desk.clock,
        settings=desk.settings.model_copy(
            update={"economy": desk.settings.economy.model_copy(update={"encounter_share": 2})}
        ),
    )
    calendars = {name: tuple(a for a in joint if name in a.participants) for name in NAMES}
    resolution = Resolution(joint=joint, public=(), calendars=calendars, changes=())
    unit = a_unit("resolve")
    days = resolve.plan_days(unit, desk, resolution, {})
    return days, {name: resolve.offered_places(unit, desk, days, name) for name in NAMES}


def test_only_places_where_nothing_is_arranged_that_day_are_offered_and_both_get_the_same():
    dinner = Activity(kind="joint", name="Dinner", slot=a_slot(), location="Mill", participants=("Ann", "Ben"))
    days, offered = planned(dinner)
    met = [name for name in NAMES if days[name][0] is not None and days[name][0].kind == "encounter"]
    assert met == ["Cleo", "Dora"]
    assert offered["Cleo"][0] == offered["Dora"][0]
    assert offered["Cleo"][0][0] == days["Cleo"][0].location
    assert sorted(offered["Cleo"][0]) == ["Café", "Quay", "Roof", "Yard"]
    assert offered["Ann"][0] == []


def test_where_no_place_is_free_all_are_offered():
    dinner = Activity(kind="joint", name="Dinner", slot=a_slot(), location="Mill", participants=("Ann", "Ben"))
    days, offered = planned(dinner, places=(a_place("Mill"),))
    assert offered["Cleo"][0] == [days["Cleo"][0].location] == ["Mill"]


def test_the_same_week_offers_the_same_places():
    assert planned() == planned()
