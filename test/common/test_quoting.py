"""Names that may be meant by others."""

import pytest

from ik_service.common.quoting import nearest


@pytest.mark.parametrize(
    ('name', 'names', 'found'),
    [
        ('panda_joint1', ['left_panda_joint2', 'left_panda_joint1'], 'left_panda_joint1'),
        ('panda_joint1', ['fr3_joint2', 'fr3_joint1'], 'fr3_joint1'),
        ('left_joint1', ['joint2', 'joint1'], 'joint1'),
        ('elbow', ['arm/elbow', 'arm/elbow/motor'], 'arm/elbow'),
        ('elbow', ['wheel', ''], ''),
        ('elbow', [], ''),
        ('publish_rat', ['publish_rate', 'state_timeout'], 'publish_rate'),
        ('solver_nam', ['hold', 'solver.name'], 'solver.name'),
        ('nois', ['hold', 'faults.noise'], 'faults.noise'),
        ('speed', ['seed_source', 'hold'], ''),
        ('j', ['j_arm', 'arm_j'], ''),
        ('', ['base'], ''),
    ],
)
def test_the_nearest_name(name, names, found):
    assert nearest(name, names) == found
