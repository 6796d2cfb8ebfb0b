//go:build whisper

package main

const usage = `gpupipeline transcribes audio files, finds who speaks, and logs its memory.

USAGE
  gpupipeline --model FILE [--segmentation FILE --embedding FILE] [flags] AUDIO...
  gpupipeline --model FILE [--segmentation FILE --embedding FILE] [flags] --list FILE
  gpupipeline --model FILE [--segmentation FILE --embedding FILE] [flags] --stdin

EXAMPLES
  gpupipeline --model tiny.bin --out transcripts audio/*.wav
  gpupipeline --model tiny.bin --segmentation seg.onnx --embedding voice.onnx \
    --formats json,srt,rttm --out out --list batch.txt
  gpupipeline --model tiny.bin --text-model all-MiniLM-L6-v2/model.onnx --out out audio/*.wav
  find audio -name '*.wav' | gpupipeline --model tiny.bin --stdin
  gpupipeline --model tiny.bin --fault leak:4MiB --fault crash:20 --list batch.txt

whisper.cpp transcribes. With the two models of diarization, sherpa-onnx then finds who speaks when.
Enrollment compares the voices, so that a speaker has the same name in all files of the process.
Then words and segments get their speakers. With a text model, the text of each segment gets an
embedding.

The log goes to stdout: a line for each checkpoint, and one where each file begins and ends. The
batch goes on after a file that fails; the log and stderr say why it failed.

FILES
  --list FILE      read paths from FILE, one a line
  --stdin          read paths from stdin, one a line, and work on each as it comes
  --order NAME     given: in the given order; smallest: the smallest files first, after all paths
                   have been read (given)
  --first N        position of the first file in the batch (VRAMSOAK_FIRST, else 1)
                   Paths come from one of AUDIO, --list and --stdin
  --out DIR        write the results for each file into DIR, as NAME-DIGEST.FORMAT: NAME is at most
                   200 bytes of the file's name, DIGEST twelve digits of the SHA-256 of its path
  --formats LIST   some of json, srt, vtt and rttm, with commas between; with --out (json)
  --truth FILE     who really speaks when: a manifest from vramsoak fixtures audio, or FILE.rttm,
                   which names files without folder and extension. Print the diarization error rate
                   and the share of words with the right speaker, for each file and at the end

TRANSCRIPTION
  --model FILE     model in ggml format
  --language CODE  the language spoken; auto detects it (en)
  --threads N      CPU threads, of text embedding too (the CPUs, at most 4)

DIARIZATION
  --segmentation FILE       ONNX model that finds voices: pyannote's, exported by sherpa-onnx
  --embedding FILE          ONNX model that tells voices apart: of WeSpeaker, 3D-Speaker or NeMo
  --speakers N              number of speakers; 0 finds out (0)
  --threshold X             how different the voices of two speakers are, 0 to 2; for --speakers 0
                            (0.5)
  --provider NAME           cpu or cuda; cuda needs sherpa-onnx's GPU libraries first in
                            LD_LIBRARY_PATH (cpu)
  --diarization-threads N   CPU threads (1)
  --fast                    no diarization, in any file
  --fast-path=false         if memory runs out in the diarization or enrollment, the file fails;
                            with true it goes on without speakers (ENABLE_FAST_PATH, else true)
  --no-enroll               diarization without enrollment (SKIP_VOICE_EMBEDDINGS=true)
  --enroll-batch N          turns in a batch of enrollment (VOICE_ENROLLMENT_BATCH_SIZE, else 4)

TEXT EMBEDDING
  --text-model FILE       ONNX model that embeds texts: of BERT's family, exported by optimum, such
                          as all-MiniLM-L6-v2 or bge-base-en-v1.5
  --text-model-fast FILE  a smaller one, for --text-profile speed, such as bge-small-en-v1.5
  --text-profile NAME     quality or balanced: --text-model; speed: --text-model-fast
                          (EMBEDDING_PROFILE, else quality)
  --text-vocabulary FILE  the model's words (vocab.txt in the folder of the model)
  --text-pooling NAME     what the model was trained with, unless it pools itself: mean, the mean of
                          all tokens, or cls, the first token, such as bge (mean)
  --text-batch N          segments in a batch (EMBEDDING_BATCH_SIZE, else 128). If memory runs out,
                          it is halved; if not even one fits, the file goes on without embeddings

MEMORY
  --batch-memory SHARE  memory for a batch of enrollment: a part of the machine's free memory, such
                        as 1/8 or 12.5%, or a size, such as 512MiB. Batches are smaller when less
                        is free (1/8)
  --clear-every N       release cached memory after N batches of enrollment or of texts, and after
                        every cleanup; 0: never (5)
  --isolate LIST        some of whisper, diarization and text, with commas between: run each stage
                        in its own process, whose end frees all its memory. If it crashes, the file
                        fails and the batch goes on
  --malloc NAME         fixed: the C allocator has one arena and a fixed threshold for mapping;
                        default: as in glibc (fixed)
  --device NAME         which memory to read: host, the C allocator of this process and its
                        workers; nvml, the GPU; auto, the GPU if whisper.cpp uses one (auto)

OTHER
  --fault SPEC     fail on purpose, to test what watches the pipeline; may be repeated:
                     leak:SIZE         each file keeps SIZE
                     keep:NAME         a cleanup that frees nothing: Whisper, Waveform,
                                       "Diarization Model", "Alignment Tensors", "Text Embedder"
                                       or Final
                     oom:N             file N asks for twice the device's memory
                     oom-batch:N       enrollment has memory for one turn only in file N
                     oom-item:N        not even for one turn
                     oom-text-batch:N  text embedding has memory for one text only in file N
                     oom-text-item:N   not even for one text
                     crash:N           the process that transcribes aborts in file N
                     hang:N            file N never ends
  --verbose        whisper.cpp's own log on stderr
  --version        print the versions of the engines and the devices that whisper.cpp finds
  --help           print this

ENVIRONMENT
  Flags override the environment: ENABLE_FAST_PATH, SKIP_VOICE_EMBEDDINGS,
  VOICE_ENROLLMENT_BATCH_SIZE, EMBEDDING_BATCH_SIZE, EMBEDDING_PROFILE and VRAMSOAK_FIRST, with the
  meaning of the flags that name them.

EXIT STATUS
  0    every file is transcribed
  1    a file failed
  2    trouble: wrong usage, an unusable model, no files, the log cannot be written
  130  interrupted (SIGINT); the current file was cleaned up. A second signal ends the process at
       once
  143  terminated (SIGTERM), likewise
`
