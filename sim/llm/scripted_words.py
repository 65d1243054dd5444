"""The scripted model's words: which kind of text a property's name asks for, and sentences of that kind."""

import random
from functools import cache
from pathlib import Path

import msgspec
import yaml


class _Language(msgspec.Struct, frozen=True):
    """Words of one language."""

    gap: str
    slots: dict[str, list[str]]
    sentences: dict[str, list[str]]
    titles: dict[str, list[str]]


class _Bank(msgspec.Struct, frozen=True):
    """The file of words."""

    kinds: list[tuple[str, str]]
    rare: list[str]
    likely: list[str]
    early: list[str]
    nothing: list[str]
    en: _Language
    zh: _Language


@cache
def _bank() -> _Bank:
    text = Path(__file__).with_name("scripted_text.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), _Bank)


class Words:
    """Sentences, titles and odds for one language; all chance comes from the generator that is handed in."""

    def __init__(self, language: str) -> None:
        """Choose the language: `zh`, or English for all others."""
        self._bank = _bank()
        self._words = self._bank.zh if language == "zh" else self._bank.en

    def rare(self, name: str) -> bool:
        """Whether what has this name happens seldom."""
        return any(fragment in name.lower() for fragment in self._bank.rare)

    def likely(self, name: str) -> bool:
        """Whether what has this name is true as a rule."""
        return any(fragment in name.lower() for fragment in self._bank.likely)

    def early(self, name: str) -> bool:
        """Whether the first of the listed values are preferred."""
        return any(fragment in name.lower() for fragment in self._bank.early)

    def is_nothing(self, value: object) -> bool:
        """Whether a value stands for none of the others."""
        return value is None or value in self._bank.nothing

    def text(self, rng: random.Random, hint: str, longest: int, *, brief: bool) -> str:
        """A text for a property of this name, of at most `longest` characters."""
        kind = self._kind(hint)
        if kind in self._words.titles:
            return self._title(rng, kind, longest)
        sentences = self._words.sentences[kind]
        many = 1 if brief or longest < 120 else rng.randint(1, 3 if longest > 400 else 2)
        chosen = [self._filled(rng, sentence) for sentence in rng.sample(sentences, many)]
        while len(chosen) > 1 and len(self._words.gap.join(chosen)) > longest:
            chosen.pop()
        return self._words.gap.join(chosen)[:longest].strip()

    def sentence(self, rng: random.Random, kind: str) -> str:
        """One sentence of a kind."""
        return self._filled(rng, rng.choice(self._words.sentences[kind]))

    def join(self, sentences: list[str]) -> str:
        """Sentences as one text."""
        return self._words.gap.join(sentences)

    def _kind(self, hint: str) -> str:
        parts = [part for part in hint.lower().split(".") if part]
        for part in reversed(parts[-2:]):
            if part not in ("name", "text", "value"):
                for fragment, kind in self._bank.kinds:
                    if fragment in part:
                        return kind
        return next((kind for fragment, kind in self._bank.kinds if parts and fragment in parts[-1]), "speech")

    def _title(self, rng: random.Random, kind: str, longest: int) -> str:
        title = rng.choice(self._words.titles[kind])
        numbered = f"{title} {rng.randint(2, 999)}" if kind in ("activity", "event", "title") else title
        return (numbered if len(numbered) <= longest else title)[:longest].strip()

    def _filled(self, rng: random.Random, sentence: str) -> str:
        return sentence.format_map({slot: rng.choice(words) for slot, words in self._words.slots.items()})
