"""Measures how much memory PyTorch itself holds at the highest point of a pass. It needs no GPU: it
adds up the live storages on the meta device after each operation.

It prints the figures of pass_test.go for the models that torchvision and torchaudio have (Debian:
python3-torch, python3-torchvision, python3-torchaudio, 2.6.0), for SpecGAN, and for a ViT that
computes the same as transformers' modeling_vit.py. The others were measured in the same way, with
openai-whisper's model.py, pyannote.audio's sincnet.py and resnet.py, speechbrain's
ECAPA_TDNN.py, and with modules that compute the same as transformers' modeling_qwen2.py and
modeling_bert.py and pix2pix's networks.py.
"""
import torch
import torchaudio
import torchvision
from torch import nn
from torch.utils.checkpoint import checkpoint
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


class Layer(nn.Module):
    """A layer of transformers' ViT."""

    def __init__(self, width=768, inner=3072, heads=12):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.fc1, self.fc2 = nn.Linear(width, inner), nn.Linear(inner, width)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)

    def attention(self, x):
        q, k, v = (
            f(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for f in (self.query, self.key, self.value)
        )
        a = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return a.transpose(1, 2).contiguous().flatten(2)

    def intermediate(self, x):
        return torch.nn.functional.gelu(self.fc1(x))

    def output(self, x, residual):
        return self.fc2(x) + residual

    def forward(self, x):
        attended = self.out(self.attention(self.before(x)))
        x = attended + x
        y = self.after(x)
        y = self.intermediate(y)
        return self.output(y, x)


class ViT(nn.Module):
    """ViTForImageClassification of google/vit-base-patch16-224-in21k, with 2 labels."""

    def __init__(self, checkpointing=False, frozen=0):
        super().__init__()
        self.checkpointing = checkpointing
        self.cls_token = nn.Parameter(torch.empty(1, 1, 768))
        self.position_embeddings = nn.Parameter(torch.empty(1, 197, 768))
        self.projection = nn.Conv2d(3, 768, 16, 16)
        self.layer = nn.ModuleList(Layer() for _ in range(12))
        self.layernorm, self.classifier = nn.LayerNorm(768), nn.Linear(768, 2)
        if frozen:
            self.requires_grad_(False)
            for part in (*self.layer[frozen:], self.classifier):
                part.requires_grad_(True)
            self.layernorm.requires_grad_(frozen < 12)

    def embed(self, images):
        x = self.projection(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(images.shape[0], -1, -1), x), dim=1)
        x = x + self.position_embeddings
        return x

    def forward(self, images):
        x = self.embed(images)
        for layer in self.layer:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpointing else layer(x)
        return self.classifier(self.layernorm(x)[:, 0])


for batch in (1, 8, 16):
    measure("vit-in21k", ViT, (batch, 3, 224, 224), train=True)
measure("vit-in21k", ViT, (2, 3, 224, 224))
measure("vit-in21k, checkpointing", lambda: ViT(checkpointing=True), (16, 3, 224, 224), train=True)
for frozen in (12, 8, 1):
    measure(f"vit-in21k, {frozen} frozen", lambda: ViT(frozen=frozen), (16, 3, 224, 224), train=True)


class Generator(nn.Module):
    """SpecGAN's generator, as the authors' specgan.py builds it."""

    def __init__(self):
        super().__init__()
        widths = (1024, 512, 256, 128, 64, 1)
        self.project = nn.Linear(100, 16 * 1024)
        self.convs = nn.ModuleList(
            nn.ConvTranspose2d(i, o, 5, 2, padding=2, output_padding=1)
            for i, o in zip(widths, widths[1:])
        )

    def forward(self, x):
        x = torch.relu(self.project(x)).unflatten(1, (1024, 4, 4))
        for conv in self.convs[:-1]:
            x = torch.relu(conv(x))
        return torch.tanh(self.convs[-1](x))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (1, 64, 128, 256, 512, 1024)
        self.convs = nn.ModuleList(
            nn.Conv2d(i, o, 5, 2, padding=2) for i, o in zip(widths, widths[1:])
        )
        self.out = nn.Linear(16 * 1024, 1)

    def forward(self, x):
        for conv in self.convs:
            x = torch.nn.functional.leaky_relu(conv(x), 0.2)
        return self.out(x.flatten(1))[:, 0]


def gan_step(batch, critic):
    """A step of the discriminator with WGAN-GP, or one of the generator. As in training, the
    gradients of the network that is not trained exist."""
    with torch.device("meta"):
        g, d = Generator(), Discriminator()
        other = g if critic else d
        for p in other.parameters():
            p.grad = torch.empty_like(p)
        both = nn.ModuleList((g, d))
        with Peak(both) as peak:
            peak.weights.update(p.grad.untyped_storage()._cdata for p in other.parameters())
            real, z = torch.empty(batch, 1, 128, 128), torch.empty(batch, 100)
            if critic:
                with torch.no_grad():
                    fake = g(z)
                del z
                alpha = torch.empty(batch, 1, 1, 1)
                mixed = (real + alpha * (fake - real)).requires_grad_()
                slope, = torch.autograd.grad(d(mixed).sum(), mixed, create_graph=True)
                norm = slope.flatten(1).norm(2, dim=1)
                loss = d(fake).mean() - d(real).mean() + 10 * ((norm - 1) ** 2).mean()
            else:
                del real
                loss = -d(g(z)).mean()
            loss.backward()
    print(f"specgan {'critic' if critic else 'generator'} {batch} {peak.peak:,}")


# Of smaller batches, the highest point of the discriminator's step is where gradients of weights are
# added up. This happens in place on a GPU, but not under a TorchDispatchMode.
for batch in (24, 64):
    gan_step(batch, True)
for batch in (8, 24, 64):
    gan_step(batch, False)
for network, shape in ((Generator, (24, 100)), (Discriminator, (24, 1, 128, 128))):
    measure(network.__name__, network, shape)
