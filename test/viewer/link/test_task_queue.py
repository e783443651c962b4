import threading

from ik_service.viewer.link.task_queue import TaskQueue


def test_work_is_done_in_order_by_the_one_who_asks_for_it():
    inbox, done = TaskQueue(print), []
    worker = threading.Thread(target=lambda: [inbox.post(done.append, n) for n in range(100)])
    worker.start()
    worker.join()
    assert done == []
    inbox.run_pending()
    assert done == [*range(100)]


def test_a_fault_is_told_and_the_rest_is_done():
    told, done = [], []
    inbox = TaskQueue(told.append)
    inbox.post(int, 'nonsense')
    inbox.post(done.append, 1)
    inbox.run_pending()
    assert done == [1]
    assert isinstance(told[0], ValueError)


def test_work_that_makes_work_does_not_keep_it_for_ever():
    inbox = TaskQueue(print)
    inbox.post(lambda: inbox.post(inbox.post, print))
    inbox.run_pending()
    inbox.run_pending()
