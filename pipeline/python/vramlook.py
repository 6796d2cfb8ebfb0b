"""Tells vramsoak doctor --force which tensors are alive in this process. Copy this file beside
vramlog.py, which imports it in a process that vramsoak soak started. It needs only Python 3.8 or
later. It answers on Linux.

This file only looks. A thread waits at a socket that only this user can open. It takes one request
at a time, and answers with the shapes of the tensors and with the names of what refers to them,
never with their values. While nobody asks, the thread sleeps.

Environment:
    VRAMSOAK_LISTEN       the folder for the socket; vramsoak soak sets it
    VRAMLOG_LISTEN=off    do not listen
"""

import atexit
import collections
import contextlib
import gc
import json
import os
import socket
import stat
import struct
import sys
import threading
import time
import types

if __package__:
    from . import vramlog
else:
    import vramlog

__all__ = ["listen"]


def listen(folder=None):
    """Starts a thread that answers vramsoak doctor --force, and returns True if it waits. It makes
    a socket in the folder, PID.sock, that only this user can open. A process that vramsoak soak
    started listens by itself, in the folder that VRAMSOAK_LISTEN names. A forked process has no
    such thread until it prints a checkpoint or calls listen."""
    folder = folder or os.environ.get("VRAMSOAK_LISTEN")
    if os.environ.get("VRAMLOG_LISTEN") == "off":
        return False
    try:
        if not folder:
            raise ValueError("expected a folder, because VRAMSOAK_LISTEN is not set")
        return _listen(os.path.abspath(folder))
    except Exception as e:
        vramlog._say_once("vramsoak doctor --force cannot ask this process: %s" % vramlog._text(e))
        return False


_listener = None


def _forked():
    """Prepares a process that was forked. The thread that listens is not in it, and it must not
    hold the socket open. It listens again when it prints a checkpoint or calls listen."""
    global _listener
    if _listener is not None:
        _listener.close()
    _listener = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


_PATIENCE = 10  # seconds for a request to arrive, and for an answer to be taken
_LONGEST_REQUEST = 4 << 10  # bytes
_MOST_WAITING = 64  # clients that wait for their turn; Linux refuses others at once


def _listen(folder):
    global _listener
    if _listener is None:
        listener = _Listener(folder)
        atexit.register(listener.close)
        try:
            threading.Thread(target=listener.serve, name="vramlog-listen", daemon=True).start()
        except BaseException:
            listener.close()
            raise
        _listener = listener
    elif os.path.dirname(_listener.path) != folder:
        raise OSError("expected a process that does not listen yet, found one that listens in %s"
                      % os.path.dirname(_listener.path))
    return True


class _Listener:
    """A socket in a folder. Only this user can open it."""

    def __init__(self, folder):
        if not hasattr(socket, "SO_PEERCRED"):
            raise OSError("only Linux says who connects to a socket")
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        self.pid = os.getpid()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        at = -1
        try:
            at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            self.path = os.path.join(folder, self._bind(at, folder))
            self.socket.listen(_MOST_WAITING)
        except BaseException:
            self.socket.close()
            raise
        finally:
            if at >= 0:
                os.close(at)

    def _bind(self, at, folder):
        """Binds the socket to a name in the open folder, and returns the name."""
        of = os.fstat(at)
        if of.st_uid != os.geteuid() or of.st_mode & 0o077:
            raise OSError("expected %s to be open to its user only (mode 0700)" % folder)
        for suffix in "", "-2", "-3", "-4":  # a process in another container may have this PID
            name = "%d%s.sock" % (self.pid, suffix)
            if _is_free(at, name):
                # The path of a socket has at most 107 bytes. The path of the folder may be longer.
                self.socket.bind("/proc/self/fd/%d/%s" % (at, name))
                os.chmod(name, 0o600, dir_fd=at)
                return name
        raise OSError("other processes use %s" % os.path.join(folder, name))

    def close(self):
        """Closes the socket. Removes it too, unless this process was forked from its owner."""
        if self.pid == os.getpid():
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)  # ends the thread
            with contextlib.suppress(OSError):
                os.unlink(self.path)
        self.socket.close()

    def serve(self):
        while self.socket.fileno() >= 0:
            try:
                client, _ = self.socket.accept()
                with client:
                    _answer(client)
            except Exception:  # the client went away, or no file descriptor is free
                time.sleep(0.1)


def _is_free(at, name):
    """Reports whether a name can be used for a socket. Removes the socket of a process that has
    ended without removing it."""
    try:
        if not stat.S_ISSOCK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
            return False
    except FileNotFoundError:
        return True
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect("/proc/self/fd/%d/%s" % (at, name))
            return False
        except ConnectionRefusedError:
            os.unlink(name, dir_fd=at)
            return True
        except OSError:  # a process that answers others
            return False


