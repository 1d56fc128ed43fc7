"""The container that ``docker_container.running`` wants, and the steps to it from the existing one."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import Row, __salt__, is_dry_run, make_row
from asyncstate.errors import AsyncStateError, CommandExecutionError, InvocationError

_IGNORED = ("Hostname", "MacAddress")  # chosen by the daemon by default
_AUTOMATIC = ("IPAddress", "Gateway", "GlobalIPv6Address", "IPv6Gateway")


class Wanted:
    """``fulfil`` does the work, or in a dry run determines it; ``row`` reports the result."""

    def __init__(
        self,
        *,
        name: str,
        image: str,
        options: dict[str, Any],
        networks: Any,
        force: bool,
        start: bool,
        signal: str | None,
        shutdown_timeout: int | None,
    ) -> None:
        self.name = name
        self.image = image
        self.options = options
        self.force = force
        self.start = start
        self.signal = signal
        self.shutdown_timeout = shutdown_timeout
        self._given_networks = networks
        self._networks: dict[str, dict[str, Any]] = {}
        self._result: bool | None = True
        self._changes: dict[str, Any] = {}
        self._comments: list[str] = []

    def row(self) -> Row:
        """Return the row of the work done, or in a dry run of the work to do."""
        end = "." if len(self._comments) > 1 else ""
        return make_row(self.name, ". ".join(self._comments) + end, self._changes, result=self._result)

    def fail(self, words: str) -> None:
        """Make the row a failure with this comment."""
        self._result = False
        self._comments.append(words)

    def fulfil(self) -> None:
        """Create, replace, connect and start the container as needed. Raises AsyncStateError if that fails."""
        self._networks = _parsed(self._given_networks)
        image = self._resolve_image()
        current = __salt__["docker.inspect_container"](self.name) if __salt__["docker.exists"](self.name) else None
        before = None if current is None else __salt__["docker.state"](self.name)
        new_image = current is not None and current["Image"] != image
        anew = self.force or current is None or new_image
        if anew and is_dry_run():
            self._predict(current, image)
            return
        created = __salt__["docker.create"](self.image, name=self.name if current is None else None, **self.options)
        kept = False
        try:
            network_changes = self._connect(created["Name"], current)
            settings = {} if anew else self._compare(created["Name"])
            kept = current is None or ((anew or bool(settings)) and not is_dry_run())
            if settings:
                self._changes["container"] = settings
            if network_changes:
                self._changes.setdefault("container", {})["Networks"] = network_changes
            if kept and current is not None:
                self._replace(created["Name"])
        except AsyncStateError:
            kept = False
            raise
        finally:
            if not kept:
                __salt__["docker.rm"](created["Name"], volumes=True)
        if kept:
            self._changes.setdefault("container_id", {})["added"] = created["Id"]
            self._comments += [f"Created container '{self.name}'"] if current is None else []
        else:
            self._adjust(settings, network_changes)
        self._run(before, started=kept)
        if new_image and current is not None:
            self._comments.append("Container has a new image")
            self._changes["image"] = {"old": current["Image"], "new": image}

    def _resolve_image(self) -> Any:
        image = __salt__["docker.resolve_image_id"](self.image)
        if image is False and not is_dry_run():
            try:
                self._changes["image"] = __salt__["docker.pull"](
                    self.image, client_timeout=self.options["client_timeout"]
                )
            except CommandExecutionError as error:
                raise CommandExecutionError(f"Failed to pull {self.image}: {error}") from error
            image = __salt__["docker.resolve_image_id"](self.image)
        return image

    def _predict(self, current: dict[str, Any] | None, image: Any) -> None:
        self._result = None
        if self.force:
            self._changes["forced_update"] = True
        else:
            self._changes["image"] = {"old": current and current["Image"], "new": image}
        self._comments.append(f"Container '{self.name}' would be {'created' if current is None else 'replaced'}")

    def _connect(self, name: str, current: dict[str, Any] | None) -> dict[str, Any]:
        """Connect the new container; return the differences between its networks and the existing container's."""
        before = current or __salt__["docker.inspect_container"](name)
        for network, options in self._networks.items():
            __salt__["docker.connect_container_to_network"](name, network, **options)
        if self._given_networks is not None:
            for network in _connections(__salt__["docker.inspect_container"](name)):
                if network not in self._networks:
                    __salt__["docker.disconnect_container_from_network"](name, network)
        after = __salt__["docker.inspect_container"](name)
        changes: dict[str, Any] = __salt__["docker.compare_container_networks"](before, after)
        return changes

    def _compare(self, other: str) -> dict[str, Any]:
        ignored = [each for each in _IGNORED if not self.options.get(each.lower())]
        changes: dict[str, Any] = __salt__["docker.compare_containers"](self.name, other, ignore=",".join(ignored))
        return changes

    def _replace(self, new: str) -> None:
        options = {} if self.shutdown_timeout is None else {"timeout": self.shutdown_timeout}
        removed = __salt__["docker.rm"](self.name, stop=True, **options)
        self._changes["container_id"] = {"removed": removed}
        try:
            __salt__["docker.rename"](new, self.name)
        except CommandExecutionError as error:
            raise CommandExecutionError(
                f"Failed to rename temp container: {error}. Failed to replace container '{self.name}'"
            ) from error
        self._comments.append(f"Replaced container '{self.name}'")

    def _adjust(self, settings: dict[str, Any], network_changes: dict[str, Any]) -> None:
        """Change signals and networks, which need no new container."""
        test = is_dry_run()
        if settings:
            self._result = None
            self._comments.append(f"Container '{self.name}' would be replaced")
        elif self.signal and test:
            self._comments.append(f"Signal {self.signal} would be sent to container")
        elif self.signal:
            __salt__["docker.signal"](self.name, signal=self.signal)
            self._changes["signal"] = self.signal
            self._comments.append(f"Sent signal {self.signal} to container")
        else:
            self._comments.append(f"Container '{self.name}' is already configured as specified")
        if network_changes and test:
            self._result = None
            self._comments.append("Network configuration would be updated")
        elif network_changes:
            for network in network_changes:
                self._reconnect(network)

    def _reconnect(self, network: str) -> None:
        was_connected = network in _connections(__salt__["docker.inspect_container"](self.name))
        if was_connected:
            __salt__["docker.disconnect_container_from_network"](self.name, network)
        if network in self._networks:
            __salt__["docker.connect_container_to_network"](self.name, network, **self._networks[network])
            words = "Reconnected to network '{}' with updated configuration" if was_connected else ""
            self._comments.append((words or "Connected to network '{}'").format(network))
        else:
            self._comments.append(f"Disconnected from network '{network}'")

    def _run(self, before: str | None, *, started: bool) -> None:
        """Start the container if it has to run, and add the change of its state to the row."""
        if (started and (before is None or self.start)) or (self.start and not started and before != "running"):
            if is_dry_run():
                self._result = None
                self._comments.append("Container would be started")
                return
            try:
                after = __salt__["docker.start"](self.name)["state"]["new"]
            except CommandExecutionError as error:
                self.fail(f"Failed to start container '{self.name}': '{error}'")
                return
        else:
            after = __salt__["docker.state"](self.name)
        if is_dry_run():
            return
        if after == "running":
            self._tell_addresses()
        if before != after:
            self._changes["state"] = {"old": before, "new": after}
            self._comments += [] if before is None else [f"State changed from '{before}' to '{after}'"]
        if after != "running" and self.start:
            self.fail("Container is not running")

    def _tell_addresses(self) -> None:
        """Add the addresses assigned by Docker, known only once the container runs, to the changes."""
        connections = _connections(__salt__["docker.inspect_container"](self.name))
        for network, changes in self._changes.get("container", {}).get("Networks", {}).items():
            if changes.get("IPConfiguration", {}).get("new") == "automatic":
                found = {key: connections.get(network, {}).get(key) for key in _AUTOMATIC}
                given = {key: {"old": None, "new": value} for key, value in found.items() if value}
                if given:
                    del changes["IPConfiguration"]
                    changes |= given


