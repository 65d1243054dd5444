"""Text in pictures: what the fonts at hand can't draw gets a number, never an empty box; the numbers are listed.

A font for Chinese, Japanese or Korean is used where one is installed.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

LATIN = "DejaVu Sans"
"""Comes with matplotlib."""
CJK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "Arial Unicode MS",
)


@cache
def families() -> tuple[str, ...]:
    """The fonts that pictures use: the one that is always there, then those for further scripts."""
    there = {font.name for font in font_manager.fontManager.ttflist}
    return (LATIN, *(name for name in CJK_FONTS if name in there))


@cache
def covered(fonts: Sequence[str]) -> frozenset[int]:
    """The characters that some font can draw."""
    paths = [font_manager.findfont(name, fallback_to_default=False) for name in fonts]
    return frozenset(code for path in paths for code in FT2Font(path).get_charmap())


class Lettering:
    """Gives every text a form that can be drawn, and remembers which numbers stand for what."""

    def __init__(self, fonts: Sequence[str] | None = None) -> None:
        """With the fonts that are installed, or with others."""
        self._covered = covered(tuple(fonts) if fonts else families())
        self._numbers: dict[str, str] = {}

    def draws(self, text: str) -> bool:
        """Whether every character can be drawn."""
        return all(ord(character) in self._covered for character in text)

    def of(self, text: str) -> str:
        """The text, or its number as `#3`; dollar signs are told apart from formulas."""
        if self.draws(text):
            return text.replace("$", r"\$")
        return self._numbers.setdefault(text, f"#{len(self._numbers) + 1}")

    def of_all(self, texts: Iterable[str]) -> list[str]:
        """Several texts."""
        return [self.of(text) for text in texts]

    def legend(self) -> list[tuple[str, str]]:
        """Numbers and what they stand for, in the order of their first use."""
        return [(number, text) for text, number in self._numbers.items()]