def _answer(client):
    """Answers one request: a line of JSON."""
    owner = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
    if struct.unpack("iII", owner)[1] not in (0, os.geteuid()):
        return
    end, request = time.monotonic() + _PATIENCE, b""
    while b"\n" not in request:
        client.settimeout(max(0.001, end - time.monotonic()))
        part = client.recv(_LONGEST_REQUEST)
        request += part
        if not part or len(request) > _LONGEST_REQUEST:
            return
    try:
        asked = json.loads(request.decode())
        if asked["ask"] != "tensors":
            raise ValueError("expected tensors, found %r" % asked["ask"])
        answer = _search(asked.get("device"), int(asked.get("most", 20)))
    except Exception as e:
        answer = {"schema": "vramlog.tensors/1", "error": vramlog._text(e)[:_LONGEST_NAME]}
    client.settimeout(_PATIENCE)
    client.sendall(json.dumps(answer).encode() + b"\n")


# The search for tensors.

_MOST_GROUPS = 200  # of an answer
_LONGEST_NAME = 200  # characters


def _search(device=None, most=20):
    """Returns the live tensors of the process as a dict for JSON: groups of tensors with the same
    shape, type, device and referrer, the largest first."""
    began = time.monotonic()
    torch = sys.modules.get("torch")
    answer = {
        "schema": "vramlog.tensors/1", "pid": os.getpid(),
        "rank": dict(vramlog._rank()).get("rank", ""), "python": "%d.%d.%d" % sys.version_info[:3],
        "torch": str(getattr(torch, "__version__", "")), "devices": [], "groups": [],
        "more": {"groups": 0, "count": 0, "bytes": 0},
    }
    if hasattr(torch, "Tensor"):
        with vramlog._searching:
            groups, answer["devices"] = _groups(torch, device)
        # Memory of GPUs comes before host memory.
        groups.sort(key=lambda g: (g["device"] == "cpu", -g["bytes"], -g["count"], g["where"]))
        most = max(1, min(most, _MOST_GROUPS))
        answer["groups"], rest = groups[:most], groups[most:]
        answer["more"] = {
            "groups": len(rest), "count": sum(g["count"] for g in rest),
            "bytes": sum(g["bytes"] for g in rest),
        }
    answer["seconds"] = round(time.monotonic() - began, 3)
    return answer


def _groups(torch, only):
    """Returns the groups of live tensors, and the sums for each device. Memory that several tensors
    share counts once, for the largest of them."""
    groups, devices, counted = {}, {}, set()
    with _without_overrides(torch), _Heap() as heap:
        tensors, through = _with_hidden(heap.tensors())
        heap.find_holders(tensors)
        measured = []
        for t in tensors:
            with contextlib.suppress(Exception):  # such as a parameter that has no shape yet
                shape = tuple(int(n) for n in t.shape)[:64]
                measured.append((t.nelement(), t, shape, _memory(t)))
        measured.sort(key=lambda m: -m[0])
        for _, t, shape, (place, address, size) in measured:
            if place == "meta" or only not in (None, place):
                continue
            if (place, address) in counted:
                size = 0
            counted.add((place, address))
            where = heap.name(t)
            if not where and id(t) in through:
                what, other = through[id(t)]
                where = "%s of %s" % (what, heap.name(other) or "a tensor")
            key = shape, str(t.dtype).replace("torch.", ""), place, where[:_LONGEST_NAME]
            for sums in groups.setdefault(key, [0, 0]), devices.setdefault(place, [0, 0]):
                sums[0] += 1
                sums[1] += size
    return [
        {"shape": k[0], "dtype": k[1], "device": k[2], "where": k[3], "count": n, "bytes": size}
        for k, (n, size) in groups.items()
    ], [
        dict({"device": place, "count": n, "bytes": size}, **_allocated(torch, place))
        for place, (n, size) in sorted(devices.items())
    ]


def _allocated(torch, place):
    """Returns what PyTorch has allocated on a GPU. It is more than the live tensors have, if only
    C++ refers to a tensor, such as the graph for a backward pass."""
    if not place.startswith("cuda:") or not torch.cuda.is_initialized():
        return {}
    stats = torch.cuda.memory_stats(int(place[5:]))
    return {key: stats.get(key + "_bytes.all.current", 0) for key in ("allocated", "reserved")}


def _without_overrides(torch):
    """Returns a context in which subclasses of Tensor run no code of their own."""
    disable = getattr(getattr(torch, "_C", None), "DisableTorchFunction", contextlib.nullcontext)
    return disable()


