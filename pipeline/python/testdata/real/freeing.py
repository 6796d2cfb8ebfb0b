"""freeing frees tensors of a real PyTorch, or says what still refers to them."""

import io
import sys
import weakref

import torch
import vramlog

WEIGHTS = 4 * (300 * 200 + 200)  # bytes of a Linear layer of 300 inputs and 200 outputs


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(300, 200)


def said(work):
    """Returns what work returns, and what it printed."""
    sys.stdout = io.StringIO()
    try:
        return work(), sys.stdout.getvalue()
    finally:
        sys.stdout = sys.__stdout__


def check(work, stayed, *words):
    m, text = said(work)
    assert m.stayed == stayed, (m.stayed, stayed, text)
    for word in words:
        assert word in text, (word, text)
    assert words or text == "", text


def freed():
    with vramlog.freeing("Whisper", Model) as m:
        m.value.encoder(torch.zeros(1, 300)).sum().backward()
    return m


def a_variable():
    with vramlog.freeing("Whisper", Model) as m:
        model = m.value
    assert model
    return m


def a_part():
    with vramlog.freeing("Whisper", Model) as m:
        parts = [m.value.encoder]
    assert parts
    return m


def a_view():
    with vramlog.freeing("Whisper", Model) as m:
        view = m.value.encoder.weight.detach()[:1]
    assert view is not None
    return m


def a_graph():
    with vramlog.freeing("Whisper", Model) as m:
        kept.append(m.value.encoder(torch.zeros(1, 300, requires_grad=True)).sum())
    return m


def a_closure():
    with vramlog.freeing("Whisper", Model) as m:
        model = m.value

        def later():
            return model

    hooks.append(later)
    return m


def an_attribute():
    with vramlog.freeing("Whisper", Model) as m:
        holder.model = m.value
    return m


class Holder:
    pass


kept, hooks, holder = [], [], Holder()

check(freed, 0)
check(a_variable, WEIGHTS, "on cpu: Model is still referenced by model in a_variable() (")
check(a_part, WEIGHTS, "Linear is still referenced by list parts in a_part() (")
check(a_view, 4 * 300 * 200, "Tensor is still referenced by view in a_view() (")
check(an_attribute, WEIGHTS, "Model is still referenced by Holder.model")
holder.model = None
check(a_closure, WEIGHTS, "Model is still referenced by model ")
hooks.clear()
check(a_graph, WEIGHTS, "no Python object refers to it, but the graph of a backward pass")
kept.clear()


# A module that is given is empty afterwards, whoever refers to its parameters.
def emptied():
    with vramlog.freeing("Whisper", model) as m:
        pass
    return m


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.encoder(torch.zeros(1, 300)).sum().backward()
check(emptied, 0)
assert [p.numel() for p in model.parameters()] == [0, 0]
assert optimizer.param_groups[0]["params"][0].numel() == 0 and model.encoder.weight.grad is None

# The variables of functions that an error left do not keep anything alive. Those of an error that
# was there before stay.
alive = []


def deep(model):
    scratch = torch.zeros(100)
    alive.extend([weakref.ref(model), weakref.ref(scratch)])
    raise ValueError("no")


def earlier():
    mine = "kept"
    raise KeyError(mine)


try:
    earlier()
except KeyError as before:
    try:
        with vramlog.freeing("Whisper", Model) as m:
            deep(m.value)
    except ValueError as e:
        assert e.__context__ is before
        assert [ref() for ref in alive] == [None, None] and m.stayed == 0
    assert before.__traceback__.tb_next.tb_frame.f_locals["mine"] == "kept"

# What Python cannot free is refused at once.
class Clears:
    def clear(self):
        raise AssertionError("not a container")


for wrong in (3, "model", None, (model,), holder, Clears()):
    try:
        vramlog.freeing("Whisper", wrong)
        assert False, wrong
    except TypeError as e:
        assert "Python cannot delete a variable of the caller" in str(e)

# A module stays when its memory is freed, also a compiled one, whose tensors are in C++.
for model in (
    torch.nn.ReLU(), torch.jit.script(torch.nn.Linear(300, 200)),
    torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.Linear(300, 200)),
):
    kept = list(model.parameters())
    with vramlog.freeing("Whisper", model) as m:
        pass
    assert m.stayed == 0 and m.referrers == [], (model, m.referrers)
    assert all(p.data_ptr() == 0 for p in kept if not hasattr(p, "materialize"))

# The second use of one object says nothing of the first.
twice = vramlog.freeing("Whisper", Model)
with twice:
    model = twice.value
assert twice.stayed == WEIGHTS
del model
with twice:
    pass
assert twice.stayed == 0 and twice.referrers == []
