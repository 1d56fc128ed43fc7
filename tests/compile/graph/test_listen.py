from trees import plan


def test_a_listener_that_does_not_exist_is_a_row_only_when_its_target_changes():
    compiled = plan("a: {test.nop: [{listen_in: [{service: gone}]}]}\n")
    assert compiled.rows == {}
    [broken] = compiled.broken_listeners
    assert broken.targets == (0,)
    assert broken.tag == "Listen_Error_|-listen_gone_|-listen_service_|-Listen_Error"
    assert broken.row["result"] is False


def test_a_target_that_does_not_exist_is_a_mistake_and_a_row():
    compiled = plan("a: {test.nop: [{listen: [{test: 'c*'}]}]}\nc1: test.nop\n")
    [(tag, row)] = compiled.rows.items()
    assert tag == "Listen_Error_|-listen_c*_|-listen_test_|-Listen_Error"
    assert row == {"comment": row["comment"], "name": "listen_test:c*", "result": False, "changes": {}}
    assert compiled.listeners == ()
    assert [(issue.rule, issue.mistake, issue.code) for issue in compiled.warnings] == [("tree", True, "E305")]
