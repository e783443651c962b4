"""The parameter ``groups`` as settings of planning groups."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ik_service.arm.group import GroupSettings
from ik_service.exceptions import OptionError
from ik_service.ros.node.parameter_table import group_settings, GROUPS


def settings(text, **nested):
    return group_settings(GROUPS.read({'groups': text, **nested}))


def test_groups_and_settings_of_groups():
    text = '{left: {base_link: chest, tip_link: hand, solver: bfgs}, right: {timeout: 1}}'
    assert settings(text, **{'groups.third.tip_link': 'head'}) == {
        'left': GroupSettings('chest', 'hand', 'bfgs'),
        'right': GroupSettings(timeout=1.0),
        'third': GroupSettings('', 'head'),
    }
    assert settings('') == {}


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('{a: {base_link: chest}}', r'groups\.a\.tip_link: has to be given'),
        ('{a: {tip_link: hand, solver: magic}}', r'groups\.a\.solver: .*magic.*levenberg'),
        ('{a: {timeout: -1}}', r'groups\.a\.timeout: has to be from 1e-06 to 60 s, not -1'),
        ('{a: {timeout: 0}}', r'groups\.a\.timeout'),
        ('{a: {timeout: 1e9}}', r'groups\.a\.timeout'),
        ('{a: {timeout: .nan}}', r'groups\.a\.timeout'),
        ('{a: {tip: hand}}', r"no field 'tip' among .*is tip_link meant"),
        ('{a: [hand]}', r'groups\.a'),
        ('[a]', 'groups'),
    ],
)
def test_what_cannot_be_is_refused_by_name(text, said):
    with pytest.raises(OptionError, match=said):
        settings(text)