def _connections(container: dict[str, Any]) -> dict[str, Any]:
    return dict((container.get("NetworkSettings") or {}).get("Networks") or {})


def _parsed(networks: Any) -> dict[str, dict[str, Any]]:
    """Return ``{name: options}`` of networks given as a text with commas, a list, or a dict. All of them must exist."""
    words = networks.split(",") if isinstance(networks, str) else networks or []
    if not isinstance(words, (dict, list)):
        raise InvocationError("Invalid network configuration: expected a list of networks")
    found: dict[str, dict[str, Any]] = {}
    for each in [words] if isinstance(words, dict) else words:
        for name, options in each.items() if isinstance(each, dict) else [(str(each).strip(), None)]:
            found[str(name)] = _options(str(name), options)
    if found:
        known = {each["Name"] for each in __salt__["docker.networks"]()}
        if missing := sorted(set(found) - known):
            raise CommandExecutionError(f"The following networks are not present: {', '.join(missing)}")
    return found


def _options(network: str, given: Any) -> dict[str, Any]:
    pairs = given if isinstance(given, list) else [given or {}]
    if not all(isinstance(each, dict) for each in pairs):
        raise InvocationError(f"Invalid configuration for network '{network}': expected options like ipv4_address")
    options = {key: value for each in pairs for key, value in each.items()}
    for key, value in options.items():
        if value is None:
            raise InvocationError(f"Config option '{key}' for network '{network}' is missing a value")
        if key in {"links", "aliases"} and isinstance(value, str):
            options[key] = [word.strip() for word in value.split(",")]
    return options