def _with_hidden(tensors):
    """Returns the tensors, with those to which only other tensors refer, in C++. Also returns what
    these are, by their id: ("gradient", the tensor that has it) or ("base", a view of it)."""
    found, through = {id(t): t for t in tensors}, {}
    for t in tensors:
        for what, name in ("base", "_base"), ("gradient", "grad"):
            with contextlib.suppress(Exception):  # such as a view that was made without gradients
                if name == "_base" or t.requires_grad and t.is_leaf:
                    other = getattr(t, name)
                    if other is not None:
                        found[id(other)] = other
                        through.setdefault(id(other), (what, t))
    return list(found.values()), through


def _is_tensor(o):
    """Reports whether an object is a tensor. (isinstance may run code of the program.)"""
    return issubclass(type(o), getattr(sys.modules.get("torch"), "Tensor", ()))


def _memory(t):
    """Returns the device, the address and the bytes of the memory that a tensor refers to. Tensors
    may share memory."""
    try:
        memory = _storage(t)
        return str(memory.device), memory.data_ptr() or id(t), memory.nbytes()
    except Exception:
        parts = [t._indices(), t._values()] if getattr(t, "is_sparse", False) else [t]
        try:
            return str(t.device), id(t), sum(p.nelement() * p.element_size() for p in parts)
        except Exception:  # a parameter that has no shape yet has no memory
            return "meta", id(t), 0


def _storage(t):
    return t.untyped_storage() if hasattr(t, "untyped_storage") else t.storage()  # PyTorch 1


class _Heap:
    """The objects of the process. It finds tensors, and names what refers to objects: a global
    variable, a variable of a running function, an attribute, or a container that has such a name.

    A tensor to which only C++ refers, such as a graph, may be freed by another thread although its
    Python object is still there. So tensors are taken only from Python objects that refer to
    them."""

    _CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
    _LEVELS = 4  # of containers in containers
    _MOST = 8  # referrers of one object
    _SECONDS = 5  # then no more names are looked for

    def __init__(self):
        self.objects, self.tensor_ids = [], set()
        self.names = {}  # by the id of the object that has the name
        self.owners = {}  # by the id of a dict with attributes: the class
        self.holders = {}  # by the id of an object: what refers to it
        self.in_functions = []  # tensors that are variables of running functions

    def __enter__(self):
        self.interval = sys.getswitchinterval()
        try:
            self._collect()
            # From now on, the other threads do not wait long for their turn.
            sys.setswitchinterval(min(self.interval, 0.0005))
            time.sleep(0.001)
            self._name_variables()
            self._name_attributes()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        sys.setswitchinterval(self.interval)
        # The list has this object too, and the frames of the functions that use it.
        for held in self.objects, self.holders, self.in_functions:
            held.clear()

    def _collect(self):
        """Collects all objects except tensors, and the ids of the tensors. No other thread of
        Python runs meanwhile: while a list refers to the Python object of a tensor, C++ must not
        free the tensor. With a million objects it takes 0.2 s."""
        sys.setswitchinterval(0.5)
        time.sleep(2 * self.interval)  # now no thread waits for its turn with the old interval
        everything = gc.get_objects()
        base = getattr(sys.modules.get("torch"), "Tensor", ())
        kinds = {kind for kind in set(map(type, everything)) if issubclass(kind, base)}
        self.tensor_ids = {id(o) for o in everything if type(o) in kinds}
        self.objects = [o for o in everything if type(o) not in kinds]

    def _name_variables(self):
        for module, value in list(sys.modules.items()):
            for name, value in list((_attributes(value) or {}).items()):
                self.names.setdefault(id(value), "%s.%s" % (module, name))
        for frame in sys._current_frames().values():
            while frame is not None:
                for name, value in _variables(frame):
                    self.names.setdefault(id(value), "%s in %s" % (name, _function(frame)))
                    if _is_tensor(value):
                        self.in_functions.append(value)
                frame = frame.f_back

    def _name_attributes(self):
        module = getattr(sys.modules.get("torch.nn"), "Module", type(None))
        for o in self.objects:
            if type(o) is types.FunctionType and o.__closure__:
                for name, cell in zip(o.__code__.co_freevars, o.__closure__):
                    self.names.setdefault(id(cell), "%s of function %s" % (name, o.__qualname__))
            elif issubclass(type(o), module):
                attributes = o.__dict__
                for held in attributes, attributes.get("_parameters"), attributes.get("_buffers"):
                    self.owners[id(held)] = _class(o)

    def tensors(self):
        """Returns the tensors to which Python objects refer."""
        found = {id(t): t for t in self.in_functions}
        for o, referents in self._that_refer_to(self.tensor_ids):
            for t in referents:
                if _is_tensor(t):
                    found[id(t)] = t
                    self.holders.setdefault(id(t), []).append(o)
        return list(found.values())

    def find_holders(self, things):
        """Looks for what refers to the things, and for what refers to those containers."""
        wanted, done, end = {id(t) for t in things}, set(), time.monotonic() + self._SECONDS
        for _ in range(self._LEVELS):
            if time.monotonic() > end:
                return
            wanted.difference_update(done, self.names, self.owners)
            done |= wanted
            known = wanted.intersection(self.holders)
            holders = {id(o) for i in known for o in self.holders[i]}
            for o, referents in self._that_refer_to(wanted - known):
                for i in {id(r) for r in referents}:
                    self.holders.setdefault(i, []).append(o)
                holders.add(id(o))
            wanted = holders

    def _that_refer_to(self, wanted):
        """Yields the objects that refer to others with the wanted ids, and the others."""
        if not wanted:
            return
        for o in self.objects:
            referents = gc.get_referents(o)
            if not wanted.isdisjoint(map(id, referents)) and not (
                type(o) is types.FrameType and _is_own(o)
            ):
                yield o, [r for r in referents if id(r) in wanted]

    def name(self, thing):
        """Returns the best name of what refers to a thing, or "" if only C++ or a temporary
        reference does."""
        return self._name(id(thing), 0)[1]

    def all_names(self, thing):
        """Returns a name for each object that refers to a thing, the best first."""
        if id(thing) in self.names:
            return [self.names[id(thing)]]
        labels = {self._label(o, id(thing), 0) for o in self.holders.get(id(thing), ())}
        return [text for _, text in sorted(labels)]

    def _name(self, i, depth):
        """Returns a rank, 0 for a name of the object itself, and the name."""
        if i in self.names:
            return 0, self.names[i]
        if depth == self._LEVELS:
            return 3, ""
        holders = self.holders.get(i, ())[: self._MOST]
        return min((self._label(o, i, depth) for o in holders), default=(3, ""))

    def _label(self, o, i, depth):
        """Returns a rank, and a name for the reference of the object o to the object with id i."""
        kind = type(o)
        if kind is types.CellType:
            return 0, self.names.get(id(o), "a closure")
        if issubclass(kind, dict):
            owner = self.owners.get(id(o)) or next((
                _module(h) if type(h) is types.ModuleType else _class(h)
                for h in self.holders.get(id(o), ()) if _attributes(h) is o), None)
            if owner:
                return 0, "%s.%s" % (owner, _key(o, i))
        if issubclass(kind, self._CONTAINERS):
            rank, inside = self._name(id(o), depth + 1)
            if rank == 0:
                return 1, "%s %s" % (_class(o), inside)
            return (1, "%s in %s" % (_class(o), inside)) if inside else (2, _class(o))
        if kind is types.FrameType:  # an exception keeps it, or its variables have no names here
            return 1, "a variable in %s" % _function(o)
        if kind is types.GeneratorType or kind is types.CoroutineType:
            return 1, "%s %s()" % (kind.__name__, o.__qualname__)
        attributes = _attributes(o)
        if attributes:
            return 0, "%s.%s" % (_class(o), _key(attributes, i))
        return 2, _class(o)


