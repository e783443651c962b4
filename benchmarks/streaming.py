"""
Streaming to a joint_trajectory_controller: single points, as in earlier versions, and windows.

The controller is the stand-in of the tests, with the defaults of ros2_control in Jazzy, a loop of
500 Hz and servos that lag by 20 ms, in simulated time: two joints move at up to 1 rad/s, which
they reach in 0.2 s, turn round on the way and arrive. Messages take 1 to 2 ms.
"""

from __future__ import annotations

from pathlib import Path
import sys

import numpy as np
from records import progress, save

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'test'), str(HERE.parent)]

from support.motion.streaming import Link, stream  # noqa: E402

LINKS = {
    'undisturbed': Link(),
    '10 % of the messages lost': Link(loss=0.1),
    'every fifth message 10 ms late': Link(late=0.01),
    'every fifth message 30 ms late': Link(late=0.03),
    'clock of the controller 5 ms ahead': Link(clock_offset=0.005),
    'clock of the controller 20 ms ahead': Link(clock_offset=0.02),
    'clock of the controller 20 ms behind': Link(clock_offset=-0.02),
    'every 20th tick 30 ms late': Link(late_ticks=0.03),
    'every tick 4 ms late': Link(longer=0.004),
    'node stalled for 40 ms': Link(stall=(1.2, 1.24)),
    'node stalled for 500 ms': Link(stall=(1.2, 1.7)),
}


def main() -> None:
    """Measure each connection with both kinds of messages."""
    rows = []
    for rate in (50.0, 100.0, 250.0):
        for name, link in LINKS.items() if rate == 100.0 else [('undisturbed', Link())]:
            for windows in (False, True):
                record = stream(windows, link, rate)
                rows.append(
                    {
                        'connection': name,
                        'rate': rate,
                        'messages': 'windows' if windows else 'single points',
                        'backward_step': record.largest_backward_step(),
                        'velocity_jump': record.largest_velocity_jump(),
                        'largest_speed': float(np.abs(record.speeds).max()),
                        'lag': record.lag(),
                        'refused': sum(record.controller.refused.values()),
                    }
                )
                progress(_line(rows[-1]))
    save('streaming', rows)


def _line(row: dict[str, object]) -> str:
    return (
        f'{row["rate"]:3.0f} Hz, {row["connection"]:36s} {row["messages"]:13s} '
        f'backwards {1e3 * row["backward_step"]:6.2f} mrad, '
        f'jump {row["velocity_jump"]:6.3f} rad/s, speed {row["largest_speed"]:6.3f} rad/s, '
        f'lag {1e3 * row["lag"]:3.0f} ms, {row["refused"]} refused'
    )


if __name__ == '__main__':
    main()
