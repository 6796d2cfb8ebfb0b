//go:build whisper

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/onnx"
	"vramsoak/pipeline/speakers"
	"vramsoak/pipeline/whisper"
)

// workerFlag makes this program work on a stage as a worker. It must be the only argument. People
// never use it.
const workerFlag = "--worker"

// oomMark is the beginning of an out-of-memory error from a worker. net/rpc transfers only the text
// of an error, so the text must say that memory ran out.
const oomMark = "out of memory: "

// serve is the main function of a worker: it answers calls until the connection ends.
func serve() int {
	// Signals go to the whole process group. The process that started this worker decides what to
	// do.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	s, err := newStage()
	if err != nil {
		stderr.Printf("gpupipeline: worker: %v; %s is for gpupipeline itself\n", err, workerFlag)
		return 2
	}
	conn, err := net.FileConn(os.NewFile(workerSocket, "worker"))
	if err != nil {
		stderr.Printf("gpupipeline: worker: %v; %s is for gpupipeline itself\n", err, workerFlag)
		return 2
	}
	server := rpc.NewServer()
	if err := server.Register(s); err != nil {
		stderr.Printf("gpupipeline: worker: %v\n", err)
		return 2
	}
	server.ServeConn(conn)
	return 0
}

// A Stage does the work of one stage in a worker. The main process calls its exported methods, Open
// first.
type Stage struct {
	pcm     []float32
	engines *engines
	host    *meter.Host

	// One of these is set: the loaded engine.
	transcriber  transcriber
	diarizer     diarizer
	embedder     embedder
	textEmbedder textEmbedder
}

func newStage() (*Stage, error) {
	audio := os.NewFile(workerAudio, "audio")
	info, err := audio.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 { // an embedder gets clips or texts instead
		return &Stage{}, nil
	}
	data, err := syscall.Mmap(workerAudio, 0, int(info.Size()), syscall.PROT_READ,
		syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the audio: %w", err)
	}
	return &Stage{pcm: samplesOf(data)}, nil
}

// None is the type for methods without an argument or without a result.
type None struct{}

// Open prepares the stage. It must be called before a method that loads an engine.
func (s *Stage) Open(settings EngineSettings, _ *None) (err error) {
	if s.host, err = meter.OpenHost(settings.Malloc); err != nil {
		return err
	}
	s.engines = &engines{settings: settings}
	onnx.Trust(settings.Tried)
	return nil
}

// WarmWhisper returns an error if the model of a transcription cannot be used, or does not know the
// language.
func (s *Stage) WarmWhisper(language string, _ *[]onnx.Trial) error {
	if _, err := whisper.Init(s.engines.settings.Verbose); err != nil {
		return err
	}
	return marked(s.engines.warmWhisper(context.Background(), language))
}

// WarmDiarization returns an error if the models of a diarization cannot be used. In tried it
// returns the models that it tested.
func (s *Stage) WarmDiarization(_ string, tried *[]onnx.Trial) error {
	err := s.engines.warmDiarization(context.Background())
	*tried = onnx.Trials()
	return marked(err)
}

// WarmText returns an error if the text model or its vocabulary cannot be used. In tried it returns
// the models that it tested.
func (s *Stage) WarmText(_ string, tried *[]onnx.Trial) error {
	err := s.engines.warmText(context.Background())
	*tried = onnx.Trials()
	return marked(err)
}

// LoadWhisper loads the model of a transcription.
func (s *Stage) LoadWhisper(None, *None) (err error) {
	if _, err := whisper.Init(s.engines.settings.Verbose); err != nil {
		return err
	}
	s.transcriber, err = s.engines.transcriber(context.Background(), s.pcm)
	return marked(err)
}

// Transcribe transcribes the audio.
func (s *Stage) Transcribe(o whisper.Options, t *whisper.Transcript) (err error) {
	*t, err = s.transcriber.Transcribe(context.Background(), o)
	return marked(err)
}

// LoadDiarizer loads the models of a diarization.
func (s *Stage) LoadDiarizer(None, *None) (err error) {
	s.diarizer, err = s.engines.diarizer(context.Background(), s.pcm)
	return marked(err)
}

// Diarize finds who speaks when.
func (s *Stage) Diarize(_ None, turns *[]speakers.Turn) (err error) {
	*turns, err = s.diarizer.Diarize(context.Background())
	return err
}

// LoadEmbedder loads the model that computes embeddings of voices.
func (s *Stage) LoadEmbedder(None, *None) (err error) {
	s.embedder, err = s.engines.embedder(context.Background())
	return marked(err)
}

// Embed computes the embedding of the voice in a clip. The clip's samples are sent as bytes,
// because net/rpc would take ten times as long for numbers.
func (s *Stage) Embed(clip []byte, voice *[]float32) (err error) {
	*voice, err = s.embedder.Embed(context.Background(), samplesOf(clip))
	return err
}

// LoadText loads the model that computes embeddings of texts.
func (s *Stage) LoadText(None, *None) (err error) {
	s.textEmbedder, err = s.engines.textEmbedder(context.Background())
	return marked(err)
}

// EmbedTexts computes the embeddings of texts in one batch.
func (s *Stage) EmbedTexts(texts []string, embeddings *[][]float32) (err error) {
	*embeddings, err = s.textEmbedder.Embed(context.Background(), texts)
	return marked(err)
}

// Memory returns a reading of this process's C allocator.
func (s *Stage) Memory(_ None, m *Memory) error {
	r, err := s.host.Read()
	if err != nil {
		return err
	}
	*m = Memory{r.Bytes(record.Allocated), r.Bytes(record.Reserved)}
	return nil
}

// Memory is a reading of a worker's allocator, in bytes.
type Memory struct{ Allocated, Reserved int64 }

// Trim returns unused memory to the system.
func (s *Stage) Trim(None, *None) error {
	s.host.Trim()
	return nil
}

// Crash aborts, as a failed assertion in C++ does.
func (*Stage) Crash(None, *None) error {
	abort()
	return nil
}

// Hang never returns.
func (*Stage) Hang(None, *None) error { select {} }

// samplesOf returns bytes as samples, and bytesOf samples as bytes, without copying them.
func samplesOf(data []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/4)
}

func bytesOf(pcm []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(pcm))), 4*len(pcm))
}

func marked(err error) error {
	if outOfMemory(err) {
		return errors.New(oomMark + err.Error())
	}
	return err
}
