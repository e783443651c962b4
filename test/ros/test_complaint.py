"""Saying once what is wrong."""

from __future__ import annotations

from ik_service.ros.complaint import Complaint


def test_a_fault_that_stays_is_said_once():
    said = []
    complaint = Complaint(said.append)
    for number in range(100):
        complaint.about(f'fault {number}')
    assert said == ['fault 0']
    assert complaint.count == 100
    assert complaint.last == 'fault 99'


def test_a_fault_that_comes_back_is_said_again_after_the_pause():
    said = []
    complaint = Complaint(said.append, pause=0.0)
    complaint.about('one')
    complaint.settle()
    complaint.about('two')
    assert said == ['one', 'two']


def test_a_fault_that_flickers_does_not_fill_the_log():
    said = []
    complaint = Complaint(said.append, pause=60.0)
    for _ in range(50):
        complaint.about('fault')
        complaint.settle()
    assert said == ['fault']
