"""Specifications of chains: the same everywhere, with meshes and without."""

from __future__ import annotations

import pickle
import shutil

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.solids import cube, slider, solid, write_stl

import ik_service as iks
from ik_service.exceptions import ArgumentError, CollisionGeometryError, OptionError, SrdfError
from ik_service.extras.scale import ChainSpec
from ik_service.extras.scale.solving import BlockSolver

PANDA = REPOSITORY / 'urdf' / 'panda.urdf'
MESH = solid('<mesh filename="cube.stl"/>')
# What stores have noted about the specification below: with another one they would not go on.
DIGEST = '28e861475151a30535d59597f80a1ba090df8a05c35f9e2195d0235a0253251b'
SRDF = '<robot name="row"><disable_collisions link1="a" link2="b" reason="Never"/></robot>'


def test_specification_is_the_same_everywhere():
    spec = ChainSpec.of(PANDA, 'panda_link0', 'panda_hand_tcp')
    options = iks.IkOptions(task_weights=(1, 1, 1, 0, 0, 0), max_searches=3)
    other = ChainSpec.of(
        PANDA, tip_link='panda_link8', options=options, locked={'panda_joint1': 0}
    )
    solid_row = ChainSpec.of(slider(solid(), solid()), srdf=SRDF.replace('a"', 'b"', 0))
    assert other.build().chain.n == 6
    for each in (spec, other, solid_row):
        assert pickle.loads(pickle.dumps(each)) == each
        assert ChainSpec.from_json(each.to_json()) == each
        assert ChainSpec.from_json(each.to_json()).urdf_file == each.urdf_file
        assert hash(pickle.loads(pickle.dumps(each))) == hash(each)
    assert len({spec.digest, other.digest, solid_row.digest}) == 3


@pytest.mark.parametrize(
    ('options', 'named'),
    [
        ({'record_trace': True}, 'record_trace'),
        ({'seed_source': 'table', 'seed_file': 'x'}, 'seed_file'),
        ({'objective': abs}, 'objective'),
    ],
)
def test_options_that_mean_something_else_elsewhere_are_refused(options, named):
    with pytest.raises(OptionError, match=named):
        ChainSpec('<robot/>', options=iks.IkOptions(**options))


@pytest.mark.parametrize(
    ('plain', 'other'),
    [
        ({'timeout': 1.0}, {'timeout': 1}),
        ({'timeout': 0.5}, {'timeout': np.float32(0.5)}),
        ({'max_searches': 3, 'random_seed': 4},
         {'max_searches': np.int64(3), 'random_seed': np.uint8(4)}),
        ({'damping': 0.0}, {'damping': -0.0}),
        ({'record_trace': False}, {'record_trace': np.bool_(False)}),
        ({'task_weights': (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)},
         {'task_weights': np.array([1, 1, 1, -0.0, 0, 0], np.float32)}),
    ],
)  # fmt: skip
def test_equal_options_of_other_types_have_the_same_digest(plain, other):
    first, second = (
        ChainSpec('<robot/>', options=iks.IkOptions(**options)) for options in (plain, other)
    )
    assert first == second
    assert first.digest == second.digest
    assert first.to_json() == second.to_json()
    assert ChainSpec.from_json(second.to_json()) == first


def test_equal_parts_of_other_types_have_the_same_digest():
    first = ChainSpec('<robot/>', locked=(('a', 1.0), ('b', 0.0)), collisions=False)
    second = ChainSpec(
        '<robot/>', locked=[['a', np.int64(1)], ('b', -0.0)], collisions=np.bool_(False)
    )
    assert first == second
    assert hash(first) == hash(second)
    assert first.digest == second.digest


def test_digests_stay_those_of_stores_that_are_there():
    options = iks.IkOptions(timeout=0.5, task_weights=(1, 1, 1, 0, 0, 0), max_searches=3)
    spec = ChainSpec('<robot/>', 'a', 'b', options=options, locked=(('c', 0.1),))
    assert spec.digest == DIGEST


