package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/environ"
)

// certificateFiles are the files of a signal's certificates and keys. They detect changes of the
// files.
type certificateFiles struct {
	certificates, clients, keys []string          // variables; the first one set wins
	variables                   []string          // all of these variables
	paths                       map[string]string // by variable
	states                      []fileState       // at the last reading, by index of variables
}

type fileState struct {
	changed time.Time
	size    int64
}

func newCertificateFiles(signal Signal) (f certificateFiles) {
	f.certificates = environ.OfSignal(signal.Variable, "CERTIFICATE")
	f.clients = environ.OfSignal(signal.Variable, "CLIENT_CERTIFICATE")
	f.keys = environ.OfSignal(signal.Variable, "CLIENT_KEY")
	f.variables = slices.Concat(f.certificates, f.clients, f.keys)
	f.paths = map[string]string{}
	for _, name := range f.variables {
		f.paths[name] = environ.Get(name)
	}
	f.states = f.stat()
	return f
}

func (f certificateFiles) stat() []fileState {
	all := make([]fileState, len(f.variables))
	for i, name := range f.variables {
		if f.paths[name] == "" {
			continue
		}
		if info, err := os.Stat(f.paths[name]); err == nil {
			all[i] = fileState{info.ModTime(), info.Size()}
		}
	}
	return all
}

// renewed reads changed certificates and keys, and reports whether it did. It returns false while
// the new files are unusable, for example half written.
func (s *Settings) renewed() bool {
	now := s.files.stat()
	if s.TLS == nil || slices.Equal(now, s.files.states) {
		return false
	}
	config, err := s.files.read()
	if err != nil {
		return false
	}
	s.TLS, s.files.states = config, now
	return true
}

// read returns the configuration of TLS. It returns an error for unusable certificates and keys,
// even of overridden variables.
func (f certificateFiles) read() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	for i := range f.certificates {
		authorities, err := f.authorities(f.certificates[i])
		if err != nil {
			return nil, err
		}
		client, err := f.client(f.clients[i], f.keys[i])
		if err != nil {
			return nil, err
		}
		if config.RootCAs == nil {
			config.RootCAs = authorities
		}
		if client != nil && config.Certificates == nil {
			config.Certificates = []tls.Certificate{*client}
		}
	}
	return config, nil
}

// authorities returns the certificates in the file that a variable names, or nil if the variable is
// unset.
func (f certificateFiles) authorities(variable string) (*x509.CertPool, error) {
	if f.paths[variable] == "" {
		return nil, nil //nolint:nilnil // documented
	}
	pem, err := f.content(variable)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("exporter: %w: it has no certificate", environ.Error(variable))
	}
	return pool, nil
}

// client returns the program's own certificate, or nil if both variables are unset.
func (f certificateFiles) client(certificate, key string) (*tls.Certificate, error) {
	switch hasCertificate, hasKey := f.paths[certificate] != "", f.paths[key] != ""; {
	case !hasCertificate && !hasKey:
		return nil, nil //nolint:nilnil // documented
	case !hasCertificate || !hasKey:
		const format = "exporter: %s and %s: must be set both or not at all"
		return nil, fmt.Errorf(format, certificate, key)
	}
	certificatePEM, err := f.content(certificate)
	if err != nil {
		return nil, err
	}
	keyPEM, err := f.content(key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("exporter: %s and %s: must be a certificate and its key: %w",
			certificate, key, err)
	}
	return &pair, nil
}

// maxFile bounds a file of certificates, in bytes.
const maxFile = 1 << 20

// content returns the content of the file that a variable names. It rejects files without an end,
// such as pipes, before it reads.
func (f certificateFiles) content(variable string) ([]byte, error) {
	info, err := os.Stat(f.paths[variable])
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		const format = "exporter: %w: it is no file, or has more than 1 MiB"
		return nil, fmt.Errorf(format, environ.Error(variable))
	}
	content, err := os.ReadFile(f.paths[variable])
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		// Without the path: a wrong variable may contain a key.
		return nil, fmt.Errorf("exporter: %w: %w", environ.Error(variable), path.Err)
	}
	return content, err
}
