from ik_service.viewer.server.once import OnceEach


def test_each_sentence_is_logged_once_and_only_so_many():
    said = []
    log = OnceEach(said.append, most=3)
    for sentence in ('a', 'a', 'b', 'a', 'c', 'd', 'b'):
        log(sentence)
    assert said == ['a', 'b', 'c (further ones are not told)']
