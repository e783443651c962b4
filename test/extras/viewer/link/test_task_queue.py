import threading

from ik_service.extras.viewer.link.task_queue import LimitedLog, TaskQueue


def test_calls_are_made_in_order_by_the_thread_that_runs_them():
    tasks, done = TaskQueue(print), []
    worker = threading.Thread(target=lambda: [tasks.post(done.append, n) for n in range(100)])
    worker.start()
    worker.join()
    assert done == []
    tasks.run_pending()
    assert done == [*range(100)]


def test_an_exception_is_reported_and_later_calls_are_made():
    errors, done = [], []
    tasks = TaskQueue(errors.append)
    tasks.post(int, 'nonsense')
    tasks.post(done.append, 1)
    tasks.run_pending()
    assert done == [1]
    assert isinstance(errors[0], ValueError)


def test_calls_that_add_calls_do_not_keep_it_forever():
    tasks, called = TaskQueue(print), []

    def call_again():
        called.append(len(called))
        tasks.post(call_again)

    tasks.post(call_again)
    tasks.run_pending()
    assert called == [0]
    tasks.run_pending()
    assert called == [0, 1]


def test_each_message_is_logged_once_up_to_a_number():
    lines = []
    log = LimitedLog(lines.append, most=3)
    for message in ('a', 'a', 'b', 'a', 'c', 'd', 'b'):
        log(message)
    assert lines == ['a', 'b', 'c (further ones are not logged)']
