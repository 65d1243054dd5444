"""1 Settlement: a new week begins; fulfilment fades, income comes in, the position teaches. No model.

Outputs: `knows`, the people of the cast whom the agent knows at the week's start; `recent`, the most recently related.
"""

from sim.context.recall import first_week, recently_related
from sim.core.facts import Changed, UnitFacts, WeekBegan
from sim.core.keys import UnitKey
from sim.core.settlement import decay, skill_gain, weekly_income
from sim.engine.stage import Board, Job, Stage
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.chain import oneself, own, year_end


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The agent's own last unit before the week."""
    if unit.week == 1:
        return frozenset({year_end(unit.year - 1, "judging", board.clock, who=unit.who)})
    return frozenset({UnitKey(year=unit.year, week=unit.week - 1, stage="cleanup", who=unit.who)})


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Begin the week for one agent."""
    overlay, name = Overlay(job), job.unit.who
    overlay.cause(name, _week_began(job.unit, desk))
    state, economy = overlay.state(name), desk.settings.economy
    income = weekly_income(
        state.position,
        state.extra_weekly_income,
        unemployed_income=economy.unemployed_income,
        max_salary=economy.max_salary,
    )
    overlay.cause(
        name,
        decay(state, economy.decay),
        Changed(reason="income", money=income),
        Changed(reason="position", skills=skill_gain(state.position)),
    )
    state = overlay.state(name)
    knows = [person for person in state.knows() if person in desk.names]
    recent = [person for person in recently_related(state, len(state.files)) if person in desk.names]
    return overlay.finish({"knows": knows, "recent": recent[: desk.settings.limits.met_people]})


def _week_began(unit: UnitKey, desk: Desk) -> WeekBegan:
    """The fact that moves short-term memory's windows."""
    clock, windows = desk.clock, desk.settings.windows
    return WeekBegan(
        year=unit.year,
        week=unit.week,
        first_record_week=first_week(clock, unit, windows.record_weeks),
        first_message_week=first_week(clock, unit, windows.contact_weeks),
        weeks_per_year=clock.n_week,
    )


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """The plan."""
    return (own(unit, "plan"),)


STAGE = Stage(name="settle", position=1, participants=oneself, needs=needs, run=run, successors=successors, pure=True)
