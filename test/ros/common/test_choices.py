from ik_service.ros.common.choices import choices_constraint, choices_of


def test_choices_survive_the_way_through_a_descriptor():
    constraint = choices_constraint(['first', 'nearest'])
    assert constraint == 'one of first, nearest'
    assert choices_of(constraint) == ('first', 'nearest')
    assert choices_of(f'{constraint}; none for the default') == ('first', 'nearest')


def test_other_constraints_name_no_choices():
    assert choices_of('a number with a decimal point') == ()
    assert choices_of('') == ()
