"""Places of ``ik_place`` in the tab of the reach."""

import json

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from support.harness import until
from support.page.client import serving
from support.reach_maps import one_joint_urdf

from ik_service.exceptions import ArgumentError
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.reach.placements import MOST_PLACES, Placements, read_places
from ik_service.robot import Robot

SLOW = 120.0  # of a thread that reads a file [s]


def transform(*position):
    T = np.eye(4)
    T[:3, 3] = position
    return T.tolist()


def write_places(folder, **changes):
    content = {
        'robot': {'base_link': 'base', 'tip_link': 'tip'},
        'poses': {
            'file': 'poses.csv',
            'T_world_tip': [transform(0.5, 0, 1), transform(0, 0.5, 1)],
        },
        'places': [
            {'T_world_base': transform(0.1, 0, 0), 'share': 1.0},
            {'T_world_base': transform(0.2, 0, 0), 'share': 0.5},
        ],
    }
    path = folder / 'places.json'
    path.write_text(json.dumps({**content, **changes}))
    return path


def test_the_best_places_are_read(tmp_path):
    found = read_places(write_places(tmp_path))
    assert found.ends == ('base', 'tip')
    assert found.T_world_base[:, 0, 3].tolist() == [0.1, 0.2]
    assert found.shares.tolist() == [1.0, 0.5]
    assert found.T_world_tip.shape == (2, 4, 4)
    many = [{'T_world_base': transform(0, 0, 0), 'share': 0.5}] * 100
    assert len(read_places(write_places(tmp_path, places=many)).shares) == MOST_PLACES


@pytest.mark.parametrize(
    'changes',
    [
        {'places': []},
        {'places': {}},
        {'places': None},
        {'robot': 3},
        {'poses': {}},
        {'places': [{'T_world_base': transform(0, 0, 0), 'share': 'all'}]},
        {'places': [{'T_world_base': transform(0, 0, 0), 'share': 3.0}]},
        {'places': [{'T_world_base': transform(np.nan, 0, 0), 'share': 0.5}]},
        {'places': [{'T_world_base': np.ones((4, 4)).tolist(), 'share': 0.5}]},
        {'places': [{'T_world_base': [[1.0]], 'share': 0.5}]},
    ],
)
def test_a_file_with_other_content_is_refused(tmp_path, changes):
    with pytest.raises(ArgumentError, match=r'places\.json.*is no file of ik_place'):
        read_places(write_places(tmp_path, **changes))


@pytest.mark.parametrize('text', ['', '{', '[]', '[' * 100_000, '\xff'])
def test_a_damaged_file_is_refused(tmp_path, text):
    path = tmp_path / 'places.json'
    path.write_bytes(text.encode('latin-1'))
    with pytest.raises(ArgumentError, match=r'places\.json.*is no file of ik_place'):
        read_places(path)


def test_places_are_frames_and_those_of_another_arm_are_not_shown(tmp_path):
    path = write_places(tmp_path)
    with serving() as client:
        server, tasks = client.served.server, TaskQueue(_raise)
        tab = server.gui.add_tab_group().add_tab('reach')
        placements = Placements(server, tab, tasks)
        axes = []
        add = server.scene.add_batched_axes

        def remember(*arguments, **named):
            axes.append(add(*arguments, **named))
            return axes[-1]

        server.scene.add_batched_axes = remember

        def wait_for(text):
            def is_there():
                tasks.run_pending()
                return placements._text.visible and text in placements._text.content

            until(is_there, SLOW, text)

        placements.show(Robot.from_urdf(one_joint_urdf()).chain('base', 'tip'))
        placements.load(str(path))
        wait_for('the best one reaches 100 % of 2 poses')
        poses, bases = axes
        assert bases.batched_positions[:, 0].tolist() == pytest.approx([0.1, 0.2])
        assert len(poses.batched_positions) == 2
        placements.show(
            Robot.from_urdf(one_joint_urdf().replace('"tip"', '"nose"')).chain('base', 'nose')
        )
        wait_for('for another arm: from base to tip, and here from base to nose')
        assert bases._impl.removed
        placements.load(str(tmp_path / 'missing.json'))
        wait_for('cannot be read')
        placements.load('')
        assert not placements._text.visible


def _raise(error):
    raise error
