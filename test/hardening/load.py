"""Load test: many clients of both services, while commands are published."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import pairwise
import threading
import time

from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionFK, GetPositionIK
import numpy as np
from support.chains import postures
from support.harness import PATIENCE
from support.ros.cells import NAMES

from hardening.faults import COMMON, FAULTS
from hardening.fuzz_motions import Commander
from hardening.fuzz_requests import ask_all, check_node, Client, compile_trees
from hardening.hostile import Hostile
from hardening.reference import Reference
from hardening.stage import HOME, Stage
from hardening.workplace import memory, percentile, repeating, Row
from ik_service.ros.common.conversions import pose_from_matrix

_KINDS = {'compute_ik': GetPositionIK, 'compute_fk': GetPositionFK}


class Load:
    """Clients of both services, each of which asks again as soon as it is answered."""

    def __init__(self, stage: Stage, seed=1):
        self.stage = stage
        chain = stage.chain
        self._poses = [pose_from_matrix(chain.forward(q)) for q in postures(chain, 200, seed)]
        self._seeds = postures(chain, 200, seed + 1).tolist()
        self._reference = Reference(dict(zip(NAMES, HOME.tolist(), strict=True)), moving=True)

    def request(self, service, number):
        """Return a valid request, another one for every number."""
        if service == 'compute_ik':
            request = GetPositionIK.Request()
            request.ik_request.pose_stamped.pose = self._poses[number % len(self._poses)]
            request.ik_request.pose_stamped.header.frame_id = 'panda_link0'
            request.ik_request.timeout.sec = 1
            return request
        request = GetPositionFK.Request(fk_link_names=['panda_hand_tcp'])
        request.robot_state.joint_state.name = list(NAMES)
        request.robot_state.joint_state.position = self._seeds[number % len(self._seeds)]
        return request

    def closed(self, clients, each):
        """Run clients that send ``each`` requests one after the other; return all requests."""
        asked, finished = [], threading.Semaphore(0)
        services = list(_KINDS)
        made = [
            (service, Client(self.stage.bench, _KINDS[service], service))
            for service in (services[number % 2] for number in range(clients))
        ]

        def ask(client, service, number, left):
            def done():
                if left > 1:
                    ask(client, service, number + 1, left - 1)
                else:
                    finished.release()

            asked.append(client.send(self.request(service, number), done))

        for number, (service, client) in enumerate(made):
            ask(client, service, number * each, each)
        deadline = time.monotonic() + PATIENCE + 0.01 * clients * each
        for _ in made:
            finished.acquire(timeout=max(0.0, deadline - time.monotonic()))
        for _, client in made:
            client.close()
        return asked

    def at_once(self, count):
        """Send ``count`` requests at the same time to both services; return them."""
        made = {name: Client(self.stage.bench, kind, name) for name, kind in _KINDS.items()}
        services = list(_KINDS)
        requests = [(services[n % 2], self.request(services[n % 2], n)) for n in range(count)]
        asked = [made[service].send(request) for service, request in requests]
        since, last = 0, time.monotonic()
        while since < count and time.monotonic() - last < PATIENCE:
            answered = sum(one.answer is not None for one in asked)
            if answered > since:
                since, last = answered, time.monotonic()
            time.sleep(0.05)
        for client in made.values():
            client.close()
        return asked

    def wrong(self, one):
        """Return what is wrong with an answer, which has to be SUCCESS; None when nothing is."""
        if one.answer.error_code.val != Code.SUCCESS:
            return f'{one.answer.error_code.val}: {one.answer.error_code.message}'
        if isinstance(one.request, GetPositionIK.Request):
            return self._reference.wrong_ik(one.request, one.answer)
        return self._reference.wrong_fk(one.request, one.answer)


def load(bench, clients, each=0, at_once=0, name='') -> Row:
    """
    Load the services while the arm is on its way between far targets.

    Clients ask one after the other, ``each`` so often; or so many requests come ``at_once``.
    """
    row, began = Row(name or f'{clients} clients', busy=True), time.monotonic()
    stage = Stage(bench)
    # The clients share a process with the arm, and keep it from telling where it is.
    stage.set(state_timeout=5.0)
    loading = Load(stage)
    for _ in range(2):  # so that all is compiled and connected
        loading.closed(2, 20)
    before = memory(stage.node.pid)
    stage.begin()
    with _keeps_moving(stage):
        asked = loading.at_once(at_once) if at_once else loading.closed(clients, each)
        time.sleep(0.3)
    row.count, row.lost = at_once or clients * each, 0
    answered = [one for one in asked if one.answer is not None]
    row.lost = row.count - len(answered)
    for complaint in filter(None, map(loading.wrong, answered)):
        row.object_to(complaint)
    row.p99 = percentile([one.took for one in answered])
    row.stream = stage.figures()
    row.memory = memory(stage.node.pid) - before
    _check_rate(row, stage)
    check_node(row, stage.node)
    row.seconds = time.monotonic() - began
    return row


@contextmanager
def _keeps_moving(stage):
    """Send the arm from one far target to the next."""
    stage.cruise()
    with repeating(lambda: stage.send(stage.far_away()), 2.5):
        yield


def _check_rate(row, stage):
    """Check that commands kept coming under load, also where the machine stood for 2 s."""
    times = np.array([sample.time for sample in stage.arm.recorded()])
    longest = max((b - a for a, b in pairwise(times)), default=0.0)
    if longest > 2.5:
        row.object_to(f'no command for {longest:.2f} s')


def soak(bench, seconds, seed=1) -> Row:
    """
    Mix harmless and hostile requests, motions and faults, for a time.

    :param seconds: for how long [s].
    """
    row, began = Row(f'mixture for {seconds / 60:.3g} min', lost=0, busy=True), time.monotonic()
    stage = Stage(bench, **COMMON)
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
