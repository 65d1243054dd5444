"""The same caller goes to the same replica; replicas that come or go move only the callers that they concern."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.routing import replica_for

NAMES = st.text(min_size=1, max_size=12)
REPLICAS = st.lists(NAMES, min_size=2, max_size=8, unique=True)


@given(NAMES, REPLICAS, st.randoms(use_true_random=False))
def test_the_order_of_replicas_does_not_matter(affinity, replicas, random):
    shuffled = replicas.copy()
    random.shuffle(shuffled)
    assert replica_for(affinity, shuffled) == replica_for(affinity, replicas)


@given(NAMES, REPLICAS)
def test_losing_another_replica_moves_nobody(affinity, replicas):
    home = replica_for(affinity, replicas)
    for lost in replicas:
        if lost != home:
            assert replica_for(affinity, [replica for replica in replicas if replica != lost]) == home


@given(NAMES, REPLICAS, NAMES)
def test_a_new_replica_takes_callers_only_for_itself(affinity, replicas, new):
    assert replica_for(affinity, [*replicas, new]) in (replica_for(affinity, replicas), new)


def test_callers_are_spread():
    share = Counter(replica_for(f"李雷 {number}", ["policy-0", "policy-1", "policy-2"]) for number in range(600))
    assert len(share) == 3
    assert min(share.values()) > 150


def test_without_replicas_there_is_a_clear_error():
    with pytest.raises(ValueError, match="no replica"):
        replica_for("Mara", [])
