"""What characters know of each other: long enough, and not at odds with what the other one knows.

Stated kinship must answer stated kinship. Kinship that one side leaves out, and differing sums or years, are shown.
"""

import re
from collections.abc import Iterator, Sequence

from sim.world.checking.findings import Finding, fault, warning
from sim.world.checking.likeness import word_count
from sim.world.schema import Character, World

VIEW_WORDS = (35, 150)
"""About a hundred words are wanted (SPEC section 11)."""
_ANSWERS = {
    "sibling": "sibling",
    "parent": "child",
    "child": "parent",
    "grandparent": "grandchild",
    "grandchild": "grandparent",
    "uncle_aunt": "nephew_niece",
    "nephew_niece": "uncle_aunt",
    "cousin": "cousin",
    "spouse": "spouse",
}
_WORDS = {
    "en": {
        "sibling": ("brother", "sister", "twin"),
        "parent": ("father", "mother", "dad", "mum", "mom"),
        "child": ("son", "daughter"),
        "grandparent": ("grandfather", "grandmother", "grandpa", "grandma"),
        "grandchild": ("grandson", "granddaughter"),
        "uncle_aunt": ("uncle", "aunt"),
        "nephew_niece": ("nephew", "niece"),
        "cousin": ("cousin",),
        "spouse": ("husband", "wife"),
    },
    "zh": {
        "sibling": ("哥哥", "弟弟", "姐姐", "妹妹"),
        "parent": ("爸爸", "妈妈", "父亲", "母亲"),
        "child": ("儿子", "女儿"),
        "grandparent": ("爷爷", "奶奶", "外公", "外婆", "姥姥", "姥爷"),
        "grandchild": ("孙子", "孙女", "外孙", "外孙女"),
        "uncle_aunt": ("叔叔", "伯伯", "舅舅", "姑姑", "阿姨", "姨妈"),
        "nephew_niece": ("侄子", "侄女", "外甥", "外甥女"),
        "cousin": ("表哥", "表弟", "表姐", "表妹", "堂哥", "堂弟", "堂姐", "堂妹"),
        "spouse": ("丈夫", "妻子"),
    },
}
_CLAIM = {
    "en": r"(?:^|\b(?:he|she)(?:'s|’s| is) )my (?:\w+[ -]){{0,2}}?(?P<term>{terms})(?=\s*[,.;:!?—–]|\s+who\b|$)",
    "zh": r"(?:^|是)我的?(?:亲|双胞胎)?(?P<term>{terms})(?=[，。；：、！,.]|$)",
}
_SUM = re.compile(r"(?<![\d,.])(\d{1,3}(?:,\d{3})+|\d{3,})(?![\d,]*\d)")
_YEARS = range(1900, 2100)


def kinship_claimed(text: str, language: str) -> str | None:
    """The kinship that a memory says its person has to the one who remembers, or None.

    Only a plain statement counts, such as `My sister, …` at the beginning or `she is my aunt.`, not any mention of kin.
    """
    words = _WORDS.get(language, _WORDS["en"])
    by_term = {term: kind for kind, terms in words.items() for term in terms}
    terms = "|".join(sorted(by_term, key=len, reverse=True))
    pattern = _CLAIM.get(language, _CLAIM["en"]).format(terms=terms)
    found = re.search(pattern, text, re.IGNORECASE)
    return by_term[found["term"].casefold()] if found else None


def kinship_at_odds(first: str, second: str, language: str) -> str | None:
    """Why two views of each other can't both be true: both state a kinship, and one does not answer the other."""
    one, other = kinship_claimed(first, language), kinship_claimed(second, language)
    if one is None or other is None or _ANSWERS[one] == other:
        return None
    return f"{one} ≠ {other}"


def kinship_unanswered(first: str, second: str, language: str) -> str | None:
    """A kinship that one side states and the other does not know, at odds or left out; a secret may be meant."""
    words = _WORDS.get(language, _WORDS["en"])
    for text, back in ((first, second), (second, first)):
        claimed = kinship_claimed(text, language)
        answer = words[_ANSWERS[claimed]] if claimed else ()
        if claimed and not any(term in back.casefold() for term in answer):
            return f"{claimed} ≠ … ({', '.join(answer)})"
    return kinship_at_odds(first, second, language)


def sums_in(text: str) -> set[int]:
    """Amounts from a hundred on, years left out."""
    numbers = {int(found.replace(",", "")) for found in _SUM.findall(text)}
    return {number for number in numbers if number not in _YEARS}


def years_in(text: str) -> set[int]:
    """Years that a text tells."""
    return {int(found) for found in re.findall(r"(?<![\d,])\d{4}(?![\d,]*\d)", text) if int(found) in _YEARS}


def contradictions(world: World) -> Iterator[Finding]:
    """Pairs whose views of each other do not go together; each pair once."""
    by_name = {character.name: character for character in world.characters}
    for character in world.characters:
        for other, text in character.knows.items():
            back = by_name[other].knows.get(character.name) if other in by_name else None
            if back is not None and character.name < other:
                yield from _pair(world.language, character, by_name[other], text, back)


def _pair(language: str, one: Character, other: Character, there: str, back: str) -> Iterator[Finding]:
    """What is at odds between two views."""
    where = f"characters: {one.name} and {other.name}"
    if odds := kinship_at_odds(there, back, language):
        text = f"they state kinship that does not agree ({odds}); correct one of the two memories"
        yield fault("contradiction", where, text, one.name, other.name)
    elif odds := kinship_unanswered(there, back, language):
        text = f"only one of them knows of kinship ({odds}); correct the other memory, unless it is a secret"
        yield warning("contradiction", where, text, one.name, other.name)
    for what, first, second in (("sums", sums_in(there), sums_in(back)), ("years", years_in(there), years_in(back))):
        if len(first) == len(second) == 1 and first != second:
            text = f"they tell different {what} ({min(first)} and {min(second)}); see whether one event is meant"
            yield warning("contradiction", where, text, one.name, other.name)


def lengths(world: World) -> Iterator[Finding]:
    """Memories that are much too short or too long."""
    low, high = VIEW_WORDS
    for character in world.characters:
        for other, text in character.knows.items():
            words = word_count(text)
            if not low <= words <= high:
                where = f"characters: {character.name}: knows.{other}"
                yield warning("length", where, f"about {words} words; write about a hundred", character.name, other)


def view_findings(world: World) -> Sequence[Finding]:
    """All of the above."""
    return [*contradictions(world), *lengths(world)]