def _attributes(o):
    try:
        return object.__getattribute__(o, "__dict__")
    except Exception:
        return None


def _class(o):
    """Returns the name of an object's class. (A metaclass may have a property of that name.)"""
    return type.__dict__["__name__"].__get__(type(o))


def _module(module):
    """Returns the name of a module, which the program may have deleted."""
    name = module.__dict__.get("__name__")
    return name if type(name) is str else "module"


def _key(attributes, i):
    """Returns the key of the object with id i in a dict of attributes. str() of a key may run code
    of the program, unless the key has a type of Python."""
    key = next((key for key, value in list(dict.items(attributes)) if id(value) == i), "?")
    if isinstance(key, str):
        return str.__str__(key)
    return str(key) if type(key) in (int, float, bool, bytes) else _class(key)


def _variables(frame):
    """Returns the names and values of the variables of a running function."""
    code = frame.f_code
    if _is_own(frame) or not code.co_flags & 1:  # not CO_OPTIMIZED: a module or a class
        return []
    if sys.version_info >= (3, 13):
        return list(frame.f_locals.items())
    # Before Python 3.13, f_locals is a dict that the frame keeps. Memory that the function frees
    # would stay alive in it, so the dict is emptied. It is not touched if the program may have it:
    # a debugger, or a function that calls locals().
    if frame.f_trace or not {"locals", "vars", "dir", "exec", "eval"}.isdisjoint(code.co_names):
        return []
    variables = frame.f_locals
    values = list(variables.items())
    if sys.getrefcount(variables) == 3:  # the frame, the name variables, and the argument
        variables.clear()
    return values


def _is_own(frame):
    name = os.path.basename(frame.f_code.co_filename)
    return name in ("vramlog.py", "vramlook.py", "vramfree.py")


def _function(frame):
    code = frame.f_code
    return "%s() (%s:%d)" % (
        getattr(code, "co_qualname", code.co_name), os.path.basename(code.co_filename),
        frame.f_lineno or code.co_firstlineno,
    )
