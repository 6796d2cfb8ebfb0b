"""Measures how much memory PyTorch itself holds at the highest point of a pass. It needs no GPU: it
adds up the live storages on the meta device after each operation.

It prints the figures of pass_test.go for the models that torchvision and torchaudio have (Debian:
python3-torch, python3-torchvision, python3-torchaudio, 2.6.0). The others were measured in the same
way, with openai-whisper's model.py, pyannote.audio's sincnet.py and resnet.py, speechbrain's
ECAPA_TDNN.py, and with modules that compute the same as transformers' modeling_qwen2.py and
modeling_bert.py and pix2pix's networks.py.
"""
import torch
import torchaudio
import torchvision
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Peak(TorchDispatchMode):
    def __init__(self, module):
        super().__init__()
        self.weights = {
            t.untyped_storage()._cdata for t in (*module.parameters(), *module.buffers())
        }
        self.live, self.peak = {}, 0

    def add(self, t):
        s = t.untyped_storage()
        if t.device.type == "meta" and s._cdata not in self.weights:
            self.live[s._cdata] = StorageWeakRef(s), s.nbytes()
        self.peak = max(self.peak, sum(n for _, n in self.live.values()))

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        result = op(*args, **(kwargs or {}))
        self.live = {k: v for k, v in self.live.items() if not v[0].expired()}
        for t in tree_leaves(result):
            if isinstance(t, torch.Tensor):
                self.add(t)
        return result


class Attention(torch.autograd.Function):
    """Takes the memory of flash attention. The meta device has only the other kernel, which makes
    the score matrix."""

    @staticmethod
    def forward(ctx, q, k, v):
        b, h, n, d = q.shape
        out = q.new_empty(b, n, h, d).transpose(1, 2)
        ctx.save_for_backward(q, k, v, out, q.new_empty(b, h, n))
        return out

    @staticmethod
    def backward(ctx, gradient):
        return tuple(torch.empty_like(t) for t in ctx.saved_tensors[:3])


torch.nn.functional.scaled_dot_product_attention = (
    lambda q, k, v, *a, **kw: Attention.apply(q, k, v)
)


def measure(name, build, shape, train=False):
    with torch.device("meta"):
        module, data = build().train(train), torch.empty(shape)
        with torch.set_grad_enabled(train), Peak(module) as peak:
            peak.add(data)
            result = module(data)
            if train:
                target = torch.empty(shape[0], dtype=torch.long)
                torch.nn.functional.cross_entropy(result, target).backward()
    print(f"{name} {shape} {'training ' if train else ''}{peak.peak:,}")


measure("vit_b_16", torchvision.models.vit_b_16, (2, 3, 224, 224))
measure("vit_b_16", torchvision.models.vit_b_16, (1, 3, 224, 224), train=True)
measure("vit_b_16", torchvision.models.vit_b_16, (8, 3, 224, 224), train=True)
measure("wav2vec2_base", lambda: torchaudio.models.wav2vec2_base(aux_num_out=29), (2, 480000))
measure(
    "wav2vec2_large_lv60k", lambda: torchaudio.models.wav2vec2_large_lv60k(aux_num_out=33),
    (2, 480000),
)
