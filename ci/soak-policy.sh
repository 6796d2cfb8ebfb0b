#!/usr/bin/env bash
# soak-policy.sh prints ci/vramsoak.yaml with the checkpoints of the stages that make soak runs: with
# those of text embedding, and without those of voice enrollment if SKIP_VOICE_EMBEDDINGS turns it
# off.
set -euo pipefail
cd "$(dirname "$0")/.."

voices=()
case ${SKIP_VOICE_EMBEDDINGS-} in
1 | [tT] | [tT][rR][uU][eE])
  voices=(-e '/- .* Alignment Tensors Cleanup$/d'
    -e 's/- After Speaker Alignment (post-cleanup)$/- After Speaker Alignment/')
  ;;
esac
sed "${voices[@]}" -e '/^    - Before Final Cleanup$/i\
    - Before Text Embedding\
    - Before Text Embedder Cleanup\
    - After Text Embedder Cleanup\
    - After Text Embedding (post-cleanup)' ci/vramsoak.yaml
