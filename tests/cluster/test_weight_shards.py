"""What a rank of several should hold of a checkpoint's weights, by shapes alone."""

import pytest

from pipeline.held_weights import shard_of

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def weight(torch):
    return torch.arange(48.0).reshape(8, 6)


def test_one_rank_holds_all(torch, weight):
    assert torch.equal(shard_of(torch.empty(8, 6), [weight], 0, 1), weight)
    assert torch.equal(shard_of(torch.empty(12, 6), [weight, weight[:4]], 0, 1), torch.cat([weight, weight[:4]]))


def test_a_padded_vocabulary_is_compared_without_its_padding(torch, weight):
    assert torch.equal(shard_of(torch.empty(64, 6), [weight], 0, 1), weight)


@pytest.mark.parametrize("rank", [0, 1])
def test_several_ranks_share_rows_or_columns(torch, weight, rank):
    assert torch.equal(shard_of(torch.empty(4, 6), [weight], rank, 2), weight[4 * rank : 4 * rank + 4])
    assert torch.equal(shard_of(torch.empty(8, 3), [weight], rank, 2), weight[:, 3 * rank : 3 * rank + 3])


def test_fused_parts_are_shared_one_by_one(torch, weight):
    fused = shard_of(torch.empty(6, 6), [weight, weight[:4]], 1, 2)
    assert torch.equal(fused, torch.cat([weight[4:], weight[2:4]]))


def test_a_norm_is_held_by_every_rank(torch, weight):
    assert torch.equal(shard_of(torch.empty(6), [weight[0]], 1, 2), weight[0])


def test_what_shapes_do_not_tell_is_left_out(torch, weight):
    assert shard_of(torch.empty(6, 8), [weight], 0, 1) is None
    assert shard_of(torch.empty(5, 6), [weight], 0, 2) is None
    assert shard_of(torch.empty(7, 6), [weight[:7], weight[:7]], 0, 2) is None
    assert shard_of(torch.empty(8, 6, dtype=torch.float8_e4m3fn), [weight], 0, 1) is None
