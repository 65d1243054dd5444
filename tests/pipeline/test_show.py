"""Transcripts of real small lives and of journals made by hand: complete, in order, readable, no one else's secrets."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.report.screen_text import width
from pipeline.report.transcript import clipped_middle, order_of
from pipeline.run_folder import RunFolder
from pipeline.show import show
from sim.core.agent import Message as Text
from sim.core.agent import Note, Possession
from sim.core.facts import Changed, Got, Heard, Noted, Refused, UnitFacts, Verdict
from sim.core.keys import UnitKey, call_key
from sim.journal.blocks import digest
from sim.journal.reading import JournalReader
from sim.journal.rows import CallRow, MessageRow
from sim.llm.protocol import Reply, Request
from sim.llm.scripted import Scripted
from tests.pipeline.small_runs import journal_of, live_round
from tests.whole.lives import lived, small_life


class Secretive:
    """The scripted model, but every turn holds a private thought."""

    def __init__(self) -> None:
        self.inner = Scripted()

    async def complete(self, request: Request) -> Reply:
        reply = await self.inner.complete(request)
        if request.duty != "turn":
            return reply
        return msgspec.structs.replace(reply, text=f"Hello. <private>secret of {request.agent}</private>")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunFolder:
    return live_round(tmp_path_factory.mktemp("run"), 1, Secretive())


def names_of(folder: RunFolder) -> list[str]:
    journal = JournalReader(folder.journal(1, "apartment"))
    names = sorted(unit.who for unit in journal.done_units() if unit.stage == "birth")
    journal.close()
    return names


def titles(text: str) -> list[str]:
    return [line[3:] for line in text.splitlines() if line.startswith("== ")]


def test_a_week_is_told_in_the_order_of_living(run):
    for name in names_of(run):
        text = show(run, name, "Y1-W2")
        found = titles(text)
        assert found[:2] == ["Settlement", "Plan"]
        assert [title for title in found if title.startswith("Contact")] == ["Contact, round 1", "Contact, round 2"]
        days = [title[:5] for title in found if title.startswith("Day")]
        assert days == sorted(days)
        assert set(days) == {"Day 1", "Day 2"}
        assert found[-2:] == ["Review", "Clean-up"]
        assert text.startswith(f"{name}, Y1-W2 (round 1, world apartment)")
        assert "after Y1-W1: vitality" in text


def test_every_answer_of_the_agent_is_there(run):
    name = names_of(run)[0]
    text = " ".join(show(run, name, "Y1-W1").split())
    journal = JournalReader(run.journal(1, "apartment"))
    for row in journal.calls(year=1, week=1):
        if row.agent == name and not row.reply.text.startswith(("{", "<tool_call>")):
            first = row.reply.text.split("<role_action>")[0].split()[:8]
            assert " ".join(first) in text, row.key
    plan = next(row for row in journal.calls(year=1, week=1) if row.agent == name and row.duty == "plan")
    journal.close()
    if plan.reply.text.startswith("{"):
        assert " ".join(msgspec.json.decode(plan.reply.text)["plan"].split()) in text


def test_nobody_elses_secret_is_shown(run):
    names = names_of(run)
    told = 0
    for name in names:
        for week in ("Y1-W1", "Y1-W2"):
            text = show(run, name, week)
            told += f"secret of {name}" in text
            assert not [other for other in names if other != name and f"secret of {other}" in text]
    assert told, "somebody spoke, and its own secret is in its own transcript"


def test_year_end_and_founding(run):
    name = names_of(run)[0]
    year = show(run, name, "y1")
    assert titles(year)[0] == "What the year did to the profile"
    assert titles(year)[-2:] == ["Judging, in private", "Life reward"]
    assert "reward " in year
    assert titles(show(run, name, "Y0")) == ["Judging, in private"]


def test_lines_fit_a_page(run):
    for week in ("Y0", "Y1-W1", "Y1-W2", "Y1"):
        assert max(width(line) for line in show(run, names_of(run)[0], week).splitlines()) <= 100


def test_case_and_width_of_the_name_do_not_matter(run):
    name = names_of(run)[0]
    assert show(run, f"  {name.upper()} ", "Y1-W1") == show(run, name, "Y1-W1")


def test_what_is_not_there_is_named_with_what_is(run, tmp_path):
    name = names_of(run)[0]
    with pytest.raises(ValueError, match=f"no agent '{name[:-2]}'; there are {name}"):
        show(run, name[:-2], "Y1-W1")
    with pytest.raises(ValueError, match=r"has not lived 'Y3-W1'; there is Y1, Y1-W2, Y1-W1, Y0"):
        show(run, name, "Y3-W1")
    with pytest.raises(ValueError, match=r"weeks are written Y1-W2"):
        show(run, name, "week 2")
    with pytest.raises(ValueError, match=r"round 4 was not lived in .*; there is 1"):
        show(run, name, "Y1-W1", round=4)
    with pytest.raises(ValueError, match="world campus was not lived"):
        show(run, name, "Y1-W1", world="campus")
    with pytest.raises(ValueError, match="has no journal"):
        show(RunFolder(tmp_path), name, "Y1-W1")


def test_the_last_round_that_has_the_week_is_taken(run, tmp_path):
    folder = live_round(tmp_path, 1)
    live_round(tmp_path, 2, seed=2, time={"n_year": 1, "n_week": 1, "n_day": 1, "n_contact": 1})
    name = names_of(folder)[0]
    assert "(round 2," in show(folder, name, "Y1-W1")
    assert "(round 1," in show(folder, name, "Y1-W2")
    assert "(round 1," in show(folder, name, "Y1-W1", round=1)


def test_a_name_in_two_worlds_needs_the_world(tmp_path):
    settle = UnitFacts(unit=UnitKey(year=1, week=1, stage="settle", who="苏雨"), by_agent={"苏雨": ()})
    folder = RunFolder(tmp_path)
    for world in ("a", "b"):
        journal_of(folder, units=[settle], world=world)
    with pytest.raises(ValueError, match="several worlds; name one with --world: a, b"):
        show(folder, "苏雨", "Y1-W1")
    assert "(round 1, world b)" in show(folder, "苏雨", "Y1-W1", world="b")


def test_a_damaged_journal_is_named(tmp_path):
    folder = RunFolder(tmp_path)
    folder.journal(1, "a").parent.mkdir(parents=True)
    folder.journal(1, "a").write_bytes(b"no journal" * 100)
    with pytest.raises(ValueError, match=r"a/journal\.db"):
        show(folder, "Ann", "Y1-W1")


def test_a_run_that_was_cut_off_shows_what_is_there(tmp_path):
    class Stopped(RuntimeError):
        pass

    def stop(unit: UnitKey, done: int, pending: int) -> None:
        if unit.week == 2 and unit.stage == "resolve":
            raise Stopped

    folder = RunFolder(tmp_path)
    with pytest.raises(Stopped):
        lived(folder.journal(1, "apartment").parent, small_life(), on_done=stop)
    found = titles(show(folder, names_of(folder)[0], "Y1-W2"))
    assert found[:2] == ["Settlement", "Plan"]
    assert "Review" not in found


def a_call(unit: UnitKey, agent: str, step: str, text: str, *asked: str, attempt: int = 1, finish="stop") -> CallRow:
    parts = ("# system", *asked)
    return CallRow(
        key=call_key(unit, agent, step, attempt),
        unit=str(unit),
        agent=agent,
        duty=step,
        role="policy",
        seed=1,
        max_tokens=10,
        temperature=1.0,
        top_p=1.0,
        messages=(
            MessageRow("system", (digest("# system"),)),
            MessageRow("user", tuple(digest(part) for part in asked)),
        ),
        reply=Reply(text=text, finish=finish, model="m@1"),
        blocks={digest(part): part for part in parts},
    )


def one_week(*units: UnitFacts, calls=(), tmp_path) -> str:
    settle = UnitFacts(unit=UnitKey(year=1, week=1, stage="settle", who="苏雨"), by_agent={"苏雨": ()})
    folder = journal_of(RunFolder(tmp_path), calls, [settle, *units], world="苑")
    return show(folder, "苏雨", "Y1-W1")


def test_facts_are_told_in_words_and_chinese_is_wrapped(tmp_path):
    me = "苏雨"
    contact = UnitKey(year=1, week=1, stage="contact", index=1, who=me)
    heard = {"year": 1, "week": 1, "round": 1}
    facts = UnitFacts(
        unit=contact,
        by_agent={
            me: (
                Heard(message=Text(**heard, sender="Ben", to=me, text="来吗？", kind="invitation", activity="下棋")),
                Heard(message=Text(**heard, sender=me, to="Ben", text="好。")),
                Heard(message=Text(**heard, sender="", to=me, text="取消了", kind="notice")),
                Refused(text="没有这个人"),
                Changed(reason="joint", mood=2.5, social=-1, money=-30, skills={"下棋": 3.0}),
                Changed(reason="nothing"),
                Got(item=Possession(id="x#1", name="棋盘", description="木头", value=20), source="gift from Ben"),
                Noted(note=Note(year=1, week=1, kind="diary", text="今天很好。" * 40)),
                Noted(note=Note(year=1, week=1, kind="contact", text="said already")),
            )
        },
    )
    text = one_week(facts, tmp_path=tmp_path)
    for line in (
        "  * from Ben (invitation '下棋'): 来吗？",
        "  * sends to Ben (message): 好。",
        "  * notice: 取消了",
        "  * refused: 没有这个人",
        "  * joint: mood +2.5, social -1, money -30, 下棋 +3",
        "  * gets 棋盘 (worth 20): gift from Ben",
    ):
        assert line in text.splitlines()
    assert "nothing" not in text
    assert "said already" not in text
    assert max(width(line) for line in text.splitlines()) <= 100
    assert "".join(text.split()).count("今天很好。") == 40


def test_answers_are_told_with_what_became_of_them(tmp_path):
    me, unit = "苏雨", UnitKey(year=1, week=1, stage="plan", who="苏雨")
    keys = [call_key(unit, me, step, attempt) for step, attempt in (("plan", 1), ("plan", 2), ("plan.2", 1))]
    verdicts = (
        Verdict(key=keys[0], agent=me, duty="plan", status="failed", drop="malformed"),
        Verdict(key=keys[1], agent=me, duty="plan", status="repaired", tool_calls=1),
        Verdict(key=keys[2], agent=me, duty="plan", status="fallback", drop="truncated"),
    )
    call = '<tool_call>{"name":"read_file","arguments":{"path":"general.txt"}}</tool_call>'
    calls = [
        a_call(unit, me, "plan", "prose", "What do you plan?"),
        a_call(unit, me, "plan", call, "What do you plan?", "again please", attempt=2),
        a_call(unit, me, "plan.2", '{"plan": "走', "What do you plan?", "the file says: 树", finish="length"),
        a_call(UnitKey(year=1, week=1, stage="signup", who=me), me, "signup", '{"events": ["A"]}', "Which?"),
    ]
    text = one_week(UnitFacts(unit=unit, by_agent={me: ()}, verdicts=verdicts), calls=calls, tmp_path=tmp_path)
    lines = [line for line in text.splitlines() if line]
    assert lines[1:] == [
        "== Plan",
        "  > What do you plan?",
        "  < plan (not accepted, malformed):",
        "      prose",
        "  | again please",
        "  < plan (repaired):",
        "      calls read_file(path=general.txt)",
        "  | the file says: 树",
        "  < plan.2 (cut off, a default took its place, truncated):",
        '      {"plan": "走',
        "== Public events (not finished yet)",
        "  > Which?",
        "  < signup:",
        '      events: ["A"]',
    ]


def test_an_agent_without_any_call_has_a_week(tmp_path):
    assert one_week(tmp_path=tmp_path).startswith("苏雨, Y1-W1 (round 1, world 苑)")


def test_calls_are_ordered_as_they_were_lived():
    steps = ["reflection", "turn10", "turn2", "analysis", "reflection.2", "turn2.thought", "connect", "intention"]
    lived_order = ["analysis", "intention", "turn2", "turn2.thought", "turn10", "connect", "reflection", "reflection.2"]
    assert sorted(steps, key=lambda step: order_of(step, 1)) == lived_order
    assert order_of("plan", 2) > order_of("plan", 1)
    assert order_of("judging.2", 1) > order_of("judging.1.2", 1) > order_of("judging.1", 3)


@given(st.text(max_size=400), st.integers(1, 60), st.integers(1, 60))
def test_a_clipped_text_keeps_its_ends_and_says_how_much_is_missing(text, head, tail):
    short = clipped_middle(text, head, tail)
    if short == text:
        return
    first, _, rest = short.partition("\n[… ")
    missing, _, last = rest.partition(" characters …]\n")
    assert text.startswith(first)
    assert text.endswith(last)
    assert len(first) + int(missing) + len(last) == len(text)
