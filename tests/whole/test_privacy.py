"""Every agent marks what is not for all and the environment repeats all it is told, for a year: nothing gets out."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from pipeline.run_folder import RunFolder
from pipeline.show import show
from pipeline.tables import read_lines, write_tables
from sim.core.agent import AgentState
from sim.core.facts import apply
from sim.environment import profiles
from sim.journal.reading import JournalReader
from sim.journal.rows import CallRow
from sim.week import contact
from sim.week.days import transcript
from sim.world.loader import initial_states
from tests.pipeline.small_runs import run_settings
from tests.whole.lives import Life, lived, small_life
from tests.whole.marked import MARK, Marked, has_a_reader, leaks
from training.samples import Call, collect_samples

N_AGENTS, N_WEEK = 7, 4
LENGTHS = {
    "n_agents": N_AGENTS,
    "time": {"n_year": 1, "n_week": N_WEEK, "n_day": 3, "n_contact": 3},
    "limits": {"turns_min": 3, "turns_max": 6, "tool_rounds": 3},
}
OF_ONE = {"feedback", "public_feedback", "solo_judgement", "solo_outcome", "solo_day", "principles", "profile_update"}
"""Duties of the environment that see what one agent saw, and answer to that agent alone or with a bare verdict."""
BETWEEN = {"contact", "joint", "encounter", "public_act", "public_meet"}
"""Stages in which something passes between agents."""


@dataclass(frozen=True, kw_only=True)
class Lived:
    """A life that was lived, with a number for every agent."""

    folder: RunFolder
    life: Life
    numbers: dict[str, int]

    def rows(self) -> Iterator[tuple[CallRow, str]]:
        """Every call with its prompt."""
        with closing(JournalReader(self.folder.journal(1, "apartment"))) as journal:
            for row in journal.calls():
                yield row, "\n".join(message.text for message in journal.messages_of(row))

    def units(self) -> Iterator:
        """What every finished unit caused, in order."""
        with closing(JournalReader(self.folder.journal(1, "apartment"))) as journal:
            yield from journal.units()


def a_life(root: Path, **changes) -> Lived:
    folder, life = RunFolder(root), small_life(**{**LENGTHS, **changes})
    model = Marked([character.name for character in life.world.characters])
    lived(folder.journal(1, "apartment").parent, life, model)
    return Lived(folder=folder, life=life, numbers=model.numbers)


@pytest.fixture(scope="module")
def year(tmp_path_factory) -> Lived:
    return a_life(tmp_path_factory.mktemp("year"))


def leaking_prompts(year: Lived) -> Counter[str]:
    """How many prompts of each duty show their agent a mark of somebody else."""
    return Counter(row.duty for row, prompt in year.rows() if row.agent and leaks(prompt, year.numbers[row.agent]))


def leaking_facts(year: Lived) -> Counter[str]:
    """How many units of each stage cause something with a mark of somebody else."""
    return Counter(
        facts.unit.stage
        for facts in year.units()
        for name, caused in facts.by_agent.items()
        if leaks(msgspec.json.encode(caused).decode(), year.numbers[name])
    )


def test_no_prompt_shows_what_is_meant_for_another(year):
    assert not leaking_prompts(year)


def test_no_answer_holds_more_than_its_author_may_know(year):
    for row, _ in year.rows():
        if row.agent:
            assert not leaks(row.reply.text + row.reply.reasoning, year.numbers[row.agent]), row.key


def test_the_environment_is_told_secrets_only_about_one_person_at_a_time(year):
    for row, prompt in year.rows():
        if not row.agent and row.duty in OF_ONE:
            assert has_a_reader(prompt), row.key
        elif not row.agent:
            assert not MARK.search(prompt), row.key


def test_nothing_enters_the_life_of_somebody_else(year):
    """Facts make every state there ever was: memory files, diaries, records, messages, refusals, skills, profiles."""
    assert not leaking_facts(year)


def test_outputs_hold_for_each_what_it_may_read_and_nothing_more(year):
    for facts in year.units():
        shared = {key: value for key, value in facts.outputs.items() if key != "for"}
        text = msgspec.json.encode(shared).decode()
        own = year.numbers.get(facts.unit.who)
        assert not (leaks(text, own) if own and facts.unit.stage not in BETWEEN else MARK.search(text)), facts.unit
        for reader, value in facts.outputs.get("for", {}).items():
            assert not leaks(msgspec.json.encode(value).decode(), year.numbers[reader]), facts.unit


def states_of(year: Lived) -> dict[str, list[AgentState]]:
    """Each agent's states at the ends of its weeks and at the end."""
    states = initial_states(year.life.world)
    kept: dict[str, list[AgentState]] = {name: [] for name in states}
    for facts in sorted(year.units(), key=lambda facts: facts.unit):
        for name in facts.by_agent:
            states[name] = apply(states[name], facts)
            if facts.unit.stage in ("cleanup", "judging"):
                kept[name].append(states[name])
    return kept


def test_no_state_holds_what_is_meant_for_another(year):
    for name, states in states_of(year).items():
        assert len(states) == 2 + N_WEEK
        for state in states:
            assert not leaks(msgspec.json.encode(state).decode(), year.numbers[name]), name
        last = states[-1]
        for texts in (
            [file.text for file in last.files.values()],
            [note.text for note in last.diaries],
            [note.text for note in last.records],
        ):
            assert any(MARK.search(text) for text in texts), f"{name} wrote nothing down"
        # Everybody reads how somebody looks and where it lives.
        assert not MARK.search(last.profile.appearance + last.home.description)


