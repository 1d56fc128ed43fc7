from __future__ import annotations

from asyncstate.load.plugin import Signature


def test_a_callable_without_signature_takes_everything():
    signature = Signature.of(dict)
    assert signature.has_varargs
    assert signature.has_kwargs


def test_accepts_tells_of_named_parameters_only():
    signature = Signature.of(lambda name, timeout=None, **kwargs: None)
    assert signature.accepts("timeout")
    assert signature.accepts("name")
    assert not signature.accepts("kwargs")
    assert signature.has_kwargs
