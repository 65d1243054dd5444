"""Money in a world's files: which keys hold it, and what an amount that was written as text is as a number."""

import re
from collections.abc import Iterator
from typing import Any

from sim.world.yaml_files import CHARACTERS

_KEYS = {
    "positions.yaml": ("weekly_income",),
    "prices.yaml": ("price",),
    CHARACTERS: ("deposit", "extra_weekly_income", "value"),
}
_NUMBER = re.compile(r"\d(?:[\d,. '’]*\d)?")
_DECIMALS = re.compile(r"[.,]\d{1,2}$")


def money_keys(file: str) -> tuple[str, ...]:
    """The keys of a world's file that hold money."""
    return _KEYS.get(CHARACTERS if file.startswith(f"{CHARACTERS}/") else file, ())


def not_numeric(file: str, content: Any) -> Iterator[tuple[str, Any]]:
    """Money that is no whole number, each with its place in the file."""
    keys = money_keys(file)
    for path, value in _fields(content, ""):
        if path.rsplit(".", 1)[-1] in keys and (isinstance(value, bool) or not isinstance(value, int)):
            yield path.lstrip("."), value


def _fields(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every single value with its path."""
    match value:
        case dict():
            for key, item in value.items():
                yield from _fields(item, f"{path}.{key}")
        case list():
            for place, item in enumerate(value):
                yield from _fields(item, f"{path}[{place}]")
        case _:
            yield path, value


def amount(value: Any) -> int | None:
    """The whole number that an amount means, as `1,200 dollars` means 1200; None where it is in doubt."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return round(value)
    found = _NUMBER.findall(str(value))
    if len(found) != 1:
        return None
    return int(re.sub(r"\D", "", _DECIMALS.sub("", found[0])))


def with_numbers(file: str, content: Any) -> Any:
    """A file's content with every amount that leaves no doubt as a whole number."""
    return _converted(content, money_keys(file))


def _converted(value: Any, keys: tuple[str, ...]) -> Any:
    match value:
        case dict():
            return {key: _number(item) if key in keys else _converted(item, keys) for key, item in value.items()}
        case list():
            return [_converted(item, keys) for item in value]
        case _:
            return value


def _number(value: Any) -> Any:
    number = amount(value)
    return value if number is None else number
