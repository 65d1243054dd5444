"""What joint activities and encounters share around their turns: the occasion before, feedback and reflection after."""

import asyncio
from typing import Any, Literal

import msgspec

from sim.context.view import place_of, place_view
from sim.core.agent import Activity
from sim.core.limits import limited
from sim.engine.stage import Job
from sim.environment.feedback import activity_feedback
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.days.aftermath import acquaint, reflect
from sim.week.days.conversation import TEMPLATE, Conversation, Occasion, open_values, together_values


def occasion_of(job: Job, desk: Desk, kind: Literal["joint", "encounter"]) -> Occasion:
    """The activity that the resolved week gave to the unit's participants, its place, and what is public of them."""
    participants = tuple(sorted(job.states))
    resolved = job.outputs_of("resolve")[""]["for"][participants[0]]
    activity = msgspec.convert(resolved["activities"][job.unit.index - 1], Activity)
    directory = job.outputs_of("directory")[""]
    place = place_of(desk, activity.location, directory["homes"])
    return Occasion(
        kind=kind,
        activity=activity,
        participants=participants,
        place=place_view(place) if place else None,
        cards=directory["cards"],
    )


async def conclude(desk: Desk, overlay: Overlay, occasion: Occasion, conversation: Conversation) -> dict[str, Any]:
    """Feedback, acquaintance and reflection of each participant, side by side; the unit's outputs."""
    async with asyncio.TaskGroup() as group:
        tasks = {
            name: group.create_task(_conclude_one(desk, overlay, occasion, conversation, name))
            for name in occasion.participants
        }
    return {
        "kind": occasion.kind,
        "participants": list(occasion.participants),
        "skills_up": {name: task.result() for name, task in tasks.items()},
        "purchases": {},
        "earned": {},
        "exited": list(conversation.left),
    }


async def _conclude_one(
    desk: Desk, overlay: Overlay, occasion: Occasion, conversation: Conversation, name: str
) -> bool:
    """One participant is judged by what it perceived, knows the others from now on, looks back; did a skill advance?"""
    transcript = conversation.transcript
    answer = await activity_feedback(
        desk,
        overlay,
        name=name,
        kind=occasion.kind,
        lines=transcript.lines_for(name),
        values={**open_values(occasion), "left": name in conversation.left},
    )
    skills = overlay.state(name).skills
    changed = limited(occasion.kind, answer.value.proposed, skills, reason=occasion.kind)
    overlay.cause(name, changed)
    others = [other for other in occasion.participants if other != name]
    record = {
        "kind": occasion.kind,
        "activity": occasion.title,
        "location": occasion.activity.location,
        "others": others,
        "bought": None,
        "income": 0,
    }
    acquaint(desk, overlay, name, others, record)
    await reflect(
        desk,
        overlay,
        name,
        template=TEMPLATE,
        values=together_values(desk, overlay, occasion, name),
        feedback=answer.value.text,
        record=record,
        history=transcript.history_for(name),
    )
    return bool(changed.skills)
