"""Templates to text in the world's language. An undefined name is an error; a model's text never becomes markup."""

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jinja2
import yaml

from sim.core.keys import digest_of

T = TypeVar("T")

_PROMPTS = Path(__file__).resolve().parent.parent / "prompts"
WORDS = "words.yaml"
"""In each language's folder: what is shown for the program's own names."""
_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
_MEMO_SIZE = 1024


def languages() -> tuple[str, ...]:
    """Languages that prompts exist in."""
    return tuple(sorted(path.name for path in _PROMPTS.iterdir() if path.is_dir() and not path.name.startswith("_")))


def prompts_folder(language: str) -> Path:
    """The folder of one language's templates and sentences."""
    return _PROMPTS / language


def prompts_digest() -> str:
    """Digest of all templates, so that a run knows with which words it was lived."""
    files = sorted(path for path in _PROMPTS.rglob("*") if path.is_file())
    named = [path.relative_to(_PROMPTS).as_posix().encode() + b"\0" + path.read_bytes() for path in files]
    return digest_of(b"\0".join(named))


def defused(value: Any) -> Any:
    """A printed value; what would open a chat template's control token is split."""
    return value.replace("<|", "< |").replace("[INST]", "[ INST]") if isinstance(value, str) else value


def shows(text: str, value: str) -> bool:
    """Whether a rendered text has printed a value, however its blanks came out."""
    return " ".join(defused(value).split()) in " ".join(text.split())


class Renderer:
    """Renders the templates of one language; pickles as its language and is rebuilt in each process."""

    def __init__(self, language: str) -> None:
        """Refuse a language without prompts."""
        if language not in languages():
            raise ValueError(f"world.language: no prompts in {language!r}; there are {', '.join(languages())}")
        self.language = language
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_PROMPTS / language, encoding="utf-8"),
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=defused,
            auto_reload=False,
            cache_size=-1,
        )
        self._words: dict[str, str] = yaml.safe_load((_PROMPTS / language / WORDS).read_text(encoding="utf-8"))
        self._environment.filters["word"] = self.word
        self._memo: OrderedDict[Hashable, tuple[tuple[Any, ...], Any]] = OrderedDict()

    def __reduce__(self) -> tuple[type["Renderer"], tuple[str]]:
        """Travel as the language alone."""
        return Renderer, (self.language,)

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """The template's text, trimmed, with at most one empty line in a row."""
        text = self._environment.get_template(template).render(values)
        return _BLANK_LINES.sub("\n\n", text).strip()

    def word(self, name: str) -> str:
        """What a name that the program uses (a trait, a living standard …) is called in this language."""
        return self._words.get(name, name.replace("_", " "))

    def memo(self, key: Hashable, inputs: tuple[Any, ...], make: Callable[[], T]) -> T:
        """The value last made under this key while its inputs are equal, else a new one."""
        known = self._memo.get(key)
        if known is not None and known[0] == inputs:
            self._memo.move_to_end(key)
            return known[1]
        value = make()
        self._memo[key] = (inputs, value)
        if len(self._memo) > _MEMO_SIZE:
            self._memo.popitem(last=False)
        return value
