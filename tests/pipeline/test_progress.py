"""How far a run is, how fast, how long still, and how that is told on a terminal, in a log and in status.json."""

import asyncio
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.progress import Progress, Told
from pipeline.report.life_progress import Chain, LifeProgress
from pipeline.report.rates import Rate, counts_of
from pipeline.report.screen_text import block, clipped, duration, plain, short, table, width, wrapped
from sim.core.facts import UnitFacts, Verdict
from sim.core.keys import UnitKey
from tests.builders import a_clock, a_unit

STEPS = ("simulate", "select", "finetune", "redeploy")


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """A terminal that may go away."""

    gone = False

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.gone:
            raise OSError(5, "Input/output error")
        return super().write(text)


def progress(out=None, time=None, **fields):
    values = {"rounds": 2, "steps": STEPS, "clock": a_clock(), "n_agents": {"apartment": 2}, "every_s": 5.0}
    return Progress(out if out is not None else io.StringIO(), time or Time(), **{**values, **fields})


def chain_of_units(clock, name, year=1):
    """One agent's own units of a whole life, in order; the days alternate."""
    yield UnitKey(year=0, week=0, stage="birth", who=name)
    yield UnitKey(year=0, week=0, stage="judging", who=name)
    for year in range(1, clock.n_year + 1):
        for week in range(1, clock.n_week + 1):
            yield a_unit("settle", name, year=year, week=week)
            yield a_unit("plan", name, year=year, week=week)
            yield a_unit("signup", name, year=year, week=week)
            for index in range(1, clock.n_contact + 1):
                yield a_unit("contact", name, index=index, year=year, week=week)
            yield a_unit("agenda", name, year=year, week=week)
            for day in range(1, clock.n_day + 1):
                yield a_unit(["solo", "joint", "public_act"][day % 3], name, index=day, year=year, week=week)
            yield a_unit("review", name, year=year, week=week)
            yield a_unit("cleanup", name, year=year, week=week)
        for stage in ("profile_update", "wishes", "take_up", "judging"):
            yield a_unit(stage, name, year=year, week=clock.n_week)


@given(n_year=st.integers(1, 3), n_week=st.integers(1, 3), n_day=st.integers(1, 4), n_contact=st.integers(1, 4))
def test_an_agents_place_never_falls_and_ends_at_the_length(n_year, n_week, n_day, n_contact):
    clock = a_clock(n_year=n_year, n_week=n_week, n_day=n_day, n_contact=n_contact)
    chain = Chain(clock=clock)
    places = [place for unit in chain_of_units(clock, "苏雨") if (place := chain.place(unit)) is not None]
    assert places == sorted(places)
    assert set(places) == set(range(1, chain.length + 1)) | (set(places) & {0})
    assert places[-1] == chain.length


def test_length_worked_by_hand():
    # 2 years of 3 weeks of (plan, sign-up, 2 rounds, 2 days, review = 7) and 3 at the year's end, and the founding's 2.
    assert Chain(clock=a_clock()).length == 2 * (3 * 7 + 3) + 2
    assert Chain(clock=a_clock(n_year=3), years_before=2).length == 24
    assert Chain(clock=a_clock(n_year=3), years_before=2).place(a_unit("plan", "Ann", year=3)) == 1


def test_share_is_that_of_all_agents_and_a_shared_day_counts_for_whom_it_is_told():
    life = LifeProgress(Chain(clock=a_clock(n_year=1, n_week=1)), {"a": 1, "b": 1})
    for world in ("a", "b"):
        for number, unit in enumerate(chain_of_units(a_clock(n_year=1, n_week=1), "Ann"), start=1):
            life.unit_done(world, unit, number, 3)
            if unit.stage == "plan" and world == "a":
                assert life.share() == pytest.approx(3 / 24)
                assert life.weeks() == ("Y1-W1", "Y1-W1")
    assert life.share() == 1.0
    assert life.units() == (32, 6), "sixteen units each, three more known in each world"


def test_lowest_and_highest_week_and_where_agents_are():
    life = LifeProgress(Chain(clock=a_clock()), {"apartment": 3})
    for name, week in (("Ann", 1), ("Ben", 3), ("Cleo", 1)):
        life.unit_done("apartment", a_unit("plan", name, week=1), 1, 1)
        life.unit_done("apartment", a_unit("contact", name, index=2, week=week), 1, 1)
    life.unit_done("apartment", a_unit("resolve", week=3), 2, 1)
    assert life.weeks() == ("Y1-W1", "Y1-W3")
    assert life.stages() == {"contact.2": 3}
    life.unit_done("apartment", a_unit("plan", "Ben", week=1), 2, 1)
    assert life.weeks() == ("Y1-W1", "Y1-W3"), "an older unit that is told later moves nobody back"


