"""The search finds the tensors of a real PyTorch, and names what refers to them."""

import gc
import os
import threading
import types
import weakref

import torch
import vramlog
import vramlook


def found():
    answer = vramlook._search(most=200)
    return {
        (g["where"], tuple(g["shape"])): (g["count"], g["bytes"], g["dtype"], g["device"])
        for g in answer["groups"]
    }


class Pipeline:
    def __init__(self):
        self.cache = [torch.zeros(11, dtype=torch.int64) for _ in range(3)]
        self.last = {"text": (torch.zeros(12),)}
        self.now = torch.zeros(13)


kept = [torch.zeros(2, 21) for _ in range(60)]
base = torch.zeros(1000)
views = [base[i:] for i in range(1, 4)]
only_view = torch.zeros(1 << 20)[:1]  # keeps 4 MiB alive
pipeline = Pipeline()
model = torch.nn.Linear(30, 40)
model(torch.zeros(1, 30)).sum().backward()
optimizer = torch.optim.Adam(model.parameters())
optimizer.step()


def work():
    mine, others = torch.zeros(51), [torch.zeros(52)]
    closed = torch.zeros(53)
    return found(), lambda: (mine, others, closed)


groups, keep = work()
file = os.path.basename(__file__)
for key, want in {
    ("list __main__.kept", (2, 21)): (60, 60 * 2 * 21 * 4, "float32", "cpu"),
    ("__main__.base", (1000,)): (1, 4000, "float32", "cpu"),
    ("list __main__.views", (999,)): (1, 0, "float32", "cpu"),  # its memory counts for base
    ("__main__.only_view", (1,)): (1, 0, "float32", "cpu"),
    ("base of __main__.only_view", (1 << 20,)): (1, 4 << 20, "float32", "cpu"),
    ("list Pipeline.cache", (11,)): (3, 3 * 11 * 8, "int64", "cpu"),
    ("tuple in dict Pipeline.last", (12,)): (1, 48, "float32", "cpu"),
    ("Pipeline.now", (13,)): (1, 52, "float32", "cpu"),
    ("Linear.weight", (40, 30)): (1, 4800, "float32", "cpu"),
    ("gradient of Linear.weight", (40, 30)): (1, 4800, "float32", "cpu"),
    ("dict in defaultdict Adam.state", (40, 30)): (2, 9600, "float32", "cpu"),
}.items():
    assert groups.get(key) == want, (key, groups.get(key), want, groups)
for name, shape in ("mine", 51), ("list others", 52), ("closed", 53):
    assert any(
        where.startswith(name + " in work() (" + file) and of == (shape,) for where, of in groups
    ), (name, groups)

# The search keeps nothing alive, not even in the dict of a function's variables.
ready, asked, done, gone = (threading.Event() for _ in range(4))


def other():
    mine = torch.zeros(61)
    ref = weakref.ref(mine)
    ready.set()
    asked.wait()
    mine = None
    assert ref() is None
    gone.set()


thread = threading.Thread(target=other)
thread.start()
ready.wait()
assert any(where.startswith("mine in other() (") for where, _ in found())
asked.set()
thread.join()
assert gone.is_set()


# A subclass of Tensor runs no code of its own, and a property that fails is not called.
class Own(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        raise AssertionError("called")


class Lazy:
    @property
    def __class__(self):
        raise AssertionError("called")


own, lazy = torch.zeros(71).as_subclass(Own), Lazy()
assert ("__main__.own", (71,)) in found()

# Sparse tensors count their indices and values: 2 * 8 + 4 bytes here.
sparse = torch.sparse_coo_tensor([[0], [2]], [1.0], (1 << 20, 1 << 20))
assert found()[("__main__.sparse", (1 << 20, 1 << 20))][1] == 20
meta = torch.zeros(1 << 40, device="meta")
assert not any(where == "__main__.meta" for where, _ in found())

# Tensors that cannot be measured are left out, and do not end the search.
lazy_layer = torch.nn.LazyLinear(5)
with torch.inference_mode():
    inferred = torch.zeros(81)[:7]
assert ("__main__.inferred", (7,)) in found()

# A graph refers to a parameter in C++. The search neither keeps it alive nor breaks it.
parameter = torch.zeros(91, requires_grad=True)
loss, gone = (parameter * 2).sum(), weakref.ref(parameter)
del parameter
found()
loss.backward()
del loss
assert gone() is None
found()

# Names run no code of the program, and do not need what it has deleted.
ran = []


class Named(type):
    @property
    def __name__(cls):
        ran.append("class")
        raise RuntimeError("class")


class Odd(metaclass=Named):
    pass


class Key:
    def __str__(self):
        ran.append("key")
        raise RuntimeError("key")


class Text(str):
    __str__ = Key.__str__


odd, module = Odd(), types.ModuleType("gone")
odd.__dict__.update({"a": torch.zeros(101), Text("b"): torch.zeros(102), 5: torch.zeros(103)})
odd.__dict__[Key()] = torch.zeros(104)
module.tensor = torch.zeros(105)
del module.__name__
names = {name for name, shape in found() if 101 <= sum(shape) <= 105}
assert names == {"Odd.a", "Odd.b", "Odd.5", "Odd.Key", "module.tensor"}, names
assert ran == []

# The answer is bounded, and what is left out is counted.
many = [torch.zeros(n) for n in range(5000, 5300)]
gc.collect()
answer = vramlook._search(most=10 ** 9)
assert len(answer["groups"]) == 200
assert answer["more"]["groups"] >= 100 and answer["more"]["bytes"] > 0
total = answer["devices"][0]
assert total["device"] == "cpu"
assert total["bytes"] == sum(g["bytes"] for g in answer["groups"]) + answer["more"]["bytes"]
assert total["count"] == sum(g["count"] for g in answer["groups"]) + answer["more"]["count"]
assert vramlook._search("cuda:0")["groups"] == []
