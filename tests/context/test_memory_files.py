"""Long-term memory: only logical places, read before write, limits named, any script."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.context.memory_files import FileRules, list_files, read_file, summary_of, update_file
from sim.core.agent import MemoryFile
from sim.core.facts import ReadFile, WroteFile
from tests.builders import an_agent
from tests.context.desks import rough_count

CAST = ("Ann", "Ben", "林小雨", "Zoë Brontë")


def rules(**fields) -> FileRules:
    values = {"cast": CAST, "file_tokens": 50, "summary_tokens": 8, "count": rough_count}
    return FileRules(**{**values, **fields})


def ann(**files: str):
    stored = {path: MemoryFile(text=text, touched=n) for n, (path, text) in enumerate(files.items())}
    return an_agent("Ann", files=stored)


def update(state, path, text="New text.", summary="", *, read=(), **fields):
    return update_file(state, path, text, summary, read=read, rules=rules(**fields))


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../general.txt",
        "characters/../general.txt",
        "characters/../../x.txt",
        "characters//Ben.txt",
        "characters/a/b.txt",
        "characters/.txt",
        "characters/ .txt",
        "characters/Ben",
        "characters\\Ben.txt",
        "General.TXT/..",
        "notes.txt",
        "others/..\\x.txt",
        "others/...txt",
        "others/a\x00b.txt",
        "others/a\nb.txt",
        "others/" + "x" * 200 + ".txt",
        "others/\ud800.txt",
        "",
        "~/general.txt",
        "file:///general.txt",
        "C:\\general.txt",
    ],
)
def test_a_path_outside_the_three_places_is_refused(path):
    for result in (update(ann(), path), read_file(ann(), path, rules())):
        assert result.code == "bad_path"
        assert result.facts == ()
        result.path.encode()


@given(st.text(max_size=60))
def test_whatever_the_path_facts_touch_the_three_places_only(path):
    for fact in update(ann(), path).facts:
        assert fact.path == "general.txt" or fact.path.startswith(("characters/", "others/"))
        assert fact.path.count("/") <= 1
        assert ".." not in fact.path


@pytest.mark.parametrize(
    ("path", "logical"),
    [
        ("general.txt", "general.txt"),
        (" general.txt ", "general.txt"),
        ("characters/ben.txt", "characters/Ben.txt"),
        ("characters/林小雨.txt", "characters/林小雨.txt"),
        ("characters/" + unicodedata.normalize("NFD", "Zoë Brontë") + ".txt", "characters/Zoë Brontë.txt"),
        ("others/秘密 🦊.txt", "others/秘密 🦊.txt"),
        ("others/" + unicodedata.normalize("NFD", "café") + ".txt", "others/café.txt"),
    ],
)
def test_a_new_file_needs_no_read(path, logical):
    result = update(ann(), path)
    assert result.facts == (WroteFile(path=logical, text="New text.", summary="New text."),)


def test_an_update_needs_a_read_in_the_same_invocation():
    state = ann(**{"general.txt": "Old."})
    assert update(state, "general.txt").code == "not_read"
    assert update(state, "general.txt", read={"others/x.txt"}).code == "not_read"
    read = read_file(state, "general.txt", rules())
    assert (read.text, read.facts) == ("Old.", (ReadFile(path="general.txt"),))
    assert update(state, "general.txt", read={read.path}).code == "written"


def test_a_text_beyond_the_limit_is_refused_with_the_limit():
    result = update(ann(), "general.txt", "x" * 204)
    assert (result.code, result.size, result.limit, result.facts) == ("too_long", 51, 50, ())
    assert update(ann(), "general.txt", "x" * 200).code == "written"


@pytest.mark.parametrize(
    ("text", "summary"), [("", ""), ("  \n", ""), ("a\ud800", ""), ("good", "\udfff"), ("a\x00b", "")]
)
def test_texts_that_cannot_be_stored_are_refused(text, summary):
    assert update(ann(), "general.txt", text, summary).code == "bad_text"


def test_a_file_about_nobody_a_stranger_or_oneself():
    state = ann(**{"characters/Ben.txt": "Ben."})
    unknown = update(state, "characters/Bem.txt")
    assert (unknown.code, unknown.names) == ("unknown_person", ("Ben",))
    assert update(state, "characters/Ann.txt").code == "self"
    assert update(state, "characters/林小雨.txt", create_people=False).code == "no_new_people"
    assert update(state, "characters/Ben.txt", read={"characters/Ben.txt"}, create_people=False).code == "written"


def test_the_number_of_topics_is_bounded():
    full = ann(**{f"others/{number}.txt": "x" for number in range(60)})
    assert update(full, "others/more.txt").code == "too_many"
    assert update(full, "others/3.txt", read={"others/3.txt"}).code == "written"


def test_a_missing_file_names_what_is_near():
    state = ann(**{"others/garden.txt": "x"})
    result = read_file(state, "others/gardens.txt", rules())
    assert (result.code, result.names) == ("no_file", ("others/garden.txt",))


def test_files_are_listed_by_last_access():
    assert list_files(ann(**{"general.txt": "x", "others/a.txt": "y"})).paths == ("others/a.txt", "general.txt")


def test_a_given_summary_becomes_one_line_within_its_budget():
    (fact,) = update(ann(), "general.txt", "Long text.", "first\n line  " + "x" * 100).facts
    assert "\n" not in fact.summary
    assert rough_count(fact.summary) <= 8


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("He bakes bread. He hates rain. He left.", "He bakes bread. He hates rain."),
        ("他喜欢雨。他走了。他回来。", "他喜欢雨。"),
        ("Short", "Short"),
    ],
)
def test_a_summary_is_the_first_sentences(text, summary):
    assert summary_of(text, 8, rough_count) == summary