def test_rate_over_the_window_and_after_a_new_counter():
    rate = Rate(window_s=10)
    assert rate.per_second() is None
    for second in range(31):
        rate.see(second, 2.0 * second if second < 20 else 40.0 + 5.0 * (second - 20))
    assert rate.per_second() == pytest.approx(5.0)
    rate.see(31, 3.0)
    assert rate.per_second() is None
    rate.see(32, 10.0)
    assert rate.per_second() == pytest.approx(7.0)


def test_counters_of_several_journals_add_up():
    counts = counts_of([{"calls": 3, "prompt_tokens": 100, "cached_tokens": 60, "failed": {"empty": 1}}, {"calls": 2}])
    assert (counts.calls, counts.cached_share, dict(counts.failed)) == (5, 0.6, {"empty": 1})
    assert counts_of([]).cached_share == 0.0


def test_plain_lines_come_at_their_interval():
    time, out = Time(), io.StringIO()
    told = progress(out, time)
    told.begin_step(1, "simulate")
    for second in range(1, 13):
        time.now = 100.0 + second
        told.unit_done("apartment", a_unit("plan", "Ann", week=1), second, 5)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0] == "round 1/2 simulate"
    assert "Y1-W1" in lines[1]
    assert "\r" not in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_a_line_says_rates_shares_failures_and_time_left():
    time = Time()
    told = progress(time=time, n_agents={"apartment": 1}, clock=a_clock(n_year=1, n_week=1))
    told.begin_step(1, "simulate")
    told.calls({"calls": 0, "prompt_tokens": 0, "output_tokens": 0})
    time.now += 10
    told.calls(
        {"calls": 50, "prompt_tokens": 20000, "output_tokens": 1000, "cached_tokens": 5000, "failed": {"malformed": 2}}
    )
    told.unit_done("apartment", a_unit("birth", "Ann", year=0, week=0), 1, 9)
    told.unit_done("apartment", a_unit("contact", "Ann", index=1), 2, 9)
    told.tick()
    line = told.line()
    assert "50 calls · 5.0 calls/s · 2.0k tok/s in, 100 out · cached 25 % · failed malformed 2" in line
    assert "left at least " in line, "select, finetune and redeploy never ran, so only a lower bound is known"


def test_time_left_counts_the_rounds_to_come_once_every_step_has_run():
    time = Time()
    told = progress(time=time, n_agents={"apartment": 1}, clock=a_clock(n_year=1, n_week=1))
    for step, seconds in zip(STEPS, (60, 1, 30, 9), strict=True):
        told.begin_step(1, step)
        time.now += seconds
    told.begin_step(2, "select")
    time.now += 0.5
    assert told.seconds_left() == (pytest.approx(39.5), True)
    told.begin_step(2, "finetune")
    time.now += 50
    assert told.seconds_left() == (pytest.approx(9.0), True), "a step that takes longer than before is never negative"


def test_terminal_line_is_rewritten_fits_and_survives_its_end(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out, time = Terminal(), Time()
    told = progress(out, time)
    told.begin_step(1, "simulate")
    told.calls({"calls": 5, "failed": {"malformed": 1, "empty": 2, "truncated": 3}})
    told.unit_done("苑", a_unit("plan", "苏雨"), 1, 5)
    time.now += 1
    told.detail("训练" * 40 + "\x1b[31m\n")
    told.note("a note that stays")
    lines = [part for part in out.getvalue().split("\r") if part]
    assert all(width(line.replace("\x1b[K", "").rstrip("\n")) <= 59 for line in lines)
    assert out.getvalue().endswith("a note that stays\n")
    out.gone = True
    time.now += 1
    told.tick()
    told.note("to nobody")
    told.end("stopped")


def test_a_closed_output_and_a_narrow_encoding_stop_nothing():
    closed = io.StringIO()
    closed.close()
    told = progress(closed)
    told.begin_step(1, "simulate")
    told.end()
    raw = io.BytesIO()
    told = progress(io.TextIOWrapper(raw, encoding="ascii"))
    told.note("苏雨")
    assert raw.getvalue() == b"??\n"


def test_the_end_is_told_once():
    out, time = io.StringIO(), Time()
    told = progress(out, time)
    told.begin_step(1, "simulate")
    time.now += 75
    told.end("stopped")
    told.end("failed")
    told.tick()
    assert out.getvalue() == "round 1/2 simulate\nstopped after 1 min 15 s\n"


def test_status_file_is_for_outsiders(tmp_path):
    time = Time()
    told = progress(time=time, status=tmp_path / "run" / "status.json")
    told.begin_step(1, "simulate")
    told.unit_done("apartment", a_unit("plan", "Ann", week=2), 7, 5)
    time.now += 6
    told.tick()
    status = json.loads((tmp_path / "run" / "status.json").read_text(encoding="utf-8"))
    assert (status["state"], status["round"], status["step"]) == ("working", 1, "simulate")
    assert status["weeks"] == ["Y1-W2", "Y1-W2"]
    assert status["units"] == {"done": 7, "known_and_unfinished": 5}
    told.end("stopped")
    status = json.loads((tmp_path / "run" / "status.json").read_text(encoding="utf-8"))
    assert status["state"] == "stopped"


def test_a_status_file_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "run").write_text("a file where a folder should be", encoding="utf-8")
    told = progress(status=tmp_path / "run" / "status.json")
    told.begin_step(1, "simulate")
    told.end()


