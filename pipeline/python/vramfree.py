"""Frees memory for a PyTorch pipeline, and prints what it did for vramsoak. Copy this file and
vramlook.py beside vramlog.py, and call the functions through it:

    vramlog.clear_gpu_memory("before transcription")

    with vramlog.freeing("Whisper", lambda: whisper.load_model("large-v3")) as m:
        text = m.value.transcribe(path)

    @vramlog.retry_on_oom(batch="batch_size")
    def embed(clips, batch_size=32): ...

These functions act: they free memory, reset statistics and call functions again. They never
initialize CUDA. Without CUDA they have nothing to clear. VRAMLOG=off stops the lines, not the work.
"""

import collections
import collections.abc
import ctypes
import functools
import gc
import inspect
import logging
import operator
import os
import re
import sys
import threading
import traceback
import types
import weakref

if __package__:
    from . import vramlog, vramlook
else:
    import vramlog
    import vramlook

__all__ = ["clear_gpu_memory", "freeing", "reset_peak", "retry_on_oom"]


def clear_gpu_memory(when="on request"):
    """Frees unreachable objects, and returns the allocator's unused memory to the driver. Prints
    "Cleared GPU cache WHEN" with the bytes. Returns the bytes that this freed, by the number of the
    device: {0: {"allocated": 0, "reserved": 2147483648}}. A number is negative if another thread
    allocated more meanwhile. Does nothing and returns {} before CUDA is initialized."""
    freed = _clear()
    if freed:
        _say("Cleared GPU cache %s: %s" % (" ".join(str(when).split()), "; ".join(
            "device %d returned %s and freed %s of tensors" % (
                i, _size(sums["reserved"]), _size(sums["allocated"]))
            for i, sums in freed.items())))
    return freed


def reset_peak():
    """Begins a new peak on each device, and returns the peaks until now, in bytes by the number of
    the device: {0: {"peak": 7763421184, "peak_reserved": 8053063680}}."""
    peaks = {}
    try:
        device = vramlog._device()
        for i, stats in vramlog.memory_stats().items():
            if "peak" in stats:
                peaks[i] = {key: stats[key] for key in ("peak", "peak_reserved")}
                device.torch.cuda.reset_peak_memory_stats(i)
        if peaks:
            _say("GPU peak memory statistics reset")
    except Exception as e:
        vramlog._say_once("reset_peak: %s" % vramlog._text(e))
    return peaks


def _clear():
    """Frees what can be freed, and returns how many bytes that was on each device."""
    try:
        before = _levels()
        device = vramlog._device()
        if not before:
            return {}
        if isinstance(device, vramlog._Host):
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
        else:
            cuda = device.torch.cuda
            if hasattr(cuda, "is_current_stream_capturing") and cuda.is_current_stream_capturing():
                vramlog._say_once("nothing is cleared while a CUDA graph is captured")
                return {}
            gc.collect()
            for i in before:
                cuda.synchronize(i)  # memory that a stream still uses cannot be returned
            cuda.ipc_collect()
            cuda.empty_cache()
        after = _levels()
        return {
            i: {key: sums[key] - after[i][key] for key in ("allocated", "reserved")}
            for i, sums in before.items() if i in after
        }
    except Exception as e:  # such as an error of a kernel that ran before
        _say("Failed to clear GPU memory: %s" % vramlog._text(e))
        return {}


def _levels():
    return {i: reading for i, reading in vramlog._read() if "total" in reading}


# freeing


def freeing(name, what, *attributes):
    """Frees what it is given when the with block ends, between the readings "Before NAME Cleanup"
    and "After NAME Cleanup". Python cannot delete a variable of the caller, so say what to free:

        freeing("Whisper", load_model)              a function: it is called, and only the block's
                                                    m.value refers to what it returns
        freeing("Whisper", self, "model", "cache")  attributes of an object, or keys of a dict
        freeing("Whisper", models)                  all that is in a list, a set or a dict
        freeing("Whisper", model)                   the memory of a module or a tensor, which is
                                                    empty afterwards, whoever refers to it

    If something else still refers to the memory, a warning says how much stayed, and what refers to
    it. Then m.stayed is the number of bytes, and m.referrers has the names. Memory of libraries
    other than PyTorch has no number.

    If the block raises an exception, the local variables of the functions that it left are
    cleared, because they refer to tensors."""
    return _Freeing(name, what, attributes)


