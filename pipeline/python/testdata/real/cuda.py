"""What vramfree and vramlook do on a GPU."""

import sys

import torch
import vramlog

if not torch.cuda.is_available():
    print("not run: PyTorch finds no CUDA device")
    sys.exit(0)

import vramlook

MIB = 1 << 20

# Before CUDA is initialized, nothing acts.
assert vramlog.clear_gpu_memory() == {} and vramlog.reset_peak() == {}
assert vramlog.memory_stats() == {} and not torch.cuda.is_initialized()

torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
device = torch.cuda.current_device()
place = "cuda:%d" % device
assert vramlog.clear_gpu_memory("at start")[device] == {"allocated": 0, "reserved": 64 * MIB}
stats = vramlog.memory_stats()[device]
assert stats["allocated"] == stats["reserved"] == 0 and stats["peak"] == 64 * MIB, stats
assert 0 < stats["used"] < stats["total"] == stats["used"] + stats["free"], stats
assert vramlog.reset_peak()[device]["peak"] == 64 * MIB
assert vramlog.memory_stats()[device]["peak"] == 0


def make():
    return torch.nn.Linear(4096, 4096, device="cuda")


def kept():
    with vramlog.freeing("Kept", make) as m:
        model = m.value
    assert model
    return m


with vramlog.freeing("Freed", make) as m:
    m.value.weight.sum()
assert m.stayed == 0 and torch.cuda.memory_allocated() == torch.cuda.memory_reserved() == 0
m = kept()
assert m.stayed == 4 * (4096 * 4096 + 4096), m.stayed
assert m.referrers[0].startswith("model in kept() ("), m.referrers

# The tensors that doctor --force shows.
model, views = make(), torch.zeros(10 * MIB, dtype=torch.uint8, device="cuda").split(MIB)
answer = vramlook._search(place)
assert {g["where"] for g in answer["groups"]} >= {"Linear.weight", "tuple __main__.views"}, answer
(sums,) = answer["devices"]
assert sums["allocated"] == torch.cuda.memory_allocated(), sums
assert sums["bytes"] == 4 * (4096 * 4096 + 4096) + 10 * MIB, sums
del model, views

# A failed allocation of the device: nothing of the failed call is left at the next one.
total = torch.cuda.get_device_properties(device).total_memory
torch.cuda.set_per_process_memory_fraction(2048 * MIB / total)
seen = []


@vramlog.retry_on_oom(batch="n")
def work(n):
    seen.append((n, torch.cuda.memory_allocated(), torch.cuda.memory_reserved()))
    scratch = torch.empty(256 * MIB, dtype=torch.uint8, device="cuda")
    return torch.empty(n * 256 * MIB, dtype=torch.uint8, device="cuda").numel() + len(scratch)


vramlog.clear_gpu_memory("before the batch")
assert work(16) == 5 * 256 * MIB
assert seen == [(16, 0, 0), (8, 0, 0), (4, 0, 0)], seen