def test_worlds_that_are_followed_side_by_side_add_up():
    told = progress()
    told.begin_step(1, "simulate")
    told.calls({"calls": 3}, source="a")
    told.calls({"calls": 4, "failed": {"empty": 1}}, source="b")
    told.calls({"calls": 5}, source="a")
    assert told.status()["calls"] == 9
    assert told.status()["failed"] == {"empty": 1}
    told.begin_step(1, "select")
    assert told.status()["calls"] == 0


def test_failures_that_only_readers_know_of_come_from_verdicts():
    told = progress()
    told.begin_step(1, "simulate")
    told.calls({"calls": 9, "failed": {"truncated": 2}})
    drops = ("malformed", "malformed_action", "empty", "truncated", "invalid_action", "principle:directness", "")
    verdicts = [Verdict(key=f"k{drop}", agent="Ann", duty="plan", status="ok", drop=drop) for drop in drops]
    facts = UnitFacts(unit=a_unit("plan", "Ann"), by_agent={}, verdicts=tuple(verdicts))

    class Done:
        async def run(self, unit, participants, needed):
            return facts

    assert asyncio.run(Told(Done(), told).run(facts.unit, ("Ann",), {})) == facts
    assert told.status()["failed"] == {"empty": 1, "invalid": 1, "malformed": 2, "truncated": 2}
    assert "failed empty 1, invalid 1, malformed 2, truncated 2" in told.line()
    told.begin_step(1, "select")
    assert told.status()["failed"] == {}


def test_follow_polls_until_cancelled():
    out, time, polled = io.StringIO(), Time(), []
    told = progress(out, time)

    async def poll():
        polled.append(1)
        time.now += 6
        return [{"calls": len(polled)}]

    async def watch():
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            task = group.create_task(told.follow(poll, every_s=0.0))
            while len(polled) < 3:
                await asyncio.sleep(0)
            task.cancel()

    asyncio.run(watch())
    assert "3 calls" in out.getvalue()


@pytest.mark.parametrize(("text", "columns"), [("Mara Voss", 9), ("苏雨", 4), ("é", 1), ("e\u0301", 1), ("\u200b", 0)])
def test_width_of_text(text, columns):
    assert width(text) == columns


@given(st.text(), st.integers(0, 30))
def test_clipped_text_fits(text, columns):
    assert width(clipped(plain(text), columns)) <= columns


@given(st.text(), st.integers(4, 30))
def test_wrapped_text_fits_and_loses_nothing_but_blanks(text, columns):
    lines = wrapped(text, columns)
    assert all(width(line) <= columns for line in lines)
    joined = "".join("".join(lines).split())
    assert joined == "".join("".join(plain(part) for part in text.splitlines()).split())


def test_a_block_is_indented_below_its_mark():
    assert block("字: ", ["aa bb", ""], columns=7) == ["字: aa", "    bb", "字:"]


def test_plain_text_steers_no_terminal():
    assert plain("a\x1b[2Jb\x07\ud800\r\nc") == "a[2Jb  c"


def test_table_lines_up_with_wide_names():
    assert table([["苏雨", "1"], ["Mara", "1000"]]) == ["苏雨     1", "Mara  1000"]
    assert table([]) == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 05 min"), (100000, "1 d 3 h")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_short_counts():
    assert [short(number) for number in (0, 950, 12345, 4_100_000)] == ["0", "950", "12.3k", "4.1M"]