class _Freeing:
    _FUNCTIONS = (
        types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial, type,
    )
    _CONTAINERS = (
        collections.abc.MutableMapping, collections.abc.MutableSequence,
        collections.abc.MutableSet,
    )

    def __init__(self, name, what, attributes):
        self.name, self.what, self.attributes = str(name), what, attributes
        self.stayed, self.referrers, self._value = 0, [], []
        if attributes:
            wrong = [a for a in attributes if not isinstance(a, str) and not isinstance(what, dict)]
            self.drop = None if wrong else self._drop_attributes
        elif isinstance(what, self._FUNCTIONS):
            self.drop = self._drop_value
        elif hasattr(what, "parameters") or hasattr(what, "element_size"):
            self.drop = self._empty
        else:
            self.drop = what.clear if isinstance(what, self._CONTAINERS) else None
        if self.drop is None:
            raise TypeError(
                "freeing: expected a function that makes what is to be freed, an object and names "
                "of its attributes, a list, a dict, a module or a tensor; found %s. Python cannot "
                "delete a variable of the caller" % type(what).__name__)

    def __enter__(self):
        self.outer, self.stayed, self.referrers = sys.exc_info()[1], 0, []
        if self.drop == self._drop_value:
            try:
                self._value = [self.what()]
            except Exception as e:
                vramlog._say_out_of_memory(e)
                raise
        return self

    @property
    def value(self):
        """What is freed when the block ends."""
        if self.drop != self._drop_value:
            return self.what
        if not self._value:
            raise ReferenceError("%s was freed when its block ended" % self.name)
        return self._value[0]

    def __exit__(self, kind, error, trace):
        end = " Cleanup"
        if error is not None:
            vramlog._say_out_of_memory(error)
            _clear_frames(error, self.outer)
            end += " (failed)"
        held = self._try(lambda: _Held(self._things(), stay=self.drop == self._empty))
        vramlog.checkpoint("Before " + self.name + end, held and held.by_device())
        self._try(self.drop)
        gc.collect()
        _clear()
        vramlog.checkpoint("After " + self.name + end)
        left = held and self._try(held.left)
        if left and left[2]:
            self.stayed, self.referrers, text = left
            _say("WARNING: %s Cleanup: %s" % (self.name, text))
        return False

    def _try(self, work):
        """Returns the result of a function. If it fails, the block must not fail, so the log says
        why."""
        try:
            return work()
        except Exception as e:
            _say("WARNING: %s Cleanup: %s: %s" % (self.name, type(e).__name__, vramlog._text(e)))
            return None

    def _things(self):
        """Returns the objects that are to be freed."""
        if self.drop == self._drop_value:
            return self._value
        if self.drop == self._empty:
            return [self.what, *self._tensors()]
        if not self.attributes:
            return list(self.what.values() if isinstance(
                self.what, collections.abc.Mapping) else self.what)
        get = self.what.get if isinstance(self.what, dict) else functools.partial(
            lambda what, name: getattr(what, name, None), self.what)
        return [thing for thing in map(get, self.attributes) if thing is not None]

    def _drop_value(self):
        self._value.clear()

    def _drop_attributes(self):
        for name in self.attributes:
            if isinstance(self.what, dict):
                self.what.pop(name, None)
            elif getattr(self.what, name, None) is not None:
                self._try(functools.partial(setattr, self.what, name, None))

    def _empty(self):
        # Another object may refer to the same tensors, such as an optimizer. So they lose their
        # memory, and are not only moved.
        for t in self._tensors():
            t.grad = None
            t.data = t.data.new_empty(0)

    def _tensors(self):
        """Returns the tensors of the module or tensor that is to be emptied. A module compiled by
        TorchScript has them in C++ alone."""
        if hasattr(self.what, "element_size"):
            return [self.what]
        return list(self.what.parameters()) + list(self.what.buffers())


