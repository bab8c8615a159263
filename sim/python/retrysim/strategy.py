"""Retry strategies without the simulator.

SPDX-License-Identifier: MIT
"""

from . import _engine


class RetryStrategy:
    """The retry strategy of one client of an SDK, step by step, after the Smithy reference.

        strategy = RetryStrategy("standard", revision="2.1")
        token = strategy.acquire_initial_token(now=0)
        while token.may_send:
            ...                                   # wait token.delay seconds; send the request
            token = strategy.refresh_retry_token(token, status=503, now=...)   # it failed
            # or strategy.record_success(token, now=...)

    `now` is a time in seconds that never goes back. A token can be used once; using it again is a
    `TokenMisuse`.
    """

    def __init__(self, mode, revision="", sdk="", api="", seed=1):
        self._engine = _engine.RetryStrategy(mode, revision, sdk, api, seed)

    def acquire_initial_token(self, now=0.0):
        """The token of a new request."""
        return self._engine.acquire_initial_token(now)

    def acquire_send_token(self, token, now):
        """With a limit on the send rate: seconds to wait before the attempt is sent."""
        return self._engine.acquire_send_token(token, now)

    def refresh_retry_token(self, token, status=0, code="", transport="", retry_after=None,
                            now=0.0):
        """The attempt has failed: with a status, perhaps an error code ("SlowDown"), or a transport
        error ("timeout", "connection"). `retry_after` is the suggested delay in seconds."""
        return self._engine.refresh_retry_token(token, status, code, transport, retry_after, now)

    def record_success(self, token, now):
        """The attempt has succeeded."""
        self._engine.record_success(token, now)

    @property
    def quota(self):
        """Tokens in the retry quota; None without one."""
        return self._engine.quota

    @property
    def max_attempts(self):
        """Attempts of a request at most; None: no limit."""
        return self._engine.max_attempts