def test_a_transcript_shows_no_more_than_its_agent_saw(year):
    weeks = ["Y0", *(f"Y1-W{week}" for week in range(1, 1 + N_WEEK)), "Y1"]
    for name, number in year.numbers.items():
        texts = [show(year.folder, name, week) for week in weeks]
        for text in texts:
            assert not leaks(text, number)
        assert any(f"zqp{number}n" in text for text in texts)


def test_tables_tell_of_nobody_what_another_wrote(year):
    rows = write_tables(year.folder, run_settings())
    for table in sorted(rows):
        for line in read_lines(year.folder, table):
            text = msgspec.json.encode({key: line[key] for key in line if key != "answer"}).decode()
            assert not MARK.search(text), table
            if line.get("agent") and "answer" in line:
                assert not leaks(line["answer"], year.numbers[line["agent"]])


def test_a_training_sample_is_what_one_agent_saw_and_said(year):
    """What was meant for an agent may stand in its own sample: it is what it answered to."""
    prompts = {row.key: prompt for row, prompt in year.rows()}
    answers = {row.key: row.reply.text for row, _ in year.rows()}
    calls = [
        Call(world="apartment", key=row.key, unit=row.unit, agent=row.agent, duty=row.duty,
             finish=row.reply.finish, answer=row.reply.text)
        for row, _ in year.rows()
    ]  # fmt: skip
    verdicts = {("apartment", verdict.key): verdict for facts in year.units() for verdict in facts.verdicts}
    everybody = {("apartment", name, 1): 1.0 for name in year.numbers}
    samples = collect_samples(calls, verdicts, everybody, count=len, environment_years=frozenset({1})).samples
    shown = Counter()
    for sample in samples:
        text = prompts[sample.key] + answers[sample.key]
        if sample.agent:
            number = year.numbers[sample.agent]
            assert not leaks(text, number), sample.key
            shown["from others"] += any(
                not mark["own"] and int(mark["to"]) == number for mark in MARK.finditer(prompts[sample.key])
            )
        else:
            assert has_a_reader(text), sample.key
        shown[sample.source] += 1
    assert shown["roleplay"] > 100
    assert shown["environment"] > 50
    assert shown["from others"]


def test_marks_stand_everywhere_they_may(year):
    """What would be empty proof otherwise: every kind of call writes marks, and words for two reach the other."""
    wrote: Counter[str] = Counter()
    reached: Counter[str] = Counter()
    prompted: Counter[str] = Counter()
    for row, prompt in year.rows():
        kind = row.key.split("/")[-2].split(".")[0].rstrip("0123456789") if row.agent else row.duty
        wrote[kind] += bool(MARK.search(row.reply.text))
        prompted[kind] += bool(MARK.search(prompt))
        if row.agent:
            number = year.numbers[row.agent]
            reached[row.duty] += any(mark["to"] == str(number) for mark in MARK.finditer(prompt))
    for kind in ("plan", "contact", "analysis", "turn", "reflection", "intention", "act", "connect", "diary", "wishes"):
        assert wrote[kind], kind
    for kind in ("feedback", "public_feedback", "solo_outcome", "principles", "profile_update"):
        assert prompted[kind], kind
    for kind in ("feedback", "solo_outcome", "profile_update"):
        assert wrote[kind], f"{kind} repeated nothing"
    for duty in ("turn", "contact", "reflection"):
        assert reached[duty], f"{duty}: nothing passed between two"


def test_every_stage_takes_part(year):
    stages = Counter(facts.unit.stage for facts in year.units())
    for stage in ("joint", "encounter", "public_act", "public_meet", "solo", "contact", "profile_update", "ranking"):
        assert stages[stage], stage


def a_short_life(folder: Path) -> Lived:
    return a_life(folder, n_agents=5, time={"n_year": 1, "n_week": 1, "n_day": 3, "n_contact": 3})


def test_short_prompts_show_nothing_either(tmp_path):
    year = a_life(tmp_path, n_agents=5, prompts={"profile": "short"})
    assert not leaking_prompts(year)
    assert not leaking_facts(year)
    test_the_environment_is_told_secrets_only_about_one_person_at_a_time(year)
    assert sum(bool(MARK.search(row.reply.text)) for row, _ in year.rows() if row.duty in ("turn", "contact")) > 20


def test_a_leak_between_people_who_are_together_is_found(tmp_path, monkeypatch):
    """A negative control: the same life with a filter that shows all of a speech to everybody."""
    monkeypatch.setattr(transcript, "seen_by", lambda segments, reader, speaker: tuple(segments))
    year = a_short_life(tmp_path)
    assert {"turn", "reflection"} <= set(leaking_prompts(year))
    assert any(MARK.search(prompt) for row, prompt in year.rows() if row.duty == "direction")


def test_a_leak_between_people_who_write_is_found(tmp_path, monkeypatch):
    """Another: messages are delivered as written."""
    monkeypatch.setattr(contact, "words_for", lambda text, readers, people: text)
    monkeypatch.setattr(contact, "open_words", lambda action, *rest, **around: action)
    year = a_short_life(tmp_path)
    assert leaking_prompts(year)["contact"]
    assert leaking_facts(year)["contact"]


def test_a_leak_by_the_environment_is_found(tmp_path, monkeypatch):
    """And one: what somebody wrote down makes how it looks."""

    async def told_all(desk, overlay, name):
        return overlay.state(name).diaries[-1].text[-600:]

    monkeypatch.setattr(profiles, "yearly_appearance", told_all)
    found = leaking_prompts(a_short_life(tmp_path))
    assert found["judging"]