class _Held:
    """The memory of tensors that objects refer to. It keeps none of them alive. stay tells whether
    the objects themselves stay, and only lose their memory."""

    def __init__(self, things, stay=False):
        self.memory = {}  # by device and address: the bytes, and weak references
        self.things = [] if stay else _weak(things)
        self.objects = []
        keep = _storage_reference()
        for o in _reach(things):
            if not vramlook._is_tensor(o):
                self.objects += _weak([o])
                continue
            place, address, size = vramlook._memory(o)
            if place != "meta" and size:
                held = self.memory.setdefault((place, address), [size, keep(o), []])
                if held[1] is None:  # not for real tensors: a weak reference can outlive them
                    held[2].append(weakref.ref(o))

    def by_device(self):
        """Returns the bytes by the number of the device, for the reading before a cleanup."""
        held, host = {}, isinstance(vramlog._device(), vramlog._Host)
        for (place, _), (size, _, _) in self.memory.items():
            kind, _, index = place.partition(":")
            if kind == ("cpu" if host else "cuda"):
                held[int(index or 0)] = held.get(int(index or 0), 0) + size
        return held or None

    def left(self):
        """Returns the bytes that are still in use, names of what refers to them, and a sentence
        that says so: "" if nothing is left."""
        with vramlog._searching:
            left = {key: held[0] for key, held in self.memory.items() if _is_alive(key, *held[1:])}
            if not left and (self.memory or not any(ref() is not None for ref in self.things)):
                return 0, [], ""
            sizes = collections.Counter()
            for (place, _), size in left.items():
                sizes[place] += size
            text = ", ".join("%s stayed on %s" % (_size(n), place) for place, n in sizes.items())
            with vramlook._Heap() as heap:
                things = self._survivors(left, heap)
                heap.find_holders(things)
                kind, names = next(
                    ((type(t).__name__, names) for t in things
                     for names in [heap.all_names(t)[:3]] if names), ("", []))
                things.clear()
            if names:
                text += ": " * bool(text) + "%s is still referenced by %s" % (
                    kind, ", ".join(names))
            else:
                text += ("; no Python object refers to it, but the graph of a backward pass or a "
                         "library may")
            if not left:
                text += "; its memory is not PyTorch's, so how much it has is not known"
            return sum(left.values()), names, text

    def _survivors(self, left, heap):
        """Returns the objects that may keep the memory alive: the first of those that were to be
        freed, and the tensors that share the memory."""
        if not left:
            return [o for o in (ref() for ref in self.things) if o is not None]
        tensors = [t for t in heap.tensors() if vramlook._memory(t)[:2] in left]
        for ref in self.objects[:_MOST_OBJECTS]:
            o = ref()
            if o is not None and any(
                vramlook._is_tensor(t) and vramlook._memory(t)[:2] in left for t in _reach([o])
            ):
                return [o] + tensors
        return tensors


_MOST_OBJECTS = 1_000_000  # that are looked at
_OPAQUE = (
    type, types.ModuleType, types.FunctionType, types.MethodType, logging.Logger, threading.Thread,
)


def _reach(things):
    """Yields the things and all that they refer to through containers and attributes."""
    seen, queue, gradients = set(), collections.deque(things), []
    while queue and len(seen) < _MOST_OBJECTS:
        o = queue.popleft()
        kind = type(o)
        if id(o) in seen or issubclass(kind, _OPAQUE):
            continue
        seen.add(id(o))
        yield o
        if vramlook._is_tensor(o):
            if getattr(o, "requires_grad", False) and o.is_leaf and o.grad is not None:
                gradients.append(o.grad)  # so that no other object gets its id
                queue.append(o.grad)
        elif issubclass(kind, dict):
            queue.extend(dict.values(o))
        elif issubclass(kind, vramlook._Heap._CONTAINERS):
            queue.extend(o)
        else:
            queue.extend((vramlook._attributes(o) or {}).values())


def _weak(objects):
    """Returns weak references to those of the objects that can have one."""
    refs = []
    for o in objects:
        if type(o).__weakrefoffset__ and not issubclass(type(o), _OPAQUE):
            refs.append(weakref.ref(o))
    return refs


