package otlpprofiles

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// A program is the profiled executable, the mapping of all locations.
type program struct {
	file       string // its name, without folders
	attributes []attribute.KeyValue
}

// thisProgram describes the running program, as far as its file can be read.
func thisProgram() program {
	p := program{attributes: []attribute.KeyValue{
		// Names and lines are complete: receivers need no symbols.
		semconv.PprofMappingHasFunctions(true), semconv.PprofMappingHasFilenames(true),
		semconv.PprofMappingHasLineNumbers(true),
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

// page is the number of bytes that are hashed at each end of a file. The linker puts notes into the
// first page.
const page = 4096

// buildIDs returns the build ids of an executable: the hash that the specification of profiles
// defines for all files (mappings.md), and on systems with ELF files Go's and GNU's ids.
func buildIDs(f io.ReaderAt, size int64) (ids []attribute.KeyValue) {
	first, last := make([]byte, min(size, page)), make([]byte, min(size, page))
	if _, err := f.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	if _, err := f.ReadAt(last, size-int64(len(last))); err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	h := sha256.New()
	h.Write(first)
	h.Write(last)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(size))) //nolint:gosec // not negative
	ids = append(ids, semconv.ProcessExecutableBuildIDHtlhash(hex.EncodeToString(h.Sum(nil)[:16])))
	if id := note(first, "Go\x00\x00", 4); len(id) > 0 { // see cmd/internal/buildid
		ids = append(ids, semconv.ProcessExecutableBuildIDGo(string(id)))
	}
	if id := note(first, "GNU\x00", 3); len(id) > 0 { // NT_GNU_BUILD_ID
		ids = append(ids, semconv.ProcessExecutableBuildIDGNU(hex.EncodeToString(id)))
	}
	return ids
}

// note returns the content of an ELF note. A note begins with the size of its name, the size of its
// content and its type.
func note(head []byte, name string, typ uint32) []byte {
	before, content, found := bytes.Cut(head,
		append(binary.NativeEndian.AppendUint32(nil, typ), name...))
	if !found || len(before) < 8 {
		return nil
	}
	sizes := before[len(before)-8:]
	if int(binary.NativeEndian.Uint32(sizes)) != len(name) {
		return nil
	}
	size := binary.NativeEndian.Uint32(sizes[4:])
	if uint64(size) > uint64(len(content)) {
		return nil
	}
	return content[:size]
}
