"""What a transcript lets each reader see: no run of letters that stands only where that reader may not look."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.context.render import Renderer
from sim.core.visibility import parse_segments
from sim.week.days.transcript import Event, Transcript

PEOPLE = ("Ada", "Ben", "Mara Voss", "林和平")
SPEAKER = "Ada"
RENDER = Renderer("en").render
RUN = re.compile(r"[^\W\d_]{6,}")
OPENINGS = (
    "<private>", "< PRIVATE >", "＜private＞", "[private]", "《private》", "&lt;private&gt;",
    "<private", "<pri\u200bvate>",
    '<visible_to="Ben">', "<visible_to=“Mara Voss、Ben”>", "＜visible_to＝「林和平」＞", '<visible_to="Stranger">',
    "<visible_to>", '<visible_to="Ben" ', "<secret>", "<think>", "<b>",
)  # fmt: skip
CLOSINGS = (
    "</private>", "< / private >", "＜／private＞", "[/private]", "</visible_to>", "</visible to>", "</think>", "</b>",
    "/private>", "</priv", "</",
)  # fmt: skip
WORDS = st.text(alphabet="bcdfghjk", min_size=8, max_size=8)
PIECES = st.lists(st.one_of(WORDS, st.sampled_from((*OPENINGS, *CLOSINGS, " ", "\n", ", ", "。"))), max_size=14)


def a_speech(text: str) -> Transcript:
    """A conversation in which Ada said this, as it comes from her answer."""
    said = Event(kind="speech", readers=PEOPLE, text=text, speaker=SPEAKER, segments=parse_segments(text, PEOPLE))
    return Transcript(render=RENDER, events=[said])


def told(transcript: Transcript, reader: str) -> str:
    """All that a reader gets of it, in any form; "" stands for anybody, such as the environment."""
    if not reader:
        return "\n".join(transcript.open_lines())
    history = [message.text for message in transcript.history_for(reader)]
    return "\n".join([*history, *transcript.lines_for(reader)])


@settings(max_examples=500)
@given(PIECES, st.sampled_from((*PEOPLE[1:], "")))
def test_no_reader_sees_a_run_of_letters_that_is_not_open_to_it(pieces: list[str], reader: str) -> None:
    transcript = a_speech("".join(pieces))
    may_read = {True: [""], False: [""]}
    for part in transcript.events[0].segments:
        may_read[part.kind == "public" or reader in part.to].append(part.text)
    hidden = {run for text in may_read[False] for run in RUN.findall(text)}
    shown = told(transcript, reader)
    assert not [run for run in sorted(hidden) if run in shown and not any(run in text for text in may_read[True])]


@st.composite
def nested(draw: st.DrawFn) -> tuple[str, dict[str, set[str]]]:
    """A text of words inside tags that are sound, and for each word who may read it by the tags around it."""
    readers: dict[str, set[str]] = {}

    def write(depth: int, allowed: set[str]) -> str:
        parts: list[str] = []
        for _ in range(draw(st.integers(1, 3))):
            kind = draw(st.sampled_from(("word", "private", "visible_to"))) if depth < 3 else "word"
            if kind == "word":
                word = "".join(chr(ord("a") + int(digit)) for digit in f"{len(readers):08d}")
                readers[word] = allowed
                parts.append(word)
            elif kind == "private":
                parts.append(f"<private>{write(depth + 1, set())}</private>")
            else:
                names = draw(st.lists(st.sampled_from(PEOPLE), max_size=3, unique=True))
                inner = write(depth + 1, allowed & set(names))
                parts.append(f'<visible_to="{", ".join(names)}">{inner}</visible_to>')
        return " ".join(parts)

    return write(0, set(PEOPLE)), readers


@settings(max_examples=300)
@given(nested())
def test_sound_tags_show_each_word_to_exactly_those_whom_all_tags_around_it_name(
    case: tuple[str, dict[str, set[str]]],
) -> None:
    text, readers = case
    transcript = a_speech(text)
    for word, allowed in readers.items():
        for reader in PEOPLE[1:]:
            assert (word in told(transcript, reader)) == (reader in allowed)
        assert word in told(transcript, SPEAKER)
        assert (word in told(transcript, "")) == (allowed == set(PEOPLE) and _is_outside(text, word))


def _is_outside(text: str, word: str) -> bool:
    before = text[: text.index(word)]
    return len(re.findall(r"<(?:private|visible)", before)) == before.count("</")
