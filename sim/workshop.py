"""Runs one unit with a desk: the same few lines in the local executor and in an agent host."""

from collections.abc import Mapping

from sim.llm.journaled import Journaled

from sim.core.facts import UnitFacts, decode_facts, encode
from sim.engine.stage import Job, Stage
from sim.llm.protocol import Reply
from sim.mind.desk import Desk


class Workshop:
    """A desk, the stages, and the journaling wrapper that is handed each unit's earlier replies."""

    def __init__(self, desk: Desk, stages: Mapping[str, Stage], replies: Journaled) -> None:
        """`replies` is the wrapper inside the desk's model stack."""
        self._desk = desk
        self._stages = stages
        self._replies = replies

    async def work(self, job: Job, prior: Mapping[str, Reply]) -> UnitFacts:
        """The unit's facts, as they will be read back from the journal, so that a resumed run sees the very same."""
        stage = self._stages[job.unit.stage]
        with self._replies.with_prior(str(job.unit), prior):
            return decode_facts(encode(await stage.run(job, self._desk)))
