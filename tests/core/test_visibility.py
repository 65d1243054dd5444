"""No reader ever sees marked text that is not meant for it, however badly a model wrote its tags."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.visibility import Segment, open_text, parse_segments, seen_by

PEOPLE = ("Ada", "Ben", "Mara Voss", "林和平", "林")
SPEAKER = "Ada"
MARKED = "MARKED"


def readers_of(text: str, word: str = MARKED) -> set[str]:
    """Who of the people gets to read a word of a text that Ada speaks."""
    segments = parse_segments(text, PEOPLE)
    return {name for name in PEOPLE if any(word in part.text for part in seen_by(segments, name, SPEAKER))}


@pytest.mark.parametrize(
    "text",
    [
        "Hello. <private>MARKED</private> Bye.",
        "Hello. <private>MARKED",
        "Hello. <PRIVATE>MARKED</PRIVATE>",
        "Hello. < private >MARKED< / private >",
        "Hello. ＜private＞MARKED＜／private＞",
        "Hello. ＜ｐｒｉｖａｔｅ＞MARKED",
        "Hello. 〈private〉MARKED〈/private〉",
        "你好。《private》MARKED《/private》",
        "Hello. «private»MARKED",
        "Hello. &lt;private&gt;MARKED&lt;/private&gt;",
        "Hello. [private]MARKED[/private]",
        "你好。【private】MARKED",
        "Hello. <pri\u200bvate>MARKED</private>",
        "Hello. <private reason=“shy”>MARKED</private>",
        "Hello. <private MARKED",
        "Hello. [private MARKED",
        "Hello. <a[private]MARKED",
        "Hello. <smiles [private]>MARKED",
        "Hello. <private\nMARKED",
        "Hello. private>MARKED</private>",
        "MARKED</private> Hello.",
        "MARKED /private> Hello.",
        "Hello. <private>a<private>b</private>MARKED</private>",
        "Hello. <private>a</think>MARKED",
        "Hello. <private>a</visible_to>MARKED",
        '<private><visible_to="Ben">MARKED</visible_to></private>',
        '<visible_to="Ben"><private>MARKED</private></visible_to>',
        '<visible_to="Ben">MARKED</private></visible_to>',
        '<visible_to="Nobody Known">MARKED</visible_to>',
        '<visible_to="Mara">MARKED</visible_to>',
        '<visible_to="">MARKED</visible_to>',
        "<visible_to>MARKED</visible_to>",
        '<visible_to="Ben" MARKED</visible_to>',
        'visible_to="Ben">MARKED',
        '<visible_to="Ben"><visible_to="Mara Voss">MARKED</visible_to></visible_to>',
        "<privte>MARKED</privte>",
        "<secret>MARKED",
        "<whisper to='Ben'>MARKED</whisper>",
        "<think>MARKED</think> Hello.",
        "<私密>MARKED</私密>",
        '<role_action>{"action": "gift", "message": "MARKED"}',
        "MARKED</",
        "MARKED</priv",
        "MARKED </p",
        "MARKED＜/visible_t",
        "MARKED[/pr",
        "MARKED&lt;/p",
        "MARKED</pri <private>a</private>",
        "<private>MARKED</pri",
        "< p r i v a t e >MARKED</private>",
    ],
)
def test_only_the_speaker_reads(text: str) -> None:
    assert readers_of(text) == {SPEAKER}


@pytest.mark.parametrize(
    ("text", "readers"),
    [
        ('<visible_to="Ben">MARKED</visible_to>', {"Ben"}),
        ('<visible_to="Ben, Mara Voss">MARKED</visible_to>', {"Ben", "Mara Voss"}),
        ('<visible_to="Ben，mara  voss">MARKED</visible_to>', {"Ben", "Mara Voss"}),
        ("<visible_to=“Ben、Mara Voss”>MARKED</visible_to>", {"Ben", "Mara Voss"}),
        ("<visible_to=Ben and Mara Voss>MARKED</visible_to>", {"Ben", "Mara Voss"}),
        ("<visible to: 'Ben'>MARKED</visible to>", {"Ben"}),
        ('<visible-to names="Ben">MARKED</visible-to>', {"Ben"}),
        ("＜visible_to＝＂Ｂｅｎ＂＞MARKED＜/visible_to＞", {"Ben"}),
        ("<visible_to=「林和平」>MARKED</visible_to>", {"林和平"}),
        ('<visible_to="林和平和Ben">MARKED</visible_to>', set()),
        ('<visible_to="Ben, a stranger">MARKED</visible_to>', {"Ben"}),
        ('<visible_to="Ben">MARKED', {"Ben"}),
        ('<visible_to="Ben,林"><visible_to="Ben,Mara Voss">MARKED</visible_to></visible_to>', {"Ben"}),
        ('<private>a<visible_to="Ben">b</private>MARKED</visible_to>', {"Ben"}),
    ],
)
def test_selected_readers(text: str, readers: set[str]) -> None:
    assert readers_of(text) == {SPEAKER, *readers}


@pytest.mark.parametrize(
    "text",
    [
        "MARKED",
        "<private>a</private> MARKED",
        '<visible_to="Stranger">a</visible_to> MARKED',
        "<b>MARKED</b>",
        "I <3 it, and 1 < 2, MARKED",
        "<smiles> MARKED",
        "MARKED </3",
        "MARKED <p>a</p>",
        "MARKED and/or",
        "MARKED <private>a</priv",
        "你读过《红楼梦》吗？MARKED",
        "It is a private matter. MARKED",
        "<think>a</think>MARKED",
        "a < b MARKED",
    ],
)
def test_everybody_reads(text: str) -> None:
    assert readers_of(text) == set(PEOPLE)


def test_what_each_reader_gets() -> None:
    text = 'Good evening. <visible_to="Ben">Meet me later.</visible_to><private>I am afraid.</private> Tea?'
    segments = parse_segments(text, PEOPLE)
    withheld = Segment(kind="visible_to", text="", to=("Ben",))
    assert [part.text for part in seen_by(segments, "Ada", "Ada")] == [
        "Good evening. ",
        "Meet me later.",
        "I am afraid.",
        " Tea?",
    ]
    assert [part.text for part in seen_by(segments, "Ben", "Ada")] == ["Good evening. ", "Meet me later.", " Tea?"]
    assert seen_by(segments, "林", "Ada") == (segments[0], withheld, segments[3])
    assert open_text(segments) == "Good evening. Tea?"


def test_public_text_is_not_altered() -> None:
    text = "你好，“林”！ Ａ＜b（ok）"
    assert parse_segments(text, PEOPLE) == (Segment(kind="public", text=text),)


OPENINGS = ("<private>", "<Private >", "＜private＞", "[private]", "<private", '<visible_to="{}">', "<visible_to=“{}”>")
CLOSINGS = ("</private>", "</ private>", "＜/private＞", "</visible_to>", "</visible to>", "")


@st.composite
def mangled(draw: st.DrawFn) -> tuple[str, set[str]]:
    """A text in which MARKED stands inside at least one tag, and the names that all enclosing tags allow."""
    parts: list[str] = []
    allowed = set(PEOPLE)
    for _ in range(draw(st.integers(1, 3))):
        opening = draw(st.sampled_from(OPENINGS))
        names = draw(st.lists(st.sampled_from(PEOPLE), max_size=3))
        parts += [draw(st.text(alphabet="ab ，\n<", max_size=4)), opening.format(",".join(names))]
        allowed &= set(names) if "visible" in opening else set()
    parts += [" ", MARKED, " "]
    for _ in range(draw(st.integers(0, 4))):
        parts += [draw(st.sampled_from(CLOSINGS)), draw(st.text(alphabet="ab ，\n>", max_size=4))]
    return "".join(parts), allowed | {SPEAKER}


@settings(max_examples=400)
@given(mangled())
def test_no_reader_sees_marked_text_not_meant_for_it(case: tuple[str, set[str]]) -> None:
    text, allowed = case
    assert readers_of(text) <= allowed


@settings(max_examples=400)
@given(st.lists(st.sampled_from((*OPENINGS, *CLOSINGS, "Hello", " ", "《", "x<y", "\n", "和")), max_size=12))
def test_nothing_is_invented_and_the_speaker_reads_all(parts: list[str]) -> None:
    text = "".join(parts)
    segments = parse_segments(text, PEOPLE)
    at = 0
    for segment in segments:
        for character in segment.text:
            at = text.index(character, at) + 1
    assert seen_by(segments, SPEAKER, SPEAKER) == segments
    assert all(first.kind != then.kind or first.to != then.to for first, then in itertools.pairwise(segments))