@pytest.mark.parametrize('locked', [{'a': 1.0}, (('a', '1'),), ((1, 1.0),), 3, (('a', 10**400),)])
def test_faulty_locked_joints_are_named(locked):
    with pytest.raises(ArgumentError, match='locked'):
        ChainSpec('<robot/>', locked=locked)


def test_joints_that_are_locked_twice_are_named():
    with pytest.raises(ArgumentError, match='locked: has more than one position of b'):
        ChainSpec('<robot/>', locked=(('b', 0.1), ('a', 0.1), ('b', 0.2)))


@pytest.mark.parametrize('part', ['urdf', 'base_link', 'tip_link', 'solver', 'srdf', 'urdf_file'])
@pytest.mark.parametrize('value', [3, PANDA, b'<robot/>'])
def test_parts_that_are_no_text_are_named(part, value):
    with pytest.raises(ArgumentError, match=f'{part}: has to be text, not'):
        ChainSpec(**{'urdf': '<robot/>', part: value})


def test_faulty_parts_are_named():
    with pytest.raises(ArgumentError, match='collisions'):
        ChainSpec.of(PANDA, collisions='yes')
    with pytest.raises(ArgumentError, match='no specification'):
        ChainSpec.from_json('{"urdf": 3, "locked": []}')
    with pytest.raises(SrdfError, match='mismatched'):
        ChainSpec.of(PANDA, srdf='<robot name="panda"><group></robot>')


class TestCollisions:
    """With Coal."""

    @pytest.fixture(autouse=True)
    def _coal(self):
        pytest.importorskip('coal', reason='coal is not installed (extra collision)')

    @pytest.fixture
    def file(self, tmp_path):
        write_stl(tmp_path / 'cube.stl', *cube())
        path = tmp_path / 'row.urdf'
        # The tip's place along x, a third of the targets inside of the first block.
        path.write_text(slider(MESH, MESH, gap=0.5))
        return path

    def test_colliding_answers_do_not_count(self, file):
        targets = np.tile(np.eye(4), (3, 1, 1))
        targets[:, 0, 3] = -0.5, 0.03, 0.5
        options = iks.IkOptions(max_searches=3)
        # Neighbours are checked only where an SRDF says which pairs are not.
        srdf = '<robot name="row"><disable_collisions link1="b" link2="b" reason="Own"/></robot>'
        answers = {
            given: BlockSolver(
                ChainSpec.of(file, options=options, srdf=srdf, collisions=given)
            ).solve(targets).status.tolist()
            for given in (False, True)
        }  # fmt: skip
        success, collision = iks.IkStatus.SUCCESS.number, iks.IkStatus.IN_COLLISION.number
        assert answers[False] == [success] * 3
        assert answers[True] == [success, collision, success]

    def test_missing_mesh_is_named(self, file, tmp_path):
        spec = ChainSpec.of(file, collisions=True)
        moved = pickle.loads(pickle.dumps(spec))
        object.__setattr__(moved, 'urdf_file', str(tmp_path / 'elsewhere' / 'row.urdf'))
        assert moved == spec
        assert moved.digest == spec.digest
        with pytest.raises(CollisionGeometryError, match=r'cube\.stl'):
            moved.build()
        shutil.copytree(tmp_path, tmp_path / 'elsewhere')
        assert moved.build().collisions.has_geometry

    def test_robot_without_geometry_is_refused(self):
        with pytest.raises(ArgumentError, match='no collision geometry'):
            ChainSpec.of(slider('', ''), collisions=True)


def test_folders_of_packages_are_for_meshes_and_decide_nothing(tmp_path):
    folders = ('/opt/robots', tmp_path)
    spec, other = ChainSpec.of(PANDA, package_dirs=folders), ChainSpec.of(PANDA)
    assert (
        spec.package_dirs
        == tuple(map(str, spec.robot.package_dirs))
        == ('/opt/robots', str(tmp_path))
    )
    assert ChainSpec.from_json(spec.to_json()).package_dirs == spec.package_dirs
    assert (spec, spec.digest) == (other, other.digest)
