"""A Docker daemon that keeps containers, images and networks in dicts, behind the real HTTP interface on a socket.

It answers the part of the Engine API that the library docker uses for the bundled modules, in its forms: defaults are
filled in, names resolved, errors given as the daemon gives them. Nothing is run.
"""

from __future__ import annotations

import json
import os
import re
import socketserver
import threading
import uuid
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, unquote, urlsplit

HOST_DEFAULTS = {
    "Binds": None, "NetworkMode": "default", "PortBindings": {}, "RestartPolicy": {"Name": "", "MaximumRetryCount": 0},
    "AutoRemove": False, "CapAdd": None, "ExtraHosts": None, "Privileged": False, "Links": None, "Ulimits": None,
    "OomKillDisable": False, "Init": None,
}  # fmt: skip
CONFIG_DEFAULTS = {
    "Env": [], "Cmd": None, "Entrypoint": None, "Labels": {}, "Tty": False, "OpenStdin": False, "ExposedPorts": None,
    "Volumes": None, "User": "", "WorkingDir": "",
}  # fmt: skip


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class FakeDocker:
    """``refuse`` maps a part of ``METHOD /path`` to the error that such requests get; ``requests`` lists them all."""

    def __init__(self, folder):
        self.containers, self.images, self.networks = {}, {}, {}
        self.registry = {}
        self.refuse = {}
        self.requests = []
        self._lock = threading.Lock()
        for name in ("bridge", "host", "none"):
            self.add_network(name)
        self.url = f"unix://{folder}/docker.sock"
        daemon = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                with daemon._lock:
                    daemon._handle(self)

            do_GET = do_POST = do_DELETE = answer  # noqa: N815 - the names http.server calls

            def log_message(self, *words):
                pass

            def address_string(self):
                return "socket"

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True

        self._server = Server(os.path.join(folder, "docker.sock"), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def add_image(self, name, **config):
        number = f"sha256:{uuid.uuid4().hex * 2}"
        for image in self.images.values():
            if name in image["RepoTags"]:
                image["RepoTags"].remove(name)
        self.images[number] = {"Id": number, "RepoTags": [name], "Size": 1, "Config": {**CONFIG_DEFAULTS, **config}}
        return number

    def add_network(self, name, **options):
        number = uuid.uuid4().hex * 2
        given = {
            "Driver": "bridge",
            "Internal": False,
            "EnableIPv6": False,
            "Attachable": False,
            "Options": {},
            "Labels": {},
        }
        pool = {"Driver": "default", "Options": None, "Config": [{"Subnet": f"172.{20 + len(self.networks)}.0.0/16"}]}
        found = {**given, "IPAM": pool, **{key: value for key, value in options.items() if value is not None}}
        found["IPAM"]["Config"] = found["IPAM"].get("Config") or pool["Config"]
        self.networks[number] = {**found, "Id": number, "Name": name}
        return number

    def _handle(self, request):
        url = urlsplit(request.path)
        path = unquote(re.sub(r"^/v1\.\d+", "", url.path))
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        size = int(request.headers.get("Content-Length") or 0)
        data = request.rfile.read(size)
        if request.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while length := int(request.rfile.readline(), 16):
                data += request.rfile.read(length)
                request.rfile.readline()
            request.rfile.readline()
        is_json = request.headers.get("Content-Type") == "application/json"
        body = json.loads(data) if data and is_json else data
        call = f"{request.command} {path}"
        self.requests.append(call)
        try:
            self._check(call)
            status, answer = self._answer(request.command, path.strip("/").split("/"), query, body)
        except Refusal as refusal:
            status, answer = refusal.status, {"message": str(refusal)}
        streamed = isinstance(answer, bytes)
        text = answer if streamed else b"" if answer is None else json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header(*(("Transfer-Encoding", "chunked") if streamed else ("Content-Length", str(len(text)))))
        request.end_headers()
        request.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text) if streamed else text)

    def _check(self, call):
        for part, message in self.refuse.items():
            if part in call:
                raise Refusal(500, message)

    def _answer(self, method, parts, query, body):
        kind, *rest = parts
        if kind == "version":
            return 200, {"Version": "27.0.1", "ApiVersion": "1.44", "MinAPIVersion": "1.24"}
        if kind == "build":
            return self._pulled(self.add_image(query["t"]))
        routes = {"containers": self._containers, "images": self._images, "networks": self._networks}
        return routes[kind](method, rest, query, body)

    # --- containers

    def _container(self, name):
        """Return the container of that name, else one whose ID begins so, as the daemon does."""
        known = self.containers.values()
        named = (each for each in known if each["Name"] == f"/{name}")
        found = next(named, None) or next((each for each in known if each["Id"].startswith(name)), None)
        if found is None:
            raise Refusal(404, f"No such container: {name}")
        return found

    def _containers(self, method, rest, query, body):
        if rest == ["json"]:
            wanted = [each for each in self.containers.values() if query.get("all") == "1" or each["State"]["Running"]]
            return 200, [{"Id": each["Id"], "Names": [each["Name"]], "Image": each["Image"]} for each in wanted]
        if rest == ["create"]:
            return 201, {"Id": self._create(query.get("name"), body), "Warnings": []}
        container = self._container(rest[0])
        if method == "DELETE":
            if container["State"]["Running"] and query.get("force") != "True":
                raise Refusal(409, "You cannot remove a running container")
            del self.containers[container["Id"]]
            return 204, None
        if rest[1:] == ["json"]:
            return 200, container
        state = container["State"]
        if rest[1] == "rename":
            container["Name"] = f"/{query['name']}"
        elif rest[1] in {"start", "restart"}:
            state |= {"Running": True, "Paused": False}
            for name, connection in container["NetworkSettings"]["Networks"].items():
                fixed = (connection["IPAMConfig"] or {}).get("IPv4Address")
                connection |= {"IPAddress": fixed or f"10.0.0.{len(name)}", "Gateway": "10.0.0.1"}
        elif rest[1] in {"stop", "kill"} and query.get("signal") in {None, "SIGKILL"}:
            state |= {"Running": False, "Paused": False}
        elif rest[1] in {"pause", "unpause"}:
            state["Paused"] = rest[1] == "pause"
        return 204, None

    def _create(self, name, body):
        image = self._image(body["Image"])
        if name and any(each["Name"] == f"/{name}" for each in self.containers.values()):
            raise Refusal(409, f"The container name {name} is already in use")
        number = "0" + (uuid.uuid4().hex * 2)[1:]  # no name in a test begins so, and means it
        given = {
            key: value
            for key, value in body.items()
            if value is not None and key not in {"HostConfig", "NetworkingConfig"}
        }
        config = {**image["Config"], "Hostname": number[:12], **given}
        own = dict(each.partition("=")[::2] for each in [*image["Config"]["Env"], *(given.get("Env") or [])])
        config["Labels"] = {**image["Config"]["Labels"], **(given.get("Labels") or {})}
        config["Env"] = [f"{key}={value}" for key, value in own.items()]
        host = {
            **HOST_DEFAULTS,
            **{key: value for key, value in (body.get("HostConfig") or {}).items() if value is not None},
        }
        mode = host["NetworkMode"]
        self.containers[number] = {
            "Id": number,
            "Name": f"/{name or 'temp_' + number[:8]}",
            "Image": image["Id"],
            "State": {"Running": False, "Paused": False},
            "Config": config,
            "HostConfig": host,
            "NetworkSettings": {"Networks": {"bridge" if mode == "default" else mode: _connection({})}},
        }
        return number

    # --- images

    def _image(self, name):
        full = name if ":" in name.rpartition("/")[2] or name.startswith("sha256:") else f"{name}:latest"
        for image in self.images.values():
            if full in image["RepoTags"] or image["Id"] == full:
                return image
        raise Refusal(404, f"No such image: {full}")

    def _images(self, method, rest, query, body):
        if rest == ["json"]:
            return 200, list(self.images.values())
        if rest == ["create"]:
            name = f"{query['fromImage']}:{query['tag']}"
            if name not in self.registry:
                raise Refusal(404, f"pull access denied for {name}")
            return self._pulled(self.add_image(name, **self.registry[name]))
        if rest == ["load"]:
            return self._pulled(self.add_image(body.decode().strip()))
        image = self._image("/".join(rest[:-1]) if rest[-1] in {"json", "tag"} else "/".join(rest))
        if method == "DELETE":
            if any(each["Image"] == image["Id"] for each in self.containers.values()):
                raise Refusal(409, "conflict: image is being used by a container")
            del self.images[image["Id"]]
            return 200, [{"Deleted": image["Id"]}]
        if rest[-1] == "tag":
            image["RepoTags"].append(f"{query['repo']}:{query['tag']}")
            return 201, None
        return 200, image

    def _pulled(self, number):
        name = self.images[number]["RepoTags"][0]
        events = [
            {"status": "Pulling from library", "id": "latest"},
            {"status": "Already exists", "id": "0a1b"},
            {"status": "Pull complete", "id": "2c3d"},
            {"status": f"Status: Downloaded newer image for {name}"},
        ]
        return 200, "\r\n".join(map(json.dumps, events)).encode()

    # --- networks

    def _network(self, name):
        for network in self.networks.values():
            if name in {network["Id"], network["Name"]}:
                return network
        raise Refusal(404, f"network {name} not found")

    def _networks(self, method, rest, query, body):
        if not rest:
            return 200, list(self.networks.values())
        if rest == ["create"]:
            given = {key: value for key, value in body.items() if key not in {"Name", "CheckDuplicate"}}
            return 201, {"Id": self.add_network(body["Name"], **given), "Warning": ""}
        network = self._network(rest[0])
        if rest[1:] == ["connect"]:
            container = self._container(body["Container"])
            connection = _connection(body.get("EndpointConfig") or {})
            container["NetworkSettings"]["Networks"][network["Name"]] = connection
            return 200, None
        if rest[1:] == ["disconnect"]:
            container = self._container(body["Container"])
            if network["Name"] not in container["NetworkSettings"]["Networks"]:
                raise Refusal(403, f"container is not connected to network {network['Name']}")
            del container["NetworkSettings"]["Networks"][network["Name"]]
            return 200, None
        connected = {
            each["Id"]: {"Name": each["Name"].strip("/")}
            for each in self.containers.values()
            if each["State"]["Running"] and network["Name"] in each["NetworkSettings"]["Networks"]
        }
        if method == "DELETE":
            if connected:
                raise Refusal(403, f"network {network['Name']} has active endpoints")
            del self.networks[network["Id"]]
            return 204, None
        return 200, {**network, "Containers": connected}


def _connection(given):
    return {"Aliases": None, "Links": None, "IPAMConfig": None, "IPAddress": "", "Gateway": "", **given}
