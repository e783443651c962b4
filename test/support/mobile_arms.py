"""An arm of the project on rails and on bases that drive."""

from functools import lru_cache

import ik_service as iks
from support.chains import arm_path, joint_xml, limit_xml

ROOT_LINK = 'world'


@lru_cache
def arm_on(*joints, links=()):
    """The chain of a UR5e from ``odom``, on joints that lead to its root link."""
    text = arm_path('ur5e').read_text()
    root = iks.Robot.from_urdf(text).root_link
    parts = ''.join(f'<link name="{link}"/>' for link in ('odom', *links))
    parts += ''.join(joints).replace(ROOT_LINK, root)
    robot = iks.Robot.from_urdf(text.replace('</robot>', f'{parts}</robot>'))
    return robot.chain('odom', 'tool0')


def arm_on_rail(lower, upper):
    rail = joint_xml(
        'rail', 'prismatic', 'odom', ROOT_LINK, axis=(1, 0, 0), inner=limit_xml(lower, upper)
    )
    return arm_on(rail)


def arm_on_base(kind):
    """On a planar or floating joint, or on two slides and a continuous joint: ``series``."""
    if kind != 'series':
        return arm_on(joint_xml('base', kind, 'odom', ROOT_LINK))
    endless = limit_xml(-1e16, 1e16)
    return arm_on(
        joint_xml('x', 'prismatic', 'odom', 'on_x', axis=(1, 0, 0), inner=endless),
        joint_xml('y', 'prismatic', 'on_x', 'on_y', axis=(0, 1, 0), inner=endless),
        joint_xml('theta', 'continuous', 'on_y', ROOT_LINK),
        links=('on_x', 'on_y'),
    )