def _storage_reference():
    """Returns a function that returns a weak reference to the memory of a tensor. It tells whether
    anything still refers to the memory, C++ too. Without it, only the tensors are known."""
    try:
        from torch.multiprocessing.reductions import StorageWeakRef
    except Exception:
        return lambda tensor: None

    def reference(tensor):
        try:
            return StorageWeakRef(vramlook._storage(tensor))
        except Exception:
            return None

    return reference


def _is_alive(key, storage, tensors):
    if storage is not None:
        return not storage.expired()
    return any(t() is not None and vramlook._memory(t())[:2] == key for t in tensors)


def _clear_frames(error, outer):
    """Clears the local variables of the functions that an exception has left, because they refer
    to tensors. outer is the exception that was being handled before: it keeps its variables."""
    todo, seen = [error], {id(None), id(outer)}
    while todo:
        e = todo.pop()
        if id(e) not in seen:
            seen.add(id(e))
            traceback.clear_frames(e.__traceback__)
            todo += [e.__cause__, e.__context__, *getattr(e, "exceptions", ())]


# retry_on_oom


def retry_on_oom(batch="batch_size", smallest=1, model=None, optimizer=None, join=None):
    """Decorates a function that may run out of memory. If it does, the memory of the failed call
    is freed, and the function is called again with half the batch, down to the smallest. Then the
    error is passed on, after advice with the bytes that each change would gain, where known.

    batch is the name of the parameter with the batch, or a tuple of names, such as ("clips",
    "labels"), of batches that belong together and are sliced alike:

        an int             the function is called again from its beginning, with the half
        anything that can  the function is called with one slice after the other, and the results
        be sliced          are joined: lists, tensors and arrays one behind the other, tuples and
                           dicts item by item. join=, a function of the list of results, joins
                           others. A slice that was done is not done again

    model and optimizer are what the advice computes with: the objects, or where to find them at a
    call, such as "self.model": a parameter's name, and names of attributes.

    In training, give model=: the gradients that a failed call made are removed before the next one.
    Gradients of slices add up, so weight the loss of each by its part of the batch.

    The function must be able to run again. A coroutine or a generator is refused, because its work
    is done after the call."""
    if callable(batch):  # without parentheses
        return retry_on_oom()(batch)
    names = (batch,) if isinstance(batch, str) else batch
    if (
        not names or not isinstance(names, tuple) or not all(isinstance(n, str) for n in names)
        or isinstance(smallest, bool) or not isinstance(smallest, int)
    ):
        raise TypeError("retry_on_oom: expected the name of a parameter, or a tuple of names, as "
                        "batch, and an int as smallest; found %r and %r" % (batch, smallest))
    if smallest < 1:
        raise ValueError("retry_on_oom: expected smallest from 1 on, found %d" % smallest)

    def decorate(function):
        _refuse(function)
        signature = inspect.signature(function)
        kinds = {p.kind for p in signature.parameters.values()}
        for name in names:
            if name not in signature.parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
                raise TypeError("retry_on_oom: expected a parameter %s of %s, found %s" % (
                    name, _name(function), ", ".join(signature.parameters) or "none"))
        # A decorated function may live as long as the program. It must not keep a model alive.
        parts = [_Part(model), _Part(optimizer)]

        @functools.wraps(function)
        def call(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return _Call(function, bound, names, smallest, parts).run(join)

        return call

    return decorate


def _refuse(function):
    """Raises a TypeError for what cannot be called again."""
    for kind in "iscoroutinefunction", "isgeneratorfunction", "isasyncgenfunction":
        if getattr(inspect, kind)(function):
            raise TypeError(
                "retry_on_oom: %s is a coroutine or a generator, whose work follows the call. "
                "Decorate the function in it that does the work" % _name(function))
    if not callable(function) or isinstance(function, (staticmethod, classmethod)):
        raise TypeError(
            "retry_on_oom: expected a function, found a %s; put retry_on_oom below @staticmethod, "
            "@classmethod and @property" % type(function).__name__)


def _name(function):
    """Returns the name of a function, or of the class of an object that can be called."""
    return getattr(function, "__qualname__", type(function).__name__)


class _Part:
    """A model or an optimizer: an object, to which it refers weakly, or where a call has it."""

    def __init__(self, what):
        self.path = what.split(".") if isinstance(what, str) else None
        self.ref = (lambda: None) if what is None or self.path else weakref.ref(what)

    def of(self, arguments):
        if not self.path:
            return self.ref()
        part = arguments.get(self.path[0])
        for name in self.path[1:]:
            part = getattr(part, name, None)
        return part


class _Call:
    """One call of a decorated function."""

    def __init__(self, function, bound, names, smallest, parts):
        self.function, self.bound, self.smallest, self.parts = function, bound, smallest, parts
        self.name, self.outer, self.obstacle = _name(function), sys.exc_info()[1], ""
        self.keywords = next((
            p.name for p in bound.signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)
        batches = {name: self._where(name).get(name) for name in names}
        self.values = {name: value for name, value in batches.items()
                       if value is not None or len(names) == 1}
        lengths = {name: _length(value) for name, value in self.values.items()}
        if len(names) > 1 and (None in lengths.values() or len(set(lengths.values())) > 1):
            raise ValueError("retry_on_oom: expected batches of one length for %s, found %s" % (
                self.name, ", ".join("%s=%s" % (name, n) for name, n in lengths.items())))
        self.label = next(iter(self.values), names[0])
        self.whole = lengths.get(self.label)
        self.size = self.first = self.whole or _int(self.values.get(self.label))
        if self.whole:
            self.label = "len(%s)" % self.label

    def _where(self, name):
        """Returns the dict of arguments that has a batch."""
        if name in self.bound.arguments or not self.keywords:
            return self.bound.arguments
        return self.bound.arguments[self.keywords]

    def run(self, join):
        if not self.whole:
            return self._with(0)
        results, done = [], 0
        while done < self.whole:
            results.append(self._with(done))
            done += self.size
        return _joined(results, join, self.name)

    def _with(self, done):
        """Calls the function with the batch behind the items that are done, and with a smaller one
        as often as memory runs out."""
        while True:
            if self.size != self.first:
                for name, value in self.values.items():
                    self._where(name)[name] = self._slice(value, done) if self.whole else self.size
            result, error = self._attempt()
            if error is None:
                return result
            if self.obstacle is not None:
                try:
                    raise error
                finally:
                    del error  # it refers to this frame, and so to the batch
            self._again(vramlog._is_out_of_memory(error))

    def _slice(self, value, done):
        return value[done : min(self.whole, done + self.size)]

    def _attempt(self):
        """Calls the function. Returns its result and None, or None and the error if memory ran
        out."""
        without = self._without_gradient()
        try:
            result = self.function(*self.bound.args, **self.bound.kwargs)
            if inspect.isawaitable(result) or inspect.isgenerator(result):
                vramlog._say_once(
                    "retry_on_oom: %s returned a %s, whose work is done after the call and is not "
                    "done again" % (self.name, type(result).__name__))
            return result, None
        except Exception as e:
            if not _ran_out(e):
                raise
            vramlog._say_out_of_memory(e)
            self.obstacle = self._find_obstacle()
            if self.obstacle is not None:
                _advise(self, e)
            _clear_frames(e, self.outer)
            for parameter in without:  # backward() of the failed call may have given it one
                parameter.grad = None
            return None, e

    def _without_gradient(self):
        """Returns the model's parameters that have no gradient before a call."""
        model = self.parts[0].of(self.bound.arguments)
        if not hasattr(model, "parameters"):
            return []
        return [p for p in model.parameters() if p.grad is None]

    def _find_obstacle(self):
        """Returns why the batch cannot be halved, as the end of a sentence, or None if it can."""
        if not self.size or self.size <= self.smallest:
            return "; smallest=%d allows no smaller one" % self.smallest * (self.smallest > 1)
        if not self.whole or self.size != self.whole:
            return None  # a number, or it has been sliced before
        for name, value in self.values.items():
            try:
                if len(value[:1]) != 1:
                    raise TypeError("a slice of 1 has the length %d" % len(value[:1]))
            except Exception as e:
                return "; %s cannot be sliced: %s" % (name, vramlog._text(e))
        alike = [name for name, value in self._others() if self._belongs(value)]
        if alike:
            return "; it is not split, because %s has the same length: name what belongs " \
                "together, batch=(%s)" % (alike[0], ", ".join(
                    '"%s"' % name for name in [*self.values, *alike]))
        return None

    def _others(self):
        """Yields the names and values of the arguments that were given besides the batch."""
        for name, value in self.bound.arguments.items():
            if name == self.keywords:
                yield from ((n, v) for n, v in value.items() if n not in self.values)
            elif name not in self.values:
                if value is not self.bound.signature.parameters[name].default:
                    yield name, value

    def _belongs(self, value):
        """Reports whether an argument may have one item for each item of the batch. If the batch
        were sliced alone, its items would meet wrong partners."""
        numpy = getattr(sys.modules.get("numpy"), "ndarray", ())
        return (
            isinstance(value, (list, tuple, numpy)) or vramlook._is_tensor(value)
        ) and _length(value) == self.whole > 1

    def _again(self, device):
        """Halves the batch, and frees what the failed call has left. device tells whether memory of
        a device ran out, and not of the host."""
        before, self.size = self.size, max(self.smallest, self.size // 2)
        gc.collect()
        clear_gpu_memory("before the retry")
        _say("WARNING: %s: %s with %s=%d, before %d" % (
            "Attempting GPU recovery and retry with smaller batch" if device
            else "The host has too little memory for this batch, calling again",
            self.name, self.label, self.size, before))


def _length(value):
    """Returns the length of a batch that can be sliced, or None."""
    if (
        isinstance(value, (str, bytes, collections.abc.Mapping))
        or not hasattr(value, "__getitem__")
    ):
        return None
    try:
        return len(value)
    except Exception:  # such as a tensor with one number
        return None


def _int(value):
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


_HOST = re.compile(r"DefaultCPUAllocator: |std::bad_alloc")


def _ran_out(error):
    """Reports whether a call failed because memory ran out. Python's own errors for wrong values,
    missing files and the like may have these words in a name or a path."""
    kind = type(error)
    if kind.__module__ == "builtins" and kind not in (Exception, RuntimeError, MemoryError):
        return False
    return (
        isinstance(error, MemoryError) or vramlog._is_out_of_memory(error)
        or bool(_HOST.search(vramlog._text(error)))
    )


def _joined(results, join, name):
    """Returns the results of the slices of a batch as the result of the batch."""
    if len(results) == 1:
        return results[0]
    if join is not None:
        return join(results)
    first, modules = results[0], sys.modules
    if all(result is None for result in results):
        return None
    if all(type(result) is type(first) for result in results):
        if isinstance(first, list):
            return [item for result in results for item in result]
        if type(first) in (dict, collections.OrderedDict) and all(
            result.keys() == first.keys() for result in results
        ):
            return type(first)(
                (key, _joined([result[key] for result in results], join, name)) for key in first)
        if isinstance(first, tuple) and all(len(result) == len(first) for result in results):
            items = [_joined(list(parts), join, name) for parts in zip(*results)]
            return type(first)(*items) if hasattr(first, "_fields") else tuple(items)
        concatenate = None
        if vramlook._is_tensor(first) and first.ndim:
            concatenate = modules["torch"].cat
        elif "numpy" in modules and isinstance(first, modules["numpy"].ndarray) and first.ndim:
            concatenate = modules["numpy"].concatenate
        if concatenate is not None:
            try:
                return concatenate(results)
            except (RuntimeError, ValueError) as e:  # such as tensors of different widths
                if _ran_out(e):
                    raise
                raise _not_joined(first, name, ": " + vramlog._text(e)) from e
    raise _not_joined(first, name)


def _not_joined(result, name, why=""):
    return TypeError(
        "retry_on_oom: the batch of %s was split, and results of type %s cannot be joined%s; pass "
        "join=, a function of the list of results" % (name, type(result).__name__, why))


def _advise(call, error):
    """Prints what would make the call fit. What is known to gain most comes first."""
    try:
        for gain, text in sorted(_advice(call, error), key=lambda advice: -advice[0]):
            _say("ADVICE: " + text)
    except Exception as e:
        vramlog._say_once("advice: %s" % vramlog._text(e))


def _advice(call, error):
    """Yields what would make a call fit: the bytes that it gains at most, or 0 if they are not
    known, and a sentence."""
    on_device, index = vramlog._is_out_of_memory(error), _index(error)
    place = "cuda:%d" % index if on_device else "cpu"
    level = _levels().get(index, {}) if on_device else {}
    model, optimizer = (part.of(call.bound.arguments) for part in call.parts)
    weights = _weights(model, optimizer)
    wide = [t for t in weights if str(t.dtype) in ("torch.float32", "torch.float64")]
    gradients = _bytes([t.grad for t in weights if getattr(t, "grad", None) is not None], place)
    states = [t for t in _reach([getattr(optimizer, "state", None)]) if vramlook._is_tensor(t)]
    states = _bytes(states, place)
    training = optimizer is not None or getattr(model, "training", True)

    asked = vramlog._asked(error)
    text = "batch: %s=%d did not fit" % (call.label, call.size) if call.size else (
        "batch: %s has no number or slices to halve" % call.label)
    if asked:
        text += ", it asked for %s at once" % _size(asked)
    yield 0, text + call.obstacle * bool(call.size)
    if training and call.size and call.first > call.size:
        yield 0, (
            "gradient accumulation: %d calls with %s=%d before a step need the memory of one"
            % (-(-call.first // call.size), call.label, call.size))
    if training:
        rest = level.get("allocated", 0) - _bytes(weights, place) - gradients - states
        if weights and rest > 0:
            yield rest, (
                "gradient checkpointing: %s is allocated besides weights, gradients and the "
                "optimizer's state; activations are computed again and not kept, which gains a "
                "part of it" % _size(rest))
        else:
            yield 0, "gradient checkpointing: activations are computed again and not kept"
    if wide:
        size = _bytes(wide, place)
        gain = size - 2 * sum(size // t.element_size() for t, size in _sizes(wide, place))
        if gain > 0:
            yield gain, "precision: weights of %s in float32 gain %s in bfloat16 or float16" % (
                _size(size), _size(gain))
    elif not weights:
        yield 0, "precision: bfloat16 or float16; model= says what the weights would gain"
    if gradients:
        yield gradients, "gradients: zero_grad(set_to_none=True) before the call gains %s" % _size(
            gradients)
    if states:
        yield states, (
            "optimizer: its state has %s; with 8 bits, or in host memory, it gains a part or all "
            "of it" % _size(states))
    unused = level.get("reserved", 0) - level.get("allocated", 0)
    settings = [os.environ.get(v, "") for v in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")]
    if unused > 0 and not any("expandable_segments:True" in v for v in settings):
        yield unused, (
            "expandable segments: %s is reserved and not allocated; PYTORCH_CUDA_ALLOC_CONF="
            "expandable_segments:True makes most of it usable" % _size(unused))


def _index(error):
    """Returns the number of the device of a failed allocation."""
    named = re.search(r"\bGPU (\d+)\b", vramlog._text(error))
    return int(named.group(1)) if named else vramlog._device().current()


def _weights(model, optimizer):
    if hasattr(model, "parameters"):
        return list(model.parameters()) + list(model.buffers())
    return [t for group in getattr(optimizer, "param_groups", ()) for t in group["params"]]


def _sizes(tensors, place):
    """Yields each tensor on a device, and the bytes of its memory, which counts once."""
    seen = set()
    for t in tensors:
        at, address, size = vramlook._memory(t)
        if at == place and address not in seen:
            seen.add(address)
            yield t, size


def _bytes(tensors, place):
    return sum(size for _, size in _sizes(tensors, place))


# Lines.


def _say(text):
    if not vramlog._off():
        vramlog._write("\n%s %s\n" % (vramlog._stamp(), text))


def _size(n):
    """Returns bytes with a unit and three digits: "512 B", "4.00 MiB", "23.1 GiB"."""
    size, units = abs(n), ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while size >= 1023.5 and len(units) > 1:
        size, units = size / 1024, units[1:]
    digits = 0 if units[0] == "B" or size >= 99.95 else 1 if size >= 9.995 else 2
    return "%s%.*f %s" % ("-" if n < 0 else "", digits, size, units[0])
