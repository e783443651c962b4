"""The registry of studies."""

import subprocess
import sys

import pytest

from ik_service.exceptions import UnknownStudyError
from ik_service.extras.studies.program import load_study, STUDY_NAMES


def test_names_of_the_studies():
    assert len(set(STUDY_NAMES)) == len(STUDY_NAMES)
    assert {'soch-lorencz', 'step-size', 'movable-joints', 'unreachable'} < set(STUDY_NAMES)
    assert {'singularity', 'convergence', 'tracking', 'reach'} < set(STUDY_NAMES)


def test_an_unknown_name_carries_the_valid_ones():
    with pytest.raises(UnknownStudyError, match='unknown study') as caught:
        load_study('soch_lorencz')
    assert caught.value.valid == STUDY_NAMES


def test_listing_needs_neither_matplotlib_nor_ros():
    probe = (
        'import sys\n'
        'from ik_service.cli.programs import ik_study\n'
        'assert ik_study([]) == 0\n'
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'matplotlib', 'rclpy', 'mujoco', 'sklearn'}, loaded\n"
    )
    done = subprocess.run([sys.executable, '-c', probe], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
