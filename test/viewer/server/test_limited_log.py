from ik_service.viewer.server.limited_log import LimitedLog


def test_each_sentence_is_logged_once_and_only_so_many():
    said = []
    log = LimitedLog(said.append, most=3)
    for sentence in ('a', 'a', 'b', 'a', 'c', 'd', 'b'):
        log(sentence)
    assert said == ['a', 'b', 'c (further ones are not told)']
