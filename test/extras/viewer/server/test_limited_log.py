from ik_service.extras.viewer.link.task_queue import LimitedLog


def test_each_message_is_logged_once_up_to_a_number():
    lines = []
    log = LimitedLog(lines.append, most=3)
    for message in ('a', 'a', 'b', 'a', 'c', 'd', 'b'):
        log(message)
    assert lines == ['a', 'b', 'c (further ones are not logged)']
