from asyncstate.modules import hashutil
from hypothesis import given
from hypothesis import strategies as st


@given(st.text())
def test_base64_round_trips(text):
    assert hashutil.base64_b64decode(hashutil.base64_b64encode(text)) == text
    assert hashutil.base64_decodestring(hashutil.base64_encodestring(text)) == text
