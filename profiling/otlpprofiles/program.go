package otlpprofiles

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// A program is the executable that profiles are of, as the mapping of all locations.
type program struct {
	file       string // its name, without folders
	attributes []attribute.KeyValue
}

// thisProgram describes the running program. It leaves out what cannot be read.
func thisProgram() program {
	p := program{attributes: []attribute.KeyValue{
		// Names and lines are all there will ever be: nothing is to be looked up.
		semconv.PprofMappingHasFunctions(true), semconv.PprofMappingHasFilenames(true), semconv.PprofMappingHasLineNumbers(true),
	}}
	path, err := os.Executable()
	if err != nil {
		return p
	}
	p.file = filepath.Base(path)
	f, err := os.Open(path)
	if err != nil {
		return p
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		p.attributes = append(p.attributes, buildIDs(f, info.Size())...)
	}
	return p
}

const (
	page    = 4096
	maxHead = 64 << 10 // where the linker puts Go's build id, as cmd/internal/buildid has it

	goIDBegin, goIDEnd = "\xff Go build ID: \"", "\"\n \xff"
)

// buildIDs returns the build ids of an executable: the hash that the specification of profiles defines for all (mappings.md), and
// Go's, which is also that of go tool buildid.
func buildIDs(f io.ReaderAt, size int64) (ids []attribute.KeyValue) {
	head := make([]byte, min(size, maxHead))
	tail := make([]byte, min(size, page))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil
	}
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return nil
	}
	h := sha256.New()
	h.Write(head[:min(len(head), page)])
	h.Write(tail)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(size))) //nolint:gosec // not negative
	ids = append(ids, semconv.ProcessExecutableBuildIDHtlhash(hex.EncodeToString(h.Sum(nil)[:16])))
	if _, from, ok := bytes.Cut(head, []byte(goIDBegin)); ok {
		if id, _, ok := bytes.Cut(from, []byte(goIDEnd)); ok && len(id) > 0 {
			ids = append(ids, semconv.ProcessExecutableBuildIDGo(string(id)))
		}
	}
	return ids
}
