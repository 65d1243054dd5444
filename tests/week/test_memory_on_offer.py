"""Where memory functions are on offer: in plan, contact, reflection and review, and nowhere else."""

import pytest

from sim.settings import LimitSettings, PromptSettings, SimSettings
from tests.builders import a_clock, an_agent
from tests.context.desks import a_desk
from tests.week.days import Model
from tests.week.lived import live_weeks

NAMES = ("Ann", "Ben", "Cleo", "Dora", "Eli")


@pytest.mark.parametrize(
    ("where", "duties"),
    [("all", {"plan", "contact", "reflection", "review"}), ("review", {"review"}), ("none", set())],
)
def test_memory_functions_are_on_offer_in_four_stages(where, duties):
    limits = LimitSettings(turns_min=2, turns_max=3, tool_rounds=2)
    settings = SimSettings(limits=limits, prompts=PromptSettings(tools=where))
    model = Model()
    desk = a_desk(model, settings=settings, names=NAMES, clock=a_clock(n_year=1, n_week=2, n_day=3))
    live_weeks(desk, [an_agent(name, knows=[other for other in NAMES if other != name]) for name in NAMES])
    asked = {request.duty for request in model.asked if request.agent}
    assert {request.duty for request in model.asked if request.output.tools} == duties
    assert asked >= {"plan", "contact", "reflection", "review", "turn", "analysis", "intention"}
