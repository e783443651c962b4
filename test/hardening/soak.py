"""Soak test: minutes of valid and hostile requests, targets, faults and parameters at once."""

from __future__ import annotations

import time

from moveit_msgs.srv import GetPositionFK, GetPositionIK
import numpy as np
from support.cell import NAMES

from hardening.asking import ask_all, Client
from hardening.faults import FAULTS
from hardening.fuzz_motions import Commander
from hardening.fuzz_requests import check_node, compile_trees
from hardening.hostile_requests import Hostile
from hardening.load import Load
from hardening.reference import Reference
from hardening.rows import memory, percentile, Row
from hardening.stage import HOME, Stage

_COMMON = {'publish_rate': 100.0, 'velocity_scaling': 0.5, 'acceleration_time': 0.2}


def soak(bench, seconds, seed=1) -> Row:
    """
    Mix harmless and hostile requests, motions and faults, for a time.

    :param seconds: for how long [s].
    """
    row, began = Row(f'mixture for {seconds / 60:.3g} min', lost=0, busy=True), time.monotonic()
    stage = Stage(bench, **_COMMON)
    mixture = _Mixture(stage, row, seed)
    for _ in range(6):  # a warm-up, so that all is compiled and connected
        mixture.some_requests()
    before, row.count = memory(stage.node.pid), 0
    while time.monotonic() - began < seconds:
        try:
            mixture.one_round()
        except AssertionError as error:  # no motion, no rest, no answer of a parameter service
            row.object_to(str(error))
        if stage.node.exit_code is not None:
            break
    row.p99 = percentile(mixture.times)
    row.memory = memory(stage.node.pid) - before
    check_node(row, stage.node)
    row.seconds = time.monotonic() - began
    return row


class _Mixture:
    def __init__(self, stage, row, seed):
        self.stage, self.row, self.times = stage, row, []
        self._rng = np.random.default_rng(seed)
        self._hostile = Hostile(stage.chain, seed)
        self._load = Load(stage, seed)
        self._reference = Reference(dict(zip(NAMES, HOME.tolist(), strict=True)), moving=True)
        self._commander = Commander(stage, seed)
        self._ik = Client(stage.bench, GetPositionIK, 'compute_ik')
        compile_trees(self._ik, self._reference.other_link)
        self._fk = Client(stage.bench, GetPositionFK, 'compute_fk')
        self._faults = [
            fault for fault in FAULTS.values()
            if not (fault.alone or fault.parameters or 'targets' in fault.name)
        ]  # fmt: skip
        self._rounds = 0

    def one_round(self):
        """Move the arm while requests are sent, with a fault in every second motion."""
        self._rounds += 1
        self.stage.begin()
        self.stage.cruise()
        self.some_requests()
        if self._rounds % 2:
            fault = self._faults[int(self._rng.integers(len(self._faults)))]
            try:
                fault.happen(self.stage)
            except AssertionError as error:
                self.row.object_to(f'{fault.name}: {error}')
        else:
            for _ in range(20):
                self.stage.targets.publish(self._hostile.target())
                self.stage.send(self.stage.far_away() if self._rng.random() < 0.1 else HOME)
            self._some_commands()
        self.some_requests()
        time.sleep(0.3)
        found = self.stage.figures()
        self.row.stream = found if self.row.stream is None else self.row.stream | found

    def _some_commands(self):
        """Send commands of Servo and trajectories for half a second, and wait for their ends."""
        for _ in range(50):
            self._commander.one()
            time.sleep(0.01)
        self._commander.pause(False)
        self.row.lost += self._commander.lost()
        self._commander.forget()

    def some_requests(self):
        """Send a hundred requests, a third of them hostile, twenty at a time."""
        good = [(self._load.request('compute_ik', n), self._ik) for n in range(34)]
        good += [(self._load.request('compute_fk', n), self._fk) for n in range(33)]
        bad = [(self._hostile.ik(), self._ik) for _ in range(17)]
        bad += [(self._hostile.fk(), self._fk) for _ in range(16)]
        mixed = [(client, request) for request, client in (*good, *bad)]
        self._rng.shuffle(mixed)
        found = ask_all([tuple(job) for job in mixed], window=20)
        good_ones = {id(request) for request, _ in good}
        for one in found:
            self._judge(one, id(one.request) in good_ones)
        self.row.count += len(found)

    def _judge(self, one, good):
        if one.answer is None:
            self.row.lost += 1
            return
        self.times.append(one.took)
        if good:
            complaint = self._load.wrong(one)
        else:
            complaint = self._reference.wrong(one.request, one.answer)
        if complaint:
            self.row.object_to(complaint)
