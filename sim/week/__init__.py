"""The stages of a week, in the order in which they run.

settle.py → plan.py → events.py, signup.py → acquaintance.py, contact.py → resolve.py, agenda.py → days/ → review.py →
cleanup.py. chain.py names the units around a unit; mail.py says who must be waited for and who reads what in contact
rounds; contact_form.py is the form of their answers.
"""

from sim.engine.stage import Stage
from sim.week import acquaintance, agenda, cleanup, contact, events, plan, resolve, review, settle, signup
from sim.week.days import encounter, joint, public, solo

WEEK: tuple[Stage, ...] = (
    settle.STAGE,
    plan.STAGE,
    events.STAGE,
    signup.STAGE,
    acquaintance.STAGE,
    contact.STAGE,
    resolve.STAGE,
    agenda.STAGE,
    joint.STAGE,
    encounter.STAGE,
    public.ACT,
    public.MEET,
    solo.STAGE,
    review.STAGE,
    cleanup.STAGE,
)
