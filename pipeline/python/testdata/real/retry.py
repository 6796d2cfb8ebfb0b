"""retry_on_oom calls again when a real allocation of PyTorch fails, here one on the host."""

import io
import sys
import weakref

import torch
import vramlog

TOO_MUCH = 1 << 46  # bytes: no process has so many addresses
calls, alive = [], []


def allocate(n, fits=4):
    """Allocates memory for n items. It fails if they are too many."""
    calls.append(n)
    assert [ref for ref in alive if ref() is not None] == []  # nothing of a failed call is left
    scratch = torch.zeros(1000)
    alive[:] = [weakref.ref(scratch)]
    return torch.empty(n if n <= fits else TOO_MUCH, dtype=torch.uint8)


def printed(work):
    calls.clear()
    sys.stdout = io.StringIO()
    try:
        return work(), sys.stdout.getvalue()
    finally:
        sys.stdout = sys.__stdout__


class Job:
    def __init__(self):
        self.model = torch.nn.Linear(100, 200)

    @vramlog.retry_on_oom(batch="batch_size", model="self.model")
    def positional(self, clips, batch_size=32, *, scale=1):
        """Embeds."""
        return len(allocate(batch_size)) * scale

    @vramlog.retry_on_oom(batch="n")
    def keywords(self, **settings):
        return len(allocate(settings["n"]))

    @staticmethod
    @vramlog.retry_on_oom(batch="items")
    def pieces(items, scale):
        allocate(len(items))
        return items * scale


job = Job()
assert Job.positional.__doc__ == "Embeds." and Job.positional.__name__ == "positional"
for args, kwargs, want in (
    ([[]], {}, [32, 16, 8, 4]),
    ([[], 20], {}, [20, 10, 5, 2]),
    ([[]], {"batch_size": 7}, [7, 3]),
    ([], {"clips": [], "batch_size": 3}, [3]),
):
    result, text = printed(lambda: job.positional(*args, scale=2, **kwargs))
    assert calls == want and result == 2 * want[-1], (calls, want, result)
    assert text.count("The host has too little memory for this batch, calling again: "
                      "Job.positional with batch_size=") == len(want) - 1, text
assert printed(lambda: job.keywords(n=9))[0] == 4 and calls == [9, 4]

# A tensor is done in slices, and the results are joined. A slice that fitted is not done again.
result, _ = printed(lambda: job.pieces(torch.arange(10), 3))
assert torch.equal(result, 3 * torch.arange(10)) and calls == [10, 5, 2, 2, 2, 2, 2]
result, _ = printed(lambda: job.pieces(list("abcdefg"), 1))
assert result == list("abcdefg") and calls == [7, 3, 3, 1]
assert printed(lambda: job.pieces([], 3))[0] == [] and calls == [0]


@vramlog.retry_on_oom(batch="x")
def several(x):
    allocate(len(x))
    return {"mean": (x * 2, list(x)), "none": None}


result, _ = printed(lambda: several(torch.arange(6)))
assert torch.equal(result["mean"][0], 2 * torch.arange(6)) and result["none"] is None
assert result["mean"][1] == [0, 1, 2, 3, 4, 5] and calls == [6, 3, 3]


def total(x):
    allocate(len(x))
    return float(x.sum())


try:
    printed(lambda: vramlog.retry_on_oom(batch="x")(total)(torch.arange(6)))
    assert False
except TypeError as e:
    assert "results of type float cannot be joined; pass join=" in str(e)
assert printed(lambda: vramlog.retry_on_oom(batch="x", join=sum)(total)(torch.arange(6)))[0] == 15

# It gives up with the error of the function, and with the bytes that are known.
model = torch.nn.Linear(100, 200)  # 20,200 numbers: 80,800 bytes
model.register_buffer("narrow", torch.zeros(50, dtype=torch.float16))
model(torch.zeros(1, 100)).sum().backward()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
optimizer.step()


@vramlog.retry_on_oom(batch="n", smallest=8, model=model, optimizer=optimizer)
def never(n):
    allocate(n, fits=0)


def give_up():
    try:
        never(20)
        assert False
    except RuntimeError as e:
        assert "DefaultCPUAllocator" in str(e) and e.__context__ is None
        names, trace = [], e.__traceback__
        while trace:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        assert names[-2:] == ["never", "allocate"], names  # where it failed can still be seen


_, text = printed(give_up)
assert calls == [20, 10, 8]
advice = [line.partition("ADVICE: ")[2] for line in text.splitlines() if "ADVICE: " in line]
assert advice == [
    "gradients: zero_grad(set_to_none=True) before the call gains 78.9 KiB",
    "optimizer: its state has 78.9 KiB; with 8 bits, or in host memory, it gains a part or all of "
    "it",
    "precision: weights of 78.9 KiB in float32 gain 39.5 KiB in bfloat16 or float16",
    "batch: n=8 did not fit; smallest=8 allows no smaller one",
    "gradient accumulation: 3 calls with n=8 before a step need the memory of one",
    "gradient checkpointing: activations are computed again and not kept",
], advice

# The decorator keeps neither the model nor the optimizer alive.
gone = weakref.ref(model), weakref.ref(optimizer)
del model, optimizer
assert [ref() for ref in gone] == [None, None]


# Other errors are passed on at once, and so is what cannot be halved.
@vramlog.retry_on_oom(batch="n")
def wrong(n):
    calls.append(n)
    raise ValueError("no")


try:
    printed(lambda: wrong(8))
    assert False
except ValueError:
    assert calls == [8]
for batch in ({"a": 1}, "text", None, True, 1, 0, -5):
    calls.clear()
    try:
        printed(lambda: vramlog.retry_on_oom(batch="n")(lambda n: allocate(5))(batch))
        assert False, batch
    except RuntimeError:
        assert calls == [5], (batch, calls)


# What cannot be called again is refused when it is decorated.
async def coroutine(batch_size):
    pass


def generator(batch_size):
    yield


async def both(batch_size):
    yield


for function, word in (
    (coroutine, "is a coroutine or a generator"), (generator, "is a coroutine or a generator"),
    (both, "is a coroutine or a generator"), (classmethod(generator), "below @staticmethod"),
    (lambda n: n, "expected a parameter batch_size of <lambda>, found n"),
):
    try:
        vramlog.retry_on_oom()(function)
        assert False, function
    except TypeError as e:
        assert word in str(e), e


# A training step: the gradients of the failed call are removed, and those of the slices add up to
# the gradients of one undisturbed step.
model = torch.nn.Linear(3, 1)
examples = torch.arange(24.0).reshape(8, 3)
attempts = []


@vramlog.retry_on_oom(batch="examples", model=model)
def step(examples, size=8):
    attempts.append(len(examples))
    (model(examples).mean() * len(examples) / size).backward()
    if len(examples) > 4:
        torch.empty(TOO_MUCH, dtype=torch.uint8)


printed(lambda: step(examples))
assert attempts == [8, 4, 4], attempts
disturbed = model.weight.grad.clone()
model.zero_grad(set_to_none=True)
model(examples).mean().backward()
assert torch.allclose(disturbed, model.weight.grad), (disturbed, model.weight.grad)
