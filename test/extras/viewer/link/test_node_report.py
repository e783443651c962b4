import pytest

from ik_service.extras.viewer.link.node_monitor import Entry, NodeReport, read_report
from ik_service.extras.viewer.panel.measures import SolveReport

SOLVE = {
    'last_solve.status': 'SUCCESS',
    'last_solve.iterations': '4',
    'last_solve.searches': '1',
    'last_solve.solve_time': '7.23e-06',
    'last_solve.position_error': '5e-08',
    'last_solve.orientation_error': '1.1e-07',
    'last_solve.solver': 'levenberg_marquardt',
    'last_solve.source': 'target_pose',
    'last_solve.stamp': '100.5',
}
ROBOT = Entry('ik: robot description', False, 'in use', {'base_link': 'base', 'tip_link': 'tool'})
FOLLOWING = Entry('ik: following', True, 'cannot be reached', SOLVE)
OTHER = Entry('camera: following', False, 'a rabbit', SOLVE)


def solve_of(*parts):
    entries = [Entry(f'ik: {number}', False, '', values) for number, values in enumerate(parts)]
    return read_report(entries, 'ik').solve


def test_the_parts_of_a_report():
    assert read_report([OTHER, ROBOT, FOLLOWING], 'ik') == NodeReport(
        'base',
        'tool',
        'cannot be reached',
        True,
        SolveReport(4, 1, 7.23e-6, 'SUCCESS', 'levenberg_marquardt', 'target_pose', 5e-8, 1.1e-7),
    )


def test_before_there_is_a_robot():
    waiting = Entry('ik: robot description', True, 'waiting for one', {})
    assert read_report([waiting], 'ik') == NodeReport(activity='waiting for one', is_warning=True)


def test_reports_of_other_nodes_are_ignored():
    assert read_report([OTHER], 'ik') is None
    assert read_report([], 'ik') is None


def test_the_newest_solve_of_several_parts_counts():
    newer = {**SOLVE, 'last_solve.stamp': '1000.25', 'last_solve.iterations': '9'}
    assert solve_of(newer, SOLVE).iterations == 9
    assert solve_of(SOLVE, newer).iterations == 9
    assert solve_of({**SOLVE, 'last_solve.stamp': 'soon'}, newer).iterations == 9


def test_a_node_that_reports_no_solve():  # MoveIt's, for example, or ours before its first solve
    assert solve_of({'requests': '3'}) is None


@pytest.mark.parametrize('key', ['iterations', 'searches', 'solve_time'])
@pytest.mark.parametrize('value', ['', 'none', 'nan', 'inf', '-1', None])
def test_a_wrong_or_missing_figure_is_no_solve(key, value):
    values = {**SOLVE, f'last_solve.{key}': value}
    if value is None:
        del values[f'last_solve.{key}']
    assert solve_of(values) is None


def test_a_solve_without_errors_has_none():
    solve = solve_of({**SOLVE, 'last_solve.position_error': 'inf'})
    assert solve.position_error is None
    assert solve.orientation_error == 1.1e-7
