"""What follows the turns of a joint activity or an encounter: feedback, acquaintance and reflection of each."""

import asyncio
from typing import Any

from sim.core.limits import limited
from sim.environment.feedback import activity_feedback
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.days.aftermath import acquaint, reflect
from sim.week.days.conversation import TEMPLATE, Conversation
from sim.week.days.occasion import Occasion, open_values, together_values


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
