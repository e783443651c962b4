from dataclasses import replace
from pathlib import Path

import pytest
from support.reach_maps import arm, made_map

from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.viewer.reach.reach_map import difference, of_capability_map
from ik_service.robot import Robot

PANDA = Path(__file__).parents[4] / 'urdf' / 'panda.urdf'
ENDS = ('panda_link0', 'panda_hand_tcp')


def of_spec(spec):
    return of_capability_map(Path('m'), made_map(spec=spec))


@pytest.fixture
def chain():
    return Robot.from_urdf(arm()).chain('base', 'tip')


def test_a_map_belongs_to_its_arm(chain):
    assert difference(of_spec(ChainSpec.of(arm())), chain) == ''


@pytest.mark.parametrize(
    ('other', 'reason'),
    [
        (arm(height=0.6), 'of another arm: the same joint positions put its tip elsewhere'),
        (
            arm(lower=-0.9),
            'other joint limits: j goes from -0.9 to 1 there, and from -1 to 1 here',
        ),
        (
            arm().replace('"base"', '"foot"'),
            'its base link is foot, and the base link here is base',
        ),
        (arm().replace('"tip"', '"nose"'), 'its tip link is nose, and the tip link here is tip'),
        (arm().replace('"j"', '"k"'), 'the joints that move there are k'),
    ],
)
def test_a_map_of_another_arm_says_what_differs(chain, other, reason):
    assert reason in difference(of_spec(ChainSpec.of(other)), chain)


def test_a_joint_that_is_locked_makes_another_arm():
    spec = ChainSpec.of(PANDA, *ENDS, locked={'panda_joint3': 0.1})
    panda = Robot.from_urdf(PANDA)
    assert 'joints' in difference(of_spec(spec), panda.chain(*ENDS))
    assert difference(of_spec(spec), panda.chain(*ENDS, {'panda_joint3': 0.1})) == ''
    assert 'elsewhere' in difference(of_spec(spec), panda.chain(*ENDS, {'panda_joint3': 0.2}))


def test_a_map_without_a_description_is_judged_by_its_links(chain):
    found = replace(of_spec(ChainSpec.of(arm(height=0.6))), spec=None)
    assert difference(found, chain) == ''


def test_a_damaged_description_is_a_reason(chain):
    found = of_spec(ChainSpec.of(arm()))
    faulty = replace(found, spec=replace(found.spec, urdf='<robot'))
    assert 'cannot be built' in difference(faulty, chain)
