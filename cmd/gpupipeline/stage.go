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
	"vramsoak/pipeline/diarization"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/speakers"
	"vramsoak/pipeline/whisper"
)

// workerFlag has this program serve a stage. It stands alone, and a person never gives it.
const workerFlag = "--worker"

// oomMark begins an error for want of memory. Of a method's error net/rpc carries the text alone.
const oomMark = "out of memory: "

// serve is main of a worker: it does what it is called for until the connection ends.
func serve() int {
	// Signals go to the whole process group. What to do about one is decided by the process that
	// started this one.
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

// A Stage is the work of one stage in a worker. Its exported methods are called from the process
// that started it, the first of them Open.
type Stage struct {
	pcm     []float32
	engines *engines
	host    *meter.Host

	// What it has loaded: one of them.
	transcriber transcriber
	diarizer    diarizer
	embedder    embedder
}

func newStage() (*Stage, error) {
	audio := os.NewFile(workerAudio, "audio")
	info, err := audio.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 { // an embedder is given clips
		return &Stage{}, nil
	}
	data, err := syscall.Mmap(workerAudio, 0, int(info.Size()), syscall.PROT_READ,
		syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the audio: %w", err)
	}
	return &Stage{pcm: samplesOf(data)}, nil
}

// None is for methods that take or give nothing.
type None struct{}

// Open prepares for loading an engine.
func (s *Stage) Open(settings EngineSettings, _ *None) (err error) {
	if s.host, err = meter.OpenHost(settings.Malloc); err != nil {
		return err
	}
	s.engines = &engines{settings: settings}
	diarization.Trust(settings.Tried)
	return nil
}

// WarmWhisper says whether the model of a transcription can be used, and for a language.
func (s *Stage) WarmWhisper(language string, _ *[]diarization.Trial) error {
	if _, err := whisper.Init(s.engines.settings.Verbose); err != nil {
		return err
	}
	return marked(s.engines.warmWhisper(context.Background(), language))
}

// WarmDiarization says whether the models of a diarization can be used, and which it tried.
func (s *Stage) WarmDiarization(_ string, tried *[]diarization.Trial) error {
	err := s.engines.warmDiarization(context.Background())
	*tried = diarization.Trials()
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

// Transcribe hears the audio.
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

// LoadEmbedder loads the model that measures voices.
func (s *Stage) LoadEmbedder(None, *None) (err error) {
	s.embedder, err = s.engines.embedder(context.Background())
	return marked(err)
}

// Embed measures the voice of a clip, samples as their bytes: as numbers they would take net/rpc
// ten times as long.
func (s *Stage) Embed(clip []byte, voice *[]float32) (err error) {
	*voice, err = s.embedder.Embed(context.Background(), samplesOf(clip))
	return err
}

// Memory is what the C allocator of this process has handed out and holds.
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

// Trim gives back to the system what nobody uses.
func (s *Stage) Trim(None, *None) error {
	s.host.Trim()
	return nil
}

// Crash aborts, as an assertion in C++ does.
func (*Stage) Crash(None, *None) error {
	abort()
	return nil
}

// Hang never ends.
func (*Stage) Hang(None, *None) error { select {} }

// samplesOf are samples whose bytes are data, and bytesOf the bytes of samples; neither copies.
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
