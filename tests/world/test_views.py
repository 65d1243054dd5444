"""Kinship answers kinship, or may be a secret of one side; sums and years that both tell and that differ are shown."""

import pytest

from sim.world.checking.views import kinship_at_odds, kinship_claimed, kinship_unanswered, sums_in, years_in

CLAIMS = [
    ("My sister, two years older.", "en", "sibling"),
    ("My older half-brother.", "en", "sibling"),
    ("A nurse. She is my aunt, and strict.", "en", "uncle_aunt"),
    ("The cook; he's my father.", "en", "parent"),
    ("My mother hired him in 2019.", "en", None),
    ("My sister's friend from school.", "en", None),
    ("He reminds me of my brother.", "en", None),
    ("My neighbor, who sings.", "en", None),
    ("我姐姐，比我大两岁。", "zh", "sibling"),
    ("她是我的表姐。", "zh", "cousin"),
    ("我妈妈请她来帮忙。", "zh", None),
    ("他是我爸爸的同事。", "zh", None),
]


@pytest.mark.parametrize(("text", "language", "kind"), CLAIMS)
def test_kinship_is_read_only_where_it_is_plainly_stated(text: str, language: str, kind: str | None) -> None:
    assert kinship_claimed(text, language) == kind


@pytest.mark.parametrize(
    ("first", "second", "language", "said"),
    [
        ("My sister, who sings.", "My brother. He paints.", "en", "agree"),
        ("My sister, who sings.", "The painter from 4B.", "en", "one knows"),
        ("The painter from 4B.", "My sister, who sings.", "en", "one knows"),
        ("My father, a cook.", "My father, a clerk.", "en", "at odds"),
        ("My father, a cook.", "A daughter to be proud of.", "en", "agree"),
        ("My aunt, strict.", "My nephew, always late.", "en", "agree"),
        ("My aunt, strict.", "My cousin, always late.", "en", "at odds"),
        ("My friend.", "My rival.", "en", "agree"),
        ("她是我妹妹。", "她是我姐姐，爱操心。", "zh", "agree"),
        ("她是我妹妹。", "她是我表姐。", "zh", "at odds"),
        ("她是我妹妹。", "楼下的同学。", "zh", "one knows"),
    ],
)
def test_kinship_is_answered_by_kinship(first: str, second: str, language: str, said: str) -> None:
    odds, unanswered = kinship_at_odds(first, second, language), kinship_unanswered(first, second, language)
    assert (odds is not None) == (said == "at odds")
    assert (unanswered is not None) == (said != "agree")


def test_sums_and_years_are_told_apart() -> None:
    text = "In 2022 she lent me 12,000 dollars, of which 400 are paid; 35 more in 1999, at number 2024."
    assert sums_in(text) == {12000, 400}
    assert years_in(text) == {2022, 1999, 2024}
    assert sums_in("欠我1500元，2021年借的") == {1500}
    assert years_in("欠我1500元，2021年借的") == {2021}
