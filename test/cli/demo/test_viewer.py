import importlib.util

from ik_service.cli.demo import main as demo_viewer
from ik_service.common.child_process import ChildFailedError


class Child:
    """A viewer that fails to start."""

    def wait_for(self, _pattern, _timeout):
        raise ChildFailedError('the viewer ended', 'first\nik_viewer: port 8080 is in use\n')


def test_without_viser_the_command_that_brings_it_is_named(monkeypatch, capsys):
    monkeypatch.setattr(demo_viewer, 'find_spec', lambda _name: None)
    with demo_viewer.viewer_program(True, {}) as viewer:
        assert viewer is None
        demo_viewer.announce(viewer, wanted=True)
    assert "pip install 'ik_service[viewer]'" in capsys.readouterr().out


def test_no_viewer_prints_nothing(capsys):
    with demo_viewer.viewer_program(False, {}) as viewer:
        assert viewer is None
        demo_viewer.announce(viewer, wanted=False)
    assert capsys.readouterr().out == ''


def test_a_viewer_that_does_not_start_is_reported_in_one_line(capsys):
    demo_viewer.announce(Child(), wanted=True)
    assert capsys.readouterr().out == (
        'Viewer    none: it did not start: ik_viewer: port 8080 is in use\n'
    )


def test_looks_for_viser_without_importing_it():
    assert demo_viewer.find_spec is importlib.util.find_spec
