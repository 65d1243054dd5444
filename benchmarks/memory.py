"""Lives ten years with agents that write as much as they may: what becomes of their prompts and of what they know.

The claims: a call of the last year reads no more than one of the second (within 10 %), no prompt is over its limit, and
what an agent wants to keep is still there.
"""

import argparse
import asyncio
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.diligent import KINDS, Diligent, facts_in
from benchmarks.schedule import WORLDS, MemoryJournal, crowd, desk_of
from sim.context.layers import weekly_part
from sim.core.agent import AgentState
from sim.core.facts import encode, remembered
from sim.core.keys import UnitKey, parse_unit
from sim.engine.executor import LocalExecutor
from sim.lifetime import STAGES, live
from sim.llm.journaled import Journaled
from sim.llm.protocol import Reply, Request
from sim.mind.desk import Desk
from sim.settings import SimSettings, TimeSettings
from sim.workshop import Workshop
from sim.world.loader import initial_states, load_world
from sim.world.schema import World

SHORT = {"n_year": 4, "n_week": 6, "n_day": 2, "n_contact": 2}
LONG = {"n_year": 10, "n_week": 10, "n_day": 5, "n_contact": 5}
SHORT_AGENTS, LONG_AGENTS = 6, 20
FIRST_YEAR = 2
"""The year that the last one is compared with: in the first, memories are still being filled."""
TOLERANCE = 0.10

Found = Mapping[tuple[str, int], int]


@dataclass(slots=True)
class Year:
    """What was measured in one year."""

    prompts_by_stage: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Prompt tokens of each call."""
    least_room: int = sys.maxsize
    """Tokens that the fullest call left free of its context."""
    state_bytes: list[int] = field(default_factory=list[int])
    """Size of each agent's state at the year's end."""
    files: list[int] = field(default_factory=list[int])
    """Memory files of each agent."""
    prompted: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    """Planted facts by kind and year → agents who have it in the system prompt."""
    kept: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    """The same, in the prompt or in a file that can be read."""
    planted: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    """The same, agents who ever had it."""

    @property
    def prompts(self) -> list[int]:
        """Prompt tokens of all calls."""
        return [tokens for stage in sorted(self.prompts_by_stage) for tokens in self.prompts_by_stage[stage]]


class Watch:
    """The model, and a note of every prompt that it is given."""

    def __init__(self, language: str, context: int) -> None:
        """A watch over calls into a context of so many tokens."""
        self._model = Diligent(language)
        self._context = context
        self.years: dict[int, Year] = defaultdict(Year)

    async def complete(self, request: Request) -> Reply:
        """The model's reply."""
        reply = await self._model.complete(request)
        unit = parse_unit(request.unit)
        year = self.years[unit.year]
        tokens = reply.usage.prompt_tokens
        year.prompts_by_stage[unit.stage].append(tokens)
        year.least_room = min(year.least_room, self._context - tokens - request.max_tokens)
        return reply


def measure(world: World, settings: SimSettings, *, seed: int = 1) -> dict[int, Year]:
    """Live it; what each year was like."""
    watch = Watch(world.language, settings.budgets.context)
    asyncio.run(_live(world, settings, seed, watch))
    return dict(sorted(watch.years.items()))


async def _live(world: World, settings: SimSettings, seed: int, watch: Watch) -> None:
    journal = MemoryJournal()
    replies = Journaled(watch, journal)
    desk = desk_of(world, settings, seed, replies)
    executor = LocalExecutor(Workshop(desk, STAGES, replies).work, journal, initial_states(world))
    ever: dict[str, set[tuple[str, int]]] = defaultdict(set)

    def on_done(unit: UnitKey, _done: int, _known: int) -> None:
        if unit.stage == "review":
            state = executor.residents.state(unit.who)
            ever[unit.who] |= _all_facts(state)
            if unit.week == settings.time.n_week:
                _take_stock(watch.years[unit.year], desk, state, ever[unit.who])

    await live(settings, desk.clock, desk.names, executor, on_done=on_done)


def _all_facts(state: AgentState) -> set[tuple[str, int]]:
    """Planted facts anywhere in an agent's memory."""
    texts = [*(note.text for note in state.diaries), *(file.text for file in state.files.values())]
    return set().union(*map(facts_in, texts))


def _take_stock(year: Year, desk: Desk, state: AgentState, ever: set[tuple[str, int]]) -> None:
    """An agent's memory at a year's end."""
    prompted = facts_in(weekly_part(desk, remembered(state)))
    year.state_bytes.append(len(encode(state)))
    year.files.append(len(state.files))
    for kept, facts in ((year.planted, ever), (year.prompted, prompted), (year.kept, prompted | _all_facts(state))):
        for one in facts:
            kept[one] += 1


