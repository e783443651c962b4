from ik_service.viewer.link.node_report import Entry, NodeReport, read_report

ROBOT = Entry('ik: robot description', False, 'in use', {'base_link': 'base', 'tip_link': 'tool'})
FOLLOWING = Entry('ik: following', True, 'cannot be reached', {'target': 'reached within …'})
OTHER = Entry('camera: following', False, 'a rabbit', {})


def test_the_parts_of_a_report():
    assert read_report([OTHER, ROBOT, FOLLOWING], 'ik') == NodeReport(
        'base', 'tool', 'cannot be reached', True, 'reached within …'
    )


def test_before_there_is_a_robot():
    waiting = Entry('ik: robot description', True, 'waiting for one', {})
    assert read_report([waiting], 'ik') == NodeReport(doing='waiting for one', worry=True)


def test_what_others_report_is_not_for_us():
    assert read_report([OTHER], 'ik') is None
    assert read_report([], 'ik') is None
