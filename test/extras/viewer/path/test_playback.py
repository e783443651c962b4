from ik_service.extras.viewer.path.paths import Playback


def test_it_runs_to_the_end_and_begins_anew_from_there():
    playback = Playback()
    playback.load(2.0)
    playback.toggle(now=10.0)
    playback.step(now=11.5)
    assert (playback.time, playback.is_playing) == (1.5, True)
    playback.step(now=12.5)
    assert (playback.time, playback.is_playing) == (2.0, False)
    playback.toggle(now=20.0)
    assert (playback.time, playback.is_playing) == (0.0, True)


def test_seeking_stops_it_within_the_motion():
    playback = Playback()
    playback.load(2.0)
    playback.toggle(now=10.0)
    playback.seek(5.0)
    playback.step(now=11.0)
    assert (playback.time, playback.is_playing) == (2.0, False)


def test_without_a_motion_nothing_runs():
    playback = Playback()
    playback.toggle(now=1.0)
    assert not playback.is_playing
