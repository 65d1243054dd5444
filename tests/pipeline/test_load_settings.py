"""Settings are refused before anything starts, naming key, value and the nearest valid key."""

from pathlib import Path

import pytest

from pipeline.load_settings import SettingsError, dump_settings, load_settings, refused_changes, results_settings

CONFIG = """
run_dir: runs/x
training: {base_model: tiny}
sim:
  n_agents: 8
serving:
  policy: {kind: scripted}
  environment: {kind: scripted}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    return path


def test_words_lie_over_the_file(config):
    settings = load_settings(config, ["sim.n_agents=3", "seed=7", "steps=[simulate]", "rounds=1", "run_dir=/äé 中"])
    assert (settings.sim.n_agents, settings.seed, settings.steps, settings.run_dir) == (3, 7, ("simulate",), "/äé 中")


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("sim.n_agnets=3", ["sim.n_agnets = 3", "did you mean sim.n_agents"]),
        ("sim.time.n_yeer=3", ["sim.time.n_yeer", "did you mean sim.time.n_year"]),
        ("sim.n_agents=0", ["sim.n_agents = 0", "greater than or equal to 1"]),
        ("sim.n_agents=many", ["sim.n_agents = 'many'"]),
        ("rouns=2", ["rouns = 2", "did you mean rounds"]),
        ("steps=[select]", ["steps", "beginning of"]),
        ("serving.policy.kind=openai", ["serving.policy", "base_url"]),
        ("serving.policy.kind=engine", ["serving.policy.engine", "'policy'", "none"]),
        ("serving.policy.faults.malformd=0.3", ["did you mean serving.policy.faults.malformed"]),
        ("worlds=[apartment, apartment]", ["worlds", "twice"]),
        ("seed", ["no `key=value`"]),
        ("seed.x=1", ["seed"]),
        ("sim.budgets.context=100", ["budgets", "100"]),
        ("sim.limits.turns_min=30", ["turns_min"]),
        ("run_dir=", ["run_dir"]),
        ("training.base_model=", ["training.base_model"]),
    ],
)
def test_wrong_settings_name_key_and_remedy(config, word, parts):
    with pytest.raises(SettingsError) as caught:
        load_settings(config, [word])
    for part in parts:
        assert part in str(caught.value)


def test_missing_file_names_its_neighbours(config):
    with pytest.raises(SettingsError, match=r"c\.yaml"):
        load_settings(config.with_name("d.yaml"))


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "", "just words"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path, text):
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"bad\.yaml"):
        load_settings(path)


def test_resolved_settings_load_again(config, tmp_path):
    settings = load_settings(config)
    path = tmp_path / "resolved.yaml"
    path.write_text(dump_settings(settings), encoding="utf-8")
    assert load_settings(path) == settings


def test_only_machinery_may_change_on_resume(config):
    before = load_settings(config)
    assert refused_changes(before, load_settings(config, ["cluster.hosts=9", "sim.scheduling.barriers=true"])) == []
    assert refused_changes(before, load_settings(config, ["seed=1", "sim.n_agents=9"])) == [
        "seed: 0 → 1",
        "sim.n_agents: 8 → 9",
    ]
    assert results_settings(before)["sim.n_agents"] == 8
    assert not any(key.startswith(("serving", "cluster")) for key in results_settings(before))


@pytest.mark.parametrize(
    "word",
    [
        "serving.policy.key_env=sk-hunter2",
        "serving.policy.base_url=http://me:hunter2@host/v1",
        "serving.policy.base_url=http://host/v1?key=hunter2",
    ],
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_shown(config, word):
    with pytest.raises(SettingsError) as caught:
        load_settings(config, [word])
    assert "hunter2" not in str(caught.value)
    assert word.partition("=")[0] in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("worlds=[apartment, elsewhere/apartment]", "two folders of one name"),
        ("worlds=[apartment, ./configs/worlds/apartment/]", "names a world twice"),
        ("worlds=[]", "worlds"),
        ("sim.reward.alpha=.inf", "sim.reward.alpha"),
        ("limits.backoff_s=.nan", "limits.backoff_s"),
    ],
)
def test_worlds_that_would_share_a_journal_and_numbers_without_end_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        load_settings(Path(__file__).parents[2] / "configs" / "smoke.yaml", [change])