def faults(years: Mapping[int, Year]) -> list[str]:
    """Which of the claims don't hold."""
    last = max(years)
    found: list[str] = []
    ratio = statistics.mean(years[last].prompts) / statistics.mean(years[FIRST_YEAR].prompts)
    if abs(ratio - 1) > TOLERANCE:
        found.append(f"a call of year {last} reads {ratio:.2f} times what one of year {FIRST_YEAR} does")
    if min(year.least_room for year in years.values()) < 0:
        found.append("a prompt and its answer are longer than the context")
    lost = [f"{kind} {year}" for (kind, year), n in years[last].planted.items() if years[last].kept[kind, year] < n]
    if lost:
        found.append(f"lost: {', '.join(sorted(lost))}")
    return found


def report(world: World, settings: SimSettings, years: Mapping[int, Year], *, seed: int) -> list[str]:
    """What was lived and what came out, as lines."""
    time, last = settings.time, max(years)
    lines = [
        "memory: a long life of agents that write as much as they may",
        f"  lived: {len(world.characters)} agents of `{world.name}`, {time.n_year} years x {time.n_week} weeks x "
        f"{time.n_day} days, {time.n_contact} contact rounds; scripted model, seed {seed}; tokens counted roughly",
        f"  {'year':<6}{'calls':>8}{'prompt tokens: mean':>21}{'95 %':>8}{'most':>8}{'least room':>12}"
        f"{'state bytes':>13}{'files':>7}{'facts in prompt':>17}{'kept':>8}",
    ]
    for number, year in years.items():
        if not year.prompts or not number:
            continue
        prompts = sorted(year.prompts)
        lines.append(
            f"  {number:<6}{len(prompts):>8}{statistics.mean(prompts):>21.0f}{prompts[len(prompts) * 95 // 100]:>8}"
            f"{prompts[-1]:>8}{year.least_room:>12}{statistics.mean(year.state_bytes):>13.0f}"
            f"{statistics.mean(year.files):>7.1f}{_share(year.prompted, year.planted):>17}"
            f"{_share(year.kept, year.planted):>8}"
        )
    lines.append(f"  facts at the end of year {last}, by the year they are of (in the prompt / kept):")
    for kind in KINDS:
        cells = [
            f"{number}: {_share(years[last].prompted, years[last].planted, kind, number)} / "
            f"{_share(years[last].kept, years[last].planted, kind, number)}"
            for number in years
            if number
        ]
        lines.append(f"    {kind:<8} {', '.join(cells)}")
    lines.append(f"  prompt tokens per call by stage, year {FIRST_YEAR} > year {last}:")
    lines += [f"    {line}" for line in _by_stage(years[FIRST_YEAR], years[last])]
    ratio = statistics.mean(years[last].prompts) / statistics.mean(years[FIRST_YEAR].prompts)
    lines.append(f"  ratio year {last} / year {FIRST_YEAR}: {ratio:.3f} (claimed: within {TOLERANCE:.0%})")
    return lines


def _by_stage(first: Year, last: Year) -> list[str]:
    return [
        f"{stage:<16}{statistics.mean(first.prompts_by_stage[stage]):>8.0f} > "
        f"{statistics.mean(last.prompts_by_stage[stage]):>6.0f}  ({len(last.prompts_by_stage[stage])} calls)"
        for stage in sorted(first.prompts_by_stage)
        if last.prompts_by_stage.get(stage)
    ]


def _share(part: Found, whole: Found, kind: str = "", year: int = 0) -> str:
    """Part of the planted facts, of one kind and year or of all."""
    chosen = [key for key in whole if not kind or key == (kind, year)]
    n = sum(whole[key] for key in chosen)
    return f"{sum(part.get(key, 0) for key in chosen) / n:.0%}" if n else "-"


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a claim does not hold."""
    given = argparse.ArgumentParser(prog="benchmarks.memory", description=__doc__)
    given.add_argument("--world", default="apartment", help="a folder under configs/worlds")
    given.add_argument("--agents", type=int, default=0, help="the world's cast, above that renamed copies of it")
    given.add_argument("--years", type=int, default=0, help="years to live")
    given.add_argument("--seed", type=int, default=1, help="seed of the life")
    given.add_argument("--long", action="store_true", help="20 agents, ten years of ten weeks of five days")
    asked = given.parse_args(words)
    time = dict(LONG if asked.long else SHORT)
    if asked.years:
        time["n_year"] = asked.years
    if time["n_year"] <= FIRST_YEAR:
        given.error(f"--years {time['n_year']}: year {FIRST_YEAR} is compared with a later one")
    agents = asked.agents or (LONG_AGENTS if asked.long else SHORT_AGENTS)
    try:
        world = crowd(load_world(WORLDS / asked.world), agents)
    except ValueError as error:
        given.error(str(error))
    settings = SimSettings(n_agents=agents, time=TimeSettings(**time))
    years = measure(world, settings, seed=asked.seed)
    print("\n".join(report(world, settings, years, seed=asked.seed)))
    found = faults(years)
    print("\n".join(f"  NOT HELD: {fault}" for fault in found) or "  all claims hold")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
