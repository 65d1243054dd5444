"""Names in pictures: drawn where a font can, else numbered and listed, never an empty box."""

from training.evaluation.analyses.drawing import figure, save, styled
from training.evaluation.analyses.lettering import LATIN, Lettering


def test_what_the_font_lacks_gets_a_number_once():
    letters = Lettering([LATIN])
    assert letters.of_all(["Ann", "苏雨", "Zoë", "林", "苏雨"]) == ["Ann", "#1", "Zoë", "#2", "#1"]
    assert letters.legend() == [("#1", "苏雨"), ("#2", "林")]
    assert letters.draws("Ñandú")
    assert not letters.draws("Li 林")


def test_a_name_is_no_formula():
    assert Lettering([LATIN]).of("Cash $ and $") == r"Cash \$ and \$"


def test_equal_pictures_have_equal_bytes(tmp_path):
    for name in ("a", "b"):
        with styled():
            made, (axes,) = figure(1, 1, title="Two lines")
            axes.plot([1, 2], [3, 4], label=Lettering([LATIN]).of("苏雨"))
            axes.legend()
            save(made, tmp_path / name)
    data = (tmp_path / "a").read_bytes()
    assert data == (tmp_path / "b").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert b"Software" not in data
